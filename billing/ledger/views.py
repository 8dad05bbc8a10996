"""Pages of the ledger: departments of a period, one department's statement, the journal lines of a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.doors import paging
from governance.errors import N_, BadData
from governance.tenants.models import department_tree, held_departments
from governance.usage.tables import csv_file

from . import reads, scope
from .pages import ALL, FILTERS, SPECIAL, SWITCH, WORDS, Place, ShownRow, Table, neighbours
from .rules import UNITS, Span, month_of
from .statement import UNATTRIBUTED, Statement

LINES, ROWS = "ledger-lines", "ledger-rows"
ROWS_A_PAGE = 100
LINES_A_PAGE = 100
HOURS = (
    "gpu_hours",
    "card_hours",
    "cpu_hours",
    "node_hours",
    "wall_hours",
    "memory_gib_hours",
    "runs_started",
    "runs_ended",
)
#: Why a posted day was corrected, in words; the journal keeps the code.
REASONS: dict[str, Promise] = {
    "late_records": gettext_lazy("Late records"),
    "changed_terms": gettext_lazy("Mapping, price or payer changed"),
}
MEASURES: dict[str, Promise] = {
    "gpu_hour": gettext_lazy("GPU-hours"),
    "cpu_core_hour": gettext_lazy("CPU core-hours"),
    "memory_gib_hour": gettext_lazy("GiB-hours"),
}


@login_required
def departments(request: HttpRequest) -> HttpResponse:
    """The departments a reader may see and their sums in a period; a reader of projects alone sees those."""
    actor = _actor(request)
    period = request.GET.get("period") or latest_month()
    tree = department_tree()
    visible = [tree[pk] for pk in (tree if actor.may("usage.view") else held_departments(actor, "usage.view"))]
    by = "department" if visible else "project"
    found = reads.statement(period, (by,), actor=actor)
    place = Place(ALL, period, by, {})
    table = Table(found, place)
    rows = table.tree(visible) if visible else table.rows()
    if request.GET.get("format") == "csv":
        return _csv(f"ledger-{period}", found, rows, by)
    context = _context(found, place, rows) | {
        "crumbs": [{"label": _("Compute ledger")}, {"label": _("Department statements")}, {"label": period}],
        "pager": _pager(found, lambda other: f"{reverse('ledger')}?period={other}"),
        "csv_url": f"{reverse('ledger')}?period={period}&format=csv",
        "balance": _balance(period, actor),
    }
    return render(request, "ledger/departments.html", context)


@login_required
def department(request: HttpRequest, department: str, period: str) -> HttpResponse:
    """One department's statement of a period, with all below it, by one dimension; each row opens further."""
    by = request.GET.get("by") or "project"
    if by not in WORDS:
        raise BadData(N_("“%(by)s” is nothing to add up by."), by=by)
    place = Place(department, period, by, filters_of(request))
    found = reads.statement(period, (by,), actor=_actor(request), department=_code(department), **place.filters)
    table = Table(found, place)
    if request.GET.get("format") == "csv":
        return _csv(f"ledger-{'all' if department == ALL else department}-{period}-{by}", found, table.rows(), by)
    turn = paging.turned(request.GET.get("cursor", ""), ROWS)
    page = paging.of_sorted(found.rows, lambda row: [row.keys[by]], turn, ROWS_A_PAGE)
    rows = table.rows(page.rows)
    name = department_name(department)
    span = Span(found.first_on, found.last_on)
    context = _context(found, place, rows) | {
        "name": name,
        "crumbs": _crumbs(name, place),
        "pager": _pager(found, lambda other: place.url(period=other)),
        "switch": [(WORDS[d], place.url(by=d), d == by) for d in SWITCH if d == by or d not in place.filters],
        "chips": chips(place),
        "csv_url": f"{place.url()}&format=csv",
        "runs_url": place.runs_url(place.filters, span),
        "lines_url": place.lines_url(place.filters),
        **paging.links(page, ROWS, {"by": by, **place.filters}),
    }
    return render(request, "ledger/department.html", context)


@login_required
def lines(request: HttpRequest, department: str, period: str) -> HttpResponse:
    """The journal lines of a key: what was charged on which day, at which price, and which of them correct others."""
    place = Place(department, period, "project", filters_of(request))
    turn = paging.turned(request.GET.get("cursor", ""), LINES)
    found = reads.lines(
        period, actor=_actor(request), department=_code(department), limit=LINES_A_PAGE, turn=turn, **place.filters
    )
    shown = [
        {
            "line": line,
            "reason": REASONS.get(line.reason, line.reason),
            "measure": MEASURES.get(line.measure, line.measure),
        }
        | {"hours": Decimal(line.quantity) / UNITS[line.measure] if line.measure in UNITS else Decimal(line.quantity)}
        for line in found.rows
    ]
    name = department_name(department)
    context = {
        "name": name,
        "crumbs": [*_crumbs(name, place, linked=True), {"label": _("Journal lines")}],
        "period": period,
        "chips": chips(place, to_lines=True),
        "lines": shown,
        "sum_on_page": sum((line.amount for line in found.rows), Decimal(0)),
        **paging.links(found, LINES, place.filters),
        "back_url": place.url(filters=place.filters),
    }
    return render(request, "ledger/lines.html", context)


def filters_of(request: HttpRequest) -> dict[str, str]:
    """The filters in the query string; an empty value is a value (no QoS given)."""
    return {name: request.GET[name] for name in FILTERS if name in request.GET}


def latest_month() -> str:
    """The month that the last metered day lies in; without data the present one."""
    reached = reads.through()
    instant = reached - timedelta(microseconds=1) if reached else timezone.now()
    return month_of(instant.astimezone(ZoneInfo(reads.installation().time_zone)).date())


def department_name(code: str) -> str:
    """What the department is called; asked only after its statement was answered."""
    if code == ALL:
        return _("All that I may see")
    if code == UNATTRIBUTED:
        return str(SPECIAL["department", UNATTRIBUTED])
    return next((one.name for one in department_tree().values() if one.code == code), code)


def chips(place: Place, *, to_lines: bool = False) -> list[dict[str, Any]]:
    """What the view is narrowed to, each with the address without it."""
    found = []
    for name, code in place.filters.items():
        rest = {key: value for key, value in place.filters.items() if key != name}
        url = place.lines_url(rest) if to_lines else place.url(filters=rest)
        found.append({"word": WORDS[name], "name": _name_of(name, code), "url": url})
    return found


def _name_of(dimension: str, code: str) -> str | Promise:
    if (dimension, code) in SPECIAL:
        return SPECIAL[dimension, code]
    found: Any = None
    if dimension == "project":
        found = scope.project_of(code)
    elif dimension == "pool":
        found = Pool.objects.filter(code=code).first()
    return found.name if found else code


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def _code(department: str) -> str | None:
    return None if department == ALL else department


def _context(found: Statement, place: Place, rows: Sequence[ShownRow]) -> dict[str, Any]:
    zone = ZoneInfo(found.time_zone)
    end = datetime.combine(found.last_on + timedelta(days=1), datetime.min.time(), zone)
    total = found.total
    return {
        "statement": found,
        "total": total,
        "rows": rows,
        "by": place.by,
        "by_word": WORDS[place.by],
        "period": place.period,
        "has_money": total.amount is not None,
        "has_accrued": bool(total.accrued),
        "has_slices": total.card_hours != total.gpu_hours,
        "is_complete": found.through is not None and found.through >= end,
        "unattributed_url": Place(ALL, place.period, "account", {"project": UNATTRIBUTED}).url(),
        "unassigned_url": Place(ALL, place.period, "account", {"pool": "unassigned"}).url(),
    }


def _balance(period: str, actor: Actor) -> dict[str, Any] | None:
    """The trial balance for those who see the whole site's money."""
    if not actor.may("money.view"):
        return None
    accounts = reads.trial_balance(period, actor=actor)
    owed = sum((a.amount for a in accounts if a.account_kind == "department"), Decimal(0))
    recovered = sum((a.amount for a in accounts if a.account_kind == "pool"), Decimal(0))
    return {"accounts": accounts, "owed": owed, "recovered": recovered, "difference": owed + recovered}


def _pager(found: Statement, url: Callable[[str], str]) -> dict[str, Any]:
    today = timezone.now().astimezone(ZoneInfo(found.time_zone)).date()
    before, after = neighbours(found.period, today)
    return {"period": found.period, "before": url(before) if before else "", "after": url(after) if after else ""}


def _crumbs(name: str, place: Place, *, linked: bool = False) -> list[dict[str, Any]]:
    return [
        {"label": _("Compute ledger")},
        {"label": _("Department statements"), "url": f"{reverse('ledger')}?period={place.period}"},
        {"label": name},
        {"label": place.period, "url": place.url() if linked else ""},
    ]


def _csv(name: str, found: Statement, rows: Sequence[ShownRow], by: str) -> HttpResponse:
    money = ("amount", "accrued") if found.total.amount is not None else ()
    header = (by, "name", *HOURS, *money)
    body = [[row.code, str(row.name), *(getattr(row.row.sums, column) for column in (*HOURS, *money))] for row in rows]
    return csv_file(name, header, body)
