"""The door of the audit trail."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors.door import NOTHING, ListDoor
from governance.doors.query import Paged, narrowed, text
from governance.errors import NotFound

from .models import AuditLine


class AuditRow(serializers.Serializer[Any]):
    """A line of the trail."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    is_machine = serializers.BooleanField()
    address = serializers.CharField()
    action = serializers.CharField()
    object_kind = serializers.CharField()
    object_code = serializers.CharField()
    before = serializers.JSONField(help_text=_("Null where there was nothing."))
    after = serializers.JSONField(help_text=_("Null where nothing is left."))


class AuditQuery(Paged):
    """Filters of the trail."""

    actor = text(_("Who did it: a username, or the name of a part of the portal."))
    action = text(_("What was done, such as “usage.imported”."))
    object_kind = text(_("To what kind of thing."))
    object_code = text(_("To which one."))
    since = serializers.DateTimeField(required=False, help_text=_("Not before this instant."))
    until = serializers.DateTimeField(required=False, help_text=_("Before this instant."))


class AuditDoor(ListDoor):
    """The trail, the latest first."""

    name = "api-audit-lines"
    title = _("Audit lines")
    says = _("Who changed what, from what to what, from where; the latest first.")
    query, out, order = AuditQuery, AuditRow, ("-id",)

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who audit."""
        if not actor.may("audit.view"):
            raise NotFound(NOTHING)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[AuditLine]:
        """By what was done, to what, by whom, when."""
        own = {name: name for name in ("actor", "action", "object_kind", "object_code")}
        return narrowed(AuditLine.objects.all(), asked, {**own, "since": "at__gte", "until": "at__lt"})
