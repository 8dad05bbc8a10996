"""What a reader chose about how pages look: kept in a cookie for this browser and on the person for the next one."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse

from governance.access.actor import Actor
from governance.audit import actions as audit
from governance.errors import N_, BadData

YEAR_SECONDS = 365 * 24 * 3600
COOKIES = {"language": settings.LANGUAGE_COOKIE_NAME, "theme": "theme"}
CHOICES = {
    "language": frozenset(code for code, _ in settings.LANGUAGES),
    "theme": frozenset({"light", "dark", "system"}),
}


@transaction.atomic
def choose(preference: str, value: str, *, actor: Actor) -> None:
    """Remember `language` or `theme` on the person; who is not signed in has the cookie alone. Raises BadData."""
    if value not in CHOICES[preference]:
        raise BadData(N_("“%(value)s” is not one of the choices."), value=value)
    person = actor.person
    if person is None or getattr(person, preference) == value:
        return
    before = getattr(person, preference)
    setattr(person, preference, value)
    person.save(update_fields=[preference])
    audit.record(
        actor,
        f"person.{preference}_chosen",
        "person",
        person.username,
        before={preference: before},
        after={preference: value},
    )


def set_cookie(response: HttpResponse, preference: str, value: str) -> None:
    """Put the choice into this browser."""
    response.set_cookie(
        COOKIES[preference],
        value,
        max_age=YEAR_SECONDS,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
    )
