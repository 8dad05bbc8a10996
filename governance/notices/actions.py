"""What a reader does with notices: mark them as read, choose by which ways they come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from zoneinfo import available_timezones

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit.actions import record as audit
from governance.errors import N_, BadData, NotAllowed
from governance.work import actions as work

from . import registry
from .models import Choice, Notice, Plan
from .outbox import MAIL, due_at
from .rules import AT_ONCE, DIGEST, OFF

WAYS = (AT_ONCE, DIGEST, OFF)
NOT_A_PERSON = N_("Notices are a person's. Sign in, or show a personal token.")


def mark_read(actor: Actor, notices: Iterable[int] | None = None) -> int:
    """Mark these of the actor's notices as read, or all where None; answers how many were unread until now.

    One's own reading changes nothing for anybody else, so it leaves no audit line. What is another's is passed over.
    """
    unread = Notice.objects.visible_to(actor).unread()
    if notices is not None:
        unread = unread.filter(pk__in=[pk for pk in notices if 0 < pk < 2**63])
    return unread.update(read_at=timezone.now())


@transaction.atomic
def choose(
    ways: Mapping[str, tuple[bool, str]],
    *,
    digest_hour: int | None = None,
    time_zone: str | None = None,
    actor: Actor,
) -> None:
    """Choose by which ways the groups come: {group: (in the portal, way of mail)}; and when the digest goes out.

    Groups that are not named stay as they are. It changes no right: who may decide may, with or without mail. Mail that
    is owed already goes out at the new time. Raises BadData, NotAllowed for who is no person.
    """
    person = actor.person
    if person is None:
        raise NotAllowed(NOT_A_PERSON)
    Person.objects.select_for_update().get(pk=person.pk)
    before = _state(person)
    for group, (in_app, mail) in ways.items():
        _check(group, in_app, mail)
        Choice.objects.update_or_create(person=person, group=group, defaults={"in_app": in_app, "mail": mail})
    if digest_hour is not None or time_zone is not None:
        plan = Plan.objects.filter(person=person).first() or Plan(person=person)
        plan.digest_hour = plan.digest_hour if digest_hour is None else _hour(digest_hour)
        plan.time_zone = plan.time_zone if time_zone is None else _zone(time_zone)
        plan.save()
    after = _state(person)
    if after != before:
        _due_anew(person)
        audit(actor, "notices.chosen", "person", person.username, before=before, after=after)


def _check(group: str, in_app: bool, mail: str) -> None:
    known = registry.GROUPS.get(group)
    if known is None:
        raise BadData(
            N_("“%(group)s” is no group of events. Known are: %(known)s."),
            group=group[:100],
            known=", ".join(registry.GROUPS),
        )
    if mail not in WAYS:
        raise BadData(N_("“%(value)s” is not one of the choices."), value=mail[:100])
    if known.kept and not in_app:
        raise BadData(
            N_("Notices about your account are always shown in the portal. Mail about them can be switched off.")
        )


def _hour(hour: int) -> int:
    if not 0 <= hour <= 23:
        raise BadData(N_("The hour of the digest is a whole number from 0 to 23."))
    return hour


def _zone(zone: str) -> str:
    if zone and zone not in available_timezones():
        raise BadData(N_("“%(zone)s” is no time zone. Write one such as Asia/Shanghai."), zone=zone[:100])
    return zone


def _state(person: Person) -> dict[str, Any]:
    plan = Plan.objects.filter(person=person).first()
    state: dict[str, Any] = {
        one.group: {"in_app": one.in_app, "mail": one.mail}
        for one in Choice.objects.filter(person=person).order_by("group")
    }
    if plan is not None:
        state |= {"digest_hour": plan.digest_hour, "time_zone": plan.time_zone}
    return state


def _due_anew(person: Person) -> None:
    """Mail that is owed to the person, by the ways chosen now."""
    plan = Plan.objects.filter(person=person).first()
    chosen = {one.group: one.mail for one in Choice.objects.filter(person=person)}
    now, due = timezone.now(), []
    owed = Notice.objects.filter(person=person, mail_due_at__isnull=False).select_related("happening")
    for one in owed.select_for_update(of=("self",)):
        event = registry.EVENTS.get(one.happening.event)
        way = chosen.get(event.group, one.mail) if event else OFF
        one.mail, one.mail_due_at = way, due_at(way, now, plan)
        one.mail_left = "muted" if way == OFF else ""
        one.save(update_fields=["mail", "mail_due_at", "mail_left"])
        due += [one.mail_due_at] if one.mail_due_at else []
    if due:
        first = min(due)
        transaction.on_commit(
            lambda: work.ask(MAIL, str(person.pk), due_at=first, actor=Actor.machine("notices")), robust=True
        )
