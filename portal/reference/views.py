"""Pages of reference data. Who may see which: prices with money of something, mappings with use of something, the
dictionary by everybody, the organisation file by who may change it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from billing.ledger.rules import span_of
from billing.ledger.views import latest_month
from billing.prices.models import Price
from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.catalogue.reads import installation
from governance.doors import paging
from governance.errors import N_, BadData
from governance.tenants.models import AccountMapping, Project, day_of_today
from governance.usage.metrics import reads as metrics
from governance.usage.metrics.words import UNITS, WINDOWS
from governance.usage.models import MetricDefinition
from governance.usage.ops.words import Tone
from portal.context import standing_of
from portal.errors import details
from portal.navigation import reference_entries
from portal.organisation.plan import Change, Plan

from . import coverage, uploads

ROWS_A_PAGE = 100
FAULTS_SHOWN = 200
INVALID = 422
COVERED: dict[str, Tone] = {
    coverage.PRICED: Tone("ok", "ok", gettext_lazy("Priced")),
    coverage.PARTLY: Tone("warn", "warn", gettext_lazy("Partly")),
    coverage.UNPRICED: Tone("bad", "bad", gettext_lazy("Unpriced")),
    coverage.NO_USE: Tone("", "", "—"),
}
VERBS: dict[str, Tone] = {
    "add": Tone("ok", "plus", gettext_lazy("add")),
    "change": Tone("info", "run", gettext_lazy("change")),
    "end": Tone("warn", "clock", gettext_lazy("end")),
    "remove": Tone("bad", "x", gettext_lazy("remove")),
}
KINDS: dict[str, str | Promise] = {
    "installation": gettext_lazy("Settings"),
    "place": gettext_lazy("Place"),
    "accelerator": gettext_lazy("GPU model"),
    "card_factor": gettext_lazy("Card factor"),
    "cluster": gettext_lazy("Cluster"),
    "pool": gettext_lazy("Pool"),
    "partition": gettext_lazy("Partition"),
    "node": gettext_lazy("Node"),
    "department": gettext_lazy("Department"),
    "project": gettext_lazy("Project"),
    "placement": gettext_lazy("Home department"),
    "person": gettext_lazy("Person"),
    "login": gettext_lazy("Login"),
    "mapping": gettext_lazy("Mapping"),
    "price": gettext_lazy("Price"),
    "grant": gettext_lazy("Role"),
}


@login_required
@require_GET
def prices(request: HttpRequest) -> HttpResponse:
    """Prices with their days, and a calendar of which month's use they cover."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not (standing_of(request, actor).holds("money.view") or actor.may("organisation.change")):
        raise Http404
    pool, today = request.GET.get("pool", "")[:64], day_of_today()
    months = coverage.months_until(span_of(latest_month()).first_on)
    lines = coverage.calendar(months, pool)
    rows = Price.objects.filter(Q(pool__in=(pool, "*")) if pool else Q())
    if request.GET.get("past") != "1":
        rows = rows.filter(Q(to_on__isnull=True) | Q(to_on__gt=today))
    page = _page(request, rows, ("pool", "accelerator", "qos", "band", "begins", "pk"), "prices")
    context = {
        "crumbs": _crumbs(_("Prices")),
        "pool": pool,
        "pools": [(one.code, one.name) for one in Pool.objects.order_by("code")],
        "past": request.GET.get("past") == "1",
        "months": months,
        "lines": [(line, [(month, COVERED[month.state]) for month in line.months]) for line in lines],
        "has_gaps": coverage.has_gaps(lines),
        "shows_hours": actor.may("usage.view"),
        "currency": installation().currency,
        "today": today,
        "may_change": actor.may("organisation.change"),
        "page": page,
        "only_url": f"?{_query(pool=pool)}",
        "past_url": f"?{_query(pool=pool, past='1')}",
    }
    return render(request, "reference/prices.html", {"tabs": _tabs(request, "reference-prices")} | context)


@login_required
@require_GET
def mappings(request: HttpRequest) -> HttpResponse:
    """Whose use an account is, by day: all for who sees all use, else of the projects the reader may see."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    sees_all = actor.may("usage.view") or actor.may("organisation.change")
    if not (sees_all or standing_of(request, actor).holds("usage.view")):
        raise Http404
    rows = AccountMapping.objects.select_related("cluster", "project")
    if not sees_all:
        rows = rows.filter(project__in=Project.objects.visible_to(actor))
    asked = {name: request.GET[name][:128] for name in ("q", "cluster", "project") if request.GET.get(name)}
    if "q" in asked:
        words = {f"{name}__icontains": asked["q"] for name in ("account", "user", "project__code")}
        rows = rows.filter(Q(*words.items(), _connector=Q.OR))
    for name in ("cluster", "project"):
        if name in asked:
            rows = rows.filter(**{f"{name}__code": asked[name]})
    context = {
        "crumbs": _crumbs(_("Account mappings")),
        "page": _page(request, rows, ("cluster__code", "account", "user", "qos", "begins", "pk"), "mappings"),
        "asked": asked,
        "today": day_of_today(),
        "may_change": actor.may("organisation.change"),
    }
    return render(request, "reference/mappings.html", {"tabs": _tabs(request, "reference-mappings")} | context)


@login_required
@require_GET
def dictionary(request: HttpRequest) -> HttpResponse:
    """The metric dictionary: the last version of every entry."""
    asked = request.GET.get("q", "").strip().lower()[:100]
    entries = [_entry(row) for row in metrics.definitions()]
    if asked:
        entries = [one for one in entries if asked in f"{one['row'].code} {one['name']} {one['formula']}".lower()]
    context = {"crumbs": _crumbs(_("Metric dictionary")), "definitions": entries, "q": request.GET.get("q", "")[:100]}
    return render(request, "reference/metrics.html", {"tabs": _tabs(request, "reference-metrics")} | context)


@login_required
@require_GET
def metric(request: HttpRequest, code: str) -> HttpResponse:
    """One entry with all its versions, the last first."""
    versions = [_entry(row) for row in MetricDefinition.objects.filter(code=code).order_by("-version")]
    if not versions:
        raise Http404
    crumbs = [*_crumbs(_("Metric dictionary"), reverse("reference-metrics")), {"label": versions[0]["name"]}]
    return render(request, "reference/metric.html", {"crumbs": crumbs, "versions": versions, "last": versions[0]})


def _entry(row: MetricDefinition) -> dict[str, Any]:
    return {
        "row": row,
        "name": metrics.name_of(row),
        "formula": metrics.formula_of(row),
        "option": metrics.option_of(row),
        "unit": _(UNITS[row.unit]) if row.unit in UNITS else row.unit,
        "window": _(WINDOWS[row.window]) if row.window in WINDOWS else row.window,
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def organisation(request: HttpRequest) -> HttpResponse:
    """Upload an organisation file, see what it would change, and confirm it."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("organisation.change"):
        raise Http404
    if request.method != "POST":
        return _upload_page(request)
    try:
        if "seal" in request.POST:
            upload = uploads.opened(request.POST["seal"], request.POST.get("digest", ""), actor=actor)
            if request.POST.get("step") == "apply":
                found = uploads.applied(upload, request.POST.get("plan", ""), actor=actor)
                done = _("Written: %(add)s added, %(change)s changed, %(end)s ended, %(remove)s removed.")
                messages.success(request, done % found.counts)
                return redirect("reference-organisation")
        else:
            upload = _received(request)
        found = uploads.planned(upload, actor=actor)
    except BadData as fault:
        return _upload_page(request, faults=details(fault), status=INVALID)
    return _plan_page(request, upload, found, actor)


def _received(request: HttpRequest) -> uploads.Upload:
    sent = request.FILES.get("file")
    if sent is None:
        raise BadData(N_("No file was chosen."))
    if (sent.size or 0) > uploads.MOST_BYTES:
        raise BadData(uploads.TOO_LARGE, kib=uploads.MOST_BYTES // 1024)
    on = request.POST.get("prune_on", "")
    try:
        prune_on = date.fromisoformat(on) if on else None
    except ValueError:
        raise BadData(N_("“%(text)s” is no day. Write 2026-06-30."), text=on) from None
    return uploads.received(sent.read(uploads.MOST_BYTES + 1), sent.name or "", prune_on)


def _upload_page(request: HttpRequest, *, faults: list[str] | None = None, status: int = 200) -> HttpResponse:
    faults = faults or []
    context = {
        "crumbs": _crumbs(_("Organisation file")),
        "faults": faults[:FAULTS_SHOWN],
        "more_faults": max(len(faults) - FAULTS_SHOWN, 0),
        "most_kib": uploads.MOST_BYTES // 1024,
    }
    return render(
        request,
        "reference/organisation.html",
        {"tabs": _tabs(request, "reference-organisation")} | context,
        status=status,
    )


def _plan_page(request: HttpRequest, upload: uploads.Upload, found: Plan, actor: Actor) -> HttpResponse:
    number, pages = _number(request.POST.get("page", "")), max(-(-len(found.changes) // ROWS_A_PAGE), 1)
    number = min(number, pages)
    lines = found.changes[(number - 1) * ROWS_A_PAGE : number * ROWS_A_PAGE]
    context = {
        "crumbs": [*_crumbs(_("Organisation file"), reverse("reference-organisation")), {"label": _("Plan")}],
        "upload": upload,
        "seal": uploads.sealed(upload, actor=actor),
        "plan_digest": uploads.digest_of(found),
        "counts": [(VERBS[verb], count) for verb, count in found.counts.items()],
        "total": len(found.changes),
        "lines": [_line(change) for change in lines],
        "number": number,
        "pages": pages,
        "usage": found.consequences.usage,
        "money": found.consequences.money,
    }
    return render(request, "reference/plan.html", context)


def _line(change: Change) -> dict[str, Any]:
    return {
        "verb": VERBS[change.verb],
        "kind": KINDS.get(change.kind, change.kind),
        "key": change.key,
        "before": uploads.told(change.before),
        "after": uploads.told(change.after),
    }


def _page(request: HttpRequest, rows: Any, order: Sequence[str], name: str) -> dict[str, Any]:
    """A page of dated rows; `begins` is their first day, the first of all where they have none."""
    turn = paging.turned(request.GET.get("cursor", ""), name)
    found = paging.of_turn(rows.annotate(begins=Coalesce("from_on", Value(date.min))), order, turn, ROWS_A_PAGE)
    kept = {key: request.GET[key] for key in request.GET if key != "cursor" and request.GET[key]}
    return {"rows": found.rows, **paging.links(found, name, kept)}


def _number(text: str) -> int:
    return max(int(text), 1) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def _query(**given: str) -> str:
    return urlencode({name: value for name, value in given.items() if value})


def _tabs(request: HttpRequest, current: str) -> list[tuple[str, str, bool]]:
    """The pages of reference data that the reader may see."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return [
        (str(entry.label), entry.url, current in entry.views)
        for entry in reference_entries(standing_of(request, actor))
    ]


def _crumbs(last: str, url: str = "") -> list[dict[str, Any]]:
    return [{"label": _("Reference data")}, {"label": last, "url": url}]
