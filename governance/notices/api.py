"""Doors of notices and of what can be told. Those of channels are in channel_api."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors import paging
from governance.doors.door import ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged

from . import actions, reads, registry
from .rules import AT_ONCE, DIGEST, DIGEST_HOUR, OFF

LARGEST = 2**63 - 1


class AboutField(serializers.Serializer[Any]):
    """The object of an event."""

    kind = serializers.CharField()
    code = serializers.CharField()


class NoticeRow(serializers.Serializer[Any]):
    """A notice."""

    id = serializers.IntegerField(source="pk")
    event = serializers.CharField(help_text=_("Empty where its object is not yours to see any more; so are the facts."))
    group = serializers.CharField()
    at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)
    title = serializers.CharField()
    text = serializers.CharField()
    url = serializers.CharField(help_text=_("A path of the portal; empty where it leads nowhere."))
    about = serializers.SerializerMethodField()
    facts = serializers.DictField()

    def get_about(self, row: reads.Row) -> dict[str, str]:
        """Kind and code of the object, empty where it is not to be seen."""
        return {"kind": row.about_kind, "code": row.about}


class NoticeQuery(Paged):
    """Filters of notices."""

    unread = serializers.BooleanField(required=False, help_text=_("Only those not marked as read."))


class NoticesDoor(ListDoor):
    """One's own notices."""

    name = "api-notices"
    title = _("Notices")
    says = _("What you were told, the newest first, in the language of the answer.")
    query, out = NoticeQuery, NoticeRow

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """As the page has it."""
        rows = reads.own(actor, unread=asked.get("unread", False))
        found = paging.of_rows(rows, ("-pk",), after, limit)
        return paging.Page(reads.rows(found.rows, actor), found.after)


class ReadIn(serializers.Serializer[Any]):
    """Which notices."""

    ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=LARGEST), required=False, max_length=500
    )
    all = serializers.BooleanField(required=False, default=False)


class ReadOut(serializers.Serializer[Any]):
    """How many there were."""

    marked = serializers.IntegerField(help_text=_("How many were unread until now."))


class ReadDoor(WriteDoor):
    """Notices marked as read."""

    name = "api-notices-read"
    title = _("Mark notices as read")
    says = _("Those with these ids, or all. Ids of others are passed over.")
    takes, result = ReadIn, ReadOut

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, int]:
        """By the action of the page."""
        return {"marked": actions.mark_read(actor, None if given["all"] else given.get("ids", []))}


class WayRow(serializers.Serializer[Any]):
    """By which ways a group of events comes."""

    group = serializers.CharField(max_length=32)
    in_app = serializers.BooleanField()
    mail = serializers.ChoiceField(choices=(AT_ONCE, DIGEST, OFF))


class WaysOut(serializers.Serializer[Any]):
    """One's own preferences."""

    ways = WayRow(many=True)
    digest_hour = serializers.IntegerField()
    time_zone = serializers.CharField(help_text=_("Empty: the billing time zone."))
    mail_is_on = serializers.BooleanField(help_text=_("Whether mail leaves the portal at all."))


class WaysIn(serializers.Serializer[Any]):
    """What is chosen anew; what is left out stays."""

    ways = WayRow(many=True, required=False)
    digest_hour = serializers.IntegerField(min_value=0, max_value=23, required=False)
    time_zone = serializers.CharField(max_length=64, allow_blank=True, required=False)


class WaysDoor(OneDoor, WriteDoor):
    """By which ways one's notices come."""

    name = "api-notice-preferences"
    title = _("Notice preferences")
    says = _("By which ways each group of events comes to you, and when the digest goes out. It changes no right.")
    out, takes, result, verb = WaysOut, WaysIn, WaysOut, "choose"

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """As the page has it."""
        plan = reads.plan_of(actor)
        return {
            "ways": [{"group": way.group.code, "in_app": way.in_app, "mail": way.mail} for way in reads.ways_of(actor)],
            "digest_hour": plan.digest_hour if plan else DIGEST_HOUR,
            "time_zone": plan.time_zone if plan else "",
            "mail_is_on": settings.MAIL_IS_ON,
        }

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the action of the page."""
        ways = {one["group"]: (one["in_app"], one["mail"]) for one in given.get("ways", [])}
        actions.choose(ways, digest_hour=given.get("digest_hour"), time_zone=given.get("time_zone"), actor=actor)
        return self.one(actor, {})


class EventRow(serializers.Serializer[Any]):
    """An event."""

    code = serializers.CharField()
    group = serializers.CharField()
    about_kind = serializers.CharField(source="kind")
    personal = serializers.BooleanField(help_text=_("It concerns one person alone, so no channel carries it."))
    mail = serializers.CharField(help_text=_("The way of mail where nobody has chosen."))


class EventsDoor(ListDoor):
    """What can be told."""

    name = "api-events"
    title = _("Events")
    says = _("Every event that may be told, by its code.")
    out = EventRow

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """By code."""
        return paging.of_list(
            [event for _code, event in sorted(registry.EVENTS.items())], lambda event: [event.code], after, limit
        )
