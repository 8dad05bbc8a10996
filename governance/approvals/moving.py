"""Moves beside deciding: withdraw, hand over 转审, add an approver 加签, assign one, remind 催办, comment."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.access.models import Person
from governance.errors import N_, BadData, NotAllowed, NotFound, NotTheMoment

from . import rules, stages, telling
from .drafts import LONGEST_TEXT, NOT_A_PERSON
from .locking import locked, note, want_version
from .models import Ask, Decision, Move, Named, Stage
from .resolving import Deciders, Resolver, Seat, absent, seat

NO_PERSON = N_(
    "There is nobody called “%(name)s” who could decide this ask: it takes a role that sees the project or the pool."
)
NAME_WANTED = N_("Name the person by username.")
IS_AUTHOR = N_("The author cannot decide the own ask.")
HAS_SEAT = N_("“%(name)s” is asked by this stage already.")
NOT_YOUR_STAGE = N_("Only somebody whom this stage asks can hand it over or add an approver.")
NOT_YOURS_TO_REMIND = N_("The author, and who may ask for the project, can remind.")
NOT_YOURS_TO_WITHDRAW = N_("The author, the project's lead and its approvers can withdraw an ask.")
REMINDED = N_("Everybody whom it waits for was reminded today already.")
NO_WORDS = N_("The comment is empty, or longer than %(most)s characters.")
HAS_APPROVERS = N_("This stage has people who can decide it. Have one of them hand it over.")


@transaction.atomic
def withdraw(number: str, *, actor: Actor, reason: str = "", version: int | None = None) -> Ask:
    """Take an ask back for good: the author's, or the lead's and the approvers' of its project. A draft is discarded this way."""
    ask = locked(number, actor)
    is_author = actor.person is not None and actor.person.pk == ask.asked_by_id
    if not is_author and not actor.may("ask.withdraw", ask.project):
        raise NotAllowed(NOT_YOURS_TO_WITHDRAW)
    want_version(ask, version)
    before = ask.state
    ask.state = rules.after(before, "withdraw", number=ask.number)
    ask.decided_at = timezone.now()
    opened = stages.open_of(ask)
    if opened is not None:
        stages.close(opened)
    note(ask, "withdraw", actor=actor, before=before, text=reason[:LONGEST_TEXT])
    return ask


@transaction.atomic
def hand_over(number: str, person: str, *, actor: Actor, reason: str = "", version: int | None = None) -> Ask:
    """Give one's own decision on the open stage to another person, who must see the ask by a role of their own."""
    ask, stage, found, mine = _seated(number, "hand_over", actor, version)
    other = _person(person, ask, stage)
    if other.pk in found.standing.candidates | found.standing.added:
        raise NotTheMoment(HAS_SEAT, name=person)
    own = Named.objects.filter(stage=stage, person=mine.counts_for, ended_at__isnull=True).first()
    how = Named.ADDED if own is not None and own.how == Named.ADDED else Named.HANDED
    instead = own.instead_of_id if own is not None and own.how == Named.HANDED else mine.counts_for
    if own is not None:  # what was handed over to them goes on; the one it came from stays out of it
        own.ended_at, own.end_reason = timezone.now(), "handed on"
        own.save()
    row = _name(stage, other, how, actor, reason, instead)
    note(ask, "hand_over", actor=actor, stage=stage, role=mine.role, person=other, text=reason)
    telling.named("ask.handed_over", ask, other.pk, "handed", f"{row.pk}", reason)
    return ask


@transaction.atomic
def add_approver(number: str, person: str, *, actor: Actor, reason: str = "", version: int | None = None) -> Ask:
    """Have another person agree as well before the open stage passes."""
    ask, stage, found, mine = _seated(number, "add", actor, version)
    other = _person(person, ask, stage)
    if other.pk in found.standing.candidates | found.standing.added | found.standing.agreed:
        raise NotTheMoment(HAS_SEAT, name=person)
    row = _name(stage, other, Named.ADDED, actor, reason, None)
    note(ask, "add", actor=actor, stage=stage, role=mine.role, person=other, text=reason)
    telling.named("ask.added", ask, other.pk, "added", f"{row.pk}", reason)
    return ask


@transaction.atomic
def assign(number: str, person: str, *, actor: Actor, reason: str = "") -> Ask:
    """Find an approver for a stage that nobody can decide: the administrators' move."""
    ask = locked(number, actor)
    require(actor, "ask.assign")
    rules.after(ask.state, "assign", number=ask.number)
    stage = stages.open_of(ask)
    assert stage is not None  # an open ask has an open stage
    found = Resolver([stage]).of(stage)
    if not found.is_short and not stage.is_stuck:
        raise NotTheMoment(HAS_APPROVERS)
    other = _person(person, ask, stage)
    if other.pk in found.standing.candidates | found.standing.added | found.standing.agreed:
        raise NotTheMoment(HAS_SEAT, name=person)
    _name(stage, other, Named.ASSIGNED, actor, reason, None)
    stage.is_stuck = Resolver([stage]).of(stage).is_short
    stage.save(update_fields=["is_stuck"])
    note(ask, "assign", actor=actor, stage=stage, person=other, text=reason)
    telling.named("ask.to_decide", ask, other.pk, "assigned", f"{stage.pk}", reason)
    return ask


@transaction.atomic
def remind(number: str, *, actor: Actor) -> int:
    """Tell those whom the ask waits for once more; at most once a day for each. Answers how many were told."""
    ask = locked(number, actor)
    if not (actor.person is not None and actor.person.pk == ask.asked_by_id) and not actor.may("ask.make", ask.project):
        raise NotAllowed(NOT_YOURS_TO_REMIND)
    rules.after(ask.state, "remind", number=ask.number)
    stage = stages.open_of(ask)
    assert stage is not None
    day = timezone.now().date()
    told = telling.reminded(ask, stage, Resolver([stage]).of(stage), f"{stage.pk}/{day}")
    if not told:
        raise NotTheMoment(REMINDED)
    note(ask, "remind", actor=actor, stage=stage, raises=False, told=told)
    return told


@transaction.atomic
def comment(number: str, text: str, *, actor: Actor) -> Move:
    """Say something on an ask that is not a draft; the author and those who may decide are told."""
    ask = locked(number, actor)
    if actor.person is None:
        raise NotAllowed(NOT_A_PERSON)
    rules.after(ask.state, "comment", number=ask.number)
    if not text.strip() or len(text) > LONGEST_TEXT:
        raise BadData(NO_WORDS, most=LONGEST_TEXT)
    stage = stages.open_of(ask)
    move = note(ask, "comment", actor=actor, stage=stage, text=text.strip(), raises=False)
    telling.commented(ask, move, Resolver([stage]).of(stage) if stage else None)
    return move


def _seated(number: str, move: str, actor: Actor, version: int | None) -> tuple[Ask, Stage, Deciders, Seat]:
    """The ask in the hands of somebody whom its open stage asks."""
    ask = locked(number, actor)
    stage = stages.open_of(ask)
    if stage is None:
        rules.after(ask.state, move, number=ask.number)
        raise NotAllowed(NOT_YOUR_STAGE)
    found = Resolver([stage]).of(stage)
    decided = Decision.objects.filter(stage=stage, by=actor.person).exists()
    mine = seat(found, actor, asked_by=ask.asked_by_id, acting_for=absent(actor), decided=decided)
    if mine is None:
        raise NotAllowed(NOT_YOUR_STAGE)
    want_version(ask, version)
    rules.after(ask.state, move, number=ask.number)
    return ask, stage, found, mine


def _person(name: str, ask: Ask, stage: Stage) -> Person:
    """Who could decide the ask by name: active, not its author, and sees it by a role of their own."""
    if not name:
        raise BadData(NAME_WANTED)
    found = Person.objects.filter(username=name, is_active=True).first()
    if found is not None and found.pk == ask.asked_by_id:
        raise BadData(IS_AUTHOR)
    if found is None or not Resolver([stage]).sees(found.pk, stage):
        raise NotFound(NO_PERSON, name=name[:150])
    return found


def _name(stage: Stage, person: Person, how: str, actor: Actor, reason: str, instead: int | None) -> Named:
    assert actor.person is not None
    return Named.objects.create(
        stage=stage, person=person, how=how, instead_of_id=instead, by=actor.person, reason=reason[:500]
    )
