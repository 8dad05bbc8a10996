"""Taking an ask in hand: the row under a lock, seen by the actor, in the version that was looked at; and writing the move down."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit.actions import record as audit
from governance.catalogue.reads import installation
from governance.errors import N_, NotFound, NotTheMoment

from . import rules
from .models import Ask, AskLine, Move, Stage

NO_ASK = N_("There is no ask “%(number)s” that you may see.")
#: What another has done meanwhile, by the last move.
MEANWHILE: dict[str, str] = {
    "save": N_("The ask %(number)s was changed by its author at %(at)s. Load it again; nothing of yours was written."),
    "submit": N_("The ask %(number)s was submitted at %(at)s. Load it again; nothing of yours was written."),
    "approve": N_(
        "The ask %(number)s was approved on this stage by another approver at %(at)s. Load it again to see whether it still asks for you."
    ),
    "award": N_("The ask %(number)s was approved by another approver at %(at)s. Your decision was not needed."),
    "return": N_(
        "The ask %(number)s was returned to its author at %(at)s by another approver. Your decision was not taken."
    ),
    "reject": N_("The ask %(number)s was rejected at %(at)s by another approver. Your decision was not taken."),
    "withdraw": N_("The ask %(number)s was withdrawn at %(at)s. There is nothing left to decide."),
    "expire": N_("The ask %(number)s expired at %(at)s. There is nothing left to decide."),
    "": N_(
        "The ask %(number)s was changed at %(at)s by somebody else. Load it again and decide again; nothing was written."
    ),
}


def locked(number: str, actor: Actor) -> Ask:
    """The ask with this number under a row lock, in a transaction. Raises NotFound where it is not there or not the actor's to see."""
    pk = rules.digits_of(number)
    asks = Ask.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
    found = asks.select_related("project", "asked_by", "policy").filter(pk=pk).first() if pk is not None else None
    if found is None:
        raise NotFound(NO_ASK, number=number[:32])
    return found


def want_version(ask: Ask, version: int | None) -> None:
    """Raise NotTheMoment with what happened where the ask is not any more as it was looked at."""
    if version is None or version == ask.version:
        return
    last = ask.moves.exclude(what__in=("comment", "remind")).order_by("-pk").first()
    at = (last.at if last else ask.saved_at).astimezone(ZoneInfo(installation().time_zone))
    words = MEANWHILE.get(last.what, MEANWHILE[""]) if last else MEANWHILE[""]
    raise NotTheMoment(words, number=ask.number, at=f"{at:%Y-%m-%d %H:%M}")


def lines_of(ask: Ask) -> list[AskLine]:
    """Its lines in order, with what they refer to."""
    return list(
        ask.lines.select_related("pool", "pool__cluster", "model", "offering", "quota", "quota__pool").order_by(
            "position"
        )
    )


def note(
    ask: Ask,
    what: str,
    *,
    actor: Actor,
    before: str = "",
    stage: Stage | None = None,
    role: str = "",
    instead_of: int | None = None,
    person: Person | None = None,
    text: str = "",
    raises: bool = True,
    **facts: Any,
) -> Move:
    """Write a move down: in the ask's own timeline and in the trail. `raises`: whether it makes another version of the ask.

    The ask is saved with it; `before` is its state before the move.
    """
    if raises:
        ask.version += 1
    ask.save()
    person_facts = {"person": person.get_username()} if person else {}
    audit(
        actor,
        f"ask.{what}",
        "ask",
        ask.number,
        before={"state": before} if before else None,
        after={
            "state": str(ask.state),
            "version": ask.version,
            "stage": stage.code if stage else "",
            "role": role,
            "text": text,
            **({"counts_for": instead_of} if instead_of else {}),
            **person_facts,
            **facts,
        },
    )
    return Move.objects.create(
        ask=ask,
        at=timezone.now(),
        version=ask.version,
        round=ask.round,
        what=what,
        stage=stage,
        by=actor.person,
        by_name=actor.name,
        role=role[:32],
        instead_of_id=instead_of,
        person=person,
        text=text,
        facts=facts,
    )
