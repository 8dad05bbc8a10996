"""Enforcement on one cluster: whether it may be, what would change, what drifted, what was told."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from governance.access.actor import Actor, require
from governance.catalogue.models import Cluster
from governance.usage.ops.words import WORK_STATES

from . import actions, reads, words
from .forms import SetupForm
from .models import IN_FORCE, EnforcedLimit, LimitDrift


@login_required
@require_GET
def cluster(request: HttpRequest, code: str) -> HttpResponse:
    """How enforcement stands on the cluster."""
    actor, found = _seen(request, code)
    return _page(request, actor, found)


@login_required
@require_POST
def check(request: HttpRequest, code: str) -> HttpResponse:
    """Ask the scheduler whether limits would hold there."""
    actor, found = _seen(request, code)
    blocking = [one for one in actions.check(code, actor=actor) if one.severity == "blocking"]
    if blocking:
        messages.warning(request, _("Something is in the way; see the findings."))
    else:
        messages.success(request, _("Nothing is in the way."))
    return redirect(_url(found.code))


@login_required
@require_POST
def switch(request: HttpRequest, code: str) -> HttpResponse:
    """Opt the cluster in or out."""
    actor, found = _seen(request, code)
    if request.POST.get("on") == "1":
        actions.opt_in(code, actor=actor)
        messages.success(request, _("The cluster is opted in. Its limits follow the quotas from now on."))
    else:
        actions.opt_out(code, actor=actor)
        messages.success(request, _("Nothing is told the scheduler any more. What is in force stays in force."))
    return redirect(_url(found.code))


@login_required
@require_POST
def configure(request: HttpRequest, code: str) -> HttpResponse:
    """Save how limits are set there."""
    actor, found = _seen(request, code)
    require(actor, "enforcement.change")
    form = SetupForm(request.POST)
    if not form.is_valid():
        return _page(request, actor, found, form=form, status=422)
    actions.configure(
        code,
        requires_type=form.cleaned_data["requires_type"],
        keeps_qos=form.names(),
        syncs_members=form.cleaned_data["syncs_members"],
        actor=actor,
    )
    messages.success(request, _("Saved."))
    return redirect(_url(found.code))


@login_required
@require_POST
def ask(request: HttpRequest, code: str) -> HttpResponse:
    """Ask for a round now."""
    actor, found = _seen(request, code)
    actions.ask(code, actor=actor)
    messages.success(request, _("A round is asked for. It starts as soon as a worker is free."))
    return redirect(_url(found.code))


@login_required
@require_POST
def restore(request: HttpRequest, code: str, number: int) -> HttpResponse:
    """Set what the quotas say once more."""
    actor, found = _seen(request, code)
    _drift(found, number)
    actions.restore(number, reason=request.POST.get("reason", ""), actor=actor)
    messages.success(request, _("It is set to what the quotas say in the next round."))
    return redirect(_url(found.code))


@login_required
@require_POST
def adopt(request: HttpRequest, code: str, number: int) -> HttpResponse:
    """Let the quota say what was set there."""
    actor, found = _seen(request, code)
    _drift(found, number)
    actions.adopt(number, reason=request.POST.get("reason", ""), pool=request.POST.get("pool", ""), actor=actor)
    messages.success(request, _("The quota says now what was set in the scheduler."))
    return redirect(_url(found.code))


def _seen(request: HttpRequest, code: str) -> tuple[Actor, Cluster]:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    found = Cluster.objects.filter(code=code).first() if actor.may("operations.view") else None
    if found is None:
        raise Http404
    return actor, found


def _drift(found: Cluster, number: int) -> None:
    if not LimitDrift.objects.filter(cluster=found, pk=number).exists():
        raise Http404


def _page(
    request: HttpRequest, actor: Actor, found: Cluster, *, form: SetupForm | None = None, status: int = 200
) -> HttpResponse:
    state = reads.cluster_state(found)
    setup = state.setup
    form = form or SetupForm(
        initial={
            "requires_type": setup.requires_type,
            "keeps_qos": ", ".join(setup.keeps_qos),
            "syncs_members": setup.syncs_members,
        }
    )
    context: dict[str, Any] = {
        "crumbs": [
            {"label": _("Resources and operations")},
            {"label": _("Collection and data quality"), "url": reverse("ops")},
            {"label": found.name, "url": reverse("ops-cluster", args=[found.code])},
            {"label": _("Limits")},
        ],
        "cluster": found,
        "state": state,
        "setup": setup,
        "findings": [words.finding(*one) for one in setup.findings],
        "counts": [(words.STATES[name], count) for name, count in state.counts.items() if count],
        "limits": [_row(row) for row in state.limits],
        "drifts": [_drifted(one) for one in state.drifts],
        "settled": [(one, words.KINDS[one.kind], words.RESOLVED[one.resolved_as]) for one in state.settled],
        "refused": [(number, words.refused(reason)) for number, reason in sorted(setup.refused.items())],
        "work": WORK_STATES[state.item.state] if state.item else None,
        "pools": list(found.pools.order_by("code")),
        "form": form,
        "may_change": actor.may("enforcement.change"),
    }
    return render(request, "quotas/enforcement/cluster.html", context, status=status)


def _row(row: EnforcedLimit) -> dict[str, Any]:
    used, limit = reads.gpus_of(row)
    return {
        "limit": row,
        "kind": words.KINDS[row.kind],
        "tone": words.STATES[row.state],
        "says": words.said(row.words, row.words_params),
        "differs": [] if row.state == IN_FORCE else reads.difference(row),
        "used": used,
        "most": limit,
    }


def _drifted(one: LimitDrift) -> dict[str, Any]:
    return {
        "drift": one,
        "kind": words.KINDS[one.kind],
        "tone": words.DRIFTS[one.drift],
        "differs": [(key, words.value(key, pair[0]), words.value(key, pair[1])) for key, pair in one.differs.items()],
        "is_ours": one.drift != "unmanaged",
        "can_adopt": one.drift in ("changed", "unmanaged") and one.kind in ("qos", "account"),
    }


def _url(code: str) -> str:
    return reverse("enforcement", args=[code])
