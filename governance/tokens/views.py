"""The page of one's own tokens."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from governance.access.actor import Actor

from . import actions
from .forms import SCOPES, TokenForm
from .models import PersonalToken

INVALID = 422


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The tokens of who is signed in; a new one is shown in the answer to its form, and never again."""
    actor = _actor(request)
    form = TokenForm(request.POST if request.method == "POST" else None)
    secret, status = "", 200
    if form.is_bound:
        if form.is_valid():
            given = form.cleaned_data
            _token, secret = actions.issue(given["name"], given["scopes"], given["days"], actor=actor)
            form = TokenForm()
        else:
            status = INVALID
    words = dict(SCOPES)
    rows = [
        {"token": token, "scopes": [words[scope] for scope in token.scopes]}
        for token in PersonalToken.objects.visible_to(actor).order_by("-created_at", "-pk")[:100]
    ]
    context = {
        "crumbs": [{"label": _("Personal tokens")}],
        "form": form,
        "secret": secret,
        "rows": rows,
    }
    return render(request, "tokens/tokens.html", context, status=status)


@login_required
@require_POST
def revoke(request: HttpRequest, number: int) -> HttpResponse:
    """End a token."""
    actions.revoke(number, actor=_actor(request))
    messages.success(request, _("The token opens nothing any more."))
    return redirect("tokens")


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
