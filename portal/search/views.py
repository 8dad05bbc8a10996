"""The search page; the palette asks it for the list alone."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from governance.access.actor import Actor
from portal.context import standing_of

from . import reads

#: The palette says so; then the answer is its list.
HEADER = "X-Palette"


@login_required
@require_GET
@vary_on_headers(HEADER)
def search(request: HttpRequest) -> HttpResponse:
    """What fits `q`, as far as the reader may see it."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    asked = request.GET.get("q", "").replace("\x00", "")
    context = {
        "crumbs": [{"label": _("Find")}],
        "asked": asked,
        "groups": reads.search(asked, actor=actor, standing=standing_of(request, actor)),
    }
    template = "search/_options.html" if HEADER in request.headers else "search/search.html"
    return render(request, template, context)
