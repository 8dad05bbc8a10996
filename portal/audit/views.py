"""The audit trail: who did what to which object, with the values before and after."""

from __future__ import annotations

import json
from datetime import date
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from governance.access.actor import Actor
from governance.audit import reads
from governance.audit.models import AuditLine
from governance.catalogue.reads import installation
from governance.errors import N_, BadData
from governance.usage.tables import Cell, csv_file

FIELDS = ("who", "action", "kind", "object", "from", "to")
HEADER = ("at", "actor", "is_machine", "address", "action", "object_kind", "object_code", "before", "after")


@login_required
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """Lines of the trail, newest first, narrowed by the query string; as CSV with `format=csv`."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("audit.view"):
        raise Http404
    given = {name: request.GET.get(name, "").strip().replace("\0", "") for name in FIELDS}
    days = (_day(given["from"]), _day(given["to"]))
    if days[0] and days[1] and days[0] > days[1]:
        raise BadData(N_("The last day lies before the first."))
    search = reads.Search(given["who"], given["action"], given["kind"], given["object"], *days)
    zone = ZoneInfo(installation().time_zone)
    if request.GET.get("format") == "csv":
        return csv_file("audit", HEADER, [_row(one) for one in reads.lines(search, zone, actor=actor)])
    found = reads.page(search, _number(request.GET.get("before", "")), zone, actor=actor)
    kept = {name: value for name, value in given.items() if value}
    context: dict[str, Any] = {
        "crumbs": [{"label": _("Settings and audit")}, {"label": _("Audit trail")}],
        "given": given,
        "kept": kept,
        "kinds": reads.kinds(actor=actor),
        "page": found,
        "next_url": f"?{urlencode({**kept, 'before': found.before})}" if found.before else "",
        "first_url": f"?{urlencode(kept)}" if request.GET.get("before") else "",
        "csv_url": f"?{urlencode({**kept, 'format': 'csv'})}",
        "most": reads.FILE_LINES,
    }
    return render(request, "audit/audit.html", context)


def _row(one: AuditLine) -> list[Cell]:
    values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in (one.before, one.after)]
    is_machine = "true" if one.is_machine else "false"
    return [one.at, one.actor, is_machine, one.address, one.action, one.object_kind, one.object_code, *values]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadData(N_("“%(text)s” is no day. Write 2026-06-30."), text=text) from None


def _number(text: str) -> int:
    """A cursor from an address; what is none begins at the newest."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
