"""The page of acting grants: who decides for whom, on which days."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from governance.access.actor import Actor
from governance.errors import BadData, NotFound, NotTheMoment
from governance.tenants.models import day_of_today

from . import acting as actions
from . import wording
from .forms import ActingForm

LISTED = 200


@login_required
@require_http_methods(["GET", "POST"])
def acting(request: HttpRequest) -> HttpResponse:
    """Grants that one gave or holds, and giving one."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    today = day_of_today()
    if request.method == "GET":
        return _page(request, actor, ActingForm(initial={"from_on": today}))
    form = ActingForm(request.POST)
    if not form.is_valid():
        return _page(request, actor, form, status=422)
    try:
        actions.grant(actor=actor, **form.cleaned_data)
    except (BadData, NotFound, NotTheMoment) as fault:
        for words in wording.words_of(fault):
            form.add_error("deputy" if fault.message in (actions.NOBODY, actions.OWN_DEPUTY) else None, words)
        return _page(request, actor, form, status=fault.status if fault.status != 404 else 422)
    messages.success(request, _("They may decide in your place on these days."))
    return redirect("acting")


def _page(request: HttpRequest, actor: Actor, form: ActingForm, status: int = 200) -> HttpResponse:
    form.marked()
    today = day_of_today()
    rows = [
        (one, one.ended_at is None and (one.to_on is None or one.to_on > today))
        for one in actions.visible(actor).order_by("-pk")[:LISTED]
    ]
    context = {
        "crumbs": [{"label": _("Inbox"), "url": reverse("inbox")}, {"label": _("Acting approvers")}],
        "form": form,
        "rows": rows,
    }
    return render(request, "approvals/acting.html", context, status=status)


@login_required
@require_POST
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """End a grant at once."""
    actions.end(pk, actor=request.actor)  # type: ignore[attr-defined]
    messages.success(request, _("The acting grant has ended."))
    return redirect("acting")
