"""The page on which the profile is chosen, which says what each leaves out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from governance.access.actor import Actor
from portal.context import standing_of
from portal.navigation import reference_entries

from . import actions, reads, rules


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Which profile is in force and why; by POST another one is chosen."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("organisation.change"):
        raise Http404
    if request.method == "POST":
        if actions.choose(request.POST.get("profile", ""), actor=actor):
            messages.success(request, _("The profile of the site is changed."))
        return redirect("site-profile")
    force = reads.in_force()
    cards = reads.installed()
    entries = reference_entries(standing_of(request, actor))
    context: dict[str, Any] = {
        "crumbs": [{"label": _("Settings and audit")}, {"label": _("Reference data")}, {"label": _("Site profile")}],
        "tabs": [(entry.label, entry.url, "site-profile" in entry.views) for entry in entries],
        "force": force,
        "cards": cards,
        "proposed": rules.proposed(cards),
        "profiles": [_shown(one, force.code) for one in rules.PROFILES.values()],
    }
    return render(request, "profile/profile.html", context)


def _shown(one: rules.Profile, code: str) -> dict[str, Any]:
    hides = [_(words) for part, words in rules.PARTS.items() if part in one.hides]
    return {"code": one.code, "name": _(one.name), "says": _(one.says), "hides": hides, "is_on": one.code == code}
