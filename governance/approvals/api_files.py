"""Doors of files with asks: attach, fetch, take off."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import FileResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from governance.access.actor import Actor
from governance.doors import once
from governance.doors.door import Door, WriteDoor
from governance.doors.query import Query
from governance.errors import TooMuch
from governance.usage.ops.api import AnyParser

from . import attachments, reads
from .models import Attachment
from .shapes import AskFileOut

BLOCK = 1 << 16


class NameQuery(Query):
    """What the file is called."""

    name = serializers.CharField(max_length=200, help_text=_("With the suffix of its kind, such as plan.pdf."))


class AskFilesDoor(WriteDoor):
    """Attaching a file."""

    name = "api-ask-files"
    title = _("Attach a file to an ask")
    says = _("The body is the file. Its kind is told by its name and its content; it is given out as a download alone.")
    options, result, success = NameQuery, AskFileOut, 201
    takes_file = tuple(sorted({media for media, _begins in attachments.TYPES.values()}))
    parser_classes = [AnyParser]

    def see(self, actor: Actor, **where: Any) -> None:
        """Asks that one sees."""
        reads.ask_of(where["ask"], actor)

    def digest(self, request: Request) -> str:
        """Of the file too."""
        whole = request._request
        return once.digest(str(whole.method).encode(), whole.get_full_path().encode(), self._received())

    def _received(self) -> bytes:
        """The body, read once. Raises TooMuch."""
        if not hasattr(self, "_body"):
            most = settings.ATTACHMENT_MIB << 20
            found = bytearray()
            while block := self.request._request.read(BLOCK):
                found += block
                if len(found) > most:
                    raise TooMuch(attachments.TOO_LARGE, most=settings.ATTACHMENT_MIB)
            self._body = bytes(found)
        return self._body

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Attachment:
        """By the action of the page."""
        return attachments.attach(where["ask"], asked["name"], self._received(), actor=actor)


class AskFileDoor(Door):
    """A file."""

    name = "api-ask-file"
    title = _("A file of an ask")
    says = _("Its content, as a download.")
    out = AskFileOut
    gives_file = tuple(sorted({media for media, _begins in attachments.TYPES.values()}))

    def get(self, request: Request, **where: Any) -> FileResponse:
        """Fetch it."""
        return file_response(where["ask"], where["number"], self.actor)


def file_response(number: str, pk: int, actor: Actor) -> FileResponse:
    """The file as a download that no browser runs or guesses at; the page gives it out the same way."""
    found, path = attachments.fetched(number, pk, actor=actor)
    response = FileResponse(path.open("rb"), content_type=found.media_type)
    response["Content-Disposition"] = content_disposition_header(True, found.name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["ETag"] = f'"{found.digest}"'
    response["Cache-Control"] = "private, no-store"
    return response


class AskFileDetachDoor(WriteDoor):
    """Taking a file off."""

    name = "api-ask-file-detach"
    title = _("Take a file off an ask")
    says = _("While it can be changed.")
    result = AskFileOut

    def see(self, actor: Actor, **where: Any) -> None:
        """Asks that one sees."""
        reads.ask_of(where["ask"], actor)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Attachment:
        """By the action of the page."""
        return attachments.detach(where["ask"], where["number"], actor=actor)
