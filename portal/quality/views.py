"""Quality pages: what the figures lack, and giving unclaimed use to a project or a pool: choose, preview, apply, watch."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from governance.access.actor import Actor, require
from governance.catalogue.models import Cluster, Pool
from governance.catalogue.reads import installation
from governance.errors import N_, BadData, DomainError
from governance.tenants.models import UNATTRIBUTED, Project, department_tree
from governance.usage.models import DirtyDay
from governance.usage.ops import words
from governance.usage.tables import csv_file
from governance.usage.views import days_of
from governance.work import reads as work_reads
from governance.work.models import RUNNING, WAITING, WorkItem
from portal import formats

from . import actions, faults, reads
from .changes import Change, ClaimPartition, MapAccount
from .preview import Preview, preview

CHANGE_SHOWN = 200


@login_required
@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """What is wrong or missing, by kind, in some days; unclaimed and unplaced use; how far every stage is."""
    _reader(request)
    first_on, last_on = _window(request)
    context = {
        "crumbs": [*_crumbs(linked=False)],
        "counts": faults.counts(first_on, last_on),
        "unclaimed": reads.unclaimed_total(),
        "unplaced_hours": reads.unplaced_hours(first_on, last_on),
        "marks": [(words.STAGES.get(mark.stage, mark.stage), mark) for mark in reads.marks()],
        **_days(first_on, last_on),
    }
    return render(request, "quality/overview.html", context)


@login_required
@require_GET
def faults_of(request: HttpRequest, kind: str) -> HttpResponse:
    """The rows behind a count."""
    _reader(request)
    if kind not in faults.KINDS:
        raise Http404
    first_on, last_on = _window(request)
    found, of = faults.rows(kind, first_on, last_on), faults.KINDS[kind]
    if request.GET.get("format") == "csv":
        cells = [[_plain(cell) for cell in row.cells] for row in found]
        return csv_file(f"quality-{kind}-{first_on}-{last_on}", of.columns, cells)
    zone = installation().time_zone
    context = {
        "crumbs": [*_crumbs(), {"label": of.name}],
        "kind": of,
        "code": kind,
        "rows": [
            {"cells": [_shown(cell, zone) for cell in row.cells], "url": row.url} for row in found[: faults.ROWS_SHOWN]
        ],
        "columns": [
            (name, bool(found) and _shown(found[0].cells[i], zone)["is_number"]) for i, name in enumerate(of.columns)
        ],
        "is_cut": len(found) > faults.ROWS_SHOWN,
        "csv_url": f"?{urlencode({'from': first_on, 'to': last_on, 'format': 'csv'})}",
        **_days(first_on, last_on),
    }
    return render(request, "quality/faults.html", context)


@login_required
@require_GET
def unattributed(request: HttpRequest) -> HttpResponse:
    """Accounts that no mapping claims, the largest first."""
    actor = _reader(request)
    found = reads.unclaimed(_cursor(request), with_money=actor.may("money.view"))
    shown = found[: reads.ACCOUNTS_A_PAGE]
    last = shown[-1] if len(found) > len(shown) else None
    if request.GET.get("format") == "csv":
        header = ("cluster", "account", "gpu_hours", "amount", "first_on", "last_on", "runs", "users")
        rows = [
            (r.cluster, r.account, r.gpu_hours, r.amount, r.first_on, r.last_on, r.runs_started, r.users_in_all)
            for r in shown
        ]
        return csv_file("unattributed", header, rows)
    context = {
        "crumbs": [*_crumbs(), {"label": _("Unattributed accounts")}],
        "rows": [(row, _map_url(row)) for row in shown],
        "total": reads.unclaimed_total(),
        "next_url": f"?{urlencode({'after': f'{last.milligpu_seconds}:{last.cluster}:{last.account}'})}"
        if last
        else "",
        "has_money": actor.may("money.view"),
        "may_change": actor.may(MapAccount.capability),
        "currency": installation().currency,
    }
    return render(request, "quality/unattributed.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def map_account(request: HttpRequest) -> HttpResponse:
    """One account's unclaimed use: choose a project and a day, see what would move, apply."""
    actor = _reader(request)
    given = request.POST if request.method == "POST" else request.GET
    if request.method == "POST":
        require(actor, MapAccount.capability)
    named = {name: given.get(name, "") for name in ("cluster", "account", "project")}
    pattern = {name: given.get(name, "*") for name in ("user", "qos")}
    change = MapAccount(**named, **pattern, from_on=_from(given))
    if request.method == "POST":
        return _applied(request, change, actor)
    parts = reads.parts_of(change.cluster, change.account)
    whole = reads.whole_of(parts)
    context = {
        "crumbs": [*_crumbs(), {"label": _("Unattributed accounts"), "url": reverse("quality-unattributed")}, {"label": change.account}],
        "parts": [(part, _map_url(part)) for part in ([whole, *parts] if whole else [])],
        "whole": whole,
        "first_on": whole.first_on if whole else None,
        "projects": [p for p in Project.objects.order_by("code") if p.code != UNATTRIBUTED],
        **_previewed(change, actor, bool(change.project)),
    }  # fmt: skip
    return render(request, "quality/map.html", context, status=context["status"])


@login_required
@require_GET
def unassigned(request: HttpRequest) -> HttpResponse:
    """Runs in no pool, by partition, with the pool that could claim them."""
    actor = _reader(request)
    first_on, last_on = _window(request)
    found = reads.unplaced(first_on, last_on)
    context = {
        "crumbs": [*_crumbs(), {"label": _("Unassigned runs")}],
        "found": found,
        "rows": [(row, _claim_url(row)) for row in found.rows],
        "may_change": actor.may(ClaimPartition.capability),
        **_days(first_on, last_on),
    }
    return render(request, "quality/unassigned.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def claim_partition(request: HttpRequest) -> HttpResponse:
    """One partition's runs: choose a pool and a day, see what would move, apply."""
    actor = _reader(request)
    given = request.POST if request.method == "POST" else request.GET
    if request.method == "POST":
        require(actor, ClaimPartition.capability)
    change = ClaimPartition(given.get("cluster", ""), given.get("partition", ""), given.get("pool", ""), _from(given))
    if request.method == "POST":
        return _applied(request, change, actor)
    label = change.partition or _("No partition given")
    context = {
        "crumbs": [*_crumbs(), {"label": _("Unassigned runs"), "url": reverse("quality-unassigned")}, {"label": label}],
        "label": label,
        "pools": Pool.objects.filter(cluster__code=change.cluster).order_by("code"),
        **_previewed(change, actor, bool(change.pool) and "from" in given),
    }
    return render(request, "quality/claim.html", context, status=context["status"])


@login_required
@require_GET
def progress(request: HttpRequest, cluster: str) -> HttpResponse:
    """How far metering and posting after a change are. The page may be left: workers do the work."""
    _reader(request)
    found = Cluster.objects.filter(code=cluster).first()
    if found is None:
        raise Http404
    items = WorkItem.objects.filter(kind="usage.meter", key=cluster) | WorkItem.objects.filter(
        kind="ledger.post", key="all"
    )
    shown = list(items.order_by("-kind"))
    dirty = DirtyDay.objects.filter(cluster=found).values("day").distinct().count()
    context = {
        "crumbs": [*_crumbs(), {"label": found.name}],
        "cluster": found,
        "items": [
            {"item": item, "word": words.of_work(item.kind), "tone": words.WORK_STATES[item.state], "error": work_reads.error_words(item)}
            for item in shown
        ],
        "dirty": dirty,
        "is_done": not dirty and not any(item.state in (WAITING, RUNNING) for item in shown),
    }  # fmt: skip
    return render(request, "quality/progress.html", context)


def _previewed(change: Change, actor: Actor, is_complete: bool) -> dict[str, Any]:
    """The change with its preview, or what is wrong with it in words."""
    found: Preview | None = None
    error: DomainError | None = None
    if is_complete:
        try:
            found = preview(change)
        except BadData as fault:
            error = fault
    names = {one.code: one.name for one in department_tree().values()} | {UNATTRIBUTED: _("Unattributed")}
    return {
        "change": change,
        "found": found,
        "rows": [(row, names.get(row.department, row.department)) for row in found.rows[:CHANGE_SHOWN]]
        if found
        else [],
        "more": max(len(found.rows) - CHANGE_SHOWN, 0) if found else 0,
        "error": _(error.message) % error.params if error else "",
        "status": error.status if error else 200,
        "has_money": actor.may("money.view"),
        "may_change": actor.may(change.capability),
        "currency": installation().currency,
    }


def _applied(request: HttpRequest, change: Change, actor: Actor) -> HttpResponse:
    marked = actions.apply(change, actor=actor)
    told = ngettext("Applied. %(days)s day is metered again.", "Applied. %(days)s days are metered again.", marked)
    messages.success(request, told % {"days": marked})
    return redirect("quality-progress", cluster=change.cluster)


def _reader(request: HttpRequest) -> Actor:
    """Who asks, where operations are theirs to see."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("operations.view"):
        raise Http404
    return actor


def _window(request: HttpRequest) -> tuple[date, date]:
    """The days asked for; without any, the last metered ones. Raises BadData."""
    if request.GET.get("from") or request.GET.get("to"):
        return days_of(request, ZoneInfo(installation().time_zone))
    first_on, last_on = days_of(request, ZoneInfo(installation().time_zone))
    return last_on - timedelta(days=reads.WINDOW_DAYS - 1), last_on


def _days(first_on: date, last_on: date) -> dict[str, Any]:
    return {"days": {"from": first_on.isoformat(), "to": last_on.isoformat()}}


def _from(given: Any) -> date | None:
    text = given.get("from", "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadData(N_("“%(text)s” is no day. Write 2026-06-30."), text=text) from None


def _cursor(request: HttpRequest) -> tuple[int, str, str] | None:
    """The last row of the page before; what is none begins at the start."""
    milli, _colon, rest = request.GET.get("after", "").partition(":")
    cluster, _colon, account = rest.partition(":")
    return (int(milli), cluster, account) if milli.isascii() and milli.isdigit() and len(milli) < 19 else None


def _map_url(row: reads.Unclaimed) -> str:
    given = {"cluster": row.cluster, "account": row.account, "user": row.user, "qos": row.qos}
    return f"{reverse('quality-map')}?{urlencode({**given, 'from': row.first_on})}"


def _claim_url(row: reads.Unplaced) -> str:
    given = {"cluster": row.cluster, "partition": row.partition, "from": row.first_on}
    first = {"pool": row.pools[0].code} if row.pools and row.is_sure else {}
    return f"{reverse('quality-claim')}?{urlencode({**given, **first})}"


def _crumbs(*, linked: bool = True) -> list[dict[str, Any]]:
    here = {"label": _("Data quality"), **({"url": reverse("quality")} if linked else {})}
    return [{"label": _("Resources and operations")}, here]


def _shown(cell: Any, zone: str) -> dict[str, Any]:
    """A cell as the reader has numbers, days and instants."""
    is_number = isinstance(cell, int | Decimal)
    if isinstance(cell, datetime):
        text = formats.at(cell, zone)
    elif isinstance(cell, date):
        text = formats.iso(cell)
    elif isinstance(cell, Decimal):
        text = formats.hours(cell)
    else:
        text = formats.n(cell) if is_number else str(cell) or formats.MISSING
    return {"text": text, "is_number": is_number}


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, int | date | Decimal) or cell is None else str(cell)
