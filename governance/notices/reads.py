"""What a reader's notices say now: what they may see of each object is asked when they look, not when it happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from governance.access.actor import Actor
from governance.access.memory import is_remembering

from . import registry, wording
from .models import Choice, Happening, Notice, Plan

#: More unread notices than this are not counted one by one.
MOST_COUNTED = 100
#: A person's unread notices, beside the person.
UNREAD = ArraySubquery(
    Notice.objects.filter(person=OuterRef("pk")).in_portal().unread().order_by().values("pk")[:MOST_COUNTED]
)


@dataclass(frozen=True)
class Row:
    """A notice as it is shown. `is_hidden`: its object is not the reader's to see any more, so neither are its facts."""

    pk: int
    event: str
    group: str
    at: datetime
    read_at: datetime | None
    title: str
    text: str
    url: str
    about_kind: str
    about: str
    facts: dict[str, Any]
    is_hidden: bool


@dataclass(frozen=True)
class Way:
    """By which ways a person wants a group of events."""

    group: registry.Group
    in_app: bool
    mail: str


def own(actor: Actor, *, unread: bool = False) -> QuerySet[Notice]:
    """The actor's notices that they want to see in the portal; with `unread` only those not marked as read."""
    found = Notice.objects.visible_to(actor).in_portal()
    return (found.unread() if unread else found).select_related("happening")


def unread_count(actor: Actor) -> int:
    """How many are unread, MOST_COUNTED at most; what the question for a session's person told already is not asked again."""
    told: list[int] | None = getattr(actor.person, "unread_notices", None)
    return len(told) if told is not None and is_remembering() else _counted(actor)


def _counted(actor: Actor) -> int:
    return len(own(actor, unread=True).select_related(None).values_list("pk")[:MOST_COUNTED])


def rows(notices: Iterable[Notice], actor: Actor) -> list[Row]:
    """Notices in the reader's language; one question of each kind of object among them."""
    found = list(notices)
    seen = seen_by(actor, [one.happening for one in found])
    zone = wording.zone_of(plan_of(actor))
    return [_row(one, one.happening.pk in seen, zone) for one in found]


def seen_by(actor: Actor, happenings: Iterable[Happening]) -> set[int]:
    """The keys of those happenings whose object the actor may see now."""
    by_kind: dict[str, list[Happening]] = {}
    for one in happenings:
        event = registry.EVENTS.get(one.event)
        if event is not None:
            by_kind.setdefault(event.kind, []).append(one)
    seen = set()
    for kind, of_kind in by_kind.items():
        codes = set(registry.KINDS[kind].visible(actor, frozenset(one.about for one in of_kind)))
        seen |= {one.pk for one in of_kind if one.about in codes}
    return seen


def _row(one: Notice, is_seen: bool, zone: Any) -> Row:
    event = registry.EVENTS.get(one.happening.event)
    said = wording.said(one.happening, one.role, zone) if is_seen else wording.hidden()
    return Row(
        pk=one.pk,
        event=one.happening.event if is_seen else "",
        group=event.group if event else "",
        at=one.happening.at,
        read_at=one.read_at,
        title=said.title,
        text=said.text,
        url=said.url,
        about_kind=event.kind if event and is_seen else "",
        about=one.happening.about if is_seen else "",
        facts=one.happening.facts if is_seen else {},
        is_hidden=not is_seen,
    )


def plan_of(actor: Actor) -> Plan | None:
    """When the actor's digest goes out, None where they have not said."""
    return Plan.objects.filter(person=actor.person).first() if actor.person is not None else None


def ways_of(actor: Actor) -> list[Way]:
    """Every group of events and by which ways the actor wants it."""
    chosen = {one.group: one for one in Choice.objects.filter(person=actor.person)}
    usual = {event.group: event.mail for event in reversed(registry.EVENTS.values())}
    found = []
    for code, group in registry.GROUPS.items():
        if code not in usual:
            continue
        choice = chosen.get(code)
        in_app = group.kept or choice is None or choice.in_app
        found.append(Way(group, in_app, choice.mail if choice else usual[code]))
    return found
