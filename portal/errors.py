"""The one place where errors become answers: 404 not yours to see, 403 not yours to do, 409 not now, 422 bad data.

A page for people; `application/problem+json` (RFC 9457) for a client that asks for JSON. Nothing of the inside leaks.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from governance.errors import BadItems, DomainError

Answer = Callable[[HttpRequest], HttpResponse]
log = logging.getLogger(__name__)

#: For each status: what happened, what it means, what to do.
WORDS = {
    400: (
        _("The request could not be understood"),
        _("Nothing was changed."),
        _("Go back, load the page again and repeat the step."),
    ),
    401: (
        _("Who asks is not known"),
        _("The token is missing or wrong. Nothing was changed."),
        _("Send the token in the header Authorization, or sign in."),
    ),
    403: (
        _("This is not yours to do"),
        _("You are signed in, but your roles do not include this. Nothing was changed."),
        _("Ask the security administrator for the role, or go back."),
    ),
    404: (
        _("There is nothing here for you"),
        _("The address is wrong, the object is gone, or your roles do not show it to you."),
        _("Check the address, or start from the home page."),
    ),
    405: (
        _("This cannot be done here"),
        _("The address is there, but not for this method. Nothing was changed."),
        _("Look up in the documentation what the address offers."),
    ),
    409: (
        _("Not now"),
        _("This is yours to do, but the state of things does not allow it at the moment. Nothing was changed."),
        _("Load the page again to see the present state."),
    ),
    412: (
        _("It has changed meanwhile"),
        _("What you saw is not what stands there now. Nothing was changed."),
        _("Read it again and decide again."),
    ),
    413: (
        _("This is too much at once"),
        _("What was sent is larger than is taken here. Nothing was changed."),
        _("Send it in parts."),
    ),
    415: (
        _("This kind of content is not taken here"),
        _("The header Content-Type names another kind than the documentation does. Nothing was changed."),
        _("Send it as the documentation says."),
    ),
    422: (
        _("These data cannot be accepted"),
        _("Nothing was changed."),
        _("Correct what is named above and try again."),
    ),
    429: (
        _("Too many requests"),
        _("The limit of this minute is reached. Nothing was changed."),
        _("Wait as long as the header Retry-After says."),
    ),
    500: (
        _("Something failed on our side"),
        _("It is written in the log. Your data are safe: a step is done whole or not at all."),
        _("Try again in a minute. If it fails again, give the reference to the platform team."),
    ),
}


def said(error: DomainError) -> str:
    """The error in the active language."""
    return gettext(error.message) % error.params if error.params else gettext(error.message)


def details(error: DomainError) -> list[str]:
    """The error's sentences in the active language, one for each fault."""
    faults = [said(fault) for fault in error.faults] if isinstance(error, BadItems) else []
    return [said(error), *faults]


def answer(
    request: HttpRequest,
    status: int,
    sentences: list[str] | None = None,
    reference: str = "",
    errors: list[dict[str, str]] | None = None,
) -> HttpResponse:
    """The answer for `status`: a page, or problem+json where the client asks for JSON. `sentences` say what exactly.

    `errors`: for JSON, what is wrong with which parameter or field.
    """
    happened, means, advice = WORDS[status]
    if wants_json(request):
        problem: dict[str, object] = {
            "type": "about:blank",
            "title": str(happened),
            "status": status,
            "detail": " ".join(sentences or [str(means)]),
        }
        if reference:
            problem["reference"] = reference
        if errors:
            problem["errors"] = errors
        response: HttpResponse = JsonResponse(problem, status=status, json_dumps_params={"ensure_ascii": False})
        response["Content-Type"] = "application/problem+json"
        return response
    context = {
        "status": status,
        "happened": happened,
        "means": means,
        "advice": advice,
        "sentences": sentences or [],
        "reference": reference,
        "phrase": HTTPStatus(status).phrase,
        "crumbs": [{"label": happened}],
    }
    # A page that failed must not fail again on the way to say so: 500 does without the database.
    template = "errors/failure.html" if status >= 500 else "errors/status.html"
    return render(request if status < 500 else None, template, context, status=status)


def wants_json(request: HttpRequest) -> bool:
    """Whether the client asks for JSON rather than for a page; below /api/ there are no pages."""
    if request.path.startswith("/api/"):
        return True
    accept = request.headers.get("Accept", "")
    return "json" in accept and "text/html" not in accept


class ErrorMiddleware:
    """Turns a DomainError that nobody else caught, and nobody else should, into its answer."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The answer to a DomainError; anything else stays what it is."""
        if not isinstance(error, DomainError):
            return None
        return answer(request, error.status if error.status in WORDS else 422, details(error))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400."""
    return answer(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler403."""
    return answer(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404."""
    return answer(request, 404)


def failed(request: HttpRequest) -> HttpResponse:
    """Django's handler500: the reference is in the log beside what happened."""
    reference = uuid.uuid4().hex[:8]
    log.error("reference %s: %s %s failed", reference, request.method, request.path)
    return answer(request, 500, reference=reference)


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answers a form whose token is missing or old."""
    said_why = _("The form was open for too long, or cookies are off. Load the page again and repeat the step.")
    return answer(request, 403, [str(said_why)])
