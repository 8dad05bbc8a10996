"""What a person does with their own account."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from governance.access.actor import Actor
from governance.access.models import Person, SignInPlace
from governance.audit import actions as audit
from governance.notices.outbox import publish

#: A place from which nobody has signed in for longer is new again.
PLACE_DAYS = 90


@transaction.atomic
def change_password(person: Person, new: str, *, actor: Actor) -> None:
    """Another password. Every other session of the person is over with it."""
    person.set_password(new)
    person.save(update_fields=["password"])
    audit.record(actor, "person.password_changed", "person", person.username)
    tell_password_changed(person, actor)


def tell_password_changed(person: Person, actor: Actor) -> None:
    """Let the person know, wherever it was done."""
    publish(
        "account.password_changed",
        str(person.pk),
        [person],
        timezone.now().isoformat(),
        {"address": actor.address},
    )


@transaction.atomic
def note_sign_in(person: Person, address: str, now: datetime) -> bool:
    """Remember from where the person signed in; one they did not sign in from before is told. Answers whether it was."""
    place = _network(address)
    known = {one.address: one for one in SignInPlace.objects.filter(person=person)}
    there = known.get(place)
    SignInPlace.objects.update_or_create(person=person, address=place, defaults={"last_at": now})
    if not known or (there is not None and there.last_at > now - timedelta(days=PLACE_DAYS)):
        return False
    facts = {"address": address, "days": PLACE_DAYS}
    publish("account.new_sign_in", str(person.pk), [person], f"{place} {now:%Y-%m-%d}", facts)
    return True


def _network(address: str) -> str:
    """The address, of IPv6 the network it is in, within which hosts change theirs at will."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


@transaction.atomic
def end_sessions(person: Person, *, actor: Actor) -> None:
    """Sign the person out in every browser, this one too."""
    Person.objects.filter(pk=person.pk).update(session_revision=F("session_revision") + 1)
    audit.record(actor, "person.sessions_ended", "person", person.username)
