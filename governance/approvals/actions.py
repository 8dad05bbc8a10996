"""Deciding: approve (all of it or less), return, reject. Each locks the ask, then what it awards; the version settles who was first.

Of two approvers at once one decides and the other is told what happened. The last approval asks for room again in the same
transaction; beyond the room it goes only with a reason and the right to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.errors import N_, BadData, NotAllowed, NotTheMoment
from governance.tenants.models import day_of_today

from . import effects, foresight, rules, stages, telling
from .completeness import limit_faults
from .drafts import copy, save
from .locking import lines_of, locked, note, want_version
from .models import Ask, AskLine, Decision, Stage
from .resolving import Deciders, Resolver, Seat, absent, seat
from .rules import Amounts
from .submitting import submit

__all__ = ["Award", "approve", "copy", "reject", "return_to_author", "save", "submit"]

OWN_ASK = N_("It is your own ask. Somebody else decides it, also where you act for another.")
NO_SEAT = N_("This stage asks others: %(who)s. Ask one of them, or have it handed over to you.")
DECIDED = N_(
    "You have decided on this stage of %(number)s already. A decision is not taken back; comment, or wait for the others."
)
SAY_WHY = N_("Say why: the author, and whoever decides the next ask, will read it.")
LESS_NEEDS_WORDS = N_("Say why it is less than was asked: the author reads it beside the award.")
NO_LINE = N_("The ask has no line %(line)s.")
OTHER_POOL = N_("This stage decides about the pool “%(pool)s”; line %(line)s is of another one.")
TWO_LINES = N_("Line %(line)s is given twice.")


@dataclass(frozen=True)
class Award:
    """What a line is awarded instead of what was asked; None leaves a figure as it is. 0 GPUs refuse the line."""

    position: int
    guaranteed_gpus: int | None = None
    ceiling_gpus: int | None = None
    gpu_hours: int | None = None
    to_on: date | None = None


@dataclass(frozen=True)
class _Held:
    """An ask in hand: its open stage, who decides it, and the actor's seat."""

    ask: Ask
    stage: Stage
    deciders: Deciders
    seat: Seat


@transaction.atomic
def approve(
    number: str,
    *,
    actor: Actor,
    version: int | None = None,
    awards: tuple[Award, ...] = (),
    comment: str = "",
    override: str = "",
) -> Ask:
    """Agree on the open stage, with less where `awards` say so; the agreement that completes the last stage awards the quota.

    `override`: a reason to go beyond the room there is; needs the right on every pool of the ask. Raises NotAllowed for who
    has no seat, NotTheMoment where another was first, where there is no room, where what it is based on has moved.
    """
    held = _hold(number, "approve", actor, version)
    ask, lines = held.ask, lines_of(held.ask)
    if override:
        for line in lines:
            require(actor, "quota.override", line.pool)
        ask.override_reason, ask.override_by = override[:500], actor.name
    _award_less(held, lines, awards, comment)
    foreseen = foresight.predict(ask, lines)
    last = _completes(held)
    _decide(held, actor, "approve", comment, lines=lines, predicted=foreseen, is_last=last, override=override)
    if not _passes(held):
        _note_agreed(held, actor, comment, lines)
        return ask
    stages.close(held.stage)
    following = stages.following(held.stage)
    if following is not None:
        _note_agreed(held, actor, comment, lines)
        telling.asked(ask, following, stages.open_stage(following))
        return ask
    effects.apply(ask, lines, actor=actor, today=day_of_today())
    before, ask.state = ask.state, rules.after(ask.state, "award", number=ask.number)
    ask.decided_at = timezone.now()
    facts = {"awarded": effects.left_of(lines), "override": ask.override_reason}
    _note(held, "award", actor, before, comment, **facts)
    telling.settled(ask, "approved", lines)
    return ask


@transaction.atomic
def return_to_author(number: str, *, actor: Actor, comment: str, version: int | None = None) -> Ask:
    """Give it back to its author, who may submit it again as the next revision; says what is missing."""
    held = _hold(number, "return", actor, version)
    _want_words(comment)
    return _settle(held, actor, "return", rules.State.RETURNED, comment)


@transaction.atomic
def reject(number: str, *, actor: Actor, comment: str, version: int | None = None) -> Ask:
    """Refuse it for good; says why."""
    held = _hold(number, "reject", actor, version)
    _want_words(comment)
    return _settle(held, actor, "reject", rules.State.REJECTED, comment)


def _settle(held: _Held, actor: Actor, verdict: str, state: rules.State, comment: str) -> Ask:
    ask, before = held.ask, held.ask.state
    lines = lines_of(ask)
    _decide(held, actor, verdict, comment, lines=lines, predicted={}, is_last=True)
    stages.close(held.stage)
    ask.state = rules.after(before, verdict, number=ask.number)
    if state in rules.FINAL:
        ask.decided_at = timezone.now()
    _note(held, verdict, actor, before, comment)
    telling.settled(ask, "returned" if verdict == "return" else "rejected", lines, comment=comment)
    return ask


def _hold(number: str, move: str, actor: Actor, version: int | None) -> _Held:
    """Lock, may I, is it the moment. Who could decide on any stage of the round hears what happened; all others, that they may not."""
    ask = locked(number, actor)
    if actor.person is not None and actor.person.pk == ask.asked_by_id:
        raise NotAllowed(OWN_ASK)
    round_ = list(Stage.objects.filter(ask=ask, round=ask.round).order_by("position"))
    resolver = Resolver(round_)
    found = {stage.pk: resolver.of(stage) for stage in round_}
    opened = next((stage for stage in round_ if stage.is_open), None)
    deputises = absent(actor)
    mine = _seat(ask, opened, found[opened.pk], actor, deputises) if opened else None
    if mine is None and not _had_a_say(ask, round_, found, actor, deputises):
        raise NotAllowed(NO_SEAT, who=f"{opened.role}@{opened.scope}" if opened else "—")
    want_version(ask, version)
    rules.after(ask.state, move, number=ask.number)
    if opened is None or mine is None:
        if opened and Decision.objects.filter(stage=opened, by=actor.person).exists():
            raise NotTheMoment(DECIDED, number=ask.number)
        raise NotAllowed(NO_SEAT, who=f"{opened.role}@{opened.scope}" if opened else "—")
    return _Held(ask, opened, found[opened.pk], mine)


def _seat(ask: Ask, stage: Stage, found: Deciders, actor: Actor, deputises: list[int]) -> Seat | None:
    decided = Decision.objects.filter(stage=stage, by=actor.person).exists()
    return seat(found, actor, asked_by=ask.asked_by_id, acting_for=deputises, decided=decided)


def _had_a_say(
    ask: Ask, round_: list[Stage], found: Mapping[int, Deciders], actor: Actor, deputises: list[int]
) -> bool:
    if actor.person is None:
        return False
    people = {actor.person.pk, *deputises} - {ask.asked_by_id}
    return any(
        people & (one.standing.candidates | one.standing.added | one.standing.agreed)
        for one in (found[stage.pk] for stage in round_ if stage.is_open or stage.closed_at is not None)
    )


def _award_less(held: _Held, lines: list[AskLine], awards: tuple[Award, ...], comment: str) -> None:
    """Take the awards into the lines, in place. Raises BadData for more than was asked, for nothing at all, without words."""
    by_position = {line.position: line for line in lines}
    changed = False
    for position in {award.position for award in awards if sum(a.position == award.position for a in awards) > 1}:
        raise BadData(TWO_LINES, line=position)
    for award in awards:
        line = by_position.get(award.position)
        if line is None:
            raise BadData(NO_LINE, line=award.position)
        left = line.left
        given = _given(award, left)
        if given == left:
            continue
        if held.stage.pool_id is not None and line.pool_id != held.stage.pool_id:
            raise BadData(OTHER_POOL, pool=held.stage.pool.name if held.stage.pool else "", line=line.position)
        rules.want_less(held.ask.kind, line.position, given, left)
        _want_limits(held.ask.kind, line, given)
        line.awarded_guaranteed_gpus, line.awarded_ceiling_gpus = given.guaranteed_gpus, given.ceiling_gpus
        line.awarded_gpu_hours, line.awarded_to_on = given.gpu_hours, given.to_on
        changed = True
    if changed and not comment.strip():
        raise BadData(LESS_NEEDS_WORDS)
    if held.ask.kind != rules.Kind.RETURN and all(not line.left.ceiling_gpus for line in lines):
        raise BadData(rules.AWARD_NOTHING)
    if changed and held.ask.kind in (rules.Kind.INCREASE, rules.Kind.BURST):
        _want_no_fewer_than_held(lines)
    for line in lines:
        if line.awarded_guaranteed_gpus is None:
            line.awarded_guaranteed_gpus, line.awarded_ceiling_gpus = line.guaranteed_gpus, line.ceiling_gpus
            line.awarded_gpu_hours, line.awarded_to_on = line.gpu_hours, line.to_on
        line.save()


BELOW_HELD = N_(
    "Line %(line)s: the project holds %(held)s GPUs already; an award that is less takes some away. Refuse the line instead."
)


def _want_no_fewer_than_held(lines: list[AskLine]) -> None:
    for line in lines:
        left, base = line.left, line.before
        fewer = left.guaranteed_gpus < base.guaranteed_gpus or left.ceiling_gpus < base.ceiling_gpus
        if left.ceiling_gpus and fewer:
            raise BadData(BELOW_HELD, line=line.position, held=base.guaranteed_gpus or base.ceiling_gpus)


def _want_limits(kind: str, line: AskLine, given: Amounts) -> None:
    """What is left must come in the offering's steps, unless the line is refused."""
    if line.offering is not None and given.ceiling_gpus:
        for fault in limit_faults(kind, line.position, line.offering, given, line.before):
            raise fault


def _given(award: Award, left: Amounts) -> Amounts:
    guaranteed = left.guaranteed_gpus if award.guaranteed_gpus is None else award.guaranteed_gpus
    ceiling = left.ceiling_gpus if award.ceiling_gpus is None else award.ceiling_gpus
    if award.ceiling_gpus is None and award.guaranteed_gpus is not None:
        # The ceiling keeps its distance above the guarantee, as it was asked.
        ceiling = guaranteed + left.ceiling_gpus - left.guaranteed_gpus if guaranteed else 0
    return replace(
        left,
        guaranteed_gpus=guaranteed,
        ceiling_gpus=ceiling,
        gpu_hours=left.gpu_hours if award.gpu_hours is None else award.gpu_hours,
        to_on=left.to_on if award.to_on is None else award.to_on,
    )


def _decide(
    held: _Held,
    actor: Actor,
    verdict: str,
    comment: str,
    *,
    lines: list[AskLine],
    predicted: dict[str, Any],
    is_last: bool,
    override: str = "",
) -> Decision:
    return Decision.objects.create(
        ask=held.ask,
        stage=held.stage,
        verdict=verdict,
        by=actor.person,
        counts_for_id=held.seat.counts_for,
        role=held.seat.role,
        comment=comment,
        awarded=effects.left_of(lines),
        override_reason=override[:500],
        predicted=predicted,
        is_last=is_last,
    )


def _agreeing(held: _Held) -> rules.Standing:
    standing = held.deciders.standing
    return replace(standing, agreed=standing.agreed | {held.seat.counts_for})


def _passes(held: _Held) -> bool:
    """Whether the stage has passed with this agreement."""
    return _agreeing(held).is_passed and not held.deciders.is_short


def _completes(held: _Held) -> bool:
    """Whether this agreement settles the ask."""
    return _passes(held) and stages.following(held.stage) is None


def _note_agreed(held: _Held, actor: Actor, comment: str, lines: list[AskLine]) -> None:
    before, held.ask.state = held.ask.state, rules.after(held.ask.state, "approve", number=held.ask.number)
    _note(held, "approve", actor, before, comment, awarded=effects.left_of(lines))


def _note(held: _Held, what: str, actor: Actor, before: str, comment: str, **facts: Any) -> None:
    instead = held.seat.counts_for if held.seat.is_acting else None
    note(
        held.ask,
        what,
        actor=actor,
        before=before,
        stage=held.stage,
        role=held.seat.role,
        instead_of=instead,
        text=comment,
        **facts,
    )


def _want_words(comment: str) -> None:
    if not comment.strip():
        raise BadData(SAY_WHY)
