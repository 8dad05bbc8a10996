"""Rules of reclaim in the demo company, what they find today, and one answer, by the actions of the portal."""

from __future__ import annotations

from django.db import transaction

from governance.access.actor import Actor
from governance.access.models import Person
from governance.reclaim import actions
from governance.reclaim.models import ReclaimCase, ReclaimRule
from governance.reclaim.rules import Terms
from governance.tenants.models import Placement, day_of_today
from portal.demo import reclaim


@transaction.atomic
def make(*, actor: Actor) -> None:
    """Write the rules, look for cases this morning and answer one; nothing where there are rules already.

    Without whole records of the days up to today nothing is found: a gap is never idleness.
    """
    if ReclaimRule.objects.exists():
        return
    for one in reclaim.RULES:
        terms = Terms(
            one.kind,
            window_days=one.window_days,
            below_percent=one.below_percent,
            min_gpus=one.min_gpus,
            notice_hours=one.notice_hours,
        )
        rule = actions.write_rule(one.code, terms, name_zh=one.zh, name_en=one.en, actor=actor)
        if one.is_on:
            actions.switch(one.code, rule.version, actor=actor)
    actions.detect(day_of_today(), actor=actor)
    _answer()


def _answer() -> None:
    """The head of the project's department answers the chosen case."""
    project, pool = reclaim.ANSWERED
    case = ReclaimCase.objects.filter(project__code=project, pool__code=pool).order_by("pk").first()
    if case is None:
        return
    home = Placement.objects.on(day_of_today()).filter(project=case.project).values_list("department__code", flat=True)
    head = Person.objects.get(username=f"{home.get()}-head")
    actions.answer(case.number, reclaim.ANSWER, reason=reclaim.ANSWER_WHY, actor=Actor.of(head))
