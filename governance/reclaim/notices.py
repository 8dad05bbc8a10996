"""Events of reclaim cases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from governance.access.actor import Actor
from governance.errors import N_
from governance.notices.registry import Codes, Event, Group, Kind, register
from governance.notices.rules import AT_ONCE

from .models import ReclaimCase

GROUP = "reclaim"


def _ids(codes: Iterable[str]) -> list[int]:
    return [int(code[2:]) for code in codes if code.startswith("R-") and code[2:].isdecimal()]


def _visible(actor: Actor, codes: Codes) -> Iterable[str]:
    return [case.number for case in ReclaimCase.objects.visible_to(actor).filter(pk__in=_ids(codes)).only("pk")]


def _url(code: str) -> str:
    return reverse("reclaim-case", args=[code])


def shown(case: ReclaimCase) -> dict[str, Any]:
    """What the API shows of a case."""
    return {
        "number": case.number,
        "rule": f"{case.rule.code} v{case.rule.version}",
        "kind": case.rule.kind,
        "project": case.project.code,
        "pool": case.pool.code,
        "quota": case.quota.number if case.quota else None,
        "run": case.run or None,
        "gpus": case.gpus,
        "evidence": case.evidence,
        "state": case.state,
        "detected_at": case.detected_at,
        "due_at": case.due_at,
        "answer": case.answer,
        "answer_reason": case.answer_reason,
        "keep_ask": case.keep_ask or None,
        "applied_at": case.applied_at,
        "made": case.made.number if case.made else None,
        "effect": case.effect,
        "measured_at": case.measured_at,
        "outcome": case.outcome,
        "outcome_reason": case.outcome_reason,
        "closed_at": case.closed_at,
    }


def _show(actor: Actor, code: str) -> dict[str, Any] | None:
    rows = ReclaimCase.objects.visible_to(actor).select_related("rule", "project", "pool", "quota", "made")
    case = rows.filter(pk__in=_ids([code])).first()
    return shown(case) if case else None


def _scopes(code: str) -> Iterable[tuple[str, str]]:
    case = ReclaimCase.objects.filter(pk__in=_ids([code])).select_related("project").first()
    return [("project", case.project.code)] if case else []


def _event(code: str, title: str, says: str, mail: str = AT_ONCE) -> Event:
    return Event(code, GROUP, "reclaim case", title, {"": says}, mail=mail)


register(
    Group(GROUP, N_("Reclaim"), N_("Idle quota and idle GPUs that are to come back, and what became of it.")),
    Kind("reclaim case", visible=_visible, url=_url, show=_show, scopes=_scopes),
    _event(
        "reclaim.opened",
        N_("%(gpus)s idle GPUs of %(project)s in %(pool)s"),
        N_(
            "They come back on %(due_at)s unless you answer: agree, keep them until a day with a reason, or dispute it."
            " Nothing that runs is stopped."
        ),
    ),
    _event("reclaim.answered", N_("The reclaim of %(gpus)s GPUs of %(project)s was answered"), N_("%(reason)s")),
    _event(
        "reclaim.due",
        N_("%(gpus)s GPUs of %(project)s in %(pool)s come back now"),
        N_("The reason given against it was not followed. What runs goes on."),
    ),
    _event(
        "reclaim.stopped",
        N_("An idle run of %(project)s in %(pool)s was ended: %(gpus)s GPUs"),
        N_(
            "Its GPUs idled through the notice, and the pool is for interactive work. Start it again when it has work to do."
        ),
    ),
    _event(
        "reclaim.applied",
        N_("%(gpus)s guaranteed GPUs of %(project)s in %(pool)s were taken back"),
        N_("What runs goes on. If that was wrong, undo it within 72 hours on the case's page, with a reason."),
    ),
    _event(
        "reclaim.measured",
        N_("What the reclaim of %(gpus)s GPUs of %(project)s brought"),
        N_("The figures of seven days are on the case's page."),
    ),
    _event("reclaim.closed", N_("The reclaim of %(gpus)s GPUs of %(project)s is closed"), N_("%(reason)s")),
)
