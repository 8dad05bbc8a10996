"""Pages of the ledger: departments of a month, one department's statement, the journal lines of a key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.catalogue.reads import installation
from governance.errors import N_, BadData
from governance.tenants.models import Department, Project
from governance.usage.models import Watermark
from governance.usage.tables import csv_file

from . import reads
from .pages import ALL, FILTERS, SPECIAL, SWITCH, WORDS, Place, ShownRow, neighbours, shown_rows
from .rules import month_of
from .statement import UNATTRIBUTED, Statement, Sums, money

HOURS_HEADER = ("gpu_hours", "card_hours", "cpu_hours", "node_hours", "wall_hours", "memory_gib_hours", "runs_started", "runs_ended")


@login_required
def departments(request: HttpRequest) -> HttpResponse:
    """The departments a reader may see and their sums in a month; a reader of projects alone sees those."""
    actor = _actor(request)
    period = request.GET.get("period") or latest_month()
    visible = {d.code: d for d in Department.objects.visible_to(actor).select_related("parent")}
    by = "department" if visible else "project"
    found = reads.statement(period, (by,), actor=actor)
    place = Place(ALL, period, by, {})
    rows = _department_rows(found, visible) if visible else shown_rows(found, place)
    if request.GET.get("format") == "csv":
        return _csv(f"ledger-{period}", found, rows, by)
    context = _context(found, place, rows) | {
        "crumbs": [{"label": _("Compute ledger")}, {"label": _("Department statements")}, {"label": period}],
        "pager": _pager(period, found, lambda p: f"{reverse('ledger')}?period={p}"),
        "csv_url": f"{reverse('ledger')}?period={period}&format=csv",
        "all_url": place.url(by="project"),
        "balance": reads.trial_balance(period, actor=actor) if actor.may("money.view") else None,
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
    rows = shown_rows(found, place)
    if request.GET.get("format") == "csv":
        return _csv(f"ledger-{'all' if department == ALL else department}-{period}-{by}", found, rows, by)
    name = department_name(department)
    context = _context(found, place, rows) | {
        "name": name,
        "crumbs": _crumbs(name, place),
        "pager": _pager(period, found, lambda p: place.url(period=p)),
        "switch": [(WORDS[d], place.url(by=d), d == by) for d in SWITCH if d == by or d not in place.filters],
        "chips": chips(place),
        "csv_url": place.url() + "&format=csv",
        "runs_url": place.runs_url(place.filters, reads_span(found)),
        "lines_url": place.lines_url(place.filters),
    }
    return render(request, "ledger/department.html", context)
