"""Channels: added, changed, switched off and on, tested, removed. Who may is asked of the channel's scope."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from governance.access.actor import Actor
from governance.audit.actions import record as audit
from governance.errors import N_, BadData, NotAllowed, NotFound, NotTheMoment
from governance.work import actions as work

from . import guard, registry, robots, sealing
from .channel_models import KINDS, SITE, WAITING, WEBHOOK, WITHHELD
from .models import Channel, Delivery
from .outbox import DELIVER, message_id

CAPABILITY = "channels.change"
MOST_CHANNELS = 50  # of one scope
NO_CHANNEL = N_("There is no such channel of yours.")
NOT_YOURS = N_(
    "Channels of the site are the system administrator's, those of a department its head's, those of a project its lead's."
)
BY_HAND, FAILING, GONE = "by_hand", "failing", "gone"


def visible_to(actor: Actor) -> QuerySet[Channel]:
    """The channels of the scopes on which the actor may change channels."""
    rows = Channel.objects.filter(ended_at__isnull=True).select_related("owner")
    if actor.may(CAPABILITY):
        return rows
    where = Q(pk__in=[])
    for code, scope in registry.SCOPES.items():
        where |= Q(scope_kind=code, scope_code__in=[one for one, _name in scope.choices(actor, CAPABILITY)])
    return rows.filter(where)


def scopes_of(actor: Actor) -> list[tuple[str, str, str]]:
    """(kind, code, name) of each scope on which the actor may have channels; the site's first, with code and name ""."""
    found = [(SITE, "", "")] if actor.may(CAPABILITY) else []
    for kind, scope in registry.SCOPES.items():
        found += [(kind, code, name) for code, name in scope.choices(actor, CAPABILITY)]
    return found


def may_on(actor: Actor, kind: str, code: str) -> bool:
    """Whether the actor may have channels on a scope; False for one that is not there."""
    if kind == SITE:
        return actor.may(CAPABILITY)
    scope = registry.SCOPES.get(kind)
    node = scope.find(code) if scope else None
    return node is not None and actor.may(CAPABILITY, node)


def sendable() -> list[registry.Event]:
    """The events that a channel may carry."""
    return [event for event in registry.EVENTS.values() if not event.personal]


@transaction.atomic
def add(
    kind: str,
    name: str,
    url: str,
    *,
    actor: Actor,
    scope: tuple[str, str] = (SITE, ""),
    secret: str = "",
    events: Iterable[str] = (),
    language: str = "zh-hans",
) -> tuple[Channel, str]:
    """A new channel of the actor's own; answers it with the signing secret of a webhook, which is shown this once.

    `events`: none for all that may be sent. A webhook's secret is ours to make; a robot's is given. Raises NotFound for a
    scope that is not the actor's to see, NotAllowed, NotTheMoment where there are too many, and BadData.
    """
    _require(actor, *scope)
    if Channel.objects.filter(scope_kind=scope[0], scope_code=scope[1], ended_at__isnull=True).count() >= MOST_CHANNELS:
        raise NotTheMoment(N_("There are %(most)s channels here already. Remove one first."), most=MOST_CHANNELS)
    given = _checked(kind, name, events, language)
    guard.check_url(url)
    shown = fresh_secret() if kind == WEBHOOK else ""
    channel = Channel(kind=kind, owner=actor.person, scope_kind=scope[0], scope_code=scope[1], **given)
    _put_address(channel, url)
    _put_secret(channel, shown or _robot_secret(kind, secret))
    channel.save()
    channel.refresh_from_db()
    audit(actor, "channel.added", "channel", str(channel.pk), after=_state(channel))
    return channel, shown


@transaction.atomic
def change(
    number: int,
    *,
    actor: Actor,
    name: str | None = None,
    url: str = "",
    secret: str = "",
    events: Iterable[str] | None = None,
    language: str | None = None,
) -> Channel:
    """Change what is given; an empty `url` or `secret` leaves the one that is kept.

    A channel carries what its owner may see: whoever gives it another address or other events becomes its owner. Raises
    NotFound, BadData.
    """
    channel = _locked(number, actor)
    before = _state(channel)
    given = _checked(
        channel.kind,
        channel.name if name is None else name,
        channel.events if events is None else events,
        channel.language if language is None else language,
    )
    takes_over = bool(url) or given["events"] != channel.events
    for field, value in given.items():
        setattr(channel, field, value)
    if url:
        guard.check_url(url)
        _put_address(channel, url)
    if secret and channel.kind != WEBHOOK:
        _put_secret(channel, _robot_secret(channel.kind, secret))
    if takes_over and actor.person is not None:
        channel.owner = actor.person
    channel.save()
    after = _state(channel) | {"new_address": bool(url), "new_secret": bool(secret) and channel.kind != WEBHOOK}
    audit(actor, "channel.changed", "channel", str(channel.pk), before=before, after=after)
    return channel


@transaction.atomic
def new_secret(number: int, *, actor: Actor) -> str:
    """Another signing secret for a webhook, shown this once; the old one signs nothing more. Raises NotFound, NotTheMoment."""
    channel = _locked(number, actor)
    if channel.kind != WEBHOOK:
        raise NotTheMoment(N_("The secret of a robot is made where the robot is. Enter the new one here."))
    shown = fresh_secret()
    _put_secret(channel, shown)
    channel.save(update_fields=["secret_sealed", "secret_hint"])
    audit(actor, "channel.new_secret", "channel", str(channel.pk))
    return shown


@transaction.atomic
def switch(number: int, on: bool, *, actor: Actor) -> Channel:
    """Switch a channel off, or on again: then what waited is sent. Raises NotFound."""
    channel = _locked(number, actor)
    if on == (channel.stopped_at is None):
        return channel
    before = _state(channel)
    channel.stopped_at, channel.stopped_why = (None, "") if on else (timezone.now(), BY_HAND)
    channel.failures, channel.failing_since_at, channel.paused_until_at = 0, None, None
    channel.save()
    audit(actor, "channel.switched", "channel", str(channel.pk), before=before, after=_state(channel))
    if on:
        _ask(channel)
    return channel


@transaction.atomic
def remove(number: int, *, actor: Actor) -> None:
    """Take a channel away; its address and secret are forgotten, its log stays for the audit. Raises NotFound."""
    channel = _locked(number, actor)
    before = _state(channel)
    channel.ended_at, channel.url_sealed, channel.secret_sealed = timezone.now(), "", ""
    channel.save()
    Delivery.objects.filter(channel=channel, state=WAITING).update(state=WITHHELD, due_at=None, done_at=timezone.now())
    audit(actor, "channel.removed", "channel", str(channel.pk), before=before)


@transaction.atomic
def send_again(number: int, *, actor: Actor) -> Delivery:
    """Send a delivery once more, under the same id. Raises NotFound, and NotTheMoment while its channel is switched off."""
    delivery = (
        Delivery.objects.select_for_update(of=("self",))
        .select_related("channel")
        .filter(pk=number, channel__in=visible_to(actor))
        .first()
    )
    if delivery is None:
        raise NotFound(N_("There is no such delivery of yours."))
    if not delivery.channel.is_live:
        raise NotTheMoment(N_("The channel is switched off. Switch it on first."))
    before = {"state": delivery.state, "attempts": delivery.attempts}
    delivery.state, delivery.due_at, delivery.attempts, delivery.done_at = WAITING, timezone.now(), 0, None
    delivery.save()
    Channel.objects.filter(pk=delivery.channel_id).update(paused_until_at=None)
    audit(
        actor,
        "delivery.asked_again",
        "channel",
        str(delivery.channel_id),
        before=before,
        after={"id": delivery.message_id},
    )
    _ask(delivery.channel)
    return delivery


@transaction.atomic
def begin_test(number: int, *, actor: Actor) -> Delivery:
    """A delivery that only says that the channel works; `delivering.attempt` sends it. Raises NotFound."""
    channel = _locked(number, actor)
    delivery = Delivery.objects.create(
        channel=channel, message_id=message_id(), state=WAITING, due_at=timezone.now(), happening=None
    )
    audit(actor, "channel.tested", "channel", str(channel.pk), after={"id": delivery.message_id})
    return delivery


def deliveries_of(channel: Channel) -> QuerySet[Delivery]:
    """Its deliveries, the newest first."""
    return (
        Delivery.objects.filter(channel=channel).select_related("happening").prefetch_related("tries").order_by("-pk")
    )


def fresh_secret() -> str:
    """A signing secret of 256 random bits in the form of Standard Webhooks."""
    return robots.SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def _require(actor: Actor, kind: str, code: str) -> None:
    """Raise unless the actor, a person, may have channels on the scope. What it sees of others' scopes is nothing."""
    if actor.person is None:
        raise NotAllowed(NOT_YOURS)
    if not may_on(actor, kind, code):
        raise NotAllowed(NOT_YOURS) if kind == SITE else NotFound(NOT_YOURS)


def _locked(number: int, actor: Actor) -> Channel:
    channel = visible_to(actor).select_for_update(of=("self",)).filter(pk=number).first() if number < 2**63 else None
    if channel is None:
        raise NotFound(NO_CHANNEL)
    if not actor.is_machine and not may_on(actor, channel.scope_kind, channel.scope_code):
        raise NotAllowed(NOT_YOURS)
    return channel


def _checked(kind: str, name: str, events: Iterable[str], language: str) -> dict[str, Any]:
    if kind not in KINDS:
        raise BadData(
            N_("“%(kind)s” is no kind of channel. Known are: %(known)s."), kind=kind[:50], known=", ".join(KINDS)
        )
    name = name.strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise BadData(N_("A channel needs a name of at most 100 characters that says where it leads."))
    known = {event.code for event in sendable()}
    chosen = sorted(set(events))
    for one in chosen:
        if one not in known:
            raise BadData(N_("“%(event)s” is no event that a channel carries."), event=one[:100])
    if language not in dict(settings.LANGUAGES):
        raise BadData(N_("“%(value)s” is not one of the choices."), value=language[:100])
    return {"name": name, "events": chosen, "language": language}


def _robot_secret(kind: str, secret: str) -> str:
    secret = secret.strip()
    if secret and kind not in robots.KINDS_WITH_SECRET:
        raise BadData(N_("This kind of robot has no secret; its key is in its address."))
    if len(secret) > 200 or not secret.isprintable() or not secret.isascii():
        raise BadData(N_("The secret has at most 200 printable ASCII characters."))
    return secret


def _put_address(channel: Channel, url: str) -> None:
    parts = urlsplit(url)
    channel.url_sealed = sealing.seal(url)
    path = parts.path if channel.kind == WEBHOOK else "/…" if parts.path else ""
    channel.url_hint = f"{parts.scheme}://{parts.netloc}{path}{'?…' if parts.query else ''}"[:200]


def _put_secret(channel: Channel, secret: str) -> None:
    channel.secret_sealed = sealing.seal(secret)
    channel.secret_hint = secret[-4:] if len(secret) >= 16 else ""


def _state(channel: Channel) -> dict[str, Any]:
    """What the trail says of a channel; neither its address nor its secret is among it."""
    return {
        "kind": channel.kind,
        "name": channel.name,
        "owner": channel.owner.username,
        "scope": f"{channel.scope_kind} {channel.scope_code}".strip(),
        "events": channel.events,
        "language": channel.language,
        "host": urlsplit(channel.url_hint).netloc,
        "stopped_why": channel.stopped_why,
    }


def _ask(channel: Channel) -> None:
    transaction.on_commit(lambda: work.ask(DELIVER, str(channel.pk), actor=Actor.machine("notices")), robust=True)
