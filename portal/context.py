"""What every page of the shell shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from governance.access.actor import Actor
from governance.notices.reads import unread_count
from portal import navigation
from portal.account import sessions

OTHER_LANGUAGE = {"zh-hans": ("en", "English", "EN"), "en": ("zh-hans", "简体中文", "中")}
#: Entries at the foot of a phone, beside the way to all others.
TABS = 4
#: Figures that lie further behind are said to stand still.
FRESH_SECONDS = 24 * 3600
#: What the html element says, by the setting's code.
HTML_LANGUAGE = {"zh-hans": "zh-Hans", "en": "en"}


def shell(request: HttpRequest) -> dict[str, Any]:
    """The context of the base page: place, reader, language, theme, and how far the figures reach."""
    language = getattr(request, "LANGUAGE_CODE", settings.LANGUAGE_CODE)
    other_code, other_name, other_short = OTHER_LANGUAGE[language]
    theme = request.COOKIES.get("theme", "")
    actor = getattr(request, "actor", None)
    shown: dict[str, Any] = {
        "title_of_site": settings.TITLE,
        "title_of_portal": settings.TITLE or _("Compute Governance Portal"),
        "html_language": HTML_LANGUAGE[language],
        "other_language": {
            "code": other_code,
            "html": HTML_LANGUAGE[other_code],
            "name": other_name,
            "short": other_short,
        },
        "theme": theme if theme in {"light", "dark"} else "",
        "other_theme": "light" if theme == "dark" else "dark",
        "here": request.get_full_path() if request.method in {"GET", "HEAD"} else "/",
        "reader": None,
    }
    if isinstance(actor, Actor) and actor.person is not None:
        shown |= _of_reader(request, actor)
    return shown


def _of_reader(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    standing = standing_of(request, actor)
    place = request.resolver_match.url_name if request.resolver_match else ""
    entries = navigation.entries(standing)
    return {
        "reader": actor.person,
        "reader_roles": standing.role_names,
        "entries": [(entry, place in entry.views) for entry in entries],
        "foot": [(entry, place in entry.views) for entry in entries if "exports" not in entry.views][:TABS],
        "density": actor.person.density if actor.person else "",
        "session_left": sessions.left(request.session),
        "session_warn": sessions.warn_seconds(),
        "through": standing.through,
        "behind_seconds": _behind(standing.through),
        "hidden": standing.hidden,
        "zone": standing.zone,
        "unread_notices": unread_count(actor),
    }


def _behind(through: datetime | None) -> int:
    """Seconds by which the figures lie behind now, where that is more than a day; else 0."""
    behind = int((timezone.now() - through).total_seconds()) if through else 0
    return behind if behind > FRESH_SECONDS else 0


def standing_of(request: HttpRequest, actor: Actor) -> navigation.Standing:
    """How the reader stands, asked once for each page."""
    known = getattr(request, "standing", None)
    if known is None:
        known = request.standing = navigation.standing(actor)  # type: ignore[attr-defined]
    return known
