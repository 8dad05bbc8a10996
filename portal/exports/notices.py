"""Events of exports: a file is there, or will not be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from governance.errors import N_
from governance.notices.registry import OWN, Event, register
from governance.notices.rules import OFF


def _url(about: str, facts: Mapping[str, Any]) -> str:
    return reverse("exports")


register(
    Event(
        "export.made",
        "files",
        OWN.code,
        N_("Your file is there: %(what)s"),
        {"": N_("%(rows)s rows as %(format)s, kept until %(until_at)s.")},
        mail=OFF,
        personal=True,
        url=_url,
    ),
    Event(
        "export.failed",
        "files",
        OWN.code,
        N_("Your file could not be made: %(what)s"),
        {"": N_("The page of exports says why. Ask for it again once that is in order.")},
        mail=OFF,
        personal=True,
        url=_url,
    ),
)
