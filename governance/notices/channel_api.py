"""Doors of channels and deliveries."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from governance.access.actor import Actor
from governance.doors.door import NOTHING, ListDoor, OneDoor, WriteDoor
from governance.errors import N_, BadData, NotFound

from . import channels, delivering
from .channel_models import KINDS, SITE, STATES
from .models import Channel, Delivery

LARGEST = 2**63 - 1


class ChannelRow(serializers.Serializer[Any]):
    """A channel. Neither its address nor its secret is ever shown again."""

    id = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    owner = serializers.CharField(source="owner.username")
    scope_kind = serializers.CharField()
    scope_code = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    language = serializers.CharField()
    url_hint = serializers.CharField()
    secret_hint = serializers.CharField()
    created_at = serializers.DateTimeField()
    stopped_at = serializers.DateTimeField(allow_null=True)
    stopped_why = serializers.CharField()
    failures = serializers.IntegerField()
    failing_since_at = serializers.DateTimeField(allow_null=True)
    paused_until_at = serializers.DateTimeField(allow_null=True)
    last_ok_at = serializers.DateTimeField(allow_null=True)


class NewChannelRow(ChannelRow):
    """A channel that was just added."""

    secret = serializers.CharField(
        source="shown_secret", help_text=_("The signing secret of a webhook, shown this once; empty for a robot.")
    )


class ChannelIn(serializers.Serializer[Any]):
    """A new channel."""

    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField(max_length=100)
    url = serializers.CharField(max_length=1000)
    scope_kind = serializers.CharField(max_length=16, default=SITE)
    scope_code = serializers.CharField(max_length=64, allow_blank=True, default="")
    secret = serializers.CharField(max_length=200, allow_blank=True, default="", help_text=_("Of a robot alone."))
    events = serializers.ListField(child=serializers.CharField(max_length=64), max_length=200, default=list)
    language = serializers.CharField(max_length=10, default="zh-hans")


class ChannelChange(serializers.Serializer[Any]):
    """What is to be different; what is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    url = serializers.CharField(max_length=1000, required=False)
    secret = serializers.CharField(max_length=200, required=False, help_text=_("Of a robot alone."))
    events = serializers.ListField(child=serializers.CharField(max_length=64), max_length=200, required=False)
    language = serializers.CharField(max_length=10, required=False)
    on = serializers.BooleanField(required=False)


def _see_channels(actor: Actor) -> None:
    if not channels.scopes_of(actor):
        raise NotFound(NOTHING)


def _channel(actor: Actor, number: int) -> Channel:
    found = channels.visible_to(actor).filter(pk=number).first() if number <= LARGEST else None
    if found is None:
        raise NotFound(channels.NO_CHANNEL)
    return found


class ShowsSecret(WriteDoor):
    """A door whose answer holds a secret: it is kept for no second answer, so the write cannot be made to happen once."""

    def post(self, request: Request, **where: Any) -> Response:
        """Refuse an Idempotency-Key, under which the answer would lie in the database."""
        if request.headers.get("Idempotency-Key") is not None:
            raise BadData(
                N_("The answer holds a secret, which is not kept for a second one. Send no Idempotency-Key here.")
            )
        return super().post(request, **where)


class ChannelsDoor(ListDoor, ShowsSecret):
    """The channels of one's scopes, and a new one."""

    name = "api-channels"
    title = _("Channels")
    says = _(
        "Webhooks and robots of the scopes on which you may have some. Adding one answers the signing secret of a webhook, once."
    )
    out, order = ChannelRow, ("pk",)
    takes, result, success, verb = ChannelIn, NewChannelRow, 201, "add"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may have channels on anything."""
        _see_channels(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Channel]:
        """As the page has them."""
        return channels.visible_to(actor)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Channel:
        """By the action of the page."""
        scope = (given.pop("scope_kind"), given.pop("scope_code"))
        channel, secret = channels.add(
            given.pop("kind"), given.pop("name"), given.pop("url"), actor=actor, scope=scope, **given
        )
        channel.shown_secret = secret  # type: ignore[attr-defined]
        return channel


class ChannelDoor(OneDoor, WriteDoor):
    """One channel."""

    name = "api-channel"
    title = _("A channel")
    says = _(
        "Read it, or change it, switch it off and on. Who gives it another address or other events becomes its owner."
    )
    out, takes, result, verb = ChannelRow, ChannelChange, ChannelRow, "change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may change it."""
        _channel(actor, where["number"])

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> Channel:
        """As the list has it."""
        return _channel(actor, where["number"])

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Channel:
        """By the actions of the page."""
        on = given.pop("on", None)
        if given:
            channels.change(where["number"], actor=actor, **given)
        if on is not None:
            channels.switch(where["number"], on, actor=actor)
        return _channel(actor, where["number"])


class Done(serializers.Serializer[Any]):
    """That it is done."""

    done = serializers.BooleanField()


class ChannelAct(WriteDoor):
    """Something done with one channel."""

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may change it."""
        _channel(actor, where["number"])


class RemoveDoor(ChannelAct):
    """A channel taken away."""

    name = "api-channel-remove"
    title = _("Remove a channel")
    says = _("Address and secret are forgotten, its log stays.")
    result = Done

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, bool]:
        """By the action of the page."""
        channels.remove(where["number"], actor=actor)
        return {"done": True}


class SecretOut(serializers.Serializer[Any]):
    """A secret."""

    secret = serializers.CharField(help_text=_("Shown this once."))


class SecretDoor(ChannelAct, ShowsSecret):
    """Another signing secret."""

    name = "api-channel-secret"
    title = _("Make a new signing secret")
    says = _("The old one signs nothing more. 409 for a robot.")
    result = SecretOut

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, str]:
        """By the action of the page."""
        return {"secret": channels.new_secret(where["number"], actor=actor)}


class TryRow(serializers.Serializer[Any]):
    """One try of a delivery."""

    at = serializers.DateTimeField()
    status = serializers.IntegerField(allow_null=True, help_text=_("Of the answer; null where none came."))
    took_ms = serializers.IntegerField()
    fault = serializers.CharField(help_text=_("A code; empty where it was taken."))
    head = serializers.CharField(help_text=_("The beginning of the answer."))


class DeliveryRow(serializers.Serializer[Any]):
    """A delivery."""

    id = serializers.IntegerField(source="pk")
    message_id = serializers.CharField(help_text=_("The same through all tries: the receiver's webhook-id."))
    event = serializers.SerializerMethodField()
    about = serializers.SerializerMethodField()
    state = serializers.ChoiceField(choices=STATES)
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    done_at = serializers.DateTimeField(allow_null=True)
    tries = serializers.SerializerMethodField()

    def get_event(self, delivery: Delivery) -> str:
        """The code of the event."""
        return delivery.happening.event if delivery.happening else delivering.TEST_EVENT

    def get_about(self, delivery: Delivery) -> str:
        """The code of the object, empty for a test."""
        return delivery.happening.about if delivery.happening else ""

    def get_tries(self, delivery: Delivery) -> list[dict[str, Any]]:
        """Each try, the last first."""
        found = sorted(delivery.tries.all(), key=lambda one: one.pk, reverse=True)
        return [dict(TryRow(one).data) for one in found]


class DeliveriesDoor(ListDoor):
    """What was sent to a channel."""

    name = "api-channel-deliveries"
    title = _("Deliveries of a channel")
    says = _("What was sent to it or waits, the newest first, with every try.")
    out, order = DeliveryRow, ("-pk",)

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may change it."""
        _channel(actor, where["number"])

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Delivery]:
        """As the page has them."""
        return channels.deliveries_of(_channel(actor, where["number"]))


class TestDoor(ChannelAct):
    """A test, sent now."""

    name = "api-channel-test"
    title = _("Test a channel")
    says = _("Sends a test and answers how it went.")
    result = DeliveryRow

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Delivery:
        """By the action of the page."""
        delivery = channels.begin_test(where["number"], actor=actor)
        delivering.attempt(delivery)
        return Delivery.objects.select_related("happening").get(pk=delivery.pk)


class AgainDoor(WriteDoor):
    """A delivery sent once more."""

    name = "api-delivery-again"
    title = _("Send a delivery again")
    says = _("Under the same id, as soon as a worker is free. 409 while its channel is switched off.")
    result, success = DeliveryRow, 202

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may change its channel."""
        number = where["number"]
        known = Delivery.objects.filter(pk=number, channel__in=channels.visible_to(actor))
        if number > LARGEST or not known.exists():
            raise NotFound(NOTHING)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Delivery:
        """By the action of the page."""
        return channels.send_again(where["number"], actor=actor)
