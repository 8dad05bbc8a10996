"""Pages of projects and people."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from billing.ledger import scope
from billing.ledger.pages import ALL, Place, neighbours
from billing.ledger.reads import sees_money
from billing.ledger.rules import Span, span_of
from billing.ledger.views import latest_month
from governance.access.actor import Actor
from governance.access.named import in_language
from governance.catalogue.reads import installation
from governance.errors import N_, BadData
from governance.tenants.models import day_of_today, department_tree, held_departments, held_today
from portal.context import standing_of
from portal.navigation import ROLE_NAMES

from . import reads


@login_required
@require_GET
def projects(request: HttpRequest) -> HttpResponse:
    """The projects a reader may see: home, payers, and what the month came to."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    sees_use = standing_of(request, actor).holds("usage.view")
    if not (sees_use or actor.may("organisation.change")):
        raise Http404
    asked = {name: request.GET[name][:128] for name in ("q", "department") if request.GET.get(name)}
    period, today = request.GET.get("period") or latest_month(), day_of_today()
    found = reads.projects(actor, on=today, after=request.GET.get("after", "")[:64], **asked)
    codes = [project.code for project, _home in found.rows]
    used = reads.use(codes, span_of(period), "project", actor=actor) if sees_use else {}
    tree = department_tree()
    context = {
        "crumbs": [{"label": _("Use compute")}, {"label": _("Projects")}],
        "rows": [
            {
                "project": project,
                "home": tree[home.department_id] if home else None,
                "payers": _payers(home),
                "sums": used.get(project.code),
                "url": reverse("project", args=[project.code]),
                "ledger_url": _ledger_url(period, project.code),
            }
            for project, home in found.rows
        ],
        "sees_use": sees_use,
        "has_money": sees_use and sees_money(actor),
        "currency": installation().currency,
        "period": period,
        "pager": _pager(period, today, lambda other: f"?{_query(**asked, period=other)}"),
        "asked": asked,
        "departments": _departments(actor),
        "next_url": f"?{_query(**asked, period=request.GET.get('period', ''), after=found.after)}"
        if found.after
        else "",
    }
    return render(request, "tenants/projects.html", context)


@login_required
@require_GET
def project(request: HttpRequest, code: str) -> HttpResponse:
    """One project: homes and payers by day, mappings, members, and the month by pool."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    found = scope.project_of(code)
    declares = actor.may("organisation.change")
    if not declares or found is None:
        scope.require_project(actor, code)  # by its present or any past home; answers 404
    sees_use = actor.may("usage.view") or not declares
    period, today = request.GET.get("period") or latest_month(), day_of_today()
    used = reads.use([code], span_of(period), "pool", actor=actor) if sees_use else {}
    homes = reads.placements(found)
    # A department that was its home once sees its own past use, not who is in it today.
    is_open = declares or _is_theirs(actor, found, [row for row in homes if _holds(row, today)])
    tree = department_tree()
    place = Place(ALL, period, "pool", {"project": code})
    context = {
        "crumbs": [
            {"label": _("Use compute")},
            {"label": _("Projects"), "url": reverse("projects")},
            {"label": found.name},
        ],
        "project": found,
        "period": period,
        "pager": _pager(period, today, lambda other: f"?{_query(period=other)}"),
        "is_open": is_open,
        "homes": [
            {"row": row, "department": tree[row.department_id], "payers": _payers(row), "holds": _holds(row, today)}
            for row in (homes if is_open else [])
        ],
        "mappings": [{"row": row, "holds": _holds(row, today)} for row in (reads.mappings(found) if is_open else [])],
        "members": [
            {"row": row, "role": ROLE_NAMES.get(row.role, row.role), "holds": _holds(row, today)}
            for row in (reads.members(found) if is_open else [])
        ],
        "sees_names": reads.sees_directory(actor),
        "sees_use": sees_use,
        "has_money": sees_use and sees_money(actor),
        "currency": installation().currency,
        "rows": [(row, _opened(place, pool, span_of(period))) for pool, row in used.items()],
        "hours": sum((row.gpu_hours for row in used.values()), Decimal(0)),
        "runs": sum(row.runs_started for row in used.values()),
        "amount": sum((row.amount for row in used.values()), Decimal(0)),
        "ledger_url": place.url(),
    }
    return render(request, "tenants/project.html", context)


@login_required
@require_GET
def people(request: HttpRequest) -> HttpResponse:
    """The directory: persons, their roles with days, their logins."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not reads.sees_directory(actor):
        raise Http404
    asked = {name: request.GET[name][:128] for name in ("q", "role") if request.GET.get(name)}
    if asked.get("role", "member") not in ROLE_NAMES:
        raise BadData(N_("“%(role)s” is no role."), role=asked["role"])
    found, today = reads.people(after=request.GET.get("after", "")[:150], **asked), day_of_today()
    standing = standing_of(request, actor)
    sees_pools = standing.holds("usage.view") or standing.holds("capacity.view")
    context = {
        "crumbs": [{"label": _("Settings and audit")}, {"label": _("People")}],
        "rows": [{"row": row, "roles": [_role(role, today, sees_pools) for role in row.roles]} for row in found.rows],
        "asked": asked,
        "roles": list(ROLE_NAMES.items()),
        "next_url": f"?{_query(**asked, after=found.after)}" if found.after else "",
    }
    return render(request, "tenants/people.html", context)


def _is_theirs(actor: Actor, project: Any, homes: list[Any]) -> bool:
    """Whether the actor sees the project as it is today: by the site, a grant on it, or its present home."""
    if actor.may("usage.view") or {row.department_id for row in homes} & set(held_departments(actor, "usage.view")):
        return True
    return any(held.gives("usage.view", "project") and held.node == project.pk for held in held_today(actor))


def _opened(place: Place, pool: str, span: Span) -> dict[str, str]:
    """Where a pool's row leads: the ledger, and the runs."""
    filters = {**place.filters, "pool": pool}
    return {"ledger": place.url(by="day", filters=filters), "runs": place.runs_url(filters, span)}


def _role(role: reads.Role, today: date, sees_pools: bool) -> dict[str, Any]:
    return {
        "role": role,
        "word": ROLE_NAMES.get(role.role, role.role),
        "on": _("the whole site") if role.scope == "site" else in_language(role.name_zh, role.name_en) or role.code,
        "url": reverse("catalog-pool", args=[role.code]) if role.scope == "pool" and sees_pools else "",
        "holds": _holds(role, today),
        "is_past": role.to_on is not None and role.to_on <= today,
    }


def _payers(home: Any) -> list[tuple[str, Any]]:
    """Paying departments by name with their percent; the home department where no shares are set."""
    if home is None:
        return []
    tree = department_tree()
    shares = [(tree[share.department_id].name, share.percent) for share in home.payers.all()]
    return shares or [(tree[home.department_id].name, 100)]


def _holds(row: Any, day: date) -> bool:
    return (row.from_on is None or row.from_on <= day) and (row.to_on is None or day < row.to_on)


def _departments(actor: Actor) -> list[Any]:
    """Departments to narrow the list by: those the reader may see."""
    tree = department_tree()
    if actor.may("usage.view") or actor.may("organisation.change"):
        return sorted(tree.values(), key=lambda one: one.code)
    return sorted((tree[pk] for pk in held_departments(actor, "usage.view")), key=lambda one: one.code)


def _ledger_url(period: str, code: str) -> str:
    return Place(ALL, period, "pool", {"project": code}).url()


def _pager(period: str, today: date, url: Any) -> dict[str, Any]:
    before, after = neighbours(period, today)
    return {"period": period, "before": url(before) if before else "", "after": url(after) if after else ""}


def _query(**given: str) -> str:
    return urlencode({name: value for name, value in given.items() if value})
