"""Doors of the shell that need no sign-in: language and theme."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from portal import preferences


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Read in another language."""
    return _choose(request, "language")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or as the system has it."""
    return _choose(request, "theme")


def _choose(request: HttpRequest, preference: str) -> HttpResponse:
    value = request.POST.get(preference, "")
    preferences.choose(preference, value, actor=request.actor)  # type: ignore[attr-defined]
    response = HttpResponseRedirect(_back(request))
    preferences.set_cookie(response, preference, value)
    return response


def _back(request: HttpRequest) -> str:
    """Where the reader was; never another site."""
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe and wanted.startswith("/") else "/"
