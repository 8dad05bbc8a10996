"""Tables of channels: where events are sent to, what was sent, and how each attempt went."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

WEBHOOK, FEISHU, DINGTALK, WECOM = "webhook", "feishu", "dingtalk", "wecom"
KINDS = (WEBHOOK, FEISHU, DINGTALK, WECOM)
SITE = "site"

WAITING, SENT, FAILED, WITHHELD = "waiting", "sent", "failed", "withheld"
STATES = (WAITING, SENT, FAILED, WITHHELD)


class Channel(models.Model):
    """A place that events are sent to in the name of its owner: it carries what the owner may see, and nothing else."""

    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="channels")
    scope_kind = models.CharField(max_length=16, default=SITE)
    scope_code = models.CharField(max_length=64, blank=True)
    events = ArrayField(models.CharField(max_length=64), default=list)  # none: all that may be sent
    language = models.CharField(max_length=10, default="zh-hans")
    url_sealed = models.TextField()  # the address of a robot is a secret in itself
    url_hint = models.CharField(max_length=200)
    secret_sealed = models.TextField(blank=True)
    secret_hint = models.CharField(max_length=8, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)  # removed; its log stays to be read
    stopped_at = models.DateTimeField(null=True)  # switched off, by a person or after days of failure
    stopped_why = models.CharField(max_length=20, blank=True)  # by_hand, failing, gone
    failures = models.PositiveIntegerField(default=0)  # in a row
    failing_since_at = models.DateTimeField(null=True)
    paused_until_at = models.DateTimeField(null=True)
    last_ok_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "channel"
        constraints = [
            models.CheckConstraint(name="channel_kind", condition=Q(kind__in=KINDS)),
            models.CheckConstraint(
                name="channel_scope",
                condition=Q(scope_kind=SITE, scope_code="") | (~Q(scope_kind=SITE) & ~Q(scope_code="")),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        """Whether anything is sent to it."""
        return self.ended_at is None and self.stopped_at is None


class Delivery(models.Model):
    """That a happening is sent to a channel. `message_id` stays the same through all attempts, so that receivers can tell."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    happening = models.ForeignKey("notices.Happening", on_delete=models.CASCADE, null=True, related_name="deliveries")
    message_id = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=10, default=WAITING)
    body = models.TextField(blank=True)  # as first sent: further attempts send the same
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)  # since it was last asked for
    done_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "delivery"
        constraints = [
            models.UniqueConstraint(name="delivery_once", fields=["channel", "happening"]),
            models.CheckConstraint(name="delivery_state", condition=Q(state__in=STATES)),
            models.CheckConstraint(
                name="delivery_due_while_waiting",
                condition=Q(state=WAITING, due_at__isnull=False) | (~Q(state=WAITING) & Q(due_at__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(name="delivery_due", fields=["channel", "due_at"], condition=Q(state=WAITING)),
            models.Index(name="delivery_of_channel", fields=["channel", "-id"]),
        ]


class Attempt(models.Model):
    """One try: what the other side said, or why there was no answer."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tries")
    at = models.DateTimeField(db_default=Now())
    status = models.PositiveSmallIntegerField(null=True)  # of the answer; None without one
    took_ms = models.PositiveIntegerField()
    fault = models.CharField(max_length=32, blank=True)  # a code; "" when it was taken
    head = models.TextField(blank=True)  # the beginning of the answer

    class Meta:
        db_table = "delivery_attempt"
