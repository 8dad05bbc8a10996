"""Sending what waits for a channel: in order, at least once, always under the same id, and only what its owner may see."""

from __future__ import annotations

import json
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override
from rest_framework.utils.encoders import JSONEncoder

from governance.access.actor import Actor
from governance.audit.actions import record as audit
from governance.errors import NotTheMoment
from governance.work import actions as work
from governance.work.running import Claim

from . import channels, guard, reads, registry, robots, rules, sealing, wording
from .channel_models import FAILED, SENT, WAITING, WEBHOOK, WITHHELD
from .guard import Answer
from .models import Attempt, Channel, Delivery
from .outbox import DELIVER, publish
from .registry import Recipient

AT_ONCE = 100
GONE_STATUS = 410
VERSION = 1
TEST_EVENT = "channel.test"


def send_due(channel_pk: int, claim: Claim | None = None) -> int:
    """Send what is due to a channel; answers how many were taken. What is left is asked for at its time.

    Where one is not taken, what waits behind it is left for a pause as well: a place that is down is asked once a pause and
    not once a message.
    """
    taken = 0
    for _one in range(AT_ONCE):
        delivery = _next(channel_pk)
        if delivery is None:
            break
        if claim is not None:
            claim.check()
        taken += attempt(delivery) == SENT
    _ask_for_the_rest(channel_pk)
    return taken


def _next(channel_pk: int) -> Delivery | None:
    now = timezone.now()
    channel = Channel.objects.filter(pk=channel_pk, ended_at__isnull=True, stopped_at__isnull=True).first()
    if channel is None or (channel.paused_until_at is not None and channel.paused_until_at > now):
        return None
    waiting = Delivery.objects.filter(channel=channel, state=WAITING, due_at__lte=now)
    return waiting.select_related("channel__owner", "happening").order_by("due_at", "pk").first()


def _ask_for_the_rest(channel_pk: int) -> None:
    channel = Channel.objects.filter(pk=channel_pk, ended_at__isnull=True, stopped_at__isnull=True).first()
    first = Delivery.objects.filter(channel_id=channel_pk, state=WAITING).order_by("due_at").first()
    if channel is not None and first is not None and first.due_at is not None:
        due = max(first.due_at, channel.paused_until_at or first.due_at)
        work.ask(DELIVER, str(channel_pk), due_at=due, actor=Actor.machine("notices"))


def attempt(delivery: Delivery) -> str:
    """Try once, and note how it went; answers the state the delivery is in now.

    Killed between sending and noting, the same is sent again under the same id: that is for the receiver to tell by.
    """
    channel = delivery.channel
    owner = Actor.of(channel.owner)
    if not _owner_may(owner, delivery):
        return _note(delivery, None)
    try:
        going = _post_of(delivery, owner)
        answer = guard.post(going.url, going.body, going.headers)
    except NotTheMoment:
        answer = Answer(None, "", 0, "sealed")
    return _note(delivery, answer)


def _owner_may(owner: Actor, delivery: Delivery) -> bool:
    """Whether its owner may still have this channel, and see what it would carry."""
    channel = delivery.channel
    if not channel.owner.is_active or not channels.may_on(owner, channel.scope_kind, channel.scope_code):
        return False
    return delivery.happening is None or bool(reads.seen_by(owner, [delivery.happening]))


def _post_of(delivery: Delivery, owner: Actor) -> robots.Post:
    channel = delivery.channel
    url, secret = sealing.unseal(channel.url_sealed), sealing.unseal(channel.secret_sealed)
    if channel.kind != WEBHOOK:
        return robots.robot_post(channel.kind, url, secret, message_of(delivery), time.time())
    if not delivery.body:
        delivery.body = json.dumps(payload(delivery, owner), cls=JSONEncoder, ensure_ascii=False)
        delivery.save(update_fields=["body"])  # further attempts send the same
    return robots.webhook_post(url, secret, delivery.message_id, delivery.body.encode(), time.time())


def message_of(delivery: Delivery) -> robots.Message:
    """What a robot says, in the channel's language."""
    with override(delivery.channel.language):
        said = _said(delivery)
        return robots.Message(said.title, said.text, wording.whole(said.url), _("Open"))


def payload(delivery: Delivery, owner: Actor) -> dict[str, Any]:
    """What a webhook is sent: the event, its facts, and of the object what the API shows the channel's owner now."""
    happening, channel = delivery.happening, delivery.channel
    with override(channel.language):
        said = _said(delivery)
        found: dict[str, Any] = {
            "type": happening.event if happening else TEST_EVENT,
            "version": VERSION,
            "timestamp": (happening.at if happening else delivery.created_at).astimezone(UTC).isoformat(),
            "data": {
                "title": said.title,
                "text": said.text,
                "url": wording.whole(said.url),
                "facts": {},
                "about": None,
            },
        }
        if happening is not None:
            kind = registry.KINDS[registry.event_of(happening.event).kind]
            found["data"] |= {
                "facts": happening.facts,
                "about": {"kind": kind.code, "code": happening.about},
                "object": kind.show(owner, happening.about),
            }
    return found


def _said(delivery: Delivery) -> wording.Said:
    if delivery.happening is None:
        text = _("If you read this, notices get through on the channel “%(name)s”.") % {"name": delivery.channel.name}
        return wording.Said(_("Test of a channel"), text, "")
    return wording.said(delivery.happening, "", wording.zone_of(None))


@transaction.atomic
def _note(delivery: Delivery, answer: Answer | None) -> str:
    """Write down how a try went, for the delivery and for its channel. `answer` None: nothing was sent, it is withheld."""
    now = timezone.now()
    channel = Channel.objects.select_for_update().get(pk=delivery.channel_id)
    if answer is None:
        Delivery.objects.filter(pk=delivery.pk).update(state=WITHHELD, due_at=None, done_at=now, body="")
        return WITHHELD
    is_taken = robots.taken(channel.kind, answer)
    fault = "" if is_taken else answer.fault or ("status" if not 200 <= (answer.status or 0) < 300 else "code")
    Attempt.objects.create(
        delivery=delivery, status=answer.status, took_ms=answer.took_ms, fault=fault, head=answer.head
    )
    tries = delivery.attempts + 1
    pause = None if is_taken or delivery.happening is None else rules.pause_seconds(tries, random.random())  # noqa: S311
    state = SENT if is_taken else WAITING if pause is not None else FAILED
    due = now + timedelta(seconds=pause) if state == WAITING and pause is not None else None
    Delivery.objects.filter(pk=delivery.pk).update(
        state=state, attempts=tries, due_at=due, done_at=None if state == WAITING else now
    )
    if is_taken:
        channel.failures, channel.failing_since_at, channel.paused_until_at, channel.last_ok_at = 0, None, None, now
    elif delivery.happening is not None:  # a test that fails is told to who tests, and nobody else
        _note_failing(channel, answer, now)
    channel.save()
    return state


def _note_failing(channel: Channel, answer: Answer, now: datetime) -> None:
    """One more failure in a row: pause, and switch off what has failed for days or is gone for good."""
    channel.failures += 1
    channel.failing_since_at = channel.failing_since_at or now
    pause = rules.pause_seconds(channel.failures, 0.5)
    longest = rules.LONGEST_CHANNEL_PAUSE
    channel.paused_until_at = now + timedelta(seconds=min(longest if pause is None else pause, longest))
    days = settings.CHANNELS_FAIL_DAYS
    is_gone = answer.status == GONE_STATUS
    if channel.stopped_at is not None or not (is_gone or now - channel.failing_since_at >= timedelta(days=days)):
        return
    since = channel.failing_since_at
    channel.stopped_at, channel.stopped_why = now, channels.GONE if is_gone else channels.FAILING
    actor = Actor.machine("notices")
    after = {"stopped_why": channel.stopped_why, "failing_since_at": since}
    audit(actor, "channel.stopped", "channel", str(channel.pk), after=after)
    facts = {"name": channel.name, "since_at": since.isoformat(), "days": 0 if is_gone else days}
    publish("channel.stopped", str(channel.pk), [Recipient(channel.owner_id)], f"{now:%Y-%m-%dT%H:%M:%S}", facts)


def overdue(before: datetime) -> list[int]:
    """Live channels with something that has been due since before an instant."""
    live = Channel.objects.filter(ended_at__isnull=True, stopped_at__isnull=True)
    due = Delivery.objects.filter(channel__in=live, state=WAITING, due_at__lte=before)
    return list(due.order_by("channel").values_list("channel", flat=True).distinct())
