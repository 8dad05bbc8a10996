"""Events of the shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.http import url_has_allowed_host_and_scheme

from governance.errors import N_
from governance.notices.registry import OWN, Event, register


def _own_place(about: str, facts: Mapping[str, Any]) -> str:
    """The path among the facts (`url`), where it is one of the portal's own."""
    url = str(facts.get("url", ""))
    return url if url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None) else ""


register(
    Event(
        "export.ready",
        "files",
        OWN.code,
        N_("Your export “%(name)s” is ready"),
        {"": N_("Fetch it before it is removed.")},
        personal=True,
        url=_own_place,
    ),
    Event(
        "export.failed",
        "files",
        OWN.code,
        N_("Your export “%(name)s” could not be made"),
        {"": N_("%(error)s Ask for it again.")},
        personal=True,
        url=_own_place,
    ),
)
