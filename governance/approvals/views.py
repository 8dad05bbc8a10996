"""Pages of asks: one's own by state, one ask with its story, and the moves beside deciding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from governance.access.actor import Actor
from governance.doors import paging
from governance.errors import N_, NotFound
from governance.quotas.reach import NOTHING, holds

from . import attachments, drafts, moving, reads, rules, shown, wording
from .api_files import file_response
from .models import Ask, AskLine
from .writing import crumbs

ROWS = 50
LIST = "asks"
OTHERS_TOO = ("all", "without_approver")
DONE: dict[str, str | Promise] = {
    "withdraw": gettext_lazy("The ask is withdrawn."),
    "remind": gettext_lazy("Whom it waits for is told once more."),
    "comment": gettext_lazy("The comment is written."),
    "assign": gettext_lazy("The approver is assigned."),
    "hand-over": gettext_lazy("The decision is handed over."),
    "add-approver": gettext_lazy("The approver is added."),
}
Deed = Callable[[str, Any, Actor], object]
DEEDS: dict[str, Deed] = {
    "withdraw": lambda number, post, actor: moving.withdraw(number, actor=actor, reason=post.get("comment", "")),
    "remind": lambda number, post, actor: moving.remind(number, actor=actor),
    "comment": lambda number, post, actor: moving.comment(number, post.get("comment", ""), actor=actor),
    "assign": lambda number, post, actor: moving.assign(
        number, post.get("person", ""), actor=actor, reason=post.get("reason", "")
    ),
    "hand-over": lambda number, post, actor: moving.hand_over(
        number, post.get("person", ""), actor=actor, reason=post.get("reason", "")
    ),
    "add-approver": lambda number, post, actor: moving.add_approver(
        number, post.get("person", ""), actor=actor, reason=post.get("reason", "")
    ),
}


def reader(request: HttpRequest) -> Actor:
    """Who reads, where asks are theirs to see."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not holds(actor, "ask.view", "ask.assign"):
        raise NotFound(NOTHING)
    return actor


@login_required
@require_GET
def asks(request: HttpRequest) -> HttpResponse:
    """One's own asks, those that want something first; `whose=all` those of the projects and pools that one sees."""
    actor = reader(request)
    whose = request.GET.get("whose", "")
    if whose not in OTHERS_TOO:
        whose = ""
    state = request.GET.get("state", "")
    rows = Ask.objects.visible_to(actor).select_related("project", "asked_by")
    if not whose:
        rows = rows.filter(asked_by=actor.person)
    elif whose == "without_approver":
        rows = rows.filter(stages__is_open=True, stages__is_stuck=True)
    if state in wording.STATES:
        rows = rows.filter(state=state)
    else:
        state = ""
    asked = {name: value for name, value in (("whose", whose), ("state", state)) if value}
    turn = paging.turned(request.GET.get("cursor", ""), LIST)
    page = paging.of_turn(rows, ("-pk",), turn, ROWS)
    context = {
        "crumbs": crumbs(),
        "groups": _groups(page.rows),
        "whose": whose,
        "state": state,
        "states": [(code, wording.STATES[code].word, code == state) for code in wording.state_order()],
        "makes": holds(actor, "ask.make"),
        "assigns": actor.may("ask.assign"),
        **paging.links(page, LIST, asked),
    }
    return render(request, "approvals/asks.html", context)


def _groups(rows: list[Ask]) -> list[tuple[Any, list[dict[str, Any]]]]:
    """By state, in the order in which they want something."""
    lines: dict[int, list[AskLine]] = {}
    found = AskLine.objects.filter(ask__in=[one.pk for one in rows]).select_related("pool", "quota")
    for line in found.order_by("position"):
        lines.setdefault(line.ask_id, []).append(line)
    by_state: dict[str, list[dict[str, Any]]] = {}
    for ask in rows:
        row = {"ask": ask, "says": wording.one_line(ask, lines.get(ask.pk, [])), "kind": wording.KINDS[ask.kind]}
        by_state.setdefault(ask.state, []).append(row)
    return [(wording.STATES[state], by_state[state]) for state in wording.state_order() if state in by_state]


@login_required
@require_GET
def ask(request: HttpRequest, number: str) -> HttpResponse:
    """One ask: lines asked and awarded, its way, what changed, files, the story, and the moves that are the reader's.

    Whoever is to decide it comes to the page of the decision; `?story=1` stays here.
    """
    actor = reader(request)
    found = reads.shown(number, actor)
    if found.ask.state == rules.State.DRAFT:
        return redirect("ask-edit", found.ask.number)
    if found.seat is not None and "story" not in request.GET:
        return redirect("inbox-ask", found.ask.number)
    context = {
        "crumbs": [*crumbs(linked=True), {"label": found.ask.number}],
        **story(found),
        "person_moves": [one for one in ("assign",) if one in found.may],
    }
    return render(request, "approvals/ask.html", context)


def story(found: reads.AskShown) -> dict[str, Any]:
    """What both pages of an ask show of it."""
    return {
        "found": found,
        "ask": found.ask,
        "says": wording.one_line(found.ask, found.lines),
        "kind": wording.KINDS[found.ask.kind],
        "tone": wording.STATES[found.ask.state],
        "rows": shown.line_rows(found.ask, found.lines, {}),
        "story": shown.story(found),
        "changed": shown.differences(found),
        "may": dict.fromkeys(found.may, True),
    }


@login_required
@require_POST
def move(request: HttpRequest, number: str, verb: str) -> HttpResponse:
    """A move beside deciding; the page it came from shows what came of it."""
    actor = reader(request)
    found = reads.ask_of(number, actor)
    if verb == "copy":
        made = drafts.copy(found.number, actor=actor)
        return redirect("ask-edit", made.number)
    deed = DEEDS.get(verb)
    if deed is None:
        raise NotFound(N_("Nothing is here under this address."))
    deed(found.number, request.POST, actor)
    messages.success(request, str(DONE[verb]))
    if found.state == rules.State.DRAFT:
        return redirect("asks")
    return redirect("ask", found.number)


@login_required
@require_GET
def file(request: HttpRequest, number: str, pk: int) -> FileResponse:
    """A file, as a download."""
    return file_response(number, pk, reader(request))


@login_required
@require_POST
def detach(request: HttpRequest, number: str, pk: int) -> HttpResponse:
    """Take a file off a draft."""
    actor = reader(request)
    reads.ask_of(number, actor)
    attachments.detach(number, pk, actor=actor)
    return redirect("ask-edit", number)
