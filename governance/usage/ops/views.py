"""Pages of operations: how collection stands, and one cluster with its connection, nodes and quarantine."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.access.actor import Actor, require
from governance.catalogue.models import UNKNOWN_MODEL, Cluster
from governance.errors import N_, BadData
from governance.tenants.models import day_of_today
from governance.usage import discovery
from governance.work import actions as work
from governance.work import reads as work_reads

from . import actions, reads, words
from .forms import ClusterForm

TABS = ("state", "nodes", "discovery", "quarantine", "connection")
PROPOSALS_SHOWN = 200
INVALID = 422


@login_required
@require_GET
def operations(request: HttpRequest) -> HttpResponse:
    """Clusters and how far their stages are, background work, and the processes that do it."""
    actor = _reader(request)
    on = reads.work_now()
    rows = reads.cluster_rows(on)
    context = {
        "crumbs": [{"label": _("Resources and operations")}, {"label": _("Collection and data quality")}],
        "clusters": [
            {
                "row": row,
                "kind": words.KINDS.get(row.cluster.scheduler_kind, row.cluster.scheduler_kind),
                "errors": [work_reads.error_words(item) for item in row.faults],
                "next_at": row.next_at,
                "running": row.pull is not None and row.pull.state == "running",
            }
            for row in rows
        ],
        "stages": [words.STAGES[stage] for stage in reads.STAGES],
        "queues": [{"queue": queue, "word": words.of_work(queue.kind)} for queue in on.queues],
        "running": [_item(item, on) for item in on.running],
        "failed": [_item(item, on) for item in on.failed],
        "processes": [{"seen": seen, "role": words.ROLES.get(seen.role, seen.role)} for seen in reads.processes()],
        "findings": sum(row.findings for row in rows),
        "quarantined": sum(row.quarantined for row in rows),
        "now": on.now,
        **_rights(actor),
    }
    return render(request, "ops/operations.html", context)


@login_required
@require_POST
def retry_work(request: HttpRequest) -> HttpResponse:
    """Try failed work at once."""
    actor = _reader(request)
    key = request.POST.get("key", "")
    work.retry(request.POST.get("kind", ""), key, actor=actor)
    messages.success(request, _("It is tried again now."))
    here = request.POST.get("from") == "cluster" and Cluster.objects.filter(code=key).exists()
    return redirect(_cluster_url(key) if here else "ops")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_cluster(request: HttpRequest) -> HttpResponse:
    """Add a cluster by a form."""
    actor = _reader(request)
    require(actor, "catalogue.change")
    form = ClusterForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        code = form.cleaned_data["code"]
        if Cluster.objects.filter(code=code).exists():
            form.add_error("code", _("There is a cluster “%(code)s” already. Choose another code.") % {"code": code})
        else:
            actions.save_cluster(code, form.values(), is_new=True, actor=actor)
            messages.success(request, _("Cluster %(code)s was added. Test its connection next.") % {"code": code})
            return redirect(_cluster_url(code, "connection"))
    context = {"crumbs": [*_crumbs(), {"label": _("New cluster")}], "form": form, "groups": form.groups()}
    return render(request, "ops/new_cluster.html", context, status=INVALID if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cluster(request: HttpRequest, code: str) -> HttpResponse:
    """One cluster; a POST saves the form of its connection."""
    actor = _reader(request)
    found = _found(code)
    if request.method != "POST":
        return _page(request, found, actor)
    require(actor, "catalogue.change")
    form = ClusterForm(request.POST, cluster=found)
    if not form.is_valid():
        return _page(request, found, actor, tab="connection", form=form, status=INVALID)
    changed = actions.save_cluster(code, form.values(), is_new=False, actor=actor)
    messages.success(request, _("Saved. Test the connection next.") if changed else _("Nothing was different."))
    return redirect(_cluster_url(code, "connection"))


@login_required
@require_POST
def test(request: HttpRequest, code: str) -> HttpResponse:
    """Test the connection and show each finding."""
    actor = _reader(request)
    found = _found(code)
    tested = [words.of_test(one) for one in actions.try_connection(code, actor=actor)]
    return _page(request, found, actor, tab="connection", tested=tested)


@login_required
@require_POST
def pull(request: HttpRequest, code: str) -> HttpResponse:
    """Ask for a pull; a worker does it."""
    actor = _reader(request)
    _found(code)
    state = actions.ask_pull(code, actor=actor)
    said = {
        "running": _("A pull runs already; another one follows it."),
        "waiting": _("The pull is asked for. It starts as soon as a worker is free."),
    }
    messages.success(request, said.get(state, said["waiting"]))
    return redirect(_cluster_url(code))


@login_required
@require_POST
def nodes(request: HttpRequest, code: str) -> HttpResponse:
    """Put the chosen nodes into the catalogue from a day on."""
    actor = _reader(request)
    _found(code)
    require(actor, "catalogue.change")
    from_on = _day(request.POST.get("from_on", ""))
    names, every = request.POST.getlist("node"), request.POST.get("every") == "1"
    written = actions.accept_nodes(code, names, every=every, from_on=from_on, actor=actor)
    told = ngettext("%(count)s term of a node was added.", "%(count)s terms of nodes were added.", written)
    messages.success(request, told % {"count": written})
    return redirect(_cluster_url(code, "discovery"))


@login_required
@require_POST
def quarantine(request: HttpRequest, code: str) -> HttpResponse:
    """Read the quarantined records again."""
    actor = _reader(request)
    _found(code)
    counts = actions.read_again(code, actor=actor)
    told = _("%(read)s records tried: %(new)s new runs, %(changed)s changed, %(quarantined)s still in quarantine.")
    messages.success(request, told % vars(counts))
    return redirect(_cluster_url(code, "quarantine"))


def _page(
    request: HttpRequest,
    found: Any,
    actor: Actor,
    *,
    tab: str = "",
    form: ClusterForm | None = None,
    tested: list[words.Said] | None = None,
    status: int = 200,
) -> HttpResponse:
    tab = tab or request.GET.get("tab") or TABS[0]
    if tab not in TABS:
        raise BadData(N_("“%(tab)s” is no part of this page."), tab=tab)
    held = found.open_quarantine
    context: dict[str, Any] = {
        "crumbs": [*_crumbs(), {"label": found.name}],
        "cluster": found,
        "kind": words.KINDS.get(found.scheduler_kind, found.scheduler_kind),
        "is_live": found.scheduler_kind in reads.SCHEDULERS,
        "tab": tab,
        "tabs": _tabs(found, tab, held),
        "held": held,
        **_rights(actor),
    }
    if tab == "state":
        context |= _state(found)
    elif tab == "nodes":
        context["nodes"] = reads.nodes(found, request.GET.get("after", ""), day_of_today())
    elif tab == "discovery":
        context |= _discovery(found)
    elif tab == "quarantine":
        context["quarantine"] = reads.quarantine(found, _number(request.GET.get("before", "")), held)
    else:
        form = form or ClusterForm(cluster=found)
        context |= {"form": form, "groups": form.groups(), "tested": tested, "shown": _shown(found)}
    return render(request, "ops/cluster.html", context, status=status)


def _state(found: Any) -> dict[str, Any]:
    on = reads.work_now()
    row = reads.cluster_row(found, on)
    stages = [(words.STAGES[mark.stage], mark) for mark in row.marks]
    return {
        "row": row,
        "marks": stages,
        "items": [_item(item, on) for item in on.about(found.code)],
        "findings": reads.findings(found, row.findings),
        "waiting": reads.waiting(found, found.nodes_seen_at),
        "intakes": reads.intakes(found),
        "now": on.now,
    }


def _discovery(found: Any) -> dict[str, Any]:
    proposed = discovery.proposals(found)
    return {
        "proposals": [_proposal(p) for p in proposed[:PROPOSALS_SHOWN]],
        "more_proposals": max(len(proposed) - PROPOSALS_SHOWN, 0),
        "news": sum(p.kind == discovery.NEW and UNKNOWN_MODEL not in p.models for p in proposed),
        "was_seen": found.nodes_seen_at is not None,
        "today": day_of_today(),
    }


def _proposal(one: discovery.Proposal) -> dict[str, Any]:
    can_accept = one.kind == discovery.NEW and UNKNOWN_MODEL not in one.models
    return {
        "proposal": one,
        "tone": words.PROPOSALS[one.kind],
        "cards": ", ".join(f"{_model(code)} × {count}" for code, count in sorted(one.models.items())),
        "can_accept": can_accept,
        "todo": words.WAYS_OUT.get(one.kind, ""),
    }


def _model(code: str) -> str:
    return _("Unknown GPU model") if code == UNKNOWN_MODEL else code


def _item(item: Any, on: reads.Work) -> dict[str, Any]:
    beat = (on.now - item.heartbeat_at).total_seconds() if item.heartbeat_at else None
    ran = (on.now - item.started_at).total_seconds() if item.started_at and item.state == "running" else None
    return {
        "item": item,
        "word": words.of_work(item.kind),
        "tone": words.WORK_STATES[item.state],
        "beat_seconds": beat,
        "ran_seconds": ran,
        "error": work_reads.error_words(item),
        "is_late": beat is not None and item.lease_until_at is not None and item.lease_until_at < on.now,
    }


def _tabs(found: Any, tab: str, held: int) -> list[dict[str, Any]]:
    named = {
        "state": _("State"),
        "nodes": _("Nodes"),
        "discovery": _("Discovery"),
        "quarantine": _("Quarantine"),
        "connection": _("Connection"),
    }
    return [
        {
            "word": named[name],
            "url": _cluster_url(found.code, name),
            "current": name == tab,
            "count": held if name == "quarantine" else 0,
        }
        for name in TABS
    ]


def _shown(found: Any) -> list[tuple[Any, Any]]:
    """The connection for those who may only read: labels of the form and plain values, none of which is a secret."""
    labels = {name: field.label for name, field in ClusterForm.base_fields.items()}
    return [(labels.get(key, key), value) for key, value in found.connection.items()]


def _reader(request: HttpRequest) -> Actor:
    """Who asks, where operations are theirs to see."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("operations.view"):
        raise Http404
    return actor


def _found(code: str) -> Any:
    cluster = reads.known_clusters().filter(code=code).first()
    if cluster is None:
        raise Http404
    return cluster


def _rights(actor: Actor) -> dict[str, bool]:
    return {"may_change": actor.may("catalogue.change"), "may_run": actor.may("records.import")}


def _crumbs() -> list[dict[str, Any]]:
    return [
        {"label": _("Resources and operations")},
        {"label": _("Collection and data quality"), "url": reverse("ops")},
    ]


def _cluster_url(code: str, tab: str = "") -> str:
    url = reverse("ops-cluster", args=[code])
    return f"{url}?tab={tab}" if tab else url


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadData(N_("“%(text)s” is no day. Write 2026-06-30."), text=text) from None


def _number(text: str) -> int:
    """A cursor from an address; what is none begins at the start."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
