"""Tables of notices: what happened, who was told, and how they want to be told. Channels are in channel_models."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from governance.access.actor import Actor

from .channel_models import Attempt, Channel, Delivery
from .rules import AT_ONCE, DIGEST, DIGEST_HOUR, OFF

__all__ = ["Attempt", "Channel", "Choice", "Delivery", "Happening", "Notice", "Plan"]


class Happening(models.Model):
    """That an event happened to an object. Once for each threshold, however often it is published."""

    event = models.CharField(max_length=64)
    about = models.CharField(max_length=300)  # the code of the object; its kind is the event's
    threshold = models.CharField(max_length=100, blank=True)  # which of several such events: a day, an episode, a bound
    facts = models.JSONField(default=dict)  # plain values, for the words
    at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        db_table = "happening"
        constraints = [models.UniqueConstraint(name="happening_once", fields=["event", "about", "threshold"])]

    def __str__(self) -> str:
        return f"{self.event} {self.about}"


class NoticeQuerySet(models.QuerySet["Notice"]):
    """Notices, and whose they are."""

    def visible_to(self, actor: Actor) -> NoticeQuerySet:
        """One's own."""
        return self.filter(person=actor.person) if actor.person is not None else self.none()

    def in_portal(self) -> NoticeQuerySet:
        """Those that their person wants to see in the portal."""
        return self.filter(in_app=True)

    def unread(self) -> NoticeQuerySet:
        """Those not marked as read."""
        return self.filter(read_at__isnull=True)


class Notice(models.Model):
    """That a person is told of a happening: a row of the outbox, unique for each of both."""

    happening = models.ForeignKey(Happening, on_delete=models.CASCADE, related_name="notices")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    role = models.CharField(max_length=32, blank=True)  # in which they are told; it words the notice
    in_app = models.BooleanField(default=True)
    read_at = models.DateTimeField(null=True)
    mail = models.CharField(max_length=10, default=OFF)
    mail_due_at = models.DateTimeField(null=True)  # None: no mail is owed, or it is done
    mailed_at = models.DateTimeField(null=True)
    mail_left = models.CharField(max_length=20, blank=True)  # why none was sent: muted, unseen, no_address

    objects = NoticeQuerySet.as_manager()

    class Meta:
        db_table = "notice"
        constraints = [
            models.UniqueConstraint(name="notice_once", fields=["happening", "person"]),
            models.CheckConstraint(name="notice_mail", condition=Q(mail__in=[AT_ONCE, DIGEST, OFF])),
        ]
        indexes = [
            models.Index(F("person"), F("id").desc(), name="notice_of_person"),
            models.Index(name="notice_unread", fields=["person"], condition=Q(read_at__isnull=True, in_app=True)),
            models.Index(
                name="notice_mail_due", fields=["mail_due_at", "person"], condition=Q(mail_due_at__isnull=False)
            ),
        ]


class Plan(models.Model):
    """When a person's digest goes out: an hour of their own day."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="notice_plan"
    )
    digest_hour = models.PositiveSmallIntegerField(default=DIGEST_HOUR)
    time_zone = models.CharField(max_length=64, blank=True)  # "": the billing time zone

    class Meta:
        db_table = "notice_plan"
        constraints = [models.CheckConstraint(name="notice_plan_hour", condition=Q(digest_hour__lt=24))]


class Choice(models.Model):
    """By which ways a person wants the events of a group."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_choices")
    group = models.CharField(max_length=32)
    in_app = models.BooleanField(default=True)
    mail = models.CharField(max_length=10)

    class Meta:
        db_table = "notice_choice"
        constraints = [
            models.UniqueConstraint(name="notice_choice_once", fields=["person", "group"]),
            models.CheckConstraint(name="notice_choice_mail", condition=Q(mail__in=[AT_ONCE, DIGEST, OFF])),
        ]
