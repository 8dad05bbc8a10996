"""The endpoint that a scheduler's submit hook or log reader reports refused submissions to."""

from __future__ import annotations

import hmac
import json
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from governance.access.actor import Actor, require
from governance.errors import N_, BadData, NotSignedIn

from .. import live
from ..actions import cluster_of

MOST_REPORTS = 1_000
MOST_MILLI = 10**12


@csrf_exempt  # a machine has no cookie; for a person the check is made below
@require_POST
def refused_submissions(request: HttpRequest, code: str) -> HttpResponse:
    """Take in a JSON list of reports; answers {"reports": …, "new": …}. A report sent twice is one row."""
    actor = _who(request)
    cluster_of(code)  # before what was sent is looked at: not there, not yours, bad data, in this order
    require(actor, "records.import")
    reports = _reports(request.body)
    new = live.note_refused(code, reports, actor=actor)
    return JsonResponse({"reports": len(reports), "new": new})


def _who(request: HttpRequest) -> Actor:
    """The hook by its token, else whoever is signed in and may see operations; their right is asked by the action."""
    if "Authorization" in request.headers:
        scheme, _, given = request.headers["Authorization"].partition(" ")
        token = settings.REFUSED_TOKEN
        # Compared even where none is set, so that the time of the answer tells nothing of it.
        same = hmac.compare_digest(given.strip().encode(), token.encode())
        if scheme.lower() != "bearer" or not token or not same:
            raise NotSignedIn(N_("The token is not the one of STEELYARD_REFUSED_TOKEN."))
        return Actor(name="submit hook", is_machine=True, address=request.META.get("REMOTE_ADDR", ""))
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if actor.person is None:
        raise NotSignedIn(N_("This door wants a token: Authorization: Bearer …"))
    if CsrfViewMiddleware(lambda _: HttpResponse()).process_view(request, lambda _: HttpResponse(), (), {}) is not None:
        raise PermissionDenied
    if not actor.may("operations.view"):
        raise Http404
    return actor


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
