"""Opening, closing and passing stages. Deadlines count working hours by the calendar and the site's own days."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone

from governance.catalogue.reads import installation

from . import calendar, policy
from .calendar import Hours
from .models import Ask, AskLine, CalendarDay, Stage
from .policy import StagePlan
from .resolving import Deciders, deciders


def make(ask: Ask, plans: tuple[StagePlan, ...], lines: list[AskLine]) -> list[Stage]:
    """The stages of a round, in order; one that asks a pool's people is made once for each pool."""
    pools = list({line.pool_id: line.pool for line in lines}.values())
    wanted = [(plan, pool) for plan in plans for pool in (pools if plan.who.scope == policy.POOL else [None])]
    rows = [
        Stage(
            ask=ask,
            round=ask.round,
            position=position,
            code=plan.code,
            name_zh=plan.name.get("zh", ""),
            name_en=plan.name.get("en", ""),
            role=plan.who.role,
            scope=plan.who.scope,
            scope_code=plan.who.code,
            pool=pool,
            rule=plan.rule,
            k=plan.k,
            hours=plan.hours,
            escalate=str(plan.escalate) if plan.escalate else "",
            another_hand=plan.another_hand,
        )
        for position, (plan, pool) in enumerate(wanted, start=1)
    ]
    return Stage.objects.bulk_create(rows)


def open_stage(stage: Stage) -> Deciders:
    """Let a stage ask from now on; answers whom."""
    now = timezone.now()
    stage.is_open, stage.opened_at, stage.due_at = True, now, due(now, stage.hours)
    stage.save()
    found = deciders(stage)
    stage.is_stuck = found.is_short
    stage.save(update_fields=["is_stuck"])
    return found


def close(stage: Stage) -> None:
    """Let a stage ask nobody any more."""
    stage.is_open, stage.is_stuck, stage.closed_at = False, False, timezone.now()
    stage.save(update_fields=["is_open", "is_stuck", "closed_at"])


def following(stage: Stage) -> Stage | None:
    """The next stage of the round."""
    return (
        Stage.objects.filter(ask=stage.ask_id, round=stage.round, position__gt=stage.position)
        .order_by("position")
        .first()
    )


def open_of(ask: Ask) -> Stage | None:
    """The stage that asks now."""
    return Stage.objects.filter(ask=ask, is_open=True).first()


def due(start: datetime, hours: float) -> datetime:
    """When so many working hours have passed."""
    zone = ZoneInfo(installation().time_zone)
    return calendar.add_hours(start, hours, zone, of=settings.CALENDAR, own=own_days(), working=working_hours())


def own_days() -> dict[date, bool]:
    """The site's own working days and days off."""
    return dict(CalendarDay.objects.values_list("day", "is_working"))


def working_hours() -> Hours:
    """The hours of a working day, from the settings; 09:00 to 18:00 where they do not say it rightly."""
    try:
        begin, end = (time.fromisoformat(part) for part in settings.WORKING_HOURS.split("-"))
    except ValueError:
        return Hours()
    return Hours(begin, end) if begin < end else Hours()
