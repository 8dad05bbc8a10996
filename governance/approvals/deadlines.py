"""What time does to asks: reminders before a deadline, escalation after it, expiry, decisions that come back from who left.

Each ask is a transaction of its own, so that one that fails keeps none of the others. Running it again changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from governance.access.actor import Actor
from governance.errors import NotTheMoment
from governance.tenants.models import day_of_today

from . import effects, rules, stages, telling
from .locking import lines_of, locked, note
from .models import Ask, Named, Stage
from .resolving import Deciders, Resolver, deciders

log = logging.getLogger(__name__)

#: Hours before a deadline at which it is told of; each once, however often one looks.
REMIND_HOURS = (24, 4)


def sweep(now: datetime, *, actor: Actor, step: Callable[[int, int], None] | None = None) -> int:
    """Look after every ask that time has come for; answers how many were moved. The last fault is raised after all were looked at."""
    due = Q(stages__is_open=True) | Q(expires_at__lte=now, state__in=(*rules.OPEN, rules.State.RETURNED))
    asks = list(Ask.objects.filter(due, decided_at__isnull=True).order_by("pk").distinct().values_list("pk", flat=True))
    moved, fault = 0, None
    for done, pk in enumerate(asks, start=1):
        try:
            moved += look_after(Ask(pk=pk).number, now, actor=actor)
        except Exception as error:  # one ask must not keep the others
            log.exception("ask %s", pk)
            fault = error
        if step is not None:
            step(done, len(asks))
    if fault is not None:
        raise fault
    return moved


@transaction.atomic
def look_after(number: str, now: datetime, *, actor: Actor) -> int:
    """What time asks of one ask; 1 where it was moved."""
    ask = locked(number, actor)
    if ask.state in rules.FINAL or ask.state == rules.State.DRAFT:
        return 0
    if _is_over(ask, now):
        return _expire(ask, actor)
    stage = stages.open_of(ask)
    if stage is None:
        return 0
    moved = _rehome(ask, stage, actor)
    found = deciders(stage)
    if stage.is_stuck != found.is_short:
        stage.is_stuck = found.is_short
        stage.save(update_fields=["is_stuck"])
        if found.is_short:
            telling.stuck(ask, stage)
    if found.standing.is_passed and not found.is_short:
        return _advance(ask, stage, actor)  # who was missing has left
    if stage.due_at is not None and now >= stage.due_at:
        return _escalate(ask, stage, found, actor)
    _remind(ask, stage, found, now)
    return moved


def _is_over(ask: Ask, now: datetime) -> bool:
    if ask.expires_at is not None and ask.expires_at <= now:
        return True
    ends = [line.left.to_on for line in ask.lines.all()]
    return bool(ends) and all(end is not None and end <= day_of_today() for end in ends)


def _expire(ask: Ask, actor: Actor) -> int:
    before, stage = ask.state, stages.open_of(ask)
    told = [telling.author(ask)]
    if stage is not None:
        told += telling.deciding(deciders(stage))
        stages.close(stage)
    ask.state = rules.after(before, "expire", number=ask.number)
    ask.decided_at = timezone.now()
    note(ask, "expire", actor=actor, before=before, stage=stage)
    telling.expired(ask, told)
    return 1


def _remind(ask: Ask, stage: Stage, found: Deciders, now: datetime) -> None:
    assert stage.due_at is not None
    for hours in REMIND_HOURS:
        if now >= stage.due_at - timedelta(hours=hours):
            telling.reminded(ask, stage, found, f"{stage.pk}/{stage.escalated}/{hours}h")


def _escalate(ask: Ask, stage: Stage, found: Deciders, actor: Actor) -> int:
    """Ask one scope further, with as much time again. At the top of the ladder the administrators hear of it."""
    stage.escalated += 1
    stage.due_at = stages.due(timezone.now(), stage.hours)
    stage.save(update_fields=["escalated", "due_at"])
    wider = deciders(stage)
    is_top = wider.steps == found.steps
    stage.is_stuck = wider.is_short or is_top
    stage.save(update_fields=["is_stuck"])
    steps = [f"{step.role}@{step.scope}" for step in wider.steps]
    note(ask, "escalate", actor=actor, stage=stage, before=ask.state, raises=False, asks=steps, is_top=is_top)
    telling.escalated(ask, stage, wider)
    if is_top and not wider.is_short:
        telling.stuck(ask, stage)
    return 1


def _rehome(ask: Ask, stage: Stage, actor: Actor) -> int:
    """End what was handed to, or added for, somebody who has left or sees the ask no more: it is with the others again."""
    resolver = Resolver([stage])
    gone = [
        row
        for row in Named.objects.filter(stage=stage, ended_at__isnull=True).select_related("person", "instead_of")
        if not resolver.sees(row.person_id, stage)
    ]
    for row in gone:
        row.ended_at, row.end_reason = timezone.now(), "left or moved"
        row.save()
        note(ask, "rehome", actor=actor, stage=stage, before=ask.state, person=row.person, raises=False, how=row.how)
    if gone:
        telling.rehomed(ask, stage, deciders(stage))
    return min(len(gone), 1)


def _advance(ask: Ask, stage: Stage, actor: Actor) -> int:
    """Go on from a stage that has passed without a further decision."""
    before, following = ask.state, stages.following(stage)
    if following is not None:
        stages.close(stage)
        ask.state = rules.after(before, "approve", number=ask.number)
        note(ask, "approve", actor=actor, before=before, stage=stage)
        telling.asked(ask, following, stages.open_stage(following))
        return 1
    lines = lines_of(ask)
    try:
        with transaction.atomic():
            effects.apply(ask, lines, actor=actor, today=day_of_today())
    except NotTheMoment:
        return 0  # no room at the moment: it stays with those who could decide, and expires if it must
    stages.close(stage)
    ask.state = rules.after(before, "award", number=ask.number)
    ask.decided_at = timezone.now()
    note(ask, "award", actor=actor, before=before, stage=stage, awarded=effects.left_of(lines))
    telling.settled(ask, "approved", lines)
    return 1
