"""Pages of the approval policy: its versions, writing and trying one, how its decisions turned out."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.access.actor import Actor, require
from governance.errors import N_, BadData, NotFound
from governance.quotas.reach import NOTHING

from . import policies as actions
from . import policy as documents
from . import scoring, wording
from .forms import PolicyForm
from .models import ApprovalPolicy

SIMULATED = 200
NOT_JSON = "JSON: %s"
CONFIRM = N_("Type the number %(version)s to confirm.")


def reader(request: HttpRequest) -> Actor:
    """Who looks at policies."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("policy.view"):
        raise NotFound(NOTHING)
    return actor


@login_required
@require_GET
def policies(request: HttpRequest) -> HttpResponse:
    """All versions, the newest first."""
    actor = reader(request)
    context = {
        "crumbs": _crumbs(),
        "rows": list(ApprovalPolicy.objects.order_by("-version")[:200]),
        "may_change": actor.may("policy.change"),
    }
    return render(request, "approvals/policies.html", context)


@login_required
@require_GET
def policy(request: HttpRequest, version: int) -> HttpResponse:
    """One version: its rules, its document, what became of what was decided under it."""
    actor = reader(request)
    found = actions.version_of(version)
    outcome = scoring.outcome(found.version, actor=actor)
    context = {
        "crumbs": [*_crumbs(linked=True), {"label": str(found)}],
        "policy": found,
        "rules": _rules(found.document),
        "document": _pretty(found.document),
        "outcome": outcome,
        "states": [(wording.STATES[code], count) for code, count in outcome.by_state.items()],
        "scores": [
            (days, [(wording.SCORES.get(code), count) for code, count in by.items()])
            for days, by in sorted(outcome.scores.items())
        ],
        "warnings": [words for one in actions.warnings(found.document) for words in wording.words_of(one)],
        "may_change": actor.may("policy.change"),
    }
    return render(request, "approvals/policy.html", context)


def _rules(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules of a document as rows: code, conditions, stages."""
    rows = []
    for rule in document["rules"]:
        when = [f"{name}: {_value(value)}" for name, value in rule.get("when", {}).items()]
        stages = [
            {
                "who": stage["who"],
                "hours": stage.get("hours", documents.HOURS),
                "when": ", ".join(f"{name}: {_value(value)}" for name, value in stage.get("when", {}).items()),
            }
            for stage in rule.get("stages", ())
        ]
        rows.append({"code": rule["code"], "when": when, "stages": stages, "is_auto": bool(rule.get("auto"))})
    return rows


def _value(value: Any) -> str:
    if isinstance(value, dict):
        signs = {"at_least": "≥", "at_most": "≤"}
        return " ".join(f"{signs.get(name, name)} {bound}" for name, bound in value.items())
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Write a document from an earlier version; check it, try it on past asks, keep it as the next version."""
    actor = reader(request)
    require(actor, "policy.change")
    if request.method == "GET":
        return _edit(request, PolicyForm(initial={"document": _start(request.GET.get("from", ""))}))
    form = PolicyForm(request.POST)
    if not form.is_valid():
        return _edit(request, form, status=422)
    try:
        document = json.loads(form.cleaned_data["document"])
    except (ValueError, RecursionError) as fault:
        form.add_error("document", NOT_JSON % fault)
        return _edit(request, form, status=422)
    faults = [words for one in actions.validate(document) for words in wording.words_of(one)]
    if faults:
        for words in faults:
            form.add_error("document", words)
        return _edit(request, form, status=422)
    if request.POST.get("do") == "keep":
        made = actions.add_version(document, actor=actor, note=form.cleaned_data["note"])
        messages.success(request, _("Version %(version)s is kept as a draft.") % {"version": made.version})
        return redirect("policy", made.version)
    extra: dict[str, Any] = {
        "is_sound": True,
        "warnings": [words for one in actions.warnings(document) for words in wording.words_of(one)],
    }
    if request.POST.get("do") == "simulate":
        extra["simulation"] = actions.simulate(document, actor=actor, most=SIMULATED)
        extra["ways"] = [
            (one, wording.KINDS[one.kind], wording.STATES[one.outcome]) for one in extra["simulation"].ways
        ]
    return _edit(request, form, **extra)


def _start(said: str) -> str:
    """The document of the version to begin with, the active one where none is named."""
    if said.isascii() and said.isdecimal() and len(said) < 10:
        return _pretty(actions.version_of(int(said)).document)
    active = ApprovalPolicy.objects.filter(state=ApprovalPolicy.ACTIVE).first()
    return _pretty(active.document) if active else ""


def _edit(request: HttpRequest, form: PolicyForm, status: int = 200, **extra: Any) -> HttpResponse:
    form.marked()
    context = {
        "crumbs": [*_crumbs(linked=True), {"label": _("New version")}],
        "form": form,
        "fields": _fields(),
        **extra,
    }
    return render(request, "approvals/policy_new.html", context, status=status)


def _fields() -> list[tuple[str, str]]:
    """What a rule and a stage may say, from the schema: name and description."""
    found: list[tuple[str, str]] = []

    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            for name, one in node.get("properties", {}).items():
                at = f"{path}.{name}" if path else name
                found.append((at, str(one.get("description", one.get("type", "")))))
                walk(one, at)
            walk(node.get("items"), f"{path}[]")

    walk(documents.SCHEMA, "")
    for name, one in documents.SCHEMA.get("$defs", {}).items():
        found.append((name, str(one.get("description", one.get("type", "")))))
        walk(one, name)
    return found


def _pretty(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)


@login_required
@require_POST
def activate(request: HttpRequest, version: int) -> HttpResponse:
    """Let a version count from now on, confirmed by its number."""
    actor = reader(request)
    require(actor, "policy.change")
    found = actions.version_of(version)
    if request.POST.get("confirm", "").strip() != str(version):
        raise BadData(CONFIRM, version=version)
    actions.activate(found.version, actor=actor, reason=request.POST.get("reason", ""))
    messages.success(request, _("Version %(version)s counts from now on.") % {"version": version})
    return redirect("policy", version)


def _crumbs(*, linked: bool = False) -> list[dict[str, Any]]:
    return [
        {"label": _("Settings and audit")},
        {"label": _("Approval policy"), "url": reverse("policies") if linked else ""},
    ]
