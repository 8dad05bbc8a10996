"""Doors of exports: ask, look, fetch, discard."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from governance.access.actor import Actor
from governance.doors.door import Door, ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged, narrowed

from . import actions, reads, views
from .kinds import KINDS
from .models import Export
from .rules import FORMATS, State

LANGUAGES = ("zh-hans", "en")


class ExportOut(serializers.Serializer[Any]):
    """An export."""

    id = serializers.CharField()
    kind = serializers.CharField()
    query = serializers.DictField(child=serializers.CharField(allow_blank=True), help_text=_("The filters, settled."))
    format = serializers.ChoiceField(choices=FORMATS)
    language = serializers.ChoiceField(choices=LANGUAGES)
    state = serializers.ChoiceField(choices=[str(one) for one in State])
    rows_done = serializers.IntegerField(help_text=_("All of them once it is done."))
    rows_of = serializers.IntegerField(help_text=_("0 where it is not known."))
    bytes = serializers.IntegerField()
    digest = serializers.CharField(help_text=_("SHA-256 of the file, in hexadecimal; empty without a file."))
    error = serializers.SerializerMethodField()
    asked_at = serializers.DateTimeField()
    made_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)

    def get_error(self, row: Export) -> str:
        """Why it failed, in the reader's language; empty where it did not."""
        return reads.error_words(row)


class ExportIn(serializers.Serializer[Any]):
    """What to export."""

    kind = serializers.ChoiceField(choices=sorted(KINDS))
    query = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=500),
        required=False,
        help_text=_("Filters, as in the query string of the page; for the ledger also department and period."),
    )
    format = serializers.ChoiceField(choices=FORMATS)
    language = serializers.ChoiceField(
        choices=LANGUAGES,
        required=False,
        help_text=_("Of headers and names; that of the request where nothing is said."),
    )


class ExportsQuery(Paged):
    """Filters of exports."""

    kind = serializers.ChoiceField(choices=sorted(KINDS), required=False, help_text=_("A kind."))
    state = serializers.ChoiceField(choices=[str(one) for one in State], required=False, help_text=_("A state."))


class ExportsDoor(WriteDoor, ListDoor):
    """One's exports, and asking for another."""

    name = "api-exports"
    title = _("Exports")
    says = _(
        "Files of what pages show, made in the background and kept for some days. Asking for the same again while it is"
        " under way answers the same export. Only your own are here."
    )
    query, out, order = ExportsQuery, ExportOut, ("-asked_at", "-id")
    takes, result, success, verb = ExportIn, ExportOut, 202, "ask"

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Export]:
        """By kind and state."""
        return narrowed(Export.objects.visible_to(actor), asked, {name: name for name in ("kind", "state")})

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Export:
        """By the action of the page."""
        language = given.get("language") or get_language() or LANGUAGES[0]
        return actions.ask(given["kind"], given.get("query", {}), given["format"], language, actor=actor)


class ExportDoor(OneDoor):
    """One export."""

    name = "api-export"
    title = _("One export")
    says = _("How far it is; ask every few seconds until its state is “done”.")
    out = ExportOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> Export:
        """With its progress while it is made."""
        found = reads.one(where["export"], actor)
        (row,) = reads.shown([found])
        found.rows_done, found.rows_of = row.done, row.of
        return found


class ExportFileDoor(Door):
    """The file."""

    name = "api-export-file"
    title = _("The file of an export")
    says = _(
        "The content of the file. What you may see is asked again: 403 where your roles show you less than when it was"
        " made, 409 where there is no file."
    )
    out = ExportOut
    gives_file = ("text/csv", views.TYPES["xlsx"])

    def get(self, request: Request, **where: Any) -> FileResponse:
        """Fetch it."""
        return views.file_response(where["export"], self.actor)


class ExportDiscardDoor(WriteDoor):
    """Giving it up."""

    name = "api-export-discard"
    title = _("Discard an export")
    says = _("Cancels what is under way, deletes the file of what is done. 409 where neither is there.")
    result = ExportOut

    def see(self, actor: Actor, **where: Any) -> None:
        """One's own."""
        reads.one(where["export"], actor)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Export:
        """By the action of the page."""
        return actions.discard(reads.key_of(where["export"]), actor=actor)
