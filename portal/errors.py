"""The one place where errors become answers."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from governance.errors import DomainError

Answer = Callable[[HttpRequest], HttpResponse]


def said(error: DomainError) -> str:
    """The error in the active language."""
    return gettext(error.message) % error.params if error.params else gettext(error.message)


class ErrorMiddleware:
    """Turns a DomainError into its answer."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)
