"""Sizes, percentiles and the week by hours. Plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from math import ceil
from typing import NamedTuple
from zoneinfo import ZoneInfo

#: Smallest number of cards of each size, and how it is written.
SIZES = ((0, "0"), (1, "1"), (2, "2–7"), (8, "8"), (9, "9–63"), (64, "64+"))
#: Fewer waits than this give no percentile.
FEWEST = 5


class Started(NamedTuple):
    """A run of the sample. `pool` is the pool of its partition; `cards` is None where the count is unknown."""

    pool: str
    cards: int | None
    start_at: datetime
    wait_seconds: float


class Wait(NamedTuple):
    """How long the runs of a pool and size waited: half of them at most p50, nine of ten at most p90, in seconds."""

    pool: str
    size: str
    runs: int
    p50: float
    p90: float


def size_of(cards: int | None) -> str:
    """The size of a run by its cards."""
    return "?" if cards is None else [word for least, word in SIZES if cards >= least][-1]


def percentile(ordered: list[float], share: float) -> float:
    """The nearest rank: the smallest value that at least `share` of the values do not pass. Raises IndexError for none."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


def waits(sample: Iterable[Started]) -> list[Wait]:
    """By pool and size, in the order of pools and sizes; sizes with too few runs are left out."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    order = [word for _, word in SIZES] + ["?"]
    for run in sample:
        found[run.pool, order.index(size_of(run.cards))].append(max(run.wait_seconds, 0.0))
    return [
        Wait(pool, order[size], len(values), percentile(sorted(values), 0.5), percentile(sorted(values), 0.9))
        for (pool, size), values in sorted(found.items())
        if len(values) >= FEWEST
    ]


def week(sample: Iterable[Started], zone: ZoneInfo) -> list[list[int]]:
    """Starts by weekday (Monday first) and hour of the billing clock."""
    found = [[0] * 24 for _ in range(7)]
    for run in sample:
        local = run.start_at.astimezone(zone)
        found[local.weekday()][local.hour] += 1
    return found
