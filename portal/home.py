"""The home page: what this month has come to, of what the reader may see."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from billing.ledger import reads
from billing.ledger.pages import ALL, Place, Table
from billing.ledger.views import latest_month
from governance.access.actor import Actor
from portal.context import standing_of

ROWS = 12


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The last metered month by project, largest first; what an empty installation needs; or that no role shows it."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    standing = standing_of(request, actor)
    context: dict[str, Any] = {"crumbs": [{"label": _("Home")}], "standing": standing}
    if standing.through is None or not standing.holds("usage.view"):
        context["state"] = "empty" if standing.through is None else "nothing" if not standing.has_login else "jobs"
        return render(request, "portal/home_empty.html", context)
    period = latest_month()
    found = reads.statement(period, ("project",), actor=actor)
    place = Place(ALL, period, "project", {})
    rows = sorted(Table(found, place).rows(), key=lambda row: -row.row.sums.milligpu_seconds)
    context |= {
        "statement": found,
        "total": found.total,
        "has_money": found.total.amount is not None,
        "has_accrued": bool(found.total.accrued),
        "period": period,
        "rows": rows[:ROWS],
        "more": max(len(rows) - ROWS, 0),
        "by_word": _("Project"),
        "all_url": place.url(),
        "unattributed_url": Place(ALL, period, "account", {"project": "unattributed"}).url(),
        "unassigned_url": Place(ALL, period, "account", {"pool": "unassigned"}).url(),
    }
    return render(request, "portal/home.html", context)
