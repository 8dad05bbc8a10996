"""The month as the home page shows it: the ledger by project, six months, and what is open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.urls import reverse

from billing.ledger import reads
from billing.ledger.rules import Span, month_of, span_of
from billing.ledger.statement import Statement, Sums
from governance.access.actor import Actor

MONTHS = 6
BAR = 92  # the height of the highest of the bars, of 96


@dataclass(frozen=True)
class Bar:
    """One of the last months: what was posted for it, the present one with what is accrued."""

    day: date
    amount: Decimal
    is_present: bool
    height: int  # 0 to 96

    @property
    def top(self) -> int:
        """Where the bar begins."""
        return 96 - self.height

    @property
    def url(self) -> str:
        """The ledger of the month."""
        return f"{reverse('ledger')}?period={month_of(self.day)}"


@dataclass(frozen=True)
class MonthFound:
    """A month by project, the months before it, and its days that are not posted."""

    statement: Statement
    bars: list[Bar]
    unposted: list[str]


def month(period: str, *, actor: Actor) -> MonthFound:
    """The month `YYYY-MM`, as far as the actor sees it; the statement is that of the ledger by project."""
    span = span_of(period)
    firsts = _firsts(span.first_on)
    found = reads.with_months(period, ("project",), Span(firsts[0], span.last_on), actor=actor)
    statement = found.statement
    bars = [] if statement.total.amount is None else _bars(firsts, found.months, statement.total)
    return MonthFound(statement, bars, sorted({one.day.isoformat() for one in found.open_days}))


def _firsts(last: date) -> list[date]:
    firsts = [last]
    while len(firsts) < MONTHS:
        firsts.insert(0, (firsts[0] - timedelta(days=1)).replace(day=1))
    return firsts


def _bars(firsts: list[date], posted: dict[str, Decimal], present: Sums) -> list[Bar]:
    sums = {first: posted.get(month_of(first), Decimal(0)) for first in firsts}
    sums[firsts[-1]] += present.accrued or Decimal(0)
    largest = max(sums.values())
    return [
        Bar(
            first,
            amount,
            first == firsts[-1],
            max(int(amount * BAR / largest), 1) if amount > 0 else 0,
        )
        for first, amount in sums.items()
    ]
