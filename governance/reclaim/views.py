"""Pages of reclaim: cases by state with the balance, one case with its evidence, the rules with what they would have opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.access.actor import Actor, require
from governance.approvals.wording import words_of
from governance.catalogue.models import Pool
from governance.doors import paging
from governance.errors import N_, BadData, NotFound
from governance.quotas import shown as charts
from governance.quotas.reach import NOTHING, holds, see_quotas
from governance.tenants.models import day_of_today

from . import actions, detection, reads, rules, wording
from .forms import RuleForm
from .models import ReclaimCase, ReclaimRule

LIST, ROWS, BALANCE_DAYS = "reclaim", 100, 90
NO_DAY = N_("“%(value)s” is no day. Write it as 2026-07-15.")
Deed = Callable[[str, QueryDict, Actor], object]


def reader(request: HttpRequest) -> Actor:
    """Who sees quotas sees the cases about them."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    see_quotas(actor)
    return actor


@login_required
@require_GET
def cases(request: HttpRequest) -> HttpResponse:
    """Cases of the projects and pools that one sees, by state; what was gained beside what was wrong."""
    actor = reader(request)
    state = request.GET.get("state", "open")
    rows = ReclaimCase.objects.visible_to(actor).select_related("rule", "project", "pool", "quota")
    if state == "open":
        rows = rows.filter(state__in=rules.OPEN)
    elif state in rules.STATES:
        rows = rows.filter(state=state)
    elif state != "all":
        raise BadData(N_("“%(value)s” is no state of a case."), value=state[:32])
    turn = paging.turned(request.GET.get("cursor", ""), LIST)
    page = paging.of_turn(rows, ("-pk",), turn, ROWS)
    states = [("open", _("Open")), *((code, tone.word) for code, tone in wording.STATES.items()), ("all", _("All"))]
    context = {
        "crumbs": crumbs(),
        "rows": [(one, wording.STATES[one.state], _ending(one), wording.KINDS[one.rule.kind]) for one in page.rows],
        "states": [(code, word, code == state) for code, word in states],
        "balance": reads.balance(actor, timezone.now() - timedelta(days=BALANCE_DAYS)),
        "balance_days": BALANCE_DAYS,
        "sees_rules": _sees_rules(actor),
        **paging.links(page, LIST, {"state": state}),
    }
    return render(request, "reclaim/cases.html", context)


def _ending(case: ReclaimCase) -> Any:
    return wording.OUTCOMES.get(case.outcome) or wording.ANSWERS.get(case.answer, "")


@login_required
@require_GET
def case(request: HttpRequest, number: str) -> HttpResponse:
    """One case: what the rule saw, day by day, what was answered, what came of it, and what the reader may do."""
    actor = reader(request)
    return _case_page(request, actor, number)


def _case_page(
    request: HttpRequest, actor: Actor, number: str, faults: list[str] | None = None, status: int = 200
) -> HttpResponse:
    found = reads.case_of(number, actor)
    context = {
        "crumbs": [*crumbs(linked=True), {"label": found.number}],
        "case": found,
        "tone": wording.STATES[found.state],
        "kind": wording.KINDS[found.rule.kind],
        "answer_word": wording.ANSWERS.get(found.answer, ""),
        "outcome_word": wording.OUTCOMES.get(found.outcome, ""),
        "is_false": found.outcome in rules.FALSE_OUTCOMES,
        "effect": [(word, found.effect[name]) for name, word in wording.EFFECT.items() if name in (found.effect or {})],
        "chart": _chart(found),
        "moves": moves_of(found, actor),
        "today": day_of_today(),
        "faults": faults or [],
        "given": request.POST,
    }
    return render(request, "reclaim/case.html", context, status=status)


def moves_of(found: ReclaimCase, actor: Actor) -> dict[str, bool]:
    """What the actor may do with a case now."""
    answers = actor.may("reclaim.answer", found.project)
    manages = actor.may("reclaim.manage", found.pool)
    in_time = found.applied_at is not None and timezone.now() <= found.applied_at + timedelta(hours=rules.UNDO_HOURS)
    return {
        "answer": answers and found.state == rules.NOTIFIED,
        "judge": manages and found.state == rules.ANSWERED and found.answer == rules.DISPUTE,
        "undo": (answers or manages) and found.state == rules.APPLIED and in_time,
        "withdraw": manages and found.state in rules.OPEN,
    }


def _chart(found: ReclaimCase) -> dict[str, Any] | None:
    """GPUs in use by day of the window against what was held; None for a case about a run."""
    days, window = found.evidence.get("days"), found.evidence.get("window")
    if days is None or not window:
        return None
    first, last = (date.fromisoformat(one) for one in window)
    each = [first + timedelta(days=n) for n in range((last - first).days)]
    used = [Decimal(days.get(one.isoformat(), 0)) for one in each]
    held = Decimal(found.evidence["held"])
    top = max([Decimal(1), held, *used])
    return {
        "width": len(each),
        "used": f"{charts.steps(used, top)}V100H0Z",
        "held": charts.steps([held] * len(each), top),
        "ticks": (top, top / 2, Decimal(0)),
        "first_on": first,
        "last_on": last - timedelta(days=1),
        "days": list(zip(each, used, strict=True)),
    }


def _day(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as fault:
        raise BadData(NO_DAY, value=text[:32]) from fault


DEEDS: dict[str, Deed] = {
    "answer": lambda number, post, actor: actions.answer(
        number, post.get("answer", ""), reason=post.get("reason", ""), keep_until=_day(post.get("keep_until", "")), actor=actor
    ),
    "judge": lambda number, post, actor: actions.judge(
        number, was_right=post.get("was_right") == "yes", reason=post.get("reason", ""), actor=actor
    ),
    "undo": lambda number, post, actor: actions.undo(number, reason=post.get("reason", ""), actor=actor),
    "withdraw": lambda number, post, actor: actions.withdraw(number, reason=post.get("reason", ""), actor=actor),
}  # fmt: skip


@login_required
@require_POST
def move(request: HttpRequest, number: str, verb: str) -> HttpResponse:
    """An answer, a judgement, an undo, or letting a case go."""
    actor = reader(request)
    found = reads.case_of(number, actor)
    deed = DEEDS.get(verb)
    if deed is None:
        raise NotFound(N_("Nothing is here under this address."))
    try:
        deed(found.number, request.POST, actor)
    except BadData as fault:  # what was written stays, with what is missing beside it
        return _case_page(request, actor, number, words_of(fault), status=422)
    messages.success(request, str(wording.DONE[verb]))
    return redirect("reclaim-case", found.number)


def manager(request: HttpRequest) -> Actor:
    """Who sees rules: whoever manages reclaim of a pool, and those who see quotas of the site."""
    actor = reader(request)
    if not _sees_rules(actor):
        raise NotFound(NOTHING)
    return actor


def _sees_rules(actor: Actor) -> bool:
    return holds(actor, "reclaim.manage") or actor.may("quota.view")


@login_required
@require_http_methods(["GET", "POST"])
def rules_page(request: HttpRequest) -> HttpResponse:
    """The rules by version; writing one, with what it would have opened over the past 90 days before it is kept."""
    actor = manager(request)
    pools = _pools(actor)
    choices = [(one.code, one.name) for one in pools]
    if request.method == "GET":
        return _rules(request, actor, RuleForm(pools=choices, initial=_initial(request)))
    if not holds(actor, "reclaim.manage"):
        require(actor, "reclaim.manage")
    form = RuleForm(request.POST, pools=choices)
    if not form.is_valid():
        return _rules(request, actor, form, status=422)
    code, terms, pool = form.cleaned_data["code"], form.terms(), form.cleaned_data["pool"]
    if request.POST.get("do") == "preview":
        of = next((one for one in pools if one.code == pool), None)
        require(actor, "reclaim.manage", of)
        return _rules(request, actor, form, **_preview(detection.preview(terms, pool=of, until=day_of_today())))
    names = {name: form.cleaned_data[name] for name in ("name_zh", "name_en")}
    try:
        made = actions.write_rule(code, terms, pool=pool, actor=actor, **names)
    except BadData as fault:
        form.add_error(None, words_of(fault)[0])
        return _rules(request, actor, form, status=422)
    messages.success(
        request,
        _("Version %(version)s of %(code)s is kept, switched off.") % {"version": made.version, "code": made.code},
    )
    return redirect("reclaim-rules")


def _initial(request: HttpRequest) -> dict[str, Any]:
    """What the form begins with: the last version of the rule that is named."""
    code = request.GET.get("from", "")[:48]
    last = ReclaimRule.objects.filter(code=code).select_related("pool").order_by("-version").first() if code else None
    if last is None:
        return {}
    names = ("code", "name_zh", "name_en", *asdict(last.terms))
    return {**{name: getattr(last, name) for name in names}, "pool": last.pool.code if last.pool else ""}


def _pools(actor: Actor) -> list[Pool]:
    """The pools whose reclaim the actor manages."""
    rows = list(Pool.objects.filter(cluster__isnull=False).order_by("code"))
    if actor.may("reclaim.manage"):
        return rows
    return [one for one in rows if actor.may("reclaim.manage", one)]


def _preview(found: list[detection.Previewed]) -> dict[str, Any]:
    return {
        "is_preview": True,
        "preview": found[:500],
        "preview_gpus": sum(one.finding.gpus for one in found),
        "preview_days": rules.PREVIEW_DAYS,
    }


def _rules(request: HttpRequest, actor: Actor, form: RuleForm, status: int = 200, **extra: Any) -> HttpResponse:
    form.marked()
    rows = ReclaimRule.objects.select_related("pool").order_by("code", "-version")
    site = actor.may("reclaim.manage")
    context = {
        "crumbs": [*crumbs(linked=True), {"label": _("Rules")}],
        "form": form,
        "rows": [
            (one, wording.KINDS[one.kind], site or (one.pool is not None and actor.may("reclaim.manage", one.pool)))
            for one in rows
        ],
        "manages": holds(actor, "reclaim.manage"),
        **extra,
    }
    return render(request, "reclaim/rules.html", context, status=status)


@login_required
@require_POST
def switch(request: HttpRequest, code: str) -> HttpResponse:
    """Switch a version of a rule on, or the rule off."""
    actor = manager(request)
    said = request.POST.get("version", "")
    version = int(said) if said.isascii() and said.isdecimal() and len(said) < 9 else None
    actions.switch(code, version, actor=actor)
    messages.success(request, _("The rule is switched on.") if version else _("The rule is switched off."))
    return redirect("reclaim-rules")


def crumbs(*, linked: bool = False) -> list[dict[str, Any]]:
    """The way to a page of reclaim."""
    return [{"label": _("Use compute")}, {"label": _("Reclaim"), "url": reverse("reclaim") if linked else ""}]
