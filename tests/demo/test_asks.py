"""The demo company has something to decide, something decided of each kind, and rules of reclaim with what they found."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.core.management import call_command

from billing.ledger.checks import ledger_checks
from governance.access.actor import Actor
from governance.access.models import Person
from governance.approvals import reads
from governance.approvals.models import Ask
from governance.audit.models import AuditLine
from governance.catalogue.models import Pool
from governance.quotas import rooms
from governance.quotas.rules import Days
from governance.reclaim.models import ReclaimCase, ReclaimRule
from governance.tenants.models import day_of_today
from governance.usage.checks import usage_checks
from portal.demo.plan import DemoArguments, generate
from portal.management import demo_asks, demo_quotas, demo_reclaim
from portal.organisation.actions import load

pytestmark = pytest.mark.django_db
DEMO = Actor.machine("demo")


def waiting(username: str) -> list[tuple[str, str]]:
    found = reads.to_decide(Actor.of(Person.objects.get(username=username)))
    return sorted((one.ask.kind, one.ask.project.code) for one in found)


def company(gpus: int, ago: int = 1) -> None:
    plan = generate(DemoArguments(until=day_of_today() - timedelta(days=ago), gpus=gpus, months=2))
    load(plan.organisation, actor=DEMO)
    demo_quotas.give(plan, actor=DEMO)
    demo_asks.make(plan)
    before = AuditLine.objects.count()
    demo_asks.make(plan)
    assert AuditLine.objects.count() == before


def test_asks_stand_in_every_state_and_wait_for_who_decides():
    company(512)
    states = Counter(Ask.objects.values_list("state", flat=True))
    assert states == {"submitted": 2, "in_review": 1, "returned": 1, "rejected": 1, "approved": 2}
    assert waiting("data-head") == [("extend", "risk"), ("increase", "synthesis")]
    assert waiting("capacity") == [("increase", "recall")]
    by_rule, less = Ask.objects.filter(state="approved").order_by("pk")
    assert (by_rule.kind, by_rule.policy_rule, by_rule.moves.filter(by=None).count()) == ("return", "small-return", 1)
    line = less.lines.get()
    assert 0 < line.awarded_ceiling_gpus == line.ceiling_gpus // 2 == line.made.ceiling_gpus
    for pool in Pool.objects.exclude(cluster=None).exclude(code="dev-a800"):
        assert rooms.room(pool, Days(day_of_today(), None)).gpus >= 0


@pytest.mark.parametrize(("gpus", "ago", "least"), [(8, 1, 0), (24, 1, 4), (512, 200, 3)])
def test_a_small_or_an_old_company_asks_for_what_it_can(gpus, ago, least):
    company(gpus, ago)
    assert Ask.objects.count() >= least
    assert bool(waiting("data-head")) == bool(least)


def test_rules_of_reclaim_find_cases_in_the_records_and_one_is_answered():
    until = day_of_today() - timedelta(days=1)
    small = {"gpus": 128, "months": 2, "until": until, "runs_per_day": 40}
    call_command("demo", **small)
    on = dict(ReclaimRule.objects.values_list("code", "is_on"))
    assert on == {"never-started": True, "under-used": True, "idle-gpus": False}
    states = Counter(ReclaimCase.objects.values_list("state", flat=True))
    assert states["answered"] == 1 and states["notified"] > 0 and len(states) == 2
    answered = ReclaimCase.objects.get(state="answered")
    assert (answered.project.code, answered.answer, answered.answered_by) == ("cabin", "dispute", "driving-head")
    assert waiting("data-head")
    assert all(check.holds for check in [*usage_checks(), *ledger_checks()])
    before = (AuditLine.objects.count(), Ask.objects.count(), ReclaimCase.objects.count())
    call_command("demo", **small)
    demo_reclaim.make(actor=DEMO)
    assert (AuditLine.objects.count(), Ask.objects.count(), ReclaimCase.objects.count()) == before
