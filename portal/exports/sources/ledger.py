"""The ledger: a statement's rows, and the journal lines under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.db import connection
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from billing.ledger import reads
from billing.ledger.pages import ALL, FILTERS, SPECIAL, WORDS
from billing.ledger.rules import UNITS
from billing.ledger.statement import DIMENSIONS
from billing.ledger.views import HOURS, MEASURES, REASONS, department_name, latest_month
from governance.access.actor import Actor
from governance.errors import N_, BadData
from governance.tenants.models import held_departments
from governance.work.streaming import streamed

from ..table import Column, Form, Table, Value
from .asked import Asked, filters_in_words, only

KNOWN = ("department", "period", *FILTERS)
KNOWN_BY = (*KNOWN, "by")
TITLES: dict[str, Promise] = {
    "gpu_hours": gettext_lazy("GPU time (GPU-hours)"),
    "card_hours": gettext_lazy("Whole cards (GPU-hours)"),
    "cpu_hours": gettext_lazy("CPU time (core-hours)"),
    "node_hours": gettext_lazy("Node time (hours)"),
    "wall_hours": gettext_lazy("Run time (hours)"),
    "memory_gib_hours": gettext_lazy("Memory (GiB-hours)"),
    "runs_started": gettext_lazy("Runs started"),
    "runs_ended": gettext_lazy("Runs ended"),
}


def settled(asked: Asked, actor: Actor) -> dict[str, str]:
    """With the month written out, and by what it is added up."""
    found = only(asked, KNOWN_BY)
    found.setdefault("period", latest_month())
    if "by" not in found:
        sees_some = actor.may("usage.view") or held_departments(actor, "usage.view")
        found["by"] = "project" if "department" in found or not sees_some else "department"
    return found


def settled_lines(asked: Asked, actor: Actor) -> dict[str, str]:
    """With the month written out."""
    return {"period": latest_month(), **only(asked, KNOWN)}


def statement(asked: Asked, actor: Actor) -> Table:
    """The rows of a statement by one dimension or several, and its total. Raises as `reads.statement`."""
    by = tuple(dict.fromkeys(part for part in asked["by"].split(",") if part))
    if not by or any(name not in DIMENSIONS for name in by):
        raise BadData(N_("“%(by)s” is nothing to add up by."), by=asked["by"][:100])
    filters = {name: asked[name] for name in FILTERS if name in asked}
    found = reads.statement(asked["period"], by, actor=actor, department=_code(asked), **filters)
    money = ("amount", "accrued") if found.total.amount is not None else ()

    def rows() -> Iterator[Sequence[Value]]:
        for row in found.rows:
            special = SPECIAL.get((by[0], row.keys[by[0]])) if len(by) == 1 else None
            figures = [getattr(row.sums, name) for name in (*HOURS, *money)]
            yield [*(row.keys[name] for name in by), str(special or row.name), *figures]

    numbers = [*_hours(), *_money(found.currency)[: len(money)]]
    return Table(
        name=f"ledger-{_named(asked)}-{'-'.join(by)}",
        title=_("Department statement"),
        columns=[*(Column(name, WORDS[name]) for name in by), Column("name", gettext_lazy("Name")), *numbers],
        rows=rows,
        steps=lambda: len(found.rows),
        filters=_words(asked, filters),
        totals=lambda: [(column.title, getattr(found.total, column.code), column.form) for column in numbers],
        metrics=("gpu_hours", "card_hours", "cpu_hours", "runs_started", "runs_ended"),
    )


def lines(asked: Asked, actor: Actor) -> Table:
    """The journal lines of a period, streamed. Raises as `reads.lines`."""
    filters = {name: asked[name] for name in FILTERS if name in asked}
    statement, given = reads.lines_question(asked["period"], actor=actor, department=_code(asked), **filters)
    currency = reads.installation().currency
    return Table(
        name=f"ledger-lines-{_named(asked)}",
        title=_("Journal lines"),
        columns=_line_columns(currency),
        rows=lambda: (_line(reads.JournalLine(*row)) for row in streamed(statement, given)),
        steps=lambda: _one(f"SELECT count(*) FROM ({statement}) AS q", given),
        filters=_words(asked, filters),
        totals=lambda: [
            (_("Amount"), _one(f"SELECT coalesce(sum(amount), 0) FROM ({statement}) AS q", given), Form.MONEY)
        ],
    )


def _line(one: reads.JournalLine) -> list[Value]:
    hours = Decimal(one.quantity) / UNITS[one.measure] if one.measure in UNITS else Decimal(one.quantity)
    reason = str(REASONS.get(one.reason, one.reason))
    what: list[Value] = [one.department, one.project, one.user, one.pool, one.model, one.qos, one.band, one.cluster]
    measure = str(MEASURES.get(one.measure, one.measure))
    figures: list[Value] = [measure, hours.quantize(Decimal("0.000001")), one.share_percent, one.unit_price, one.amount]
    return [one.used_on, one.period, one.revision, reason, one.posted_at, *what, *figures, one.id]


def _line_columns(currency: str) -> list[Column]:
    codes = ("department", "project", "user", "pool", "model", "qos")
    return [
        Column("used_on", gettext_lazy("Used on"), Form.DAY),
        Column("period", gettext_lazy("Booked in")),
        Column("revision", gettext_lazy("Revision"), Form.COUNT),
        Column("reason", gettext_lazy("Why corrected")),
        Column("posted_at", gettext_lazy("Posted at"), Form.INSTANT),
        *(Column(code, WORDS[code]) for code in codes),
        Column("band", gettext_lazy("Band")),
        Column("cluster", WORDS["cluster"]),
        Column("measure", gettext_lazy("Measure")),
        Column("hours", gettext_lazy("Quantity (hours)"), Form.HOURS),
        Column("share_percent", gettext_lazy("Payer's share (%)"), Form.PERCENT),
        Column("unit_price", _("Unit price (%(currency)s)") % {"currency": currency}, Form.PRICE),
        Column("amount", _("Amount (%(currency)s)") % {"currency": currency}, Form.MONEY),
        Column("line", gettext_lazy("Line"), Form.COUNT),
    ]


def _hours() -> list[Column]:
    return [Column(name, TITLES[name], Form.COUNT if name.startswith("runs") else Form.HOURS) for name in HOURS]


def _money(currency: str) -> list[Column]:
    return [
        Column("amount", _("Posted (%(currency)s)") % {"currency": currency}, Form.MONEY),
        Column("accrued", _("Accrued, not posted (%(currency)s)") % {"currency": currency}, Form.MONEY),
    ]


def _code(asked: Asked) -> str | None:
    department = asked.get("department", ALL)
    return None if department == ALL else department


def _named(asked: Asked) -> str:
    return f"{asked.get('department', ALL).replace(ALL, 'all')}-{asked['period']}".replace("..", "-to-")


def _words(asked: Asked, filters: Asked) -> list[tuple[str, str]]:
    whose = department_name(asked.get("department", ALL))
    return [(_("Department"), whose), (_("Period"), asked["period"]), *filters_in_words(filters)]


def _one(statement: str, given: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return cursor.fetchone()[0]
