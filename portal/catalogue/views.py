"""Pages of the catalogue: everything at a glance, one pool, one model, one node."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from billing.ledger.pages import neighbours
from billing.ledger.rules import Span, span_of
from billing.ledger.views import latest_month
from governance.access.actor import Actor, require
from governance.catalogue.models import NO_MODEL, UNKNOWN_MODEL, AcceleratorModel, Cluster, NodeState, PoolPartition
from governance.errors import N_, BadData
from governance.tenants.models import day_of_today
from governance.usage.ops.words import NODE_STATES
from portal.context import standing_of
from portal.navigation import Standing
from portal.profile.rules import left_out

from . import actions, capacity, heat, nodes, shown
from .estate import Estate, PoolNow, domains_of, estate, spots
from .forms import StateForm

VIEWS = ("overview", "models", "clusters", "nodes")
FILTERS = ("pool", "cluster", "model", "state", "domain", "q")
INVALID = 422


@login_required
@require_GET
def catalogue(request: HttpRequest) -> HttpResponse:
    """What is owned, where, in what state: pools and the map of racks; or models, clusters, nodes."""
    actor, standing = reader(request)
    view = request.GET.get("view") or VIEWS[0]
    if view not in VIEWS:
        raise BadData(N_("“%(tab)s” is no part of this page."), tab=view)
    of = estate()
    context: dict[str, Any] = {
        "crumbs": _crumbs(),
        "view": view,
        "of": of,
        "everything": of.everything,
        "racks": len({u.place for u in of.everything.units if u.place is not None}),
        "domains": len(domains_of(of.everything.units)),
        "models_count": len({u.model for u in of.everything.units if u.cards}),
        "clusters_count": len({pool.cluster for pool in of.pools.values()}),
    }
    counts = {"pools": len(of.pools), "models": context["models_count"], "clusters": context["clusters_count"]}
    context["hidden"] = left_out(standing.hidden, counts)
    context |= {"overview": _overview, "models": _models, "clusters": _clusters, "nodes": _nodes}[view](
        request, of, standing, actor
    )
    return render(request, "catalogue/catalogue.html", context)


def _overview(request: HttpRequest, of: Estate, standing: Standing, actor: Actor) -> dict[str, Any]:
    period, span = _month(request)
    metered = capacity.metered(*span)
    tariff = shown.tariff_of(day_of_today()) if standing.holds("money.view") else None
    rows = shown.pool_rows(of, metered, tariff)
    asked = request.GET.get("pool", "")
    pool = of.pools.get(asked) or (rows[0].pool if rows else None)
    if asked and asked not in of.pools:
        raise Http404
    return {
        "period": period,
        "pager": _pager(period, lambda other: f"{reverse('catalog')}?{_query(period=other, pool=asked)}"),
        "figures": shown.figures(of.everything, metered),
        "rows": rows,
        "has_prices": tariff is not None,
        "attention": [shown.node_row(unit) for unit in of.everything.unsound],
        **(_heat(request, of, pool, metered) if pool else {}),
    }


def _heat(request: HttpRequest, of: Estate, pool: PoolNow, metered: list[capacity.Metered]) -> dict[str, Any]:
    """The pool's racks, and the node that is looked at: the one asked for, else the first that wants a look."""
    last = next((one for one in metered if one.cluster == pool.cluster), None)
    held = heat.allocation(pool.cluster, last.day, last.seconds) if last and last.seconds else None
    if held is not None:
        # What ran on a node that two pools share cannot be told apart by pool.
        others = {
            u.node for p in of.pools.values() if p is not pool and p.cluster == pool.cluster for u in p.holding.units
        }
        held = {name: used for name, used in held.items() if name not in others}
    name = request.GET.get("node") or next((unit.node for unit in pool.holding.unsound), "")
    units = pool.holding.units
    looked = next((unit for unit in units if unit.node == name), None)
    return {
        "pool": pool,
        "heat": heat.domains(units, held, last.seconds if last else 0, name),
        "heat_day": last.day if last and held is not None else None,
        "looked": shown.node_row(looked) if looked else None,
        "neighbours_sound": _same_domain(units, looked) if looked else None,
        "table_url": f"{reverse('catalog')}?{_query(view='nodes', pool=pool.code)}",
    }


def _same_domain(units: list[Any], looked: Any) -> tuple[int, int]:
    """Of the pool's other nodes in the same fault domain: how many are sound, and how many there are."""
    known = spots()
    same = [u for u in units if known[u.place].domain_code == known[looked.place].domain_code and u is not looked]
    return sum(u.is_sound for u in same), len(same)


def _models(request: HttpRequest, of: Estate, standing: Standing, actor: Actor) -> dict[str, Any]:
    _period, span = _month(request)
    metered = capacity.metered(*span)
    rows = []
    for model in (
        AcceleratorModel.objects.exclude(code__in=(NO_MODEL, UNKNOWN_MODEL)).select_related("card").order_by("code")
    ):
        own = [one for one in metered if one.model == model.code]
        rows.append({"model": model, "figures": shown.figures(of.of(model=model.code), own)})
    return {"models": rows}


def _clusters(request: HttpRequest, of: Estate, standing: Standing, actor: Actor) -> dict[str, Any]:
    rows = [
        {
            "cluster": cluster,
            "holding": of.of(cluster=cluster.code),
            "pools": [pool for pool in of.pools.values() if pool.cluster == cluster.code],
        }
        for cluster in Cluster.objects.order_by("code")
    ]
    return {"clusters": rows, "may_open": standing.holds("operations.view")}


def _nodes(request: HttpRequest, of: Estate, standing: Standing, actor: Actor) -> dict[str, Any]:
    asked = {name: request.GET[name][:128] for name in FILTERS if request.GET.get(name)}
    if asked.get("state") not in (None, "unsound", *NODE_STATES):
        raise BadData(
            N_("“%(state)s” is not a state of a node; the states are %(states)s."),
            state=asked["state"],
            states=", ".join(NodeState.STATES),
        )
    found = shown.node_list(of.everything.units, asked, request.GET.get("after", ""))
    return {
        "list": found,
        "asked": asked,
        "states": [("unsound", _("Not in service")), *((code, tone.word) for code, tone in NODE_STATES.items())],
        "known_pools": sorted((pool.code, pool.name) for pool in of.pools.values()),
        "known_domains": domains_of(of.everything.units),
        "known_models": sorted({(u.model, u.model_name) for u in of.everything.units if u.cards}),
        "next_url": f"?{_query(view='nodes', **asked, after=found.after)}" if found.after else "",
    }


@login_required
@require_GET
def pool(request: HttpRequest, code: str) -> HttpResponse:
    """One pool: what it has by model, its days of a month, its nodes."""
    _actor, standing = reader(request)
    found = estate().pools.get(code)
    if found is None:
        raise Http404
    period, span = _month(request)
    metered = [one for one in capacity.metered(*span) if one.pool == code]
    url = reverse("catalog-pool", args=[code])
    models = sorted({unit.model for unit in found.holding.units if unit.cards} | {one.model for one in metered})
    context = {
        "crumbs": [*_crumbs(linked=True), {"label": found.name}],
        "pool": found,
        "period": period,
        "pager": _pager(period, lambda other: f"{url}?{_query(period=other)}"),
        "figures": shown.figures(found.holding, metered),
        "by_model": [
            (model, shown.figures(estate_of(found, model), [one for one in metered if one.model == model]))
            for model in models
        ],
        "days": capacity.days(code, *span),
        "partitions": PoolPartition.objects.filter(pool__code=code).order_by("pattern", "from_on"),
        "nodes": shown.node_list(found.holding.units, {}, request.GET.get("after", "")),
        "prices_url": f"{reverse('reference-prices')}?pool={code}" if standing.holds("money.view") else "",
    }
    return render(request, "catalogue/pool.html", context)


def estate_of(pool: PoolNow, model: str) -> Any:
    """What the pool holds of one model."""
    return type(pool.holding)([unit for unit in pool.holding.units if unit.model == model])


@login_required
@require_GET
def model(request: HttpRequest, code: str) -> HttpResponse:
    """One model of accelerator: what schedulers call it, its slices and factors, and the pools that have it."""
    reader(request)
    found = AcceleratorModel.objects.select_related("card").filter(code=code).first()
    if found is None:
        raise Http404
    period, span = _month(request)
    of = estate()
    metered = [one for one in capacity.metered(*span) if one.model == code]
    pools = {unit.pool for unit in of.of(model=code).units} | {one.pool for one in metered}
    url = reverse("catalog-model", args=[code])
    context = {
        "crumbs": [*_crumbs(linked=True), {"label": found.name or code}],
        "model": found,
        "period": period,
        "pager": _pager(period, lambda other: f"{url}?{_query(period=other)}"),
        "figures": shown.figures(of.of(model=code), metered),
        "rows": [
            (
                of.pools.get(name),
                name,
                shown.figures(of.of(model=code, pool=name), [one for one in metered if one.pool == name]),
            )
            for name in sorted(pools)
        ],
        "factors": list(found.card_factors.order_by("from_on")),
        "slices": list(found.slices.order_by("code")),
    }
    return render(request, "catalogue/model.html", context)


@login_required
@require_GET
def node(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """One node with its history, and a form for its state."""
    actor, _standing = reader(request)
    return _node_page(request, cluster, name, actor)


@login_required
@require_POST
def enter_state(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """Enter a state by hand."""
    actor, standing = reader(request)
    if nodes.page_of(cluster, name) is None:
        raise Http404
    require(actor, "catalogue.change")
    form = StateForm(request.POST, zone=standing.zone, now=timezone.now())
    if not form.is_valid():
        return _node_page(request, cluster, name, actor, form=form, status=INVALID)
    given = form.cleaned_data
    actions.enter_state(cluster, name, given["state"], given["from_at"], given["to_at"], given["reason"], actor=actor)
    messages.success(request, _("The state is entered; the days it touches are metered again."))
    return redirect("catalog-node", cluster, name)


@login_required
@require_POST
def end_state(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """Put the node into service again, now."""
    actor, _standing = reader(request)
    if nodes.page_of(cluster, name) is None:
        raise Http404
    actions.end_state(cluster, name, timezone.now(), actor=actor)
    messages.success(request, _("The state is ended; the node is in service again."))
    return redirect("catalog-node", cluster, name)


def _node_page(
    request: HttpRequest, cluster: str, name: str, actor: Actor, *, form: StateForm | None = None, status: int = 200
) -> HttpResponse:
    found = nodes.page_of(cluster, name)
    if found is None:
        raise Http404
    standing = standing_of(request, actor)
    may_change = actor.may("catalogue.change")
    runs = nodes.runs_on(found, actor=actor) if standing.holds("run.view") or standing.has_login else None
    today = day_of_today()
    held = found.standing
    context = {
        "crumbs": [*_crumbs(linked=True), {"label": name}],
        "page": found,
        "node": found.node,
        "now_terms": [t for t in found.terms if _holds(t.from_on, t.to_on, today)],
        "held": held,
        "tone": held.tone if held else NODE_STATES["in_service"],
        "runs": runs,
        "may_change": may_change,
        "may_end": may_change and held is not None and held.is_open and held.row.source == "hand",
        "form": form or (StateForm(zone=standing.zone, now=timezone.now()) if may_change else None),
    }
    return render(request, "catalogue/node.html", context, status=status)


def reader(request: HttpRequest) -> tuple[Actor, Standing]:
    """Who asks and how they stand, where the catalogue is theirs to see: whoever sees use or capacity of something."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    standing = standing_of(request, actor)
    if not (standing.holds("usage.view") or standing.holds("capacity.view")):
        raise Http404
    return actor, standing


def _holds(low: date | None, high: date | None, day: date) -> bool:
    return (low is None or low <= day) and (high is None or day < high)


def _month(request: HttpRequest) -> tuple[str, Span]:
    """The month asked for, else the last that is metered."""
    period = request.GET.get("period") or latest_month()
    span = span_of(period)
    if span.last_on - span.first_on > timedelta(days=366):
        raise BadData(N_("“%(period)s” is longer than a year. Ask for a month such as 2026-06."), period=period)
    return period, span


def _pager(period: str, url: Any) -> dict[str, Any]:
    before, after = neighbours(period, day_of_today())
    return {"period": period, "before": url(before) if before else "", "after": url(after) if after else ""}


def _query(**given: str) -> str:
    return urlencode({name: value for name, value in given.items() if value})


def _crumbs(*, linked: bool = False) -> list[dict[str, Any]]:
    return [
        {"label": _("Resources and operations")},
        {"label": _("Resource catalogue"), "url": reverse("catalog") if linked else ""},
    ]
