"""What a case brought: measured seven days after it was applied, from the facts of those days."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from governance.access.actor import Actor
from governance.audit.actions import record as audit
from governance.quotas import reads as quotas
from governance.quotas.rules import Days
from governance.tenants.models import day_of_today
from governance.usage.models import UsageDay

from . import rules, telling
from .models import ReclaimCase


def measure_due(*, actor: Actor) -> int:
    """Measure every case that was applied seven days ago or earlier; answers how many. Running it again measures none twice."""
    before = timezone.now() - timedelta(days=rules.MEASURE_DAYS)
    due = ReclaimCase.objects.filter(state=rules.APPLIED, made__isnull=False, applied_at__lte=before).values_list(
        "pk", flat=True
    )
    for pk in list(due):
        with transaction.atomic():
            case = (
                ReclaimCase.objects.select_for_update(of=("self",))
                .select_related("made", "made__pool", "made__project", "made__model", "project", "pool")
                .get(pk=pk)
            )
            if case.state != rules.APPLIED:
                continue
            case.effect, case.measured_at, case.state = effect_of(case), timezone.now(), rules.MEASURED
            case.save()
            audit(actor, "reclaim.measure", "reclaim case", case.number, after=case.effect)
            telling.tell("reclaim.measured", case)
    return len(due)


def effect_of(case: ReclaimCase) -> dict[str, Any]:
    """Figures of the seven days from the day it was applied.

    freed_gpus: of the guarantee that is still lower, what the project did not use in those days (a freed GPU counts when it is
    free): max(0, guarantee before - max(p95 of use, guarantee now)), at most what was taken. wait_quota_seconds: what its runs waited for
    their own quota. was_wrong: its use reached beyond what it was left with, or it waited.
    """
    assert case.made is not None and case.applied_at is not None
    first = timezone.localdate(case.applied_at)
    days = Days(first, min(first + timedelta(days=rules.MEASURE_DAYS), day_of_today()))
    use = quotas.use_of(case.made, days)
    p95 = use.p95 or Decimal(0)
    left = case.made.guaranteed_gpus
    facts = UsageDay.objects.filter(
        project_id=case.project.code, pool_id=case.pool.code, day__gte=days.from_on, day__lt=days.to_on
    )
    waited = facts.aggregate(total=Sum("wait_quota_seconds"))["total"] or 0
    freed = max(Decimal(0), min(Decimal(case.gpus), left + case.gpus - max(p95, Decimal(left))))
    return {
        "window": [days.from_on.isoformat(), days.to_on.isoformat() if days.to_on else ""],
        "freed_gpus": str(freed.quantize(Decimal("0.01"))),
        "p95": str(p95.quantize(Decimal("0.001"))),
        "wait_quota_seconds": waited,
        "was_wrong": bool(p95 > left or waited > 0),
    }
