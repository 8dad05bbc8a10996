"""Writes of quotas. Each locks its pool, so that two awards never promise the same room; each asks the scheduler's side to follow.

`award` is for those who hold the right on the pool. `lay` is the same for callers that have decided by their own rules
(approvals, reclaim): they name the ask or the case, and who decided stands in the audit line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import AcceleratorModel, Pool
from governance.catalogue.reads import installation, today
from governance.errors import N_, BadData, NotFound, NotTheMoment
from governance.schedulers.registry import SCHEDULERS
from governance.tenants.models import UNATTRIBUTED, Placement, Project
from governance.work import actions as work

from . import rules
from .models import Quota, QuotaPause
from .rooms import room
from .rules import Days

NO_ROOM = N_(
    "The pool “%(pool)s” has room for %(room)s of the %(asked)s guaranteed GPUs on %(day)s: %(promised)s of %(capacity)s are promised."
    " Ask for fewer, for a later day or for another pool, or award it with a reason if you hold that right."
)
NO_ROOM_IN_SHARE = N_(
    "The share of the department “%(department)s” in the pool “%(pool)s” has room for %(room)s of the %(asked)s guaranteed GPUs on %(day)s."
    " Give back what the department does not use, or raise its share."
)
HELD_ALREADY = N_(
    "The project already holds the quota %(number)s of this pool on some of these days. Change that one instead of adding another."
)
NOT_STANDING = N_("The quota %(number)s is not in force or ahead on %(day)s: there is nothing to change.")


@dataclass(frozen=True)
class Terms:
    """What is to be held: codes, whole GPUs, whole GPU-hours of a period, the days [from_on, to_on)."""

    project: str
    pool: str
    guaranteed_gpus: int
    ceiling_gpus: int
    from_on: date
    to_on: date | None = None
    model: str = ""
    level: str = rules.NORMAL
    gpu_hours: int | None = None
    hours_period: str = rules.MONTH

    @property
    def days(self) -> Days:
        """The days it is for."""
        return Days(self.from_on, self.to_on)


def award(terms: Terms, *, actor: Actor, note: str = "", override: str = "") -> Quota:
    """Give a project a quota that it does not hold yet. Raises NotTheMoment where it does, or where there is no room.

    `override`: a reason to go beyond the room; needs the right to.
    """
    require(actor, "quota.award", pool_of(terms.pool))
    if override:
        require(actor, "quota.override", pool_of(terms.pool))
    return lay(terms, actor=actor, note=note, override=override, may_replace=False)


def change(number: str, *, on: date, actor: Actor, note: str = "", override: str = "", **amounts: Any) -> Quota:
    """Give a standing line other amounts, or another end, from the day `on`. `amounts` are fields of Terms."""
    quota = standing(number, on)
    require(actor, "quota.award", quota.pool)
    if override:
        require(actor, "quota.override", quota.pool)
    terms = replace(terms_of(quota), **{"from_on": max(on, quota.from_on), **amounts})
    return lay(terms, actor=actor, note=note, override=override)


@transaction.atomic
def lay(
    terms: Terms,
    *,
    actor: Actor,
    ask: str = "",
    note: str = "",
    override: str = "",
    may_replace: bool = True,
    ended_as: str = rules.REPLACED,
) -> Quota:
    """Lay a line over what the project holds of the same pool, model and level: on its days it alone holds.

    Before and after them nothing changes.

    Room is asked under the pool's lock, unless `override` gives a reason. `ended_as` says what the lines it covers end as.
    Raises BadData, NotFound, NotTheMoment; then nothing is written.
    """
    _check(terms)
    pool = pool_of(terms.pool, lock=True)
    project = _project(terms.project)
    model = model_of(terms.model, pool)
    covered = _covered(project, pool, model, terms)
    if covered and not may_replace:
        raise NotTheMoment(HELD_ALREADY, number=covered[0].number)
    if not override:
        _want_room(terms, pool, project, without=tuple(line.pk for line in covered))
    first = covered[0] if covered else None
    rests = [rest for line in covered if (rest := _cut_out(line, terms.days, ended_as, note))]
    made = Quota.objects.create(
        project=project,
        pool=pool,
        model=model,
        level=terms.level,
        guaranteed_gpus=terms.guaranteed_gpus,
        ceiling_gpus=terms.ceiling_gpus,
        gpu_hours=terms.gpu_hours,
        hours_period=terms.hours_period,
        from_on=terms.from_on,
        to_on=terms.to_on,
        grace_days=settings.QUOTA_GRACE_DAYS,
        ask=ask,
        override_reason=override[:500],
        replaces=first,
    )
    for rest in rests:
        rest.replaces = made
        rest.save()
    _tell(actor, "quota.award", made, note=note, override=override, replaces=[line.number for line in covered])
    follow(pool, actor)
    return made


@transaction.atomic
def end(number: str, *, on: date, ended_as: str, reason: str, actor: Actor) -> Quota:
    """End a line on the day `on` as returned or revoked, by somebody who holds the right on its pool, or returned by its project's lead."""
    quota = standing(number, on)
    if ended_as == rules.RETURNED:
        require(actor, "quota.return", quota.project)
    else:
        require(actor, "quota.award", quota.pool)
    return end_decided(number, on=on, ended_as=ended_as, reason=reason, actor=actor)


@transaction.atomic
def end_decided(number: str, *, on: date, ended_as: str, reason: str, actor: Actor, source: str = "") -> Quota:
    """End a line for a caller that decided by its own rules; `source` is the number of its ask or case."""
    if ended_as not in rules.ENDS or ended_as == rules.EXPIRED:
        raise BadData(N_("“%(value)s” is no way for a quota to end."), value=ended_as)
    if not reason.strip():
        raise BadData(N_("Say why the quota ends: its holders will read it."))
    quota = standing(number, on, lock=True)
    if on <= quota.from_on:
        quota.is_void = True
    else:
        quota.to_on = on
    quota.ended_as, quota.end_reason = ended_as, reason[:300]
    quota.save()
    _tell(actor, "quota.end", quota, ended_as=ended_as, reason=reason, source=source)
    follow(quota.pool, actor)
    return quota


@transaction.atomic
def suspend(number: str, *, from_on: date, to_on: date | None, reason: str, actor: Actor) -> None:
    """Let nothing start on a line on the days [from_on, to_on); what runs goes on."""
    quota = standing(number, from_on, lock=True)
    require(actor, "quota.award", quota.pool)
    if not reason.strip():
        raise BadData(N_("Say why the quota is suspended: its holders will read it."))
    want_days(from_on, to_on)
    wanted = Days(from_on, to_on)
    if any(wanted.meets(Days(pause.from_on, pause.to_on)) for pause in quota.pauses.all()):
        raise NotTheMoment(N_("The quota %(number)s is suspended on some of these days already."), number=number)
    QuotaPause.objects.create(quota=quota, from_on=from_on, to_on=to_on, reason=reason[:300])
    _tell(actor, "quota.suspend", quota, from_on=from_on, to_on=to_on, reason=reason)
    follow(quota.pool, actor)


@transaction.atomic
def resume(number: str, *, on: date, actor: Actor) -> None:
    """End the suspension that holds on the day `on`."""
    quota = standing(number, on, lock=True)
    require(actor, "quota.award", quota.pool)
    for pause in quota.pauses.all():
        if Days(pause.from_on, pause.to_on).has(on):
            if pause.from_on == on:
                pause.delete()
            else:
                pause.to_on = on
                pause.save()
            _tell(actor, "quota.resume", quota, on=on)
            follow(quota.pool, actor)
            return
    raise NotTheMoment(N_("The quota %(number)s is not suspended on %(day)s."), number=number, day=on)


def standing(number: str, on: date, *, lock: bool = False) -> Quota:
    """The line with this number, if it is in force, in grace or ahead on the day `on`. Raises BadData, NotFound, NotTheMoment."""
    want_days(on, None)
    digits = number.removeprefix("Q-")
    lines = Quota.objects.select_related("project", "pool", "model")
    quota = lines.filter(pk=int(digits)).first() if digits.isdecimal() and len(digits) < 18 else None
    if quota is None:
        raise NotFound(N_("There is no quota “%(number)s”."), number=number)
    if lock:  # the pool first, as every writer does
        pool_of(quota.pool.code, lock=True)
        quota = lines.select_for_update(of=("self",)).get(pk=quota.pk)
    if quota.state_on(on) == rules.ENDED:
        raise NotTheMoment(NOT_STANDING, number=number, day=on)
    return quota


def terms_of(quota: Quota) -> Terms:
    """A line's terms."""
    return Terms(
        project=quota.project.code,
        pool=quota.pool.code,
        model=quota.model.code if quota.model else "",
        level=quota.level,
        guaranteed_gpus=quota.guaranteed_gpus,
        ceiling_gpus=quota.ceiling_gpus,
        gpu_hours=quota.gpu_hours,
        hours_period=quota.hours_period,
        from_on=quota.from_on,
        to_on=quota.to_on,
    )


def _check(terms: Terms) -> None:
    if terms.level not in rules.LEVELS or terms.hours_period not in rules.PERIODS:
        raise BadData(
            N_("“%(value)s” is not a level or a period of quotas."), value=f"{terms.level}, {terms.hours_period}"
        )
    want_days(terms.from_on, terms.to_on)
    if not 0 <= terms.guaranteed_gpus <= terms.ceiling_gpus < 2**31 or not (0 <= (terms.gpu_hours or 0) < 2**53):
        raise BadData(N_("Guaranteed GPUs lie between 0 and the ceiling; GPU-hours are a whole number."))
    if terms.level == rules.ELASTIC and terms.guaranteed_gpus:
        raise BadData(N_("An elastic quota guarantees nothing: give it a ceiling only."))


def want_days(from_on: date | None, to_on: date | None) -> None:
    """Raise BadData unless the days lie in order and in the time that quotas know; None is open."""
    if from_on is not None and to_on is not None and to_on <= from_on:
        raise BadData(N_("The last day lies before the first."))
    for day in (from_on, to_on):
        if day is not None and not rules.FIRST_DAY <= day <= rules.LAST_DAY:
            raise BadData(N_("Days lie between %(first)s and %(last)s."), first=rules.FIRST_DAY, last=rules.LAST_DAY)


def pool_of(code: str, *, lock: bool = False) -> Pool:
    """The pool with this code, locked against other writers of its quotas where asked. Raises NotFound; *unassigned* is none."""
    # NO KEY: rows that refer to the pool, such as facts, may be written meanwhile.
    pools = Pool.objects.select_for_update(no_key=True) if lock else Pool.objects
    pool = pools.filter(code=code, cluster__isnull=False).first()
    if pool is None:
        raise NotFound(N_("There is no pool “%(code)s”."), code=code)
    return pool


def _project(code: str) -> Project:
    project = Project.objects.exclude(code=UNATTRIBUTED).filter(code=code).first()
    if project is None:
        raise NotFound(N_("There is no project “%(code)s”."), code=code)
    return project


def model_of(code: str, pool: Pool) -> AcceleratorModel | None:
    """The pool's model with this code, None for "". Raises BadData where the pool has none of it."""
    if not code:
        return None
    model = pool.accelerators.filter(code=code).first()
    if model is None:
        raise BadData(N_("The pool “%(pool)s” has no GPUs of the model “%(model)s”."), pool=pool.code, model=code[:64])
    return model


def _covered(project: Project, pool: Pool, model: AcceleratorModel | None, terms: Terms) -> list[Quota]:
    lines = Quota.objects.select_for_update().filter(
        project=project, pool=pool, model=model, level=terms.level, is_void=False
    )
    lines = lines.filter(Q(to_on__isnull=True) | Q(to_on__gt=terms.from_on))
    if terms.to_on is not None:
        lines = lines.filter(from_on__lt=terms.to_on)
    return list(lines.order_by("from_on"))


def _want_room(terms: Terms, pool: Pool, project: Project, *, without: tuple[int, ...]) -> None:
    before = Quota.objects.filter(pk__in=without)
    if not terms.guaranteed_gpus or _asks_for_no_more(terms, list(before)):
        return
    home = (
        Placement.objects.on(today(installation())).filter(project=project).values_list("department", flat=True).first()
    )
    found = room(pool, terms.days, model=terms.model, home=home, without=without)
    if terms.guaranteed_gpus <= found.gpus:
        return
    raise NotTheMoment(
        NO_ROOM_IN_SHARE if found.share_of else NO_ROOM,
        pool=pool.name,
        department=found.share_of,
        room=max(found.gpus, 0),
        asked=terms.guaranteed_gpus,
        day=found.on,
        promised=found.promised,
        capacity=found.capacity,
    )


def _asks_for_no_more(terms: Terms, lines: list[Quota]) -> bool:
    """Whether it only lowers what one standing line holds on the same days: that must go through in a pool promised too far."""
    return any(
        line.guaranteed_gpus >= terms.guaranteed_gpus
        and line.from_on <= terms.from_on
        and (line.to_on is None or (terms.to_on is not None and terms.to_on <= line.to_on))
        for line in lines
    )


def _cut_out(line: Quota, days: Days, ended_as: str, note: str) -> Quota | None:
    """Take `days` out of a line; answers the part after them as a line not saved yet, if there is one."""
    rest = None
    if days.to_on is not None and (line.to_on is None or line.to_on > days.to_on):
        rest = Quota.objects.get(pk=line.pk)
        rest.pk, rest._state.adding = None, True
        rest.from_on = days.to_on
    if line.from_on < days.from_on:
        line.to_on = days.from_on
    else:
        line.is_void = True
    line.ended_as, line.end_reason = ended_as, note[:300]
    line.save()
    return rest


def _tell(actor: Actor, action: str, quota: Quota, **facts: Any) -> None:
    audit(actor, action, "quota", quota.number, after={**terms_of(quota).__dict__, "ask": quota.ask, **facts})


def follow(pool: Pool, actor: Actor) -> None:
    """Ask for the limits of the pool's cluster to follow, after the commit; a cluster known from files has none."""
    if pool.cluster is not None and pool.cluster.scheduler_kind in SCHEDULERS:
        work.ask("quotas.enforce", pool.cluster.code, actor=actor)
