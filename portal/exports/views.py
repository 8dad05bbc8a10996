"""The page of exports, and the way to one from the page that shows the rows."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.access.actor import Actor
from governance.usage.views import Tone

from . import actions, reads
from .kinds import of_page
from .rules import CSV, State

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
STATES: dict[str, Tone] = {
    State.WAITING: Tone("", "clock", gettext_lazy("Waiting")),
    State.RUNNING: Tone("info", "run", gettext_lazy("Being made")),
    State.DONE: Tone("ok", "ok", gettext_lazy("Done")),
    State.FAILED: Tone("bad", "bad", gettext_lazy("Failed")),
    State.CANCELLED: Tone("", "ban", gettext_lazy("Cancelled")),
    State.EXPIRED: Tone("", "clock", gettext_lazy("Over")),
}
SENT: Promise = gettext_lazy("The file is being made. You may leave this page; it stands here when it is done.")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def exports(request: HttpRequest) -> HttpResponse:
    """One's exports; by POST the file of a page, at once where it is small, else in the background."""
    actor = _actor(request)
    if request.method == "POST":
        return _asked(request, actor)
    rows = reads.own(actor)
    context: dict[str, Any] = {
        "crumbs": [{"label": _("Compute ledger")}, {"label": _("Exports")}],
        "rows": [(row, STATES[row.export.state]) for row in rows],
        "is_busy": any(row.export.is_under_way for row in rows),
    }
    return render(request, "exports/exports.html", context)


def _asked(request: HttpRequest, actor: Actor) -> HttpResponse:
    kind, query = of_page(request.POST.get("page", ""))
    format = request.POST.get("format", "") or CSV
    made = actions.small(kind, query, format, actor=actor)
    if made is not None:
        name, content = made
        response = HttpResponse(content, content_type=TYPES[format])
        response["Content-Disposition"] = f'attachment; filename="{_ascii(name)}"'
        return response
    actions.ask(kind.code, query, format, get_language() or "zh-hans", actor=actor)
    messages.success(request, str(SENT))
    return redirect("exports")


@login_required
@require_GET
def file(request: HttpRequest, number: str) -> HttpResponseBase:
    """The file of an export."""
    return file_response(number, _actor(request))


@login_required
@require_POST
def discard(request: HttpRequest, number: str) -> HttpResponse:
    """Cancel an export, or delete its file."""
    found = actions.discard(reads.key_of(number), actor=_actor(request))
    said = _("The export is cancelled.") if found.state == State.CANCELLED else _("The file is deleted.")
    messages.success(request, said)
    return redirect("exports")


def file_response(number: str, actor: Actor) -> FileResponse:
    """The file, streamed, with its digest. Raises as `actions.fetched`."""
    found, name, path = actions.fetched(reads.key_of(number), actor=actor)
    response = FileResponse(path.open("rb"), content_type=TYPES[found.format])
    response["Content-Disposition"] = f'attachment; filename="{_ascii(name)}"'
    response["ETag"] = f'"{found.digest}"'
    response["Cache-Control"] = "private, no-store"
    return response


def _ascii(name: str) -> str:
    """A name that no header misreads."""
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-._") else "-" for sign in name)


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
