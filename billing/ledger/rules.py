"""How use becomes money: units, shares, periods. Plain Python."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from governance.errors import N_, BadData

USE = "use"
#: Units of a fact in one unit of its price.
UNITS = {"gpu_hour": 3_600_000, "cpu_core_hour": 3_600, "memory_gib_hour": 3_600 * 1024}
SIX = Decimal("0.000001")


class Share(NamedTuple):
    """A department's part of what a project costs on a day."""

    department: str
    percent: Decimal


def amount(quantity: int, unit_price: Decimal, measure: str) -> Decimal:
    """What `quantity` (in the fact's units) costs, with the ledger's six places, half up."""
    return (Decimal(quantity) * unit_price / UNITS[measure]).quantize(SIX, ROUND_HALF_UP)


def split(total: Decimal, shares: list[Share]) -> list[Decimal]:
    """`total` by shares that sum to 100, each with six places, adding up exactly: differences of rounded running sums."""
    parts, before, percent = [], Decimal(0), Decimal(0)
    for share in shares:
        percent += share.percent
        now = (total * percent / 100).quantize(SIX, ROUND_HALF_UP)
        parts.append(now - before)
        before = now
    return parts


def month_of(day: date) -> str:
    """The period a day belongs to: "2026-06"."""
    return f"{day:%Y-%m}"


class Span(NamedTuple):
    """A stretch of days, both ends inclusive."""

    first_on: date
    last_on: date


def span_of(period: str) -> Span:
    """The days of "2026-06", "2026" or "2026-06-01..2026-06-30" (inclusive); raises BadData for anything else."""
    try:
        if ".." in period:
            low, _, high = period.partition("..")
            found = Span(date.fromisoformat(low), date.fromisoformat(high))
        elif len(period) == 4:
            found = Span(date(int(period), 1, 1), date(int(period), 12, 31))
        else:
            first = date.fromisoformat(f"{period}-01")
            after = date(first.year + first.month // 12, first.month % 12 + 1, 1)
            found = Span(first, date.fromordinal(after.toordinal() - 1))
    except ValueError:
        raise BadData(
            N_("“%(period)s” is no period. Write 2026-06, 2026 or 2026-06-01..2026-06-30."), period=period
        ) from None
    if found.first_on > found.last_on:
        raise BadData(N_("The period “%(period)s” ends before it begins."), period=period)
    return found
