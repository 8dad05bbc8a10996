"""Events of asks, worded by the role in which somebody is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import NoReverseMatch, reverse

from governance.access.actor import Actor
from governance.errors import N_
from governance.notices.registry import Codes, Event, Group, Kind, register
from governance.notices.rules import AT_ONCE, DIGEST
from governance.tenants.models import Placement, day_of_today

from . import rules
from .models import Ask


def _ids(codes: Iterable[str]) -> list[int]:
    return [pk for code in codes if (pk := rules.digits_of(code)) is not None]


def _visible(actor: Actor, codes: Codes) -> Iterable[str]:
    return {ask.number for ask in Ask.objects.visible_to(actor).filter(pk__in=_ids(codes)).only("pk")}


def _url(code: str) -> str:
    try:
        return reverse("ask", args=[code])
    except NoReverseMatch:  # an installation without the pages
        return ""


def _show(actor: Actor, code: str) -> dict[str, Any] | None:
    ask = Ask.objects.visible_to(actor).select_related("project").filter(pk__in=_ids([code])).first()
    if ask is None:
        return None
    return {
        "number": ask.number,
        "kind": ask.kind,
        "project": ask.project.code,
        "state": ask.state,
        "version": ask.version,
    }


def _scopes(code: str) -> Iterable[tuple[str, str]]:
    rows = Ask.objects.filter(pk__in=_ids([code])).values_list("project", "project__code")
    for project, project_code in rows:
        yield "project", project_code
        homes = Placement.objects.on(day_of_today()).filter(project=project)
        yield from (("department", home) for home in homes.values_list("department__code", flat=True))


def _event(code: str, title: str, says: dict[str, str], *, mail: str = AT_ONCE, personal: bool = False) -> Event:
    return Event(f"ask.{code}", "asks", "ask", title, says, mail=mail, personal=personal)


register(
    Group("asks", N_("Asks and decisions"), N_("Asks that wait for you, and what came of yours.")),
    Kind("ask", visible=_visible, url=_url, show=_show, scopes=_scopes),
    _event(
        "to_decide",
        N_("To decide: ask %(number)s of %(project)s"),
        {
            "": N_("It waits for your decision until %(due_at)s. Later it is escalated."),
            "acting": N_("It waits for somebody for whom you act, until %(due_at)s. You may decide in their place."),
            "capacity_manager": N_(
                "It waits for you as manager of its pool until %(due_at)s. The page shows what is free afterwards."
            ),
            "approver": N_(
                "It waits for you as approver of the department until %(due_at)s. The page shows cost and idle GPUs."
            ),
        },
    ),
    _event(
        "returned",
        N_("Your ask %(number)s came back"),
        {"": N_("It wants something more before it can be decided: %(comment)s Change it and submit it again.")},
    ),
    _event(
        "approved",
        N_("Your ask %(number)s is approved: %(gpus)s GPUs"),
        {"": N_("The quota is set in the scheduler next; its page shows when it is in force.")},
    ),
    _event("rejected", N_("Your ask %(number)s is rejected"), {"": N_("The reason: %(comment)s")}),
    _event(
        "informed",
        N_("Approved: ask %(number)s of %(project)s"),
        {"": N_("You are informed because the approval policy says so; there is nothing to do.")},
        mail=DIGEST,
    ),
    _event(
        "reminded",
        N_("Still to decide: ask %(number)s of %(project)s"),
        {
            "": N_("It waits for your decision until %(due_at)s. Later it is escalated."),
            "acting": N_("It waits for somebody for whom you act, until %(due_at)s. You may decide in their place."),
        },
    ),
    _event(
        "escalated",
        N_("Escalated: ask %(number)s of %(project)s"),
        {
            "": N_("It was not decided in time, so you are asked as well. It is due at %(due_at)s."),
            "author": N_("It was not decided in time. The next scope above is asked as well; it is due at %(due_at)s."),
        },
    ),
    _event(
        "expired",
        N_("The ask %(number)s has expired"),
        {
            "": N_("Nobody decided it in time. It is closed."),
            "author": N_(
                "Nobody decided it in time, or it was returned and not submitted again. Copy it to ask once more."
            ),
        },
    ),
    _event(
        "handed_over",
        N_("Handed over to you: ask %(number)s of %(project)s"),
        {"": N_("You decide it in place of another approver. %(reason)s")},
    ),
    _event(
        "added",
        N_("You were added as approver: ask %(number)s of %(project)s"),
        {"": N_("It passes only when you agree as well. %(reason)s")},
    ),
    _event(
        "rehomed",
        N_("Back with you: ask %(number)s of %(project)s"),
        {"": N_("Whom it was handed over to can no longer decide it, so it waits for you again.")},
    ),
    _event(
        "without_approver",
        N_("Nobody can decide the ask %(number)s of %(project)s"),
        {"": N_("Nobody holds %(who)s, and nobody above. Assign an approver on its page, or have the role granted.")},
    ),
    _event("commented", N_("Comment on the ask %(number)s of %(project)s"), {"": N_("%(comment)s")}, mail=DIGEST),
)
