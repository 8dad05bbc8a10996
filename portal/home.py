"""The home page: what each role opens the portal for, of what exists; a person of several roles sees each part once."""

from __future__ import annotations

from heapq import nsmallest
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from billing.ledger.pages import ALL, UNATTRIBUTED, Place, Table
from billing.ledger.rules import span_of
from billing.ledger.views import latest_month
from governance.access.actor import Actor
from governance.access.rules import Role
from governance.quotas.listing import own_pools
from governance.tenants.models import day_of_today, logins_of
from portal import home_month, home_reads, navigation
from portal.context import standing_of
from portal.navigation import Standing

ROWS = 12
#: For whom the month's ledger comes first; operations see their own questions before it.
FIGURES_FIRST = frozenset({Role.LEADERSHIP, Role.FINANCE, Role.APPROVER, Role.VIEWER, Role.LEAD, Role.MEMBER})
#: Whose own quotas stand at home; all others find them under Quotas.
HOLDERS = frozenset({Role.MEMBER, Role.LEAD, Role.APPROVER})


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """What the reader's roles ask first; what an empty installation needs; or that no role shows anything."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    standing = standing_of(request, actor)
    context: dict[str, Any] = {"crumbs": [{"label": _("Home")}], "standing": standing}
    has_figures = standing.holds("usage.view")
    context |= _operations(standing)
    if standing.through is None and not context.get("operations"):
        context["state"] = "empty"
        return render(request, "portal/home_empty.html", context)
    own = home_reads.own_jobs(actor) if logins_of(actor) and not actor.may("run.view") else None
    context["own"] = own
    if standing.roles & HOLDERS:
        context["held"] = own_pools(actor, day_of_today())
    if standing.through is not None:
        context |= _capacity(standing, actor)
        if has_figures:
            context |= _month(standing, actor)
    if not has_figures:
        context |= {"ways": _ways(standing)}
        if not standing.roles and not (own and own.rows):
            context["state"] = "nothing" if not standing.has_login else "jobs"
            return render(request, "portal/home_empty.html", context)
    return render(request, "portal/home.html", context)


def _month(standing: Standing, actor: Actor) -> dict[str, Any]:
    """The last metered month: figures, projects, six months, exceptions; for finance what is open, for leadership four figures."""
    period = latest_month()
    of_month = home_month.month(period, actor=actor)
    found = of_month.statement
    place = Place(ALL, period, "project", {})
    largest = nsmallest(ROWS, found.rows, key=lambda row: -row.sums.milligpu_seconds)
    has_money = found.total.amount is not None
    context: dict[str, Any] = {
        "statement": found,
        "total": found.total,
        "has_money": has_money,
        "months": of_month.bars,
        "has_accrued": bool(found.total.accrued),
        "period": period,
        "rows": Table(found, place).rows(largest),
        "more": max(len(found.rows) - ROWS, 0),
        "by_word": _("Project"),
        "all_url": place.url(),
        "unattributed_url": Place(ALL, period, "account", {"project": UNATTRIBUTED}).url(),
        "unassigned_url": Place(ALL, period, "account", {"pool": "unassigned"}).url(),
        "is_leadership": Role.LEADERSHIP in standing.roles,
        "figures_first": bool(standing.roles & FIGURES_FIRST),
    }
    if Role.FINANCE in standing.roles:
        context["closing"] = home_reads.closing(period, of_month.unposted, actor=actor)
    if Role.LEADERSHIP in standing.roles:
        context["supply"] = home_reads.supply(span_of(period))
        context["queue"] = home_reads.queue()
    return context


def _operations(standing: Standing) -> dict[str, Any]:
    if not standing.roles & {Role.OPERATOR, Role.ADMINISTRATOR}:
        return {}
    found = home_reads.operations()
    return {"operations": found} if found.clusters else {}


def _capacity(standing: Standing, actor: Actor) -> dict[str, Any]:
    if Role.CAPACITY_MANAGER not in standing.roles:
        return {}
    return {"pools": home_reads.pools(span_of(latest_month()), actor=actor), "period": latest_month()}


def _ways(standing: Standing) -> list[navigation.Entry]:
    """What a reader without figures may open."""
    return [entry for entry in navigation.entries(standing) if "home" not in entry.views]
