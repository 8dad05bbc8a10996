"""What a person does with their own account."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit import actions as audit


@transaction.atomic
def change_password(person: Person, new: str, *, actor: Actor) -> None:
    """Another password. Every other session of the person is over with it."""
    person.set_password(new)
    person.save(update_fields=["password"])
    audit.record(actor, "person.password_changed", "person", person.username)


@transaction.atomic
def end_sessions(person: Person, *, actor: Actor) -> None:
    """Sign the person out in every browser, this one too."""
    Person.objects.filter(pk=person.pk).update(session_revision=F("session_revision") + 1)
    audit.record(actor, "person.sessions_ended", "person", person.username)
