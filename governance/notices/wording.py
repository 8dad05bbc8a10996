"""A happening in words, in the language that is active, with its instants in the reader's zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.translation import gettext as _

from . import registry
from .models import Happening

MISSING = "—"


@dataclass(frozen=True)
class Said:
    """What a reader is told. `url` is a path of the portal, "" where it leads nowhere."""

    title: str
    text: str
    url: str


class _Facts(dict[str, Any]):
    """Facts as words; one that was not given leaves a dash, since what was published stays as it was."""

    def __missing__(self, name: str) -> str:
        return MISSING


def said(happening: Happening, role: str, zone: ZoneInfo) -> Said:
    """The title and the text for a recipient in this role, whatever has become of the event since."""
    event = registry.EVENTS.get(happening.event)
    if event is None:  # of a topic that is no longer installed
        return Said(happening.event, "", "")
    facts = _Facts({name: _worded(name, value, zone) for name, value in happening.facts.items()})
    return Said(_(event.title) % facts, _(event.words(role)) % facts, place(event, happening))


def hidden() -> Said:
    """What is said of an object that the reader no longer sees."""
    return Said(_("A notice about something that is not yours to see any more"), "", "")


def place(event: registry.Event, happening: Happening) -> str:
    """The path it leads to."""
    if event.url is not None:
        return event.url(happening.about, happening.facts)
    return registry.KINDS[event.kind].url(happening.about)


def whole(path: str) -> str:
    """The path as a whole address; "" where the portal does not know its own."""
    return f"{settings.PORTAL_URL}{path}" if path and settings.PORTAL_URL else ""


def _worded(name: str, value: Any, zone: ZoneInfo) -> str:
    if value is None or value == "":
        return MISSING
    if isinstance(value, dict):
        params = _Facts(value.get("params") or {})
        return _(str(value.get("words", ""))) % params if params else _(str(value.get("words", "")))
    if isinstance(value, str) and name.endswith("_at"):
        try:
            return f"{datetime.fromisoformat(value).astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})"
        except ValueError:
            return value
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int):
        return f"{value:,}"
    return value.isoformat() if isinstance(value, date) else str(value)


def words(message: str, **params: Any) -> dict[str, Any]:
    """A msgid with its parameters as a fact, which is worded in the language of each reader."""
    return {"words": message, "params": {name: str(value) for name, value in params.items()}}


def zone_of(plan: Any) -> ZoneInfo:
    """The zone in which a person with this plan (or none) is told times."""
    return ZoneInfo((plan.time_zone if plan else "") or registry.usual_zone())
