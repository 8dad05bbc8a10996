"""Rules of quotas, without a database: the state of a line on a day, what is promised on each day, what room is left.

A line is what one project holds of one pool, model and level on the days [from_on, to_on). Nothing happens at midnight:
its state is asked for a day, from the dates and from how it was ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import NamedTuple

URGENT, NORMAL, ELASTIC = "urgent", "normal", "elastic"
LEVELS = (URGENT, NORMAL, ELASTIC)

SCHEDULED, ACTIVE, SUSPENDED, GRACE, ENDED = "scheduled", "active", "suspended", "grace", "ended"
STATES = (SCHEDULED, ACTIVE, SUSPENDED, GRACE, ENDED)

EXPIRED, RETURNED, RECLAIMED, REPLACED, REVOKED = "expired", "returned", "reclaimed", "replaced", "revoked"
ENDS = (EXPIRED, RETURNED, RECLAIMED, REPLACED, REVOKED)

MONTH, TOTAL = "month", "total"
PERIODS = (MONTH, TOTAL)

RESERVE, POOLED = "reserve", "pooled"
POLICIES = (RESERVE, POOLED)

#: Days that quotas know; with room on both sides for what is reckoned from them.
FIRST_DAY, LAST_DAY = date(1970, 1, 2), date(2199, 12, 31)

#: Days before the end on which holders are told; a day that was missed is told on the next one.
WARNING_DAYS = (30, 14, 7, 1)


class Days(NamedTuple):
    """The days [from_on, to_on); an open end is None."""

    from_on: date
    to_on: date | None

    def has(self, day: date) -> bool:
        """Whether `day` is one of them."""
        return self.from_on <= day and (self.to_on is None or day < self.to_on)

    def meets(self, other: Days) -> bool:
        """Whether the two share a day."""
        return (other.to_on is None or self.from_on < other.to_on) and (
            self.to_on is None or other.from_on < self.to_on
        )


def state_on(
    day: date,
    days: Days,
    *,
    ended_as: str = "",
    grace_days: int = 0,
    pauses: Iterable[Days] = (),
    is_void: bool = False,
) -> str:
    """The state of a line on a day. One that ran out is in grace for `grace_days`; one that was ended has none."""
    if is_void:
        return ENDED
    if day < days.from_on:
        return SCHEDULED
    if days.to_on is None or day < days.to_on:
        return SUSPENDED if any(pause.has(day) for pause in pauses) else ACTIVE
    if not ended_as and day < days.to_on + timedelta(days=grace_days):
        return GRACE
    return ENDED


def warning_due(day: date, to_on: date | None) -> int | None:
    """The warning (30, 14, 7 or 1 days) that is due on `day` for a line that ends at `to_on`; None before the first and from the end on."""
    if to_on is None or day >= to_on:
        return None
    left = (to_on - day).days
    return min((days for days in WARNING_DAYS if left <= days), default=None)


class Promise(NamedTuple):
    """Guaranteed GPUs on some days. `model` "" is any of the pool's; `departments` the home and all above it."""

    days: Days
    gpus: int
    model: str = ""
    departments: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Room:
    """What a pool could still guarantee on the tightest day: GPUs, may be negative.

    `share_of` names the department whose share is the limit; "" where it is the pool.
    """

    gpus: int
    on: date
    capacity: int
    promised: int
    share_of: str = ""


def breakpoints(window: Days, *all_days: Iterable[Days]) -> list[date]:
    """The days of the window on which what holds can change: its first, and each beginning and end within it."""
    found = {window.from_on}
    for group in all_days:
        for days in group:
            found.update(day for day in (days.from_on, days.to_on) if day is not None and window.has(day))
    return sorted(found)


class Capacity(NamedTuple):
    """Healthy GPUs of a model on some days."""

    days: Days
    gpus: int
    model: str


def promised_on(day: date, promises: Iterable[Promise], *, model: str = "", department: str = "") -> int:
    """Σ guaranteed on a day, of one model or all, below one department or everywhere."""
    return sum(
        one.gpus
        for one in promises
        if one.days.has(day) and (not model or one.model == model) and (not department or department in one.departments)
    )


def healthy_on(day: date, capacity: Iterable[Capacity], *, model: str = "") -> int:
    """Healthy GPUs on a day, of one model or all."""
    return sum(one.gpus for one in capacity if one.days.has(day) and (not model or one.model == model))


def room(
    window: Days,
    *,
    capacity: Sequence[Capacity],
    promises: Sequence[Promise],
    policy: str = RESERVE,
    factor: Decimal = Decimal(1),
    model: str = "",
    shares: Mapping[str, Sequence[tuple[Days, int]]] | None = None,
) -> Room:
    """The least room of the window's days.

    Reserve: healthy x factor (rounded down) - Σ guaranteed, of the pool and, where a model is named, of the model. Promises that
    name no model are taken from the pool only: any of its cards will do for them. Pooled: the sum may pass the pool; what counts
    is each department's share in `shares` (the home's and those above it) - Σ guaranteed below it. Without any share, reserve rules.
    """
    shares = shares or {}
    if policy == POOLED and shares:
        return _room_of_shares(window, promises, shares)
    found: Room | None = None
    for day in breakpoints(window, (one.days for one in capacity), (one.days for one in promises)):
        for of in {"", model}:
            healthy = int((healthy_on(day, capacity, model=of) * factor).to_integral_value(rounding=ROUND_FLOOR))
            promised = promised_on(day, promises, model=of)
            if found is None or healthy - promised < found.gpus:
                found = Room(healthy - promised, day, healthy, promised)
    assert found is not None  # a window has a first day
    return found


def _room_of_shares(
    window: Days, promises: Sequence[Promise], shares: Mapping[str, Sequence[tuple[Days, int]]]
) -> Room:
    found: Room | None = None
    dated = [days for lines in shares.values() for days, _ in lines]
    for day in breakpoints(window, dated, (one.days for one in promises)):
        for department in sorted(shares):
            held = [gpus for days, gpus in shares[department] if days.has(day)]
            if not held:
                continue
            promised = promised_on(day, promises, department=department)
            if found is None or held[0] - promised < found.gpus:
                found = Room(held[0] - promised, day, held[0], promised, share_of=department)
    return found or Room(0, window.from_on, 0, 0)


def nearest_rank(values: Sequence[Decimal], percent: int) -> Decimal | None:
    """The percentile by nearest rank: the smallest value that at least `percent` of them do not pass. None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


class Lending(NamedTuple):
    """Of a day and pool, in GPUs: what a project left to others of its guarantee, and what it used beyond its own."""

    lent: Decimal
    borrowed: Decimal


def lending(guaranteed: Mapping[str, int], used: Mapping[str, Decimal]) -> dict[str, Lending]:
    """Lent and borrowed by project on one day of one pool.

    Borrowed = max(0, used - guaranteed). What could be lent is max(0, guaranteed - used); only as much was lent as was borrowed,
    in proportion to what each left free. Σ lent ≤ Σ borrowed: the rest came from what nobody was promised.
    """
    nothing = Decimal(0)
    names = set(guaranteed) | set(used)
    borrowed = {n: max(nothing, used.get(n, nothing) - guaranteed.get(n, 0)) for n in names}
    idle = {n: max(nothing, guaranteed.get(n, 0) - used.get(n, nothing)) for n in names}
    total_idle, total_borrowed = sum(idle.values(), nothing), sum(borrowed.values(), nothing)
    share = min(Decimal(1), total_borrowed / total_idle) if total_idle else nothing
    return {n: Lending(idle[n] * share, borrowed[n]) for n in names}
