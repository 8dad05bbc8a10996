"""Pages of one's own notices: the list, the popover, what comes by which way."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.access.actor import Actor
from governance.doors import paging
from governance.errors import N_, NotFound

from . import actions, reads, registry
from .forms import WhenForm
from .models import Notice, Plan
from .rules import AT_ONCE, DIGEST, DIGEST_HOUR, OFF

ROWS, LATEST = 30, 8
INVALID = 422
ICONS = {"account": "user", "files": "download", "operations": "heartbeat", "channels": "warn"}


@login_required
@require_http_methods(["GET", "HEAD"])
def notices(request: HttpRequest) -> HttpResponse:
    """Everything that one was told, the newest first; `unread=1` leaves out what is read."""
    actor = _actor(request)
    unread = request.GET.get("unread") == "1"
    rows = reads.own(actor, unread=unread)
    page = paging.of_rows(rows, ("-pk",), paging.read(request.GET.get("after", ""), "notices"), ROWS)
    cursor = paging.written(page.after, "notices")
    context = {
        "crumbs": [{"label": _("Notices")}],
        "rows": _shown(page.rows, actor),
        "unread_only": unread,
        "unread_count": reads.unread_count(actor),
        "next_url": f"?{'unread=1&' if unread else ''}after={cursor}" if cursor else "",
        "first_url": f"?{'unread=1' if unread else ''}" if request.GET.get("after") else "",
        "on_all": not unread,
        "mail_is_on": settings.MAIL_IS_ON,
    }
    return render(request, "notices/notices.html", context)


@login_required
@require_GET
def latest(request: HttpRequest) -> HttpResponse:
    """The newest for the popover."""
    actor = _actor(request)
    context = {"rows": _shown(list(reads.own(actor).order_by("-pk")[:LATEST]), actor)}
    return render(request, "notices/_latest.html", context | {"unread_count": reads.unread_count(actor)})


@login_required
@require_GET
def notice(request: HttpRequest, number: int) -> HttpResponse:
    """Read a notice: it is marked as read, and leads to what it is about, where there is something to go to."""
    actor = _actor(request)
    found = reads.own(actor).filter(pk=number).first() if number < 2**63 else None
    if found is None:
        raise NotFound(N_("There is no such notice of yours."))
    row = reads.rows([found], actor)[0]
    actions.mark_read(actor, [number])
    return redirect(row.url or reverse("notices"))


@login_required
@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """Mark notices as read: those ticked, or all."""
    ticked = [int(one) for one in request.POST.getlist("notice") if one.isascii() and one.isdigit()]
    count = actions.mark_read(_actor(request), None if request.POST.get("all") == "1" else ticked)
    words = ngettext("%(count)s notice is marked as read.", "%(count)s notices are marked as read.", count)
    messages.success(request, words % {"count": count})
    there = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        there, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return redirect(there if there and is_ours else "notices")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ways(request: HttpRequest) -> HttpResponse:
    """By which ways each group of events comes, and when the digest goes out."""
    actor = _actor(request)
    if request.method != "POST":
        return _ways(request, WhenForm(initial=_initial(reads.plan_of(actor))))
    form = WhenForm(request.POST)
    if not form.is_valid():
        return _ways(request, form, INVALID)
    chosen = {
        code: (group.kept or request.POST.get(f"app-{code}") == "on", request.POST[f"mail-{code}"])
        for code, group in registry.GROUPS.items()
        if f"mail-{code}" in request.POST
    }
    actions.choose(chosen, actor=actor, **form.cleaned_data)
    messages.success(request, _("Your preferences are kept."))
    return redirect("me-notices")


def _ways(request: HttpRequest, form: WhenForm, status: int = 200) -> HttpResponse:
    actor = _actor(request)
    options = ((AT_ONCE, _("At once")), (DIGEST, _("In the digest")), (OFF, _("No mail")))
    context = {
        "crumbs": [{"label": _("Preferences"), "url": reverse("me")}, {"label": _("Notices")}],
        "ways": [
            {
                "way": way,
                "name": _(way.group.name),
                "says": _(way.group.says),
                "options": [(code, word, code == way.mail) for code, word in options],
            }
            for way in reads.ways_of(actor)
        ],
        "form": form,
        "mail_is_on": settings.MAIL_IS_ON,
        "address": actor.person.email if actor.person else "",
        "zones": (
            "Asia/Shanghai",
            "Asia/Singapore",
            "Asia/Tokyo",
            "Europe/Berlin",
            "Europe/London",
            "America/New_York",
            "UTC",
        ),
        "usual_zone": registry.usual_zone(),
    }
    return render(request, "notices/ways.html", context, status=status)


def _initial(plan: Plan | None) -> dict[str, Any]:
    return {"digest_hour": plan.digest_hour if plan else DIGEST_HOUR, "time_zone": plan.time_zone if plan else ""}


def _shown(found: list[Notice], actor: Actor) -> list[dict[str, Any]]:
    return [{"row": row, "icon": ICONS.get(row.group, "bell")} for row in reads.rows(found, actor)]


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
