"""Lines of quota as an actor sees them, for pages and doors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import DateField, ExpressionWrapper, F, Q, QuerySet

from governance.access.actor import Actor
from governance.audit.models import AuditLine
from governance.errors import N_, BadData

from . import rules, using
from .models import Quota
from .shown import PoolHeld, Row, by_pool

FILTERS = ("project", "pool", "level", "state")
STANDING = "standing"
ORDER = ("project__code", "pool__code", "level", "from_on", "id")


def lines(actor: Actor, day: date, asked: Mapping[str, Any]) -> QuerySet[Quota]:
    """Lines the actor may see that agree with `asked` (project, pool, level, state on the day; "standing": not ended, and the default)."""
    rows = (
        Quota.objects.visible_to(actor).select_related("project", "pool__cluster", "model").prefetch_related("pauses")
    )
    for name in ("project", "pool"):
        if asked.get(name):
            rows = rows.filter(**{f"{name}__code": asked[name]})
    if asked.get("level"):
        if asked["level"] not in rules.LEVELS:
            raise BadData(
                N_("“%(value)s” is no level. There are: %(known)s."),
                value=asked["level"],
                known=", ".join(rules.LEVELS),
            )
        rows = rows.filter(level=asked["level"])
    return in_state(rows, asked.get("state") or STANDING, day)


def in_state(rows: QuerySet[Quota], state: str, day: date) -> QuerySet[Quota]:
    """Those in a state on a day, as `rules.state_on` has it."""
    held = Q(Q(to_on__isnull=True) | Q(to_on__gt=day), from_on__lte=day)
    rows = rows.annotate(grace_until=ExpressionWrapper(F("to_on") + F("grace_days"), output_field=DateField()))
    grace = Q(ended_as="", to_on__lte=day, grace_until__gt=day)
    paused = Q(Q(pauses__to_on__isnull=True) | Q(pauses__to_on__gt=day), pauses__from_on__lte=day)
    paused_lines = Quota.objects.filter(paused).values("pk")
    chosen = {
        STANDING: Q(from_on__gt=day) | held | grace,
        rules.SCHEDULED: Q(from_on__gt=day),
        rules.ACTIVE: held & ~Q(pk__in=paused_lines),
        rules.SUSPENDED: held & Q(pk__in=paused_lines),
        rules.GRACE: grace,
        "all": Q(),
    }
    if state == rules.ENDED:
        return rows.filter(Q(is_void=True) | ~chosen[STANDING])
    if state not in chosen:
        known = ", ".join((STANDING, *rules.STATES, "all"))
        raise BadData(N_("“%(value)s” is no state of quotas. There are: %(known)s."), value=state, known=known)
    return rows.filter(chosen[state]) if state == "all" else rows.filter(chosen[state], is_void=False)


def rows_of(found: Sequence[Quota], day: date, *, days: int = using.WINDOW_DAYS) -> list[Row]:
    """The lines with their state and the use of the last `days`. A few questions for any number."""
    use = using.use_of_lines(found, day, days=days)
    return [Row(line, day, line.state_on(day), use[line.pk]) for line in found]


def place(quota: Quota) -> list[Quota]:
    """Every line that the project ever had of the same pool, model and level, void ones too, in the order they were made."""
    same = Quota.objects.filter(project=quota.project, pool=quota.pool, model=quota.model, level=quota.level)
    found = same.select_related("project", "pool__cluster", "model").prefetch_related("pauses")
    return list(found.order_by("from_on", "pk"))


@dataclass(frozen=True)
class Deed:
    """Something that was done to a line: when, who, what, which line, its amounts before and after, why, by which ask."""

    id: int
    at: datetime
    who: str
    is_machine: bool
    action: str
    number: str
    before: dict[str, Any]
    after: dict[str, Any]
    why: str
    ask: str


AMOUNTS = ("guaranteed_gpus", "ceiling_gpus", "gpu_hours", "hours_period", "from_on", "to_on")


def deeds(found: Sequence[Quota]) -> list[Deed]:
    """All that was done to these lines, the latest first, from the trail: whoever sees a quota sees how it came to be so."""
    numbers = [line.number for line in found]
    trail = AuditLine.objects.filter(object_kind="quota", object_code__in=numbers).order_by("pk")
    amounts: dict[str, dict[str, Any]] = {}
    made = []
    for one in trail:
        after = one.after or {}
        replaced = after.get("replaces") or []
        before = amounts.get(one.object_code) or next((amounts[n] for n in replaced if n in amounts), {})
        now = {name: after.get(name) for name in AMOUNTS}
        amounts[one.object_code] = now
        why = after.get("override") or after.get("note") or after.get("reason") or ""
        made.append(
            Deed(
                one.pk,
                one.at,
                one.actor,
                one.is_machine,
                one.action,
                one.object_code,
                before,
                now,
                why,
                after.get("ask") or "",
            )
        )
    return made[::-1]


def own_pools(actor: Actor, day: date, *, most: int = 500) -> list[PoolHeld]:
    """What the projects that the actor sees hold today, by pool, with its use on the last metered day. Two questions."""
    held = Quota.objects.visible_to(actor).held_on(day).select_related("pool")
    found = list(held.order_by("pk")[:most])
    use = using.use_of_lines(found, day, days=1)
    return by_pool((line, use[line.pk]) for line in found)
