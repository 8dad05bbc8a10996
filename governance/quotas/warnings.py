"""Telling holders that a quota ends, has ended, or is used beyond what it allows. Each once, however often one looks; a day that
was missed is made up for on the next."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from governance.notices.outbox import publish
from governance.notices.registry import Recipient
from governance.tenants.audience import holders
from governance.tenants.models import Project

from . import rules
from .enforcement.models import DRAINING, EnforcedLimit
from .models import Quota
from .reads import expiring

#: How far back an end is told of, where the days between were missed.
LOOK_BACK = timedelta(days=14)
OWN_ROLES = ("member", "lead")


@transaction.atomic
def warn(day: date) -> int:
    """Tell what is to be told on a day; answers how many people were told anew."""
    told = 0
    for quota, days in expiring(day):
        told += _tell(
            "quota.expiring", quota, f"{quota.to_on}/{days}", left=(quota.to_on - day).days if quota.to_on else 0
        )
    for quota in _ended(day):
        told += _tell(
            "quota.ended", quota, f"{quota.to_on}", how=quota.ended_as or rules.EXPIRED, reason=quota.end_reason
        )
    for limit in EnforcedLimit.objects.filter(state=DRAINING):
        numbers = [int(number.removeprefix("Q-")) for number in limit.quotas]
        for quota in Quota.objects.filter(pk__in=numbers).select_related("project", "pool"):
            told += _tell("quota.over", quota, f"{limit.pk}/{limit.wanted_at.isoformat()}", clear_at=limit.clear_at)
    return told


def _ended(day: date) -> list[Quota]:
    """Lines that have ended in the last days and not in favour of another one."""
    lines = Quota.objects.filter(is_void=False, to_on__lte=day, to_on__gt=day - LOOK_BACK).exclude(
        ended_as=rules.REPLACED
    )
    lines = lines.select_related("project", "pool").prefetch_related("pauses")
    return [line for line in lines if line.state_on(day) == rules.ENDED and not _has_successor(line)]


def _has_successor(line: Quota) -> bool:
    """Whether another line held the same from the day on which this one ended."""
    same = Quota.objects.filter(project=line.project, pool=line.pool, model=line.model, level=line.level, is_void=False)
    return same.filter(Q(to_on__isnull=True) | Q(to_on__gt=line.to_on), from_on__lte=line.to_on).exists()


def _tell(event: str, quota: Quota, threshold: str, **more: Any) -> int:
    facts = {"number": quota.number, "project": quota.project.name, "pool": quota.pool.name, "end": quota.to_on, **more}
    return publish(event, quota.number, holders_of(quota.project), threshold, facts)


def holders_of(project: Project) -> list[Recipient]:
    """Whom a quota concerns: the project's members and leads; who approves for it, where it has neither."""
    found = holders("quota.view", project)
    own = [one for one in found if one.role in OWN_ROLES]
    return own or [one for one in found if one.role == "approver"]
