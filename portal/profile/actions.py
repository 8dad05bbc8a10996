"""Choosing the profile of the site."""

from __future__ import annotations

from django.db import transaction

from governance.access.actor import Actor, require
from governance.catalogue.actions import set_installation
from governance.errors import N_, BadData

from . import rules


@transaction.atomic
def choose(code: str, *, actor: Actor) -> bool:
    """Choose a profile, "" for none; answers whether anything changed. Raises NotAllowed, BadData."""
    require(actor, "organisation.change")
    if code and code not in rules.PROFILES:
        known = ", ".join(rules.PROFILES)
        raise BadData(
            N_("“%(profile)s” is no profile of a site. Use one of: %(known)s."), profile=code[:100], known=known
        )
    return set_installation({"profile": code}, actor=actor)
