"""Pages of a forgotten password: ask for a link, say that it is on its way, set the new one."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from governance.access.actor import Actor
from governance.access.models import Person
from portal.formats import dur

from . import resets
from .forms import NewPassword, WhoForgot

INVALID, TOO_MANY = 422, 429


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for a link by username or mail address. The answer is the same whoever it is."""
    context: dict[str, Any] = {"is_on": resets.is_on(), "form": WhoForgot()}
    if request.method != "POST":
        return render(request, "account/forgotten.html", context)
    form = context["form"] = WhoForgot(request.POST)
    if not form.is_valid():
        return render(request, "account/forgotten.html", context, status=INVALID)
    language = getattr(request, "LANGUAGE_CODE", settings.LANGUAGE_CODE)
    wait = resets.ask(form.cleaned_data["who"], request.META.get("REMOTE_ADDR", ""), language, timezone.now())
    if wait:
        response = render(request, "account/forgotten.html", context | {"wait": dur(wait)}, status=TOO_MANY)
        response.headers["Retry-After"] = str(wait)
        return response
    return redirect("reset-sent")


@require_safe
def sent(request: HttpRequest) -> HttpResponse:
    """A link is on its way, where there is somebody to send it to."""
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    return render(request, "account/reset_said.html", {"said": "sent", "minutes": minutes})


@require_safe
def done(request: HttpRequest) -> HttpResponse:
    """The new password holds."""
    return render(request, "account/reset_said.html", {"said": "done"})


class SetPassword(PasswordResetConfirmView):
    """The page behind the link. The token goes from the address into the session, so that no log and no referrer keeps it."""

    form_class = NewPassword
    template_name = "account/set_password.html"
    success_url = reverse_lazy("reset-done")

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it by the action; nobody is signed in by a link."""
        actor = Actor.anonymous(self.request.META.get("REMOTE_ADDR", ""))
        assert isinstance(self.user, Person)  # whose link it is, or there would be no form
        resets.set_password(self.user, form.cleaned_data["new_password1"], actor=actor)
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        return redirect(str(self.success_url))

    def form_invalid(self, form: Any) -> HttpResponse:
        """Say what is wrong with it."""
        return self.render_to_response(self.get_context_data(form=form), status=INVALID)
