"""One run's page: what was used (governance) beside what it comes to (billing)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from billing.prices.reads import rated
from governance.access.actor import Actor
from governance.catalogue.reads import installation
from governance.tenants.models import Project
from governance.usage import reads
from governance.usage.views import job_context


@login_required
def job(request: HttpRequest, cluster: str, job_id: str, submit: int) -> HttpResponse:
    """A run from submit to end, its attempts, the days it was counted on with their prices, and the raw record."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    found = reads.run(cluster, job_id, submit, actor=actor)
    context, money = job_context(found), money_of(found, actor)
    for day, price in zip(context["days"], money.pop("prices"), strict=True):
        day["price"] = price
    return render(request, "usage/job.html", context | money)


def money_of(found: reads.RunDetail, actor: Actor) -> dict[str, Any]:
    """Prices and amounts of the days whose project's money the reader may see; nothing of the others."""
    projects = Project.objects.visible_to(actor, "money.view").filter(code__in={use.project for use in found.days})
    seen = set(projects.values_list("code", flat=True))
    days = [day if day.use.project in seen else None for day in rated(found.days, found.run.qos)]
    shown = [day for day in days if day is not None]
    return {
        "prices": days,
        "has_money": bool(shown),
        "is_unpriced": any(day.amount is None and day.use.milligpu_seconds for day in shown),
        "total_amount": sum((day.amount for day in shown if day.amount is not None), Decimal(0)),
        "currency": installation().currency,
    }
