"""Publishing: an action says what happened and whom it concerns, in its own transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.utils import timezone

from governance.access.actor import Actor
from governance.access.models import Person
from governance.work import actions as work
from governance.work.rules import scrubbed

from . import registry, rules
from .channel_models import SITE, WAITING
from .models import Channel, Choice, Delivery, Happening, Plan
from .registry import Event, Recipient
from .wording import zone_of

MAIL, DELIVER = "notices.mail", "notices.deliver"
LONGEST_FACT = 500


def publish(
    event: str,
    about: str,
    recipients: Iterable[Recipient | Person] = (),
    threshold: str = "",
    facts: Mapping[str, Any] | None = None,
) -> int:
    """Tell the recipients that `event` happened to the object with the code `about`; answers how many were told anew.

    Call it within the transaction of the change. A (person, event, object, threshold) is told once: publishing again tells
    whoever is new. `facts` are plain values for the words of the event: instants as ISO text under a name that ends in
    `_at`, words of our own by `wording.words`. Channels of a department, a
    project or the site that want the event get it with its first publishing. KeyError for an event nobody registered,
    RuntimeError outside a transaction.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a notice belongs into the transaction of its change")
    kind = registry.event_of(event)
    happening, is_new = _happening(kind, about, threshold, _plain(facts or {}))
    told = {one.person_id: one for one in map(_recipient, recipients)}
    made = _notices(kind, happening, [told[pk] for pk in sorted(told)])
    channels = _deliveries(kind, happening) if is_new and not kind.personal else []
    if made or channels:
        transaction.on_commit(lambda: _wake(made, channels), robust=True)
    return len(made)


def _recipient(given: Recipient | Person) -> Recipient:
    return Recipient(given.pk) if isinstance(given, Person) else given


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    found = json.loads(json.dumps(dict(facts), cls=DjangoJSONEncoder))
    return {name: scrubbed(value)[:LONGEST_FACT] if isinstance(value, str) else value for name, value in found.items()}


def _happening(event: Event, about: str, threshold: str, facts: dict[str, Any]) -> tuple[Happening, bool]:
    """The row, and whether this publishing made it. One at the same moment waits here for the other's commit."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO happening (event, about, threshold, facts) VALUES (%s, %s, %s, %s::jsonb)"
            " ON CONFLICT (event, about, threshold) DO NOTHING RETURNING id",
            [event.code, about[:300], threshold[:100], json.dumps(facts)],
        )
        is_new = cursor.fetchone() is not None
    return Happening.objects.get(event=event.code, about=about[:300], threshold=threshold[:100]), is_new


def _notices(event: Event, happening: Happening, told: list[Recipient]) -> list[tuple[int, datetime | None]]:
    """The new notices, as (person, when mail is due)."""
    people = [one.person_id for one in told]
    chosen = {one.person_id: one for one in Choice.objects.filter(group=event.group, person__in=people)}
    plans = {one.person_id: one for one in Plan.objects.filter(person__in=people)}
    kept, now = registry.GROUPS[event.group].kept, timezone.now()
    made: list[tuple[int, datetime | None]] = []
    with connection.cursor() as cursor:
        for one in told:
            choice = chosen.get(one.person_id)
            way = choice.mail if choice else event.mail
            due = due_at(way, now, plans.get(one.person_id))
            cursor.execute(
                "INSERT INTO notice (happening_id, person_id, role, in_app, mail, mail_due_at, mail_left)"
                " VALUES (%s, %s, %s, %s, %s, %s, '') ON CONFLICT (happening_id, person_id) DO NOTHING RETURNING id",
                [happening.pk, one.person_id, one.role[:32], kept or choice is None or choice.in_app, way, due],
            )
            if cursor.fetchone() is not None:
                made.append((one.person_id, due))
    return made


def due_at(way: str, now: datetime, plan: Plan | None) -> datetime | None:
    """When mail of this way is due for a person with this plan."""
    return rules.mail_due_at(way, now, zone_of(plan), plan.digest_hour if plan else rules.DIGEST_HOUR)


def _deliveries(event: Event, happening: Happening) -> list[int]:
    """Deliveries to every live channel that wants the event and whose scope the object lies in."""
    wanting = [
        one
        for one in Channel.objects.filter(ended_at__isnull=True, stopped_at__isnull=True)
        if not one.events or event.code in one.events
    ]
    if not wanting:
        return []
    within = {(SITE, ""), *registry.KINDS[event.kind].scopes(happening.about)}
    rows = [
        Delivery(channel=one, happening=happening, message_id=message_id(), state=WAITING, due_at=timezone.now())
        for one in wanting
        if (one.scope_kind, one.scope_code) in within
    ]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return [one.channel_id for one in rows]


def message_id() -> str:
    """A name for a message that no other has."""
    return f"msg_{uuid.uuid4().hex}"


def _wake(people: list[tuple[int, datetime | None]], channels: list[int]) -> None:
    """Ask for the work once the rows can be seen. Whatever is lost here the sweep asks for."""
    actor = Actor.machine("notices")
    for person, due in people:
        if due is not None:
            work.ask(MAIL, str(person), due_at=due, actor=actor)
    for channel in channels:
        work.ask(DELIVER, str(channel), actor=actor)
