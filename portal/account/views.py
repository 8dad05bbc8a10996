"""Pages of a reader's own account: signing in and out, preferences, password, how long the session lasts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from governance.access.actor import Actor
from governance.access.models import Person
from governance.access.rules import FREE_FAILURES
from governance.audit import actions as audit
from portal import preferences
from portal.formats import dur
from portal.forms import SignInForm

from . import actions, sessions, throttle
from .forms import OwnPassword

INVALID = 422
TOO_MANY = 429


class SignIn(LoginView):
    """Username and password; then to where the reader wanted to go, in the language and theme chosen before."""

    authentication_form = SignInForm
    template_name = "portal/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Look at the password unless too many wrong ones came just now; then say how long to wait."""
        now = timezone.now()
        username, address = request.POST.get("username", ""), request.META.get("REMOTE_ADDR", "")
        with transaction.atomic():
            held = throttle.locked(username, address, now)
            wait = throttle.wait_seconds(held, now)
            if wait:
                return self._held(wait)
            form = self.get_form()
            if form.is_valid():
                held.delete()
                return self.form_valid(form)
            if form.has_error("__all__"):
                throttle.note_failure(held, now)
                self._note(held.failures, username, address)
            wait = throttle.wait_seconds(held, now)
            return self._held(wait) if wait else self.form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        """Sign in, begin the session, and bring this browser what the person chose in another."""
        response = super().form_valid(form)
        sessions.begin(self.request.session)
        person = form.get_user()
        actions.note_sign_in(person, self.request.META.get("REMOTE_ADDR", ""), timezone.now())
        for preference, cookie in preferences.COOKIES.items():
            chosen = getattr(person, preference)
            if chosen and cookie not in self.request.COOKIES:
                preferences.set_cookie(response, preference, chosen)
        return response

    def _held(self, wait: int) -> HttpResponse:
        context = self.get_context_data(form=self.authentication_form(self.request), wait=dur(wait))
        response = render(self.request, self.template_name, context, status=TOO_MANY)
        response.headers["Retry-After"] = str(wait)
        return response

    def _note(self, failures: int, username: str, address: str) -> None:
        """The first of each row of pauses is worth a line: somebody guesses, or forgot."""
        if failures == FREE_FAILURES:
            audit.record(Actor.anonymous(address), "person.sign_in_held", "person", username[:150])


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect("sign-in")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def me(request: HttpRequest) -> HttpResponse:
    """Language, theme, density, keys; password; sessions."""
    if request.method == "POST":
        response = redirect("me")
        for preference in preferences.ON_PAGE:
            value = request.POST.get(preference, "")
            preferences.choose(preference, value, actor=_actor(request))
            if preference in preferences.COOKIES:
                preferences.set_cookie(response, preference, value)
        messages.success(request, _("Your preferences are kept."))
        return response
    return _page(request, OwnPassword(_person(request)))


@login_required
@require_POST
def password(request: HttpRequest) -> HttpResponse:
    """Change the password; this session stays, all others end."""
    person = _person(request)
    form = OwnPassword(person, request.POST)
    if not form.is_valid():
        return _page(request, form, status=INVALID)
    actions.change_password(person, form.cleaned_data["new_password1"], actor=_actor(request))
    update_session_auth_hash(request, person)
    messages.success(request, _("Your password is changed. You are signed out everywhere else."))
    return redirect("me")


@login_required
@require_POST
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    """End every session of the reader, this one too."""
    actions.end_sessions(_person(request), actor=_actor(request))
    logout(request)
    return redirect("sign-in")


@require_http_methods(["GET", "POST"])
def session(request: HttpRequest) -> HttpResponse:
    """How long the session lasts, in seconds, 0 where there is none; by POST it begins anew."""
    if not request.user.is_authenticated:
        return JsonResponse({"left": 0})
    if request.method == "POST":
        sessions.begin(request.session)
    return JsonResponse({"left": sessions.left(request.session)})


def _page(request: HttpRequest, form: OwnPassword, status: int = 200) -> HttpResponse:
    person = _person(request)
    context = {
        "crumbs": [{"label": _("Preferences")}],
        "choices": preferences.shown(request, person),
        "single_keys": person.single_keys,
        "keys": preferences.keys(),
        "form": form,
        "has_password": person.has_usable_password(),
    }
    return render(request, "account/me.html", context, status=status)


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def _person(request: HttpRequest) -> Person:
    person = _actor(request).person
    assert person is not None
    return person
