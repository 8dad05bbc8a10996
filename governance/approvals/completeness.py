"""Whether an ask can be submitted: each line made whole by its kind, with the quota it changes and the offering it is of."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.db.models import Q

from governance.errors import N_, BadData, BadItems, DomainError
from governance.quotas import rules as quotas
from governance.quotas.actions import standing
from governance.quotas.models import Offering, Quota

from . import rules
from .models import Ask, AskLine
from .rules import Amounts, Kind

LONGEST_BURST = 92  # days
NO_LINES = N_("The ask has no line: say what shall be held.")
NO_GOAL = N_("Say what it is for and when it is due: whoever decides reads that first.")
NO_QUOTA = N_("Line %(line)s: name the quota that it changes.")
NO_DAYS = N_("Line %(line)s: name the first day and the day on which it ends.")
DAYS_TURNED = N_("Line %(line)s: it ends before it begins.")
IN_THE_PAST = N_("Line %(line)s: its days lie behind. Today is %(today)s.")
NO_GPUS = N_("Line %(line)s: ask for at least one GPU.")
NOT_MORE = N_("Line %(line)s: it asks for no more than the quota %(number)s has. Ask for more, or for an extension.")
NOT_LESS = N_("Line %(line)s: what is left after a return is less than the quota %(number)s has, and nothing is more.")
NOT_LONGER = N_("Line %(line)s: the quota %(number)s ends on %(end)s; an extension ends later.")
OPEN_END = N_("Line %(line)s: the quota %(number)s has no end, so nothing is to be extended.")
BEYOND_QUOTA = N_(
    "Line %(line)s: the quota %(number)s ends on %(end)s. Ask for an extension as well, or end on that day."
)
TOO_LONG_BURST = N_("Line %(line)s: a burst lasts at most %(most)s days. Ask for an increase instead.")
SAME_PLACE = N_("Lines %(lines)s are for the same pool, model and level. Make them one.")
ELASTIC = N_("Line %(line)s: elastic guarantees nothing. Give a ceiling only.")
NOT_OFFERED = N_(
    "Line %(line)s: the pool “%(pool)s” does not offer the level “%(level)s” to your department on %(day)s."
)
OFF_STEP = N_(
    "Line %(line)s: the offering “%(offering)s” comes in steps of %(step)s GPUs from %(least)s: take %(lower)s or %(upper)s."
)
OVER_MOST = N_("Line %(line)s: the offering “%(offering)s” gives at most %(most)s GPUs at once.")
OVER_DAYS = N_("Line %(line)s: the offering “%(offering)s” is for at most %(most)s days.")


def complete(ask: Ask, lines: list[AskLine], *, today: date, departments: Iterable[str]) -> None:
    """Make each line whole, in place. Raises BadItems with everything that is missing or does not fit."""
    found: list[BadData] = []
    if not lines:
        found.append(BadData(NO_LINES))
    if ask.kind != Kind.RETURN and not ask.goal.strip():
        found.append(BadData(NO_GOAL))
    places: dict[tuple[Any, ...], list[int]] = {}
    for line in lines:
        places.setdefault((line.pool_id, line.model_id, line.level), []).append(line.position)
        found += _faults_of_line(ask.kind, line, today)
    found += [BadData(SAME_PLACE, lines=", ".join(str(p) for p in same)) for same in places.values() if len(same) > 1]
    if not found:
        found = _faults_of_offerings(ask.kind, lines, list(departments))
    if found:
        raise BadItems(found)


def _faults_of_line(kind: str, line: AskLine, today: date) -> list[BadData]:
    where: dict[str, Any] = {"line": line.position}
    quota = None
    if line.quota_id is not None:
        try:
            quota = standing(Quota(pk=line.quota_id).number, today)
        except DomainError as fault:
            return [BadData(fault.message, **fault.params)]
        line.base = base_of(quota).as_dict()
    elif kind in rules.CHANGING:
        return [BadData(NO_QUOTA, **where)]
    fill_days(kind, line, quota, today)
    needs_end = quota is None or quota.to_on is not None or kind in (Kind.BURST, Kind.KEEP)
    if line.from_on is None or (line.to_on is None and needs_end):
        return [BadData(NO_DAYS, **where)]
    if line.to_on is not None and line.to_on <= line.from_on:
        if kind == Kind.EXTEND and quota is not None:
            return [BadData(NOT_LONGER, number=quota.number, end=quota.to_on, **where)]
        return [BadData(DAYS_TURNED, **where)]
    if line.from_on < today or (line.to_on is not None and line.to_on <= today):
        return [BadData(IN_THE_PAST, today=today, **where)]
    if line.level == quotas.ELASTIC and line.guaranteed_gpus:
        return [BadData(ELASTIC, **where)]
    return _faults_of_amounts(kind, line, quota)


def base_of(quota: Quota) -> Amounts:
    """A quota's amounts, which an ask is based on."""
    return Amounts(quota.guaranteed_gpus, quota.ceiling_gpus, quota.gpu_hours, quota.from_on, quota.to_on)


def fill_days(kind: str, line: AskLine, quota: Quota | None, today: date) -> None:
    """What the kind says of the days, where nothing was given."""
    if quota is None:
        return
    if kind == Kind.EXTEND:
        line.from_on = max(quota.to_on, today) if quota.to_on else None
        line.guaranteed_gpus, line.ceiling_gpus = quota.guaranteed_gpus, quota.ceiling_gpus
        line.gpu_hours = quota.gpu_hours
    elif kind == Kind.RETURN:
        line.from_on, line.to_on = max(line.from_on or today, quota.from_on), quota.to_on
    else:
        line.from_on = max(line.from_on or today, quota.from_on)
        if kind == Kind.INCREASE and line.to_on is None:
            line.to_on = quota.to_on


def _faults_of_amounts(kind: str, line: AskLine, quota: Quota | None) -> list[BadData]:
    where: dict[str, Any] = {"line": line.position}
    if quota is not None:
        where["number"] = quota.number
    now, base = line.asked, line.before
    more = now.guaranteed_gpus > base.guaranteed_gpus or now.ceiling_gpus > base.ceiling_gpus
    fewer = now.guaranteed_gpus < base.guaranteed_gpus or now.ceiling_gpus < base.ceiling_gpus
    hours_more = base.gpu_hours is not None and (now.gpu_hours is None or now.gpu_hours > base.gpu_hours)
    hours_fewer = now.gpu_hours is not None and (base.gpu_hours is None or now.gpu_hours < base.gpu_hours)
    if kind == Kind.RETURN:
        return [BadData(NOT_LESS, **where)] if more or hours_more or not (fewer or hours_fewer) else []
    if now.ceiling_gpus == 0:
        return [BadData(NO_GPUS, line=line.position)]
    if quota is None:
        too_long = kind == Kind.BURST and rules.days_of(now) > LONGEST_BURST
        return [BadData(TOO_LONG_BURST, most=LONGEST_BURST, **where)] if too_long else []
    if kind == Kind.EXTEND:
        return [] if quota.to_on is not None else [BadData(OPEN_END, **where)]
    if kind in (Kind.INCREASE, Kind.BURST):
        if fewer or not (more or hours_more):
            return [BadData(NOT_MORE, **where)]
        if quota.to_on is not None and (line.to_on is None or line.to_on > quota.to_on):
            return [BadData(BEYOND_QUOTA, end=quota.to_on, **where)]
        if kind == Kind.BURST and rules.days_of(now) > LONGEST_BURST:
            return [BadData(TOO_LONG_BURST, most=LONGEST_BURST, **where)]
    return []


def offering_of(line: AskLine, day: date, departments: Iterable[str]) -> tuple[Offering | None, bool]:
    """(the offering that the line is of on a day, whether its pool offers anything then). Open to all, or to one of the departments."""
    found = None
    rows = Offering.objects.on(day).filter(pool=line.pool_id).prefetch_related("departments")
    wanted, any_offered = set(departments), False
    for one in rows:
        any_offered = True
        open_to = {department.code for department in one.departments.all()}
        if one.level == line.level and (not open_to or open_to & wanted):
            found = one
    return found, any_offered


def _faults_of_offerings(kind: str, lines: list[AskLine], departments: list[str]) -> list[BadData]:
    if kind in (Kind.RETURN, Kind.KEEP):
        return []
    found: list[BadData] = []
    for line in lines:
        assert line.from_on is not None
        line.offering, any_offered = offering_of(line, line.from_on, departments)
        if line.offering is not None:
            found += limit_faults(kind, line.position, line.offering, line.asked, line.before)
        elif any_offered:
            where = {"line": line.position, "pool": line.pool.name, "level": line.level}
            found.append(BadData(NOT_OFFERED, day=line.from_on, **where))
    return found


def limit_faults(kind: str, line: int, offering: Offering, now: Amounts, base: Amounts) -> list[BadData]:
    """Where amounts do not keep to the limits of the offering. Limits of GPUs are of what an ask adds; an extension adds none."""
    where: dict[str, Any] = {"line": line, "offering": offering.name}
    found = []
    gpus = rules.added_gpus(kind, now, base)
    step, least = offering.step_gpus, offering.min_gpus
    if kind != Kind.EXTEND and gpus > 0:
        if gpus % step or gpus < least:
            lower = max(gpus // step * step, -(-least // step) * step)
            found.append(BadData(OFF_STEP, step=step, least=least, lower=lower, upper=lower + step, **where))
        if offering.max_gpus is not None and gpus > offering.max_gpus:
            found.append(BadData(OVER_MOST, most=offering.max_gpus, **where))
    if offering.max_days is not None and rules.days_of(now) > offering.max_days:
        found.append(BadData(OVER_DAYS, most=offering.max_days, **where))
    return found


def still_offered(line: AskLine, day: date) -> bool:
    """Whether the offering that the line was submitted under still stands on a day; one that was of none always does."""
    if line.offering_id is None:
        return True
    return Offering.objects.filter(Q(to_on__isnull=True) | Q(to_on__gt=day), pk=line.offering_id).exists()
