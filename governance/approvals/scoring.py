"""What a decision foresaw beside what came, 14 and 30 days after its award began; and how a policy's decisions turned out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q, Sum

from governance.access.actor import Actor
from governance.audit.actions import record as audit
from governance.quotas.models import Quota
from governance.quotas.reads import use_of
from governance.quotas.rules import Days
from governance.tenants.models import day_of_today
from governance.usage.models import UsageDay, Watermark

from . import rules
from .models import Ask, AskLine, Decision, Score

AFTER_DAYS = (14, 30)
#: Use within so many percent of what was foreseen counts as foreseen.
TOLERANCE_PERCENT = 20
AS_FORESEEN, BELOW, ABOVE, NOT_KNOWN = "as_foreseen", "below", "above", "unknown"


def score(now: datetime, *, actor: Actor, step: Callable[[int, int], None] | None = None) -> int:
    """Score every settled award whose 14th or 30th day lies behind and is metered; answers how many were. Twice changes nothing."""
    todo = [
        (pk, days)
        for days in AFTER_DAYS
        for pk in _ripe(days).exclude(scores__after_days=days).values_list("pk", flat=True)
    ]
    done = 0
    for number, (pk, days) in enumerate(todo, start=1):
        done += _score(pk, days, actor)
        if step is not None:
            step(number, len(todo))
    return done


def _ripe(days: int) -> Any:
    last = day_of_today() - timedelta(days=days)
    return (
        Decision.objects.filter(is_last=True, verdict="approve", ask__state=rules.State.APPROVED)
        .exclude(ask__kind__in=(rules.Kind.RETURN, rules.Kind.KEEP))
        .filter(ask__lines__made__from_on__lte=last)
        .order_by("pk")
        .distinct()
    )


@transaction.atomic
def _score(pk: int, days: int, actor: Actor) -> int:
    decision = Decision.objects.select_related("ask").get(pk=pk)
    lines = AskLine.objects.filter(ask=decision.ask_id, made__isnull=False).select_related(
        "made__pool", "made__project", "made__model"
    )
    quotas = [line.made for line in lines if line.made is not None]
    window = [Days(quota.from_on, quota.from_on + timedelta(days=days)) for quota in quotas]
    if not quotas or not all(_is_metered(quota, days.to_on) for quota, days in zip(quotas, window, strict=True)):
        return 0
    uses = [use_of(quota, days) for quota, days in zip(quotas, window, strict=True)]
    held = sum(quota.guaranteed_gpus or quota.ceiling_gpus for quota in quotas)
    used = sum((use.p95 or Decimal(0) for use in uses), Decimal(0))
    foreseen = list(decision.predicted.get("lines", ()))
    expected = sum((Decimal(line["used_p95_gpus"]) for line in foreseen), Decimal(0)) if foreseen else None
    actual = {
        "holds_gpus": held,
        "used_p95_gpus": str(used.quantize(Decimal("0.1"))),
        "used_percent": str((used * 100 / held).quantize(Decimal("0.1"))) if held else None,
        "wait_capacity_hours": _wait(quotas[0], window[0]),
    }
    made, is_new = Score.objects.get_or_create(
        decision=decision,
        after_days=days,
        defaults={"predicted": decision.predicted, "actual": actual, "verdict": verdict(expected, used)},
    )
    if is_new:
        audit(
            actor,
            "ask.score",
            "ask",
            decision.ask.number,
            after={"after_days": days, "verdict": made.verdict, **actual},
        )
    return int(is_new)


def verdict(expected: Decimal | None, used: Decimal) -> str:
    """How use compares with what was foreseen, ±20 %."""
    if expected is None:
        return NOT_KNOWN
    margin = expected * TOLERANCE_PERCENT / 100
    if used < expected - margin:
        return BELOW
    return ABOVE if used > expected + margin else AS_FORESEEN


def _is_metered(quota: Quota, until: date | None) -> bool:
    mark = (
        Watermark.objects.filter(cluster=quota.pool.cluster, stage="metered").values_list("until_at", flat=True).first()
    )
    return mark is not None and until is not None and mark.date() >= until


def _wait(quota: Quota, days: Days) -> str | None:
    rows = UsageDay.objects.filter(
        project_id=quota.project.code, pool_id=quota.pool.code, day__gte=days.from_on, day__lt=days.to_on
    ).aggregate(waited=Sum("wait_capacity_seconds"), started=Sum("runs_started"))
    if not rows["started"]:
        return None
    return str((Decimal(rows["waited"]) / 3600 / rows["started"]).quantize(Decimal("0.01")))


@dataclass
class Outcome:
    """How the decisions under a policy version turned out."""

    asks: int = 0
    by_state: dict[str, int] = field(default_factory=dict)
    by_rule: dict[str, int] = field(default_factory=dict)
    scores: dict[int, dict[str, int]] = field(default_factory=dict)  # days after -> verdict -> decisions
    median_hours: Decimal | None = None  # from submit to the outcome
    over_due: int = 0  # stages that were escalated


def outcome(version: int, *, actor: Actor) -> Outcome:
    """Of the asks that the actor sees."""
    asks = Ask.objects.visible_to(actor).filter(policy__version=version)
    rows = list(asks.values_list("pk", "state", "policy_rule", "submitted_at", "decided_at"))
    found = Outcome(asks=len(rows))
    found.by_state = dict(Counter(row[1] for row in rows))
    found.by_rule = dict(Counter(row[2] for row in rows))
    lengths = sorted((row[4] - row[3]).total_seconds() for row in rows if row[3] and row[4])
    if lengths:
        found.median_hours = (Decimal(lengths[len(lengths) // 2]) / 3600).quantize(Decimal("0.1"))
    for days, said in Score.objects.filter(decision__ask__in=asks).values_list("after_days", "verdict"):
        by = found.scores.setdefault(days, {})
        by[said] = by.get(said, 0) + 1
    found.over_due = asks.filter(Q(stages__escalated__gt=0)).distinct().count()
    return found
