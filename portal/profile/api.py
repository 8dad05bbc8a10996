"""The door of the site's profile."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors.door import NOTHING, OneDoor, WriteDoor
from governance.doors.query import Query
from governance.errors import NotFound

from . import actions, reads, rules

CODES = ("", *rules.PROFILES)


class ProfileOut(serializers.Serializer[Any]):
    """The profile in force."""

    profile = serializers.ChoiceField(choices=CODES, allow_blank=True, help_text=_("Empty where nothing is left out."))
    source = serializers.ChoiceField(choices=(reads.CHOSEN, reads.ENVIRONMENT, reads.NOBODY))
    proposed = serializers.ChoiceField(
        choices=CODES, allow_blank=True, help_text=_("By the installed GPUs; empty without any.")
    )
    cards = serializers.IntegerField(help_text=_("Installed today."))
    hides = serializers.ListField(child=serializers.ChoiceField(choices=tuple(rules.PARTS)))


class ProfileIn(serializers.Serializer[Any]):
    """The profile to choose."""

    profile = serializers.ChoiceField(choices=CODES, allow_blank=True, help_text=_("Empty for none of one's own."))


class ProfileDoor(WriteDoor, OneDoor):
    """Read it, choose it."""

    name = "api-site-profile"
    title = _("Profile of the site")
    says = _("How large the site is; what it leaves out stays reachable by its address.")
    query, out = Query, ProfileOut
    takes, result, capability, verb = ProfileIn, ProfileOut, "organisation.change", "choose"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may change it."""
        if not actor.may("organisation.change"):
            raise NotFound(NOTHING)

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """As the page shows it."""
        force, cards = reads.in_force(), reads.installed()
        return {
            "profile": force.code,
            "source": force.source,
            "proposed": rules.proposed(cards),
            "cards": cards,
            "hides": sorted(rules.hidden(force.code)),
        }

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the action of the page."""
        actions.choose(given["profile"], actor=actor)
        return self.one(actor, asked)
