"""Doors of the shell: sign-in, sign-out, language, theme."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from portal import preferences
from portal.forms import SignInForm


class SignIn(LoginView):
    """Username and password; then to where the reader wanted to go, in the language and theme chosen before."""

    authentication_form = SignInForm
    template_name = "portal/sign_in.html"
    redirect_authenticated_user = True

    def form_valid(self, form: Any) -> HttpResponse:
        """Sign in, and bring this browser what the person chose in another."""
        response = super().form_valid(form)
        person = form.get_user()
        for preference, cookie in preferences.COOKIES.items():
            chosen = getattr(person, preference)
            if chosen and cookie not in self.request.COOKIES:
                preferences.set_cookie(response, preference, chosen)
        return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect("sign-in")


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
