"""The door that a scheduler's submit hook or log reader reports refused submissions through."""

from __future__ import annotations

import hmac
import json
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request

from governance.access.actor import Actor
from governance.doors.door import NOTHING, WriteDoor
from governance.errors import N_, BadData, NotFound, NotSignedIn
from governance.tokens import rules
from governance.tokens.authentication import SessionAuthentication, TokenAuthentication, shown

from .. import live
from ..actions import cluster_of

MOST_REPORTS = 1_000
MOST_MILLI = 10**12


class HookAuthentication(TokenAuthentication):
    """The hook by its own token, a person's program by a personal one."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """Raises NotSignedIn for a token that is neither; no header is no answer."""
        given = shown(request)
        if given is None or given.startswith(rules.PREFIX):
            return super().authenticate(request)
        token = settings.REFUSED_TOKEN
        # Compared even where none is set, so that the time of the answer tells nothing of it.
        same = hmac.compare_digest(given.encode(), token.encode())
        if not token or not same:
            raise NotSignedIn(N_("The token is not the one of STEELYARD_REFUSED_TOKEN."))
        address = request.META.get("REMOTE_ADDR", "")
        request._request.actor = Actor(name="submit hook", is_machine=True, address=address)
        return AnonymousUser(), None


class RefusedReport(serializers.Serializer[Any]):
    """A submission that the scheduler refused."""

    key = serializers.CharField(max_length=128, help_text=_("The reporter's own id of the event; twice is one row."))
    at = serializers.DateTimeField(help_text=_("When, with an offset."))
    reason = serializers.CharField(max_length=300)
    account = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    user = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    partition = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    qos = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    asked_gpu_milli = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=MOST_MILLI, help_text=_("In thousandths of a GPU.")
    )


class RefusedTaken(serializers.Serializer[Any]):
    """What was taken in."""

    reports = serializers.IntegerField()
    new = serializers.IntegerField()


class RefusedDoor(WriteDoor):
    """Reports of refused submissions."""

    name = "api-refused-submissions"
    title = _("Report refused submissions")
    says = _("Demand that never became a job, as a submit hook or the scheduler's log tells it; at most 1000 at once.")
    authentication_classes = [HookAuthentication, SessionAuthentication]
    writes_with, capability = "import", "records.import"
    takes, takes_many, result = RefusedReport, True, RefusedTaken

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations, of a cluster that is there."""
        if not actor.may("operations.view"):
            raise NotFound(NOTHING)
        cluster_of(where["code"])

    def given(self, request: Request) -> dict[str, Any]:
        """The list as it was sent: its faults are said by the number of the report."""
        return {"reports": _reports(request._request.body)}

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, int]:
        """By the action of the pulling."""
        reports = given["reports"]
        return {"reports": len(reports), "new": live.note_refused(where["code"], reports, actor=actor)}


def _reports(body: bytes) -> list[dict[str, Any]]:
    """The list, each report an object of texts and a count that a table can hold. Raises BadData."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise BadData(N_("The body is not JSON. Send a list of reports.")) from None
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadData(N_("The body is no list of reports: [{“key”: …, “at”: …, “reason”: …}, …]."))
    if len(given) > MOST_REPORTS:
        raise BadData(N_("At most %(most)s reports can be sent at once."), most=MOST_REPORTS)
    for number, one in enumerate(given, start=1):
        milli = one.get("asked_gpu_milli")
        counted = milli is None or (type(milli) is int and 0 <= milli <= MOST_MILLI)
        texts = (value for name, value in one.items() if name != "asked_gpu_milli" and value is not None)
        if not counted or not all(isinstance(text, str) and "\0" not in text for text in texts):
            raise BadData(
                N_("Report %(number)s has a value that is no text, or a count of cards that is no whole number."),
                number=number,
            )
        if not one.get("key") or not one.get("reason"):
            raise BadData(N_("Report %(number)s needs a key, a time with an offset (at) and a reason."), number=number)
    return given
