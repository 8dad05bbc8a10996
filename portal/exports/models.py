"""The table of exports."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from governance.access.actor import Actor

from .rules import FORMATS, UNDER_WAY, State


class ExportQuerySet(models.QuerySet["Export"]):
    """Exports, and whose they are."""

    def visible_to(self, actor: Actor) -> ExportQuerySet:
        """One's own."""
        return self.filter(person=actor.person) if actor.person is not None else self.none()

    def under_way(self) -> ExportQuerySet:
        """Those that wait or are being made."""
        return self.filter(state__in=UNDER_WAY)

    def over(self, at: datetime) -> ExportQuerySet:
        """Those whose file's time is over at an instant."""
        return self.filter(state=State.DONE, expires_at__lte=at)


class Export(models.Model):
    """One file that somebody asked for: of what, how far it is, and what came of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="exports")
    kind = models.CharField(max_length=32)
    query = models.JSONField(default=dict)  # {name: text}, settled: nothing in it means "the latest"
    format = models.CharField(max_length=8)
    language = models.CharField(max_length=16)
    state = models.CharField(max_length=12, default=State.WAITING.value)
    rows_done = models.PositiveBigIntegerField(default=0)
    rows_of = models.PositiveBigIntegerField(default=0)  # 0: not known
    bytes = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True, default="")  # SHA-256 of the file, hex
    reach = models.JSONField(default=dict)  # what its person could see when it was made; see rules.covers
    error = models.TextField(blank=True, default="")  # English msgid; worded when shown
    error_params = models.JSONField(default=dict)
    asked_at = models.DateTimeField(db_default=Now())
    made_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        db_table = "export"
        indexes = [models.Index(name="export_of_person", fields=["person", "-asked_at", "id"])]
        constraints = [
            models.CheckConstraint(name="export_state", condition=Q(state__in=[one.value for one in State])),
            models.CheckConstraint(name="export_format", condition=Q(format__in=FORMATS)),
            models.CheckConstraint(
                name="export_done_has_a_file",
                condition=~Q(state=State.DONE.value)
                | (Q(made_at__isnull=False, expires_at__isnull=False) & Q(digest__regex=r"^[0-9a-f]{64}$")),
            ),
            models.CheckConstraint(
                name="export_failed_says_why", condition=~Q(state=State.FAILED.value) | ~Q(error="")
            ),
            models.CheckConstraint(name="export_progress", condition=Q(rows_of=0) | Q(rows_done__lte=F("rows_of"))),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_under_way(self) -> bool:
        """Whether it waits or is being made."""
        return self.state in UNDER_WAY

    @property
    def file_name(self) -> str:
        """What the file is called where it is kept."""
        return f"{self.id}.{self.format}"
