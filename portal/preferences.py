"""What a reader chose about how pages look and act: kept on the person; what is wanted before sign-in also in a cookie."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import get_language_info
from django.utils.translation import gettext_lazy as _

from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit import actions as audit
from governance.errors import N_, BadData

YEAR_SECONDS = 365 * 24 * 3600
COOKIES = {"language": settings.LANGUAGE_COOKIE_NAME, "theme": "theme"}
COMFORTABLE, COMPACT = "comfortable", "compact"
ON, OFF = "on", "off"
CHOICES = {
    "language": frozenset(code for code, _name in settings.LANGUAGES),
    "theme": frozenset({"light", "dark", "system"}),
    "density": frozenset({COMFORTABLE, COMPACT}),
    "single_keys": frozenset({ON, OFF}),
}
ON_PAGE = ("language", "theme", "density", "single_keys")
WORDS: dict[str, tuple[str | Promise, tuple[tuple[str, str | Promise], ...]]] = {
    "language": (_("Language"), tuple((code, get_language_info(code)["name_local"]) for code in ("zh-hans", "en"))),
    "theme": (_("Theme"), (("system", _("As the system")), ("light", _("Light")), ("dark", _("Dark")))),
    "density": (_("Density"), ((COMFORTABLE, _("Comfortable")), (COMPACT, _("Compact")))),
    "single_keys": (_("Single-key shortcuts"), ((ON, _("On")), (OFF, _("Off")))),
}


@transaction.atomic
def choose(preference: str, value: str, *, actor: Actor) -> None:
    """Remember a preference on the person; who is not signed in has the cookie alone. Raises BadData."""
    if value not in CHOICES[preference]:
        raise BadData(N_("“%(value)s” is not one of the choices."), value=value)
    person = actor.person
    if person is None:
        return
    kept: Any = value == ON if preference == "single_keys" else value
    before = getattr(person, preference)
    if before == kept or (preference == "density" and not before and value == COMFORTABLE):
        return
    setattr(person, preference, kept)
    person.save(update_fields=[preference])
    audit.record(
        actor,
        f"person.{preference}_chosen",
        "person",
        person.username,
        before={preference: before},
        after={preference: kept},
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


def shown(request: HttpRequest, person: Person) -> list[dict[str, Any]]:
    """Each preference with its choices, in the order of the page, and which one is in force in this browser."""
    in_force = {
        "language": getattr(request, "LANGUAGE_CODE", settings.LANGUAGE_CODE),
        "theme": request.COOKIES.get("theme") or person.theme or "system",
        "density": person.density or COMFORTABLE,
        "single_keys": ON if person.single_keys else OFF,
    }
    return [
        {
            "name": name,
            "label": WORDS[name][0],
            "options": [(code, word, code == in_force[name]) for code, word in WORDS[name][1]],
        }
        for name in ON_PAGE
    ]


def keys() -> list[tuple[list[str], str | Promise, bool]]:
    """The keys that act: what to press, what it does, and whether it is a single letter that can be switched off."""
    return [
        (["Ctrl/⌘", "K"], _("Find and do"), False),
        (["/"], _("Filter this page, or find"), True),
        (["G", "H"], _("Go to the home page"), True),
        (["G", "J"], _("Go to the jobs"), True),
        (["G", "L"], _("Go to the ledger"), True),
        (["G", "C"], _("Go to the catalogue"), True),
        (["J"], _("Next row"), True),
        (["K"], _("Previous row"), True),
        (["Enter"], _("Open the row"), False),
        (["E"], _("Export this page"), True),
        (["?"], _("This list"), True),
    ]
