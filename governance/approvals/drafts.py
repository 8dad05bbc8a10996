"""Writing a draft: save as often as one likes, copy an earlier ask. A draft may be incomplete; submitting asks for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.catalogue.models import Pool
from governance.errors import N_, BadData, NotAllowed, NotFound
from governance.quotas import rules as quotas
from governance.quotas.actions import model_of
from governance.quotas.models import Quota
from governance.quotas.reads import quota_of
from governance.tenants.models import UNATTRIBUTED, Project, day_of_today

from . import rules
from .completeness import base_of, fill_days
from .locking import locked, note, want_version
from .models import Ask, AskLine

MOST_LINES = 20
LONGEST_TEXT = 4000
NOT_A_PERSON = N_("An ask is a person's. Sign in, or show a personal token.")
NOT_YOURS = N_("Only its author changes and submits an ask. Copy it to make one of your own.")
NO_KIND = N_("“%(value)s” is no kind of ask.")
NO_LEVEL = N_("“%(value)s” is not a level or a period of quotas.")
NO_POOL = N_("There is no pool “%(code)s”.")
NO_PROJECT = N_("There is no project “%(code)s”.")
OTHERS_QUOTA = N_("The quota %(number)s belongs to another project.")
TOO_MANY_LINES = N_("An ask has at most %(most)s lines.")
TOO_LONG = N_("A text of an ask has at most %(most)s characters.")
BAD_AMOUNTS = N_("Line %(line)s: guaranteed GPUs lie between 0 and the ceiling; GPU-hours are a whole number.")


@dataclass(frozen=True)
class LineGiven:
    """A line as it is given: codes, whole GPUs and GPU-hours, days [from_on, to_on). `quota`: the number of the one it changes.

    With a quota, its pool, model and level count, and what is left out is as the quota has it.
    """

    pool: str = ""
    model: str = ""
    level: str = quotas.NORMAL
    guaranteed_gpus: int = 0
    ceiling_gpus: int | None = None  # None: as many as are guaranteed
    gpu_hours: int | None = None
    hours_period: str = quotas.MONTH
    from_on: date | None = None
    to_on: date | None = None
    quota: str = ""


@dataclass(frozen=True)
class Given:
    """An ask as it is given."""

    kind: str
    project: str
    lines: Sequence[LineGiven] = ()
    goal: str = ""
    basis: str = ""
    confirmed_by: str = ""
    accepts_less: bool = False


@transaction.atomic
def save(given: Given, *, actor: Actor, number: str = "", version: int | None = None) -> Ask:
    """Make a draft, or write over one's own (also one that was returned). Nothing of it is anybody else's to see before it is submitted."""
    if actor.person is None:
        raise NotAllowed(NOT_A_PERSON)
    ask = locked(number, actor) if number else None
    project = _project(given.project, actor)
    require(actor, "ask.make", project)
    if ask is None:
        ask = Ask(asked_by=actor.person)
        before = ""
    else:
        want_author(ask, actor)
        want_version(ask, version)
        before = ask.state
        rules.after(ask.state, "save", number=ask.number)
    _check_texts(given)
    ask.kind, ask.project = rules.Kind(given.kind).value, project
    ask.goal, ask.basis, ask.confirmed_by = given.goal, given.basis, given.confirmed_by[:300]
    ask.accepts_less, ask.saved_at = given.accepts_less, timezone.now()
    ask.save()
    ask.lines.all().delete()
    AskLine.objects.bulk_create([_line(ask, position, one, actor) for position, one in enumerate(given.lines, start=1)])
    note(ask, "save", actor=actor, before=before)
    return ask


def unsaved(given: Given, *, actor: Actor) -> tuple[Ask, list[AskLine]]:
    """An ask as it is given, of which nothing is kept: for checks while a form is filled in. Amounts of its quotas stand as bases."""
    project = _project(given.project, actor)
    require(actor, "ask.make", project)
    _check_texts(given)
    ask = Ask(kind=given.kind, project=project, goal=given.goal, accepts_less=given.accepts_less)
    lines = [_line(ask, position, one, actor) for position, one in enumerate(given.lines, start=1)]
    for line in lines:
        if line.quota is not None:
            line.base = base_of(line.quota).as_dict()
            fill_days(given.kind, line, line.quota, day_of_today())
    return ask, lines


@transaction.atomic
def copy(number: str, *, actor: Actor) -> Ask:
    """A draft of one's own with what an earlier ask said; days that lie behind are left open."""
    if actor.person is None:
        raise NotAllowed(NOT_A_PERSON)
    source = locked(number, actor)
    require(actor, "ask.make", source.project)
    lines = list(source.lines.all())
    made = Ask.objects.create(
        kind=source.kind,
        project=source.project,
        asked_by=actor.person,
        goal=source.goal,
        basis=source.basis,
        confirmed_by=source.confirmed_by,
        accepts_less=source.accepts_less,
        copied_from=source,
    )
    for line in lines:
        line.pk, line.ask, line._state.adding = None, made, True
        line.from_on = line.to_on = line.base = line.offering = line.made = None
        line.awarded_guaranteed_gpus = line.awarded_ceiling_gpus = line.awarded_gpu_hours = line.awarded_to_on = None
    AskLine.objects.bulk_create(lines)
    note(made, "save", actor=actor, copied_from=source.number)
    return made


def want_author(ask: Ask, actor: Actor) -> None:
    """Raise NotAllowed unless it is the actor's own ask, and still theirs to make."""
    if actor.person is None or ask.asked_by_id != actor.person.pk:
        raise NotAllowed(NOT_YOURS)
    require(actor, "ask.make", ask.project)


def _project(code: str, actor: Actor) -> Project:
    found = Project.objects.visible_to(actor, "ask.view").exclude(code=UNATTRIBUTED).filter(code=code).first()
    if found is None:
        raise NotFound(NO_PROJECT, code=code[:64])
    return found


def _check_texts(given: Given) -> None:
    if given.kind not in {kind.value for kind in rules.Kind}:
        raise BadData(NO_KIND, value=given.kind[:32])
    if len(given.lines) > MOST_LINES:
        raise BadData(TOO_MANY_LINES, most=MOST_LINES)
    if max(len(given.goal), len(given.basis)) > LONGEST_TEXT:
        raise BadData(TOO_LONG, most=LONGEST_TEXT)


def _line(ask: Ask, position: int, given: LineGiven, actor: Actor) -> AskLine:
    if given.level not in quotas.LEVELS or given.hours_period not in quotas.PERIODS:
        raise BadData(NO_LEVEL, value=f"{given.level}, {given.hours_period}"[:64])
    ceiling = given.guaranteed_gpus if given.ceiling_gpus is None else given.ceiling_gpus
    if not 0 <= given.guaranteed_gpus <= ceiling < 2**31 or not 0 <= (given.gpu_hours or 0) < 2**53:
        raise BadData(BAD_AMOUNTS, line=position)
    line = AskLine(
        ask=ask,
        position=position,
        level=given.level,
        guaranteed_gpus=given.guaranteed_gpus,
        ceiling_gpus=ceiling,
        gpu_hours=given.gpu_hours,
        hours_period=given.hours_period,
        from_on=given.from_on,
        to_on=given.to_on,
    )
    if given.quota:
        return _of_quota(line, quota_of(given.quota, actor))
    pool = Pool.objects.filter(code=given.pool, cluster__isnull=False).first()
    if pool is None:
        raise NotFound(NO_POOL, code=given.pool[:64])
    line.pool, line.model = pool, model_of(given.model, pool)
    return line


def _of_quota(line: AskLine, quota: Quota) -> AskLine:
    if quota.project_id != line.ask.project_id:
        raise BadData(OTHERS_QUOTA, number=quota.number)
    line.quota, line.pool, line.model, line.level = quota, quota.pool, quota.model, quota.level
    line.hours_period = quota.hours_period
    if line.ask.kind in (rules.Kind.EXTEND, rules.Kind.KEEP):
        line.guaranteed_gpus, line.ceiling_gpus = quota.guaranteed_gpus, quota.ceiling_gpus
        line.gpu_hours = quota.gpu_hours
    return line
