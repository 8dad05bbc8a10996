"""When people work: hours of the day, days of the week, holidays, growth. Weights are whole numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import accumulate
from math import exp
from random import Random
from statistics import NormalDist

HOURS = {
    "training": (30, 24, 18, 14, 12, 12, 14, 20, 36, 62, 78, 80, 58, 60, 76, 82, 80, 76, 70, 62, 60, 58, 50, 40),
    "inference": (20, 18, 16, 16, 16, 18, 22, 30, 44, 62, 70, 70, 60, 60, 66, 68, 66, 60, 54, 48, 44, 40, 34, 26),
    "development": (6, 3, 2, 2, 2, 2, 4, 12, 40, 86, 96, 88, 52, 62, 92, 94, 88, 74, 52, 44, 40, 34, 22, 12),
}
WEEK = (104, 108, 106, 104, 98, 46, 40)
HOLIDAY = 28  # of a normal day, percent
SPRING_FESTIVAL = {2024: (2, 10), 2025: (1, 29), 2026: (2, 17), 2027: (2, 6), 2028: (1, 26)}
FIXED_HOLIDAYS = {(1, 1), (5, 1), (5, 2), (5, 3), (10, 1), (10, 2), (10, 3), (10, 4), (10, 5), (10, 6), (10, 7)}


def is_holiday(on: date) -> bool:
    """Public holidays of mainland China: the fixed ones, and eight days from the eve of Spring Festival where known."""
    if (on.month, on.day) in FIXED_HOLIDAYS:
        return True
    spring = SPRING_FESTIVAL.get(on.year)
    return spring is not None and -1 <= (on - date(on.year, *spring)).days <= 6


def day_weight(on: date) -> int:
    """How much is submitted on a day, against 100 for an average one of the week's middle."""
    weight = WEEK[on.weekday()]
    return weight * HOLIDAY // 100 if is_holiday(on) else weight


def runs_by_day(first_on: date, days: int, runs_per_day: int) -> list[int]:
    """Runs for each day: `runs_per_day` on average over the period, a third more at its end than at its start."""
    weights = [
        day_weight(first_on + timedelta(days=i)) * (850 + 300 * i // max(1, days - 1)) for i in range(days)
    ]  # fmt: skip
    wanted, of = runs_per_day * days, sum(weights)
    reached = [wanted * part // of for part in accumulate(weights)]
    return [now - before for before, now in zip([0, *reached], reached, strict=False)]


class Table:
    """Draws by whole weights; index of the drawn one."""

    def __init__(self, weights: Sequence[int]) -> None:
        """Weights as they stand, at least one above zero."""
        self.edges = list(accumulate(weights))
        self.total = self.edges[-1]

    def draw(self, rng: Random) -> int:
        """A position, by weight."""
        return bisect_right(self.edges, int(rng.random() * self.total))


STEPS = 64


class Durations:
    """Log-normal whole seconds as a table of quantiles: draws need no logarithm, so all platforms agree."""

    def __init__(self, median_s: int, sigma: float) -> None:
        """The tails beyond 1/300 are cut."""
        normal = NormalDist()
        points = [min(max(i / STEPS, 1 / 300), 1 - 1 / 300) for i in range(STEPS + 1)]
        self.points = [round(median_s * exp(sigma * normal.inv_cdf(point))) for point in points]

    def draw(self, rng: Random) -> float:
        """Seconds, linear between two quantiles."""
        place = rng.random() * STEPS
        i = int(place)
        low = self.points[i]
        return low + (self.points[i + 1] - low) * (place - i)
