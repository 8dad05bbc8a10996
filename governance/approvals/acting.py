"""Acting approvers 代理: somebody decides for another on dated days. And the site's own working days."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.access.models import Person
from governance.audit.actions import record as audit
from governance.errors import N_, BadData, NotAllowed, NotFound, NotTheMoment
from governance.tenants.models import day_of_today

from .drafts import NOT_A_PERSON
from .models import ActingGrant, CalendarDay

LONGEST = timedelta(days=366)
NOBODY = N_("There is nobody called “%(name)s”.")
BAD_DAYS = N_("An acting grant begins today or later, ends after it begins, and lasts at most %(most)s days.")
OWN_DEPUTY = N_("Nobody acts for oneself.")
NOT_YOURS = N_("One grants acting for oneself; for others the security administrator does.")
OVERLAPS = N_("“%(name)s” acts for the same person on some of these days already.")
NO_GRANT = N_("There is no acting grant %(id)s of yours.")
IS_OVER = N_("The acting grant %(id)s is over already.")


@transaction.atomic
def grant(deputy: str, from_on: date, to_on: date, *, actor: Actor, person: str = "", reason: str = "") -> ActingGrant:
    """Let `deputy` decide what the actor (or `person`) may decide on the days [from_on, to_on); not the deputy's own asks, nor theirs."""
    if actor.person is None:
        raise NotAllowed(NOT_A_PERSON)
    whose = actor.person
    if person and person != actor.person.get_username():
        if not actor.may("grants.change"):
            raise NotAllowed(NOT_YOURS)
        whose = _person(person)
    if from_on < day_of_today() or to_on <= from_on or to_on - from_on > LONGEST:
        raise BadData(BAD_DAYS, most=LONGEST.days)
    other = _person(deputy)
    if other.pk == whose.pk:
        raise BadData(OWN_DEPUTY)
    Person.objects.select_for_update(no_key=True).get(pk=whose.pk)
    same = ActingGrant.objects.filter(
        person=whose, deputy=other, ended_at__isnull=True, from_on__lt=to_on, to_on__gt=from_on
    )
    if same.exists():
        raise NotTheMoment(OVERLAPS, name=deputy)
    made = ActingGrant.objects.create(
        person=whose, deputy=other, from_on=from_on, to_on=to_on, reason=reason[:300], made_by=actor.name
    )
    audit(actor, "acting.grant", "acting_grant", str(made.pk), after=_kept(made))
    return made


@transaction.atomic
def end(pk: int, *, actor: Actor) -> ActingGrant:
    """End an acting grant now: the one's who gave it, the deputy's, or the security administrator's."""
    found = visible(actor).select_for_update(of=("self",)).filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(NO_GRANT, id=pk)
    own = actor.person is not None and actor.person.pk in (found.person_id, found.deputy_id)
    if not own:
        require(actor, "grants.change")
    if found.ended_at is not None or (found.to_on is not None and found.to_on <= day_of_today()):
        raise NotTheMoment(IS_OVER, id=pk)
    found.ended_at = timezone.now()
    found.save(update_fields=["ended_at"])
    audit(actor, "acting.end", "acting_grant", str(found.pk), before=_kept(found), after=None)
    return found


def visible(actor: Actor) -> Any:
    """Acting grants that the actor gave, holds, or administers."""
    rows = ActingGrant.objects.select_related("person", "deputy")
    if actor.may("grants.change") or actor.may("audit.view"):
        return rows
    if actor.person is None:
        return rows.none()
    return rows.filter(Q(person=actor.person) | Q(deputy=actor.person))


@transaction.atomic
def set_calendar_day(day: date, is_working: bool | None, *, actor: Actor, name: str = "") -> None:
    """Say that the site works on a day, or does not, other than the calendar says; None takes that back.

    Deadlines that run already keep the instant they were given.
    """
    require(actor, "policy.change")
    before = CalendarDay.objects.filter(day=day).first()
    if is_working is None:
        CalendarDay.objects.filter(day=day).delete()
    else:
        CalendarDay.objects.update_or_create(day=day, defaults={"is_working": is_working, "name": name[:200]})
    kept = None if before is None else {"is_working": before.is_working, "name": before.name}
    after = None if is_working is None else {"is_working": is_working, "name": name}
    audit(actor, "calendar.set", "calendar_day", day.isoformat(), before=kept, after=after)


def _person(name: str) -> Person:
    found = Person.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise NotFound(NOBODY, name=name[:150])
    return found


def _kept(grant: ActingGrant) -> dict[str, object]:
    return {
        "person": grant.person.get_username(),
        "deputy": grant.deputy.get_username(),
        "from_on": grant.from_on,
        "to_on": grant.to_on,
        "reason": grant.reason,
    }
