"""Doors of background work."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors.door import NOTHING, ListDoor, WriteDoor
from governance.doors.query import Paged, narrowed, text
from governance.errors import NotFound

from . import actions, reads
from .models import DONE, FAILED, RUNNING, WAITING, WorkItem


class WorkRow(serializers.Serializer[Any]):
    """A piece of work."""

    kind = serializers.CharField()
    key = serializers.CharField(help_text=_("What it is about: the code of a cluster, or “all”."))
    state = serializers.ChoiceField(choices=(WAITING, RUNNING, DONE, FAILED))
    asked_at = serializers.DateTimeField()
    asked_by = serializers.CharField()
    due_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    attempt = serializers.IntegerField()
    progress_done = serializers.IntegerField()
    progress_of = serializers.IntegerField(help_text=_("0 where it is not known."))
    last_error_code = serializers.CharField()
    last_error = serializers.SerializerMethodField()
    last_error_at = serializers.DateTimeField(allow_null=True)
    correlation_id = serializers.CharField()

    def get_last_error(self, item: WorkItem) -> str:
        """In the reader's language; empty where there was none since the last success."""
        return reads.error_words(item)


class WorkQuery(Paged):
    """Filters of work."""

    kind = text(_("A kind of work, such as “usage.pull”."))
    key = text(_("What it is about."))
    state = serializers.ChoiceField(choices=(WAITING, RUNNING, DONE, FAILED), required=False, help_text=_("A state."))


def see_operations(actor: Actor) -> None:
    """Raise NotFound for who does not see operations."""
    if not actor.may("operations.view"):
        raise NotFound(NOTHING)


class WorkDoor(ListDoor):
    """All work by kind and key."""

    name = "api-work-items"
    title = _("Background work")
    says = _("Pieces of work, one for each kind and key: where they stand, how far they are, what failed.")
    query, out, order = WorkQuery, WorkRow, ("kind", "key")

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations."""
        see_operations(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[WorkItem]:
        """By kind, key and state."""
        return narrowed(WorkItem.objects.all(), asked, {name: name for name in ("kind", "key", "state")})


class WorkRetry(serializers.Serializer[Any]):
    """Which work."""

    kind = serializers.CharField(max_length=64)
    key = serializers.CharField(max_length=200)


class RetryDoor(WriteDoor):
    """Failed work, tried at once."""

    name = "api-work-retry"
    title = _("Try work now")
    says = _("Its pause and its attempts are forgotten; what is done is done once more. 409 while it runs.")
    takes, result, capability, success = WorkRetry, WorkRow, "records.import", 202

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations."""
        see_operations(actor)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> WorkItem:
        """By the action of the page."""
        actions.retry(given["kind"], given["key"], actor=actor)
        return WorkItem.objects.get(kind=given["kind"], key=given["key"])
