"""The month as the home page shows it: projects, six months and what is open, in one question where the ledger asks many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection
from django.urls import reverse

from billing.ledger import accruals, exceptions, reads
from billing.ledger.rules import Span, month_of, span_of
from billing.ledger.statement import Row, Statement, Sums
from governance.access.actor import Actor
from governance.access.named import in_language
from governance.access.rules import CAPABILITIES
from governance.catalogue.reads import installation
from governance.tenants.models import held_today

MONTHS = 6
SEE_MONEY = frozenset(role for role, held in CAPABILITIES.items() if "money.view" in held)
BAR = 92  # the height of the highest of the bars, of 96

#: Use and money by project, amounts by month, days that are not posted: what it is, its key, eight sums, an amount, two names.
ASKED = f"""
    SELECT x.*, p.name_zh, p.name_en FROM (
        SELECT 'used' AS what, f.project AS key, sum(milligpu_seconds) AS milli, sum(card_milligpu_seconds) AS card,
            sum(cpu_seconds) AS cpu, sum(node_seconds) AS node, sum(wall_seconds) AS wall, sum(memory_mib_seconds) AS memory,
            sum(runs_started) AS started, sum(runs_ended) AS ended, NULL::numeric AS amount
        FROM ({reads.FACTS}) AS f WHERE {{used}} GROUP BY 2
        UNION ALL SELECT CASE WHEN kept THEN 'open' ELSE 'changed' END, day::text, 0, 0, 0, 0, 0, 0, 0, 0, NULL
        FROM ({accruals.OPEN}) AS o (code, day, kept)
        UNION ALL SELECT 'month', to_char(l.used_on, 'YYYY-MM'), 0, 0, 0, 0, 0, 0, 0, 0, sum(l.amount)
        FROM line AS l WHERE l.account_kind = 'department' AND l.used_on BETWEEN %s AND %s AND {{money}} GROUP BY 2
        UNION ALL SELECT 'posted', l.project, 0, 0, 0, 0, 0, 0, 0, 0, sum(l.amount)
        FROM line AS l WHERE l.account_kind = 'department' AND l.used_on BETWEEN %s AND %s AND {{money}} GROUP BY 2
        UNION ALL SELECT 'accrued', l.project, 0, 0, 0, 0, 0, 0, 0, 0, sum(l.amount)
        FROM accrued_line AS l JOIN ({accruals.OPEN}) AS o (code, day, kept) ON o.code = l.cluster AND o.day = l.used_on AND o.kept
        WHERE {{money}} GROUP BY 2
    ) AS x LEFT JOIN project AS p ON p.code = x.key AND x.what IN ('used', 'posted', 'accrued')
    ORDER BY x.what, x.key"""


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
    """The month `YYYY-MM`, as far as the actor sees it; the statement is that of `reads.statement` by project."""
    has_money = any(held.role in SEE_MONEY for held in held_today(actor))
    query = reads.Query(span_of(period), ("project",), None, {})
    firsts = _firsts(query.span.first_on)
    found = _asked(query, Span(firsts[0], query.span.last_on), actor, has_money)
    if any(what == "changed" for what, *_rest in found):
        # A day that changed a moment ago is worked out while somebody waits: the ledger knows how.
        statement = reads.statement(period, ("project",), actor=actor)
    else:
        statement = _statement(period, query, _rows(found, has_money), exceptions.of_period(query, actor))
    amounts = {row[1]: row[10] for row in found if row[0] == "month"}
    unposted = sorted({row[1] for row in found if row[0] in {"open", "changed"}})
    return MonthFound(statement, _bars(firsts, amounts, statement.total) if has_money else [], unposted)


def _firsts(last: date) -> list[date]:
    firsts = [last]
    while len(firsts) < MONTHS:
        firsts.insert(0, (firsts[0] - timedelta(days=1)).replace(day=1))
    return firsts


def _asked(query: reads.Query, months: Span, actor: Actor, has_money: bool) -> list[tuple[Any, ...]]:
    used, facts = reads.conditions(query, reads.FACT_COLUMNS, actor, "usage.view")
    money: str = "FALSE"
    lines: list[Any] = []
    if has_money:
        money, lines = reads.conditions(query, reads.LINE_COLUMNS, actor, "money.view")
    span = [*query.span]
    given = [*span, *facts, *span, *months, *lines, *span, *lines, *span, *lines]
    with connection.cursor() as cursor:
        cursor.execute(ASKED.format(used=used, money=money), given)
        return list(cursor.fetchall())


def _rows(found: list[tuple[Any, ...]], has_money: bool) -> list[Row]:
    sums: dict[str, Sums] = {}
    names: dict[str, str] = {}
    for what, key, milli, card, cpu, node, wall, memory, started, ended, amount, zh, en in found:
        if what not in {"used", "posted", "accrued"}:
            continue
        names[key] = in_language(zh or "", en or "") or key
        of = sums.setdefault(key, Sums())
        if what == "used":
            whole = [int(value) for value in (cpu, node, wall, memory, started, ended)]
            sums[key] = Sums(int(milli), Decimal(card), *whole)  # type: ignore[arg-type]
            sums[key].amount, sums[key].accrued = of.amount, of.accrued
        elif what == "posted":
            of.amount = (of.amount or Decimal(0)) + amount
        else:
            of.accrued = (of.accrued or Decimal(0)) + amount
    if not has_money:
        for of in sums.values():
            of.amount = of.accrued = None
    return [Row({"project": key}, names[key], sums[key]) for key in sorted(sums)]


def _statement(period: str, query: reads.Query, rows: list[Row], beside: Any) -> Statement:
    total = Sums() if not rows or rows[0].sums.amount is not None else Sums(amount=None, accrued=None)
    for row in rows:
        for name in Sums.__dataclass_fields__:
            if getattr(total, name) is not None:
                setattr(total, name, getattr(total, name) + (getattr(row.sums, name) or 0))
    of = installation()
    return Statement(
        period=period,
        first_on=query.span.first_on,
        last_on=query.span.last_on,
        time_zone=of.time_zone,
        currency=of.currency,
        through=reads.through(),
        dimensions=("project",),
        rows=rows,
        total=total,
        exceptions=beside,
    )


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
