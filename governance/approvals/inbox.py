"""Pages on which asks are decided: what waits for one, by deadline, and one decision with its grounds on one screen."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.access.actor import Actor
from governance.errors import N_, BadData, DomainError, NotAllowed, NotTheMoment

from . import actions, reads, rules, shown, wording
from .actions import Award
from .consequences import Consequences, consequences
from .drafts import LONGEST_TEXT
from .models import Ask, AskLine
from .shapes import said
from .views import reader, story

#: Asks that add at most so many GPUs may be decided together with others.
SMALL_GPUS = 8
CHOICES = ("approve", "less", "return", "reject")
EVIDENCE = ("effective_percent", "run_success_percent", "wait_capacity_hours", "used_p95", "waiting_gpus", "healthy")
NO_CHOICE = N_("Choose what is decided: all of it, less, back to the author, or no.")
NOT_A_NUMBER = N_("Line %(line)s: give whole GPUs, 0 to refuse the line.")
NONE_CHOSEN = N_("Choose the asks first.")


@login_required
@require_GET
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits for one's decision, the nearest deadline first. `part=list` is the list alone, `part=count` how many."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    rows = reads.to_decide(actor)
    if request.GET.get("part") == "count":
        return HttpResponse(str(len(rows)), content_type="text/plain")
    context: dict[str, Any] = {
        "crumbs": [{"label": _("Inbox")}],
        "rows": _rows(rows),
        "here": request.GET.get("here", ""),
        "sees_policy": actor.may("policy.view"),
    }
    part = request.GET.get("part") == "list"
    return render(request, "approvals/_list.html" if part else "approvals/inbox.html", context)


def _rows(found: list[reads.ToDecide]) -> list[dict[str, Any]]:
    lines: dict[int, list[AskLine]] = {}
    asks = [one.ask.pk for one in found]
    for line in AskLine.objects.filter(ask__in=asks).select_related("pool", "quota").order_by("position"):
        lines.setdefault(line.ask_id, []).append(line)
    return [
        {
            "ask": one.ask,
            "says": wording.one_line(one.ask, lines.get(one.ask.pk, [])),
            "kind": wording.KINDS[one.ask.kind],
            "department": one.department,
            "due_at": one.stage.due_at,
            "left": _left(one.stage.due_at),
            "is_late": one.stage.due_at is not None and one.stage.due_at < timezone.now(),
            "is_acting": one.seat.is_acting,
            "is_small": one.ask.gpus <= SMALL_GPUS,
        }
        for one in found
    ]


def _left(due_at: Any) -> int:
    """Seconds until it is due, 0 where that lies behind."""
    return max(0, int((due_at - timezone.now()).total_seconds())) if due_at else 0


@login_required
@require_http_methods(["GET", "POST"])
def decide(request: HttpRequest, number: str) -> HttpResponse:
    """One ask with its consequences, the recommendation, the evidence, and the decision."""
    actor = reader(request)
    if request.method == "GET":
        return _page(request, actor, reads.shown(number, actor, with_moves=False))
    reads.ask_of(number, actor)
    try:
        ask = _decide(number, request.POST, actor)
    except (BadData, NotTheMoment, NotAllowed) as fault:
        # The page says it in words, beside what stands there now, and keeps what was written.
        return _page(request, actor, reads.shown(number, actor), fault=fault)
    messages.success(request, _done(ask))
    following = reads.to_decide(actor)
    return redirect("inbox-ask", following[0].ask.number) if following else redirect("inbox")


def _decide(number: str, post: QueryDict, actor: Actor) -> Ask:
    choice, comment = post.get("choice", ""), post.get("comment", "")[:LONGEST_TEXT]
    version = _number(post.get("version", ""))
    if choice == "return":
        return actions.return_to_author(number, actor=actor, comment=comment, version=version)
    if choice == "reject":
        return actions.reject(number, actor=actor, comment=comment, version=version)
    if choice not in CHOICES:
        raise BadData(NO_CHOICE)
    awards = _awards(reads.shown(number, actor).lines, post) if choice == "less" else ()
    override = post.get("override", "").strip()
    return actions.approve(number, actor=actor, version=version, awards=awards, comment=comment, override=override)


def _awards(lines: list[AskLine], post: QueryDict) -> tuple[Award, ...]:
    """What the form awards by line: the guarantee, or the ceiling of what guarantees nothing."""
    found = []
    for line in lines:
        text = post.get(f"award-{line.position}", "").strip()
        if not text:
            continue
        gpus = _number(text)
        if gpus is None:
            raise BadData(NOT_A_NUMBER, line=line.position)
        if line.left.guaranteed_gpus:
            found.append(Award(line.position, guaranteed_gpus=gpus))
        else:
            found.append(Award(line.position, ceiling_gpus=gpus))
    return tuple(found)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _done(ask: Ask) -> str:
    words = {
        rules.State.APPROVED: _("%(number)s is approved; the quota is set in the scheduler next."),
        rules.State.RETURNED: _("%(number)s is back with its author."),
        rules.State.REJECTED: _("%(number)s is rejected."),
    }
    return words.get(rules.State(ask.state), _("You agreed on %(number)s; it goes on.")) % {"number": ask.number}


def _page(
    request: HttpRequest, actor: Actor, found: reads.AskShown, *, fault: DomainError | None = None
) -> HttpResponse:
    grounds = consequences(found.ask, found.lines, actor=actor, home=found.home)
    advice = grounds.recommendation
    post = request.POST
    checks = shown.check_rows(grounds.checks)
    rows = shown.line_rows(found.ask, found.lines, advice.awards if advice else {})
    context = {
        "crumbs": [{"label": _("Inbox"), "url": reverse("inbox")}, {"label": found.ask.number}],
        **story(found),
        "rows": [(row, post.get(f"award-{row.line.position}", row.recommended)) for row in rows],
        "decides": found.seat is not None,
        "is_acting": found.seat is not None and found.seat.is_acting,
        "left": _left(found.due_at),
        "five": _five(grounds),
        "advice": advice,
        "advice_word": wording.ADVICE[advice.verdict] if advice else "",
        "advice_says": said(advice.says, advice.params) if advice else "",
        "choice": post.get("choice") or (advice.verdict if advice else ""),
        "comment": post.get("comment", ""),
        "override": post.get("override", ""),
        "checks": checks,
        "met": sum(one.tone.tone == "ok" for one in checks),
        "figures": [(wording.FIGURES[one.code], one) for one in grounds.figures if one.code in EVIDENCE],
        "waits": grounds.waits_longer,
        "earlier": grounds.earlier,
        "precedents": [(one, wording.STATES[one.state], wording.SCORES.get(one.score)) for one in grounds.precedents],
        "chart": shown.use_chart(grounds.days, _value(grounds, "held") or 0),
        "may_override": found.seat is not None and _may_override(grounds, found, actor),
        "is_divisible": found.ask.kind in rules.DIVISIBLE,
        "fault": wording.words_of(fault) if fault else [],
        "fault_status": fault.status if fault else 0,
        "total": sum(row.most for row in rows),
        "total_less": sum(row.recommended for row in rows),
    }
    return render(request, "approvals/decision.html", context, status=fault.status if fault else 200)


def _may_override(grounds: Consequences, found: reads.AskShown, actor: Actor) -> bool:
    """Whether there is not room for all of it, and the reader may go beyond it on every pool."""
    room = next((one for one in grounds.checks if one.code == "room"), None)
    if room is None or room.verdict == "ok":
        return False
    return all(actor.may("quota.override", line.pool) for line in found.lines)


def _value(grounds: Consequences, code: str) -> Any:
    return next((one.value for one in grounds.figures if one.code == code), None)


def _five(grounds: Consequences) -> dict[str, Any]:
    """The five consequences: quota, cost, budget, room, idle of the department."""
    names = ("held", "held_after", "cost", "budget_left", "budget_after", "room_after", "department_idle")
    found: dict[str, Any] = {name: _value(grounds, name) for name in names}
    found["currency"] = grounds.grounds.currency if grounds.grounds else ""
    found["waits"] = sum(gpus for _project, gpus in grounds.waits_longer)
    return found


@login_required
@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Approve several small asks. Each is decided by itself: one that is refused is said, and holds up no other."""
    actor = reader(request)
    chosen = request.POST.getlist("ask")[:100]
    if not chosen:
        raise BadData(NONE_CHOSEN)
    mine = {one.ask.number: one.ask for one in reads.to_decide(actor) if one.ask.gpus <= SMALL_GPUS}
    done = 0
    for text in chosen:
        number, _colon, version = text.partition(":")
        if number not in mine:
            messages.error(
                request, _("%(number)s does not wait for you, or is no small ask.") % {"number": number[:32]}
            )
            continue
        try:
            actions.approve(number, actor=actor, version=_number(version), comment=request.POST.get("comment", ""))
            done += 1
        except DomainError as fault:
            messages.error(request, " ".join(wording.words_of(fault)))
    if done:
        said_done = ngettext("%(count)s ask is agreed on.", "%(count)s asks are agreed on.", done)
        messages.success(request, said_done % {"count": done})
    return redirect("inbox")
