"""No sequence of moves by anybody breaks an ask: one outcome, nobody's own, stages in order, never beyond the room, a whole trail."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from governance.access.actor import Actor
from governance.access.models import Person
from governance.approvals import acting, deadlines, moving
from governance.approvals.actions import Award, approve, reject, return_to_author
from governance.approvals.models import ActingGrant, Ask, AskLine, Decision, Move, Stage
from governance.approvals.rules import FINAL, OPEN
from governance.approvals.submitting import submit
from governance.audit.models import AuditLine
from governance.catalogue.models import Pool
from governance.errors import DomainError
from governance.quotas.models import Quota
from governance.tenants.models import DepartmentGrant, day_of_today
from tests.approvals.conftest import D, day, draft, line
from tests.books import MACHINE

ROOM = 32
PEOPLE = ("ann", "lea", "amy", "abe", "top", "cap", "fin", "adm", "out")
people = st.sampled_from(PEOPLE)
deciders = st.sampled_from(("amy", "abe", "top", "cap", "ann", "out"))
picks = st.integers(0, 3)
CHANGES = {
    "save",
    "submit",
    "approve",
    "award",
    "return",
    "reject",
    "withdraw",
    "hand_over",
    "add",
    "assign",
    "expire",
    "escalate",
}


class AskMachine(RuleBasedStateMachine):
    """Everybody does anything at any moment; a refusal in words is fine, a fault or a broken promise is not."""

    def __init__(self) -> None:
        super().__init__()
        self.atom = transaction.atomic()
        self.atom.__enter__()
        self.asks: list[str] = []
        self.outcomes: dict[int, str] = {}
        self.pool = Pool.objects.get(code="train-h800").pk
        self.who = {one.username: Actor.of(one) for one in Person.objects.filter(username__in=PEOPLE)}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atom.__exit__(None, None, None)

    def move(self, deed, pick: int, *args, **kwargs) -> None:
        if not self.asks:
            return
        try:
            with transaction.atomic():
                deed(self.asks[pick % len(self.asks)], *args, **kwargs)
        except DomainError:
            pass

    @initialize(gpus=st.tuples(st.integers(8, 24), st.integers(8, 24), st.integers(1, 24)))
    def begin(self, gpus: tuple[int, int, int]) -> None:
        """Three that compete for the room, one of them an approver's own, and a draft."""
        for number, (by, many) in enumerate(zip(("ann", "lea", "amy"), gpus, strict=True)):
            level = ("normal", "urgent")[number % 2]
            days = {"from_on": D, "to_on": day(40)} if number < 2 else {"from_on": day(60), "to_on": day(90)}
            self.asks.append(
                submit(draft(by, "new", line(many, level=level, **days)).number, actor=self.who[by]).number
            )
        self.asks.append(draft("lea", "new", line(4, pool="infer-l20")).number)

    @rule(by=st.sampled_from(("ann", "lea", "amy", "cap")), pick=picks)
    def hand_in(self, by: str, pick: int) -> None:
        self.move(submit, pick, actor=self.who[by])

    @rule(by=deciders, pick=picks, less=st.one_of(st.none(), st.integers(0, 30)))
    def agree(self, by: str, pick: int, less: int | None) -> None:
        awards = () if less is None else (Award(1, less),)
        self.move(approve, pick, actor=self.who[by], awards=awards, comment="so it is")

    @rule(first=st.sampled_from(("amy", "abe", "top")), second=st.sampled_from(("cap", "fin", "amy")), pick=picks)
    def agree_in_turn(self, first: str, second: str, pick: int) -> None:
        for by in (first, second):
            self.move(approve, pick, actor=self.who[by])

    @rule(by=deciders, pick=picks, deed=st.sampled_from((return_to_author, reject)))
    def disagree(self, by: str, pick: int, deed) -> None:
        self.move(deed, pick, actor=self.who[by], comment="so it is not")

    @rule(by=people, pick=picks)
    def take_back(self, by: str, pick: int) -> None:
        self.move(moving.withdraw, pick, actor=self.who[by])

    @rule(
        by=people, to=people, pick=picks, deed=st.sampled_from((moving.hand_over, moving.add_approver, moving.assign))
    )
    def name(self, by: str, to: str, pick: int, deed) -> None:
        self.move(deed, pick, to, actor=self.who[by])

    @rule(by=people, to=people)
    def act_for(self, by: str, to: str) -> None:
        try:
            with transaction.atomic():
                acting.grant(to, day_of_today(), D, actor=self.who[by])
        except DomainError:
            pass

    @rule(days=st.sampled_from((0, 4, 40)))
    def time_passes(self, days: int) -> None:
        deadlines.sweep(timezone.now() + timedelta(days=days), actor=MACHINE)

    @rule(name=st.sampled_from(("amy", "abe", "top")))
    def leave(self, name: str) -> None:
        DepartmentGrant.objects.filter(user__username=name).delete()

    @invariant()
    def every_promise_holds(self) -> None:
        asks = list(Ask.objects.all())
        stages, decisions = list(Stage.objects.order_by("position")), list(Decision.objects.select_related("stage"))
        for ask in asks:
            self.one_outcome_for_ever(ask, stages, decisions)
            self.stages_in_order(ask, [one for one in stages if (one.ask_id, one.round) == (ask.pk, ask.round)])
        self.nobody_decides_an_own_ask_or_twice({ask.pk: ask for ask in asks}, decisions)
        self.never_more_than_asked_or_than_there_is({ask.pk for ask in asks if ask.state == "approved"})
        self.the_trail_is_whole(asks)

    def one_outcome_for_ever(self, ask: Ask, stages: list[Stage], decisions: list[Decision]) -> None:
        assert ask.state == self.outcomes.get(ask.pk, ask.state)
        if ask.state in FINAL:
            self.outcomes[ask.pk] = ask.state
        assert sum(one.is_open for one in stages if one.ask_id == ask.pk) == (1 if ask.state in OPEN else 0)
        last = [one for one in decisions if one.ask_id == ask.pk and one.is_last and one.stage.round == ask.round]
        assert len(last) <= 1

    def stages_in_order(self, ask: Ask, stages: list[Stage]) -> None:
        begun = [stage.opened_at is not None for stage in stages]
        assert begun == sorted(begun, reverse=True)
        if ask.state == "approved":
            assert stages and all(stage.closed_at for stage in stages)

    def nobody_decides_an_own_ask_or_twice(self, asks: dict[int, Ask], decisions: list[Decision]) -> None:
        for one in decisions:
            assert asks[one.ask_id].asked_by_id not in (one.by_id, one.counts_for_id)
            if one.by_id != one.counts_for_id:
                assert ActingGrant.objects.filter(deputy=one.by_id, person=one.counts_for_id).exists()
        assert all(count == 1 for count in Counter((one.stage_id, one.by_id) for one in decisions).values())

    def never_more_than_asked_or_than_there_is(self, approved: set[int]) -> None:
        held = Quota.objects.filter(is_void=False)
        for on in (D, day(60)):
            pool = [one for one in held if one.days.has(on) and one.pool_id == self.pool]
            assert sum(one.guaranteed_gpus for one in pool) <= ROOM
        assert {int(one.ask.removeprefix("A-")) for one in held} <= approved
        for row in AskLine.objects.filter(ask__in=approved, made__isnull=False).select_related("made"):
            assert row.made.guaranteed_gpus == row.awarded_guaranteed_gpus <= row.guaranteed_gpus

    def the_trail_is_whole(self, asks: list[Ask]) -> None:
        moves = Counter(f"ask.{what}" for what in Move.objects.filter(what__in=CHANGES).values_list("what", flat=True))
        lines = AuditLine.objects.filter(object_kind="ask", action__in=list(moves))
        assert Counter(lines.values_list("action", flat=True)) == moves
        latest = dict(Move.objects.order_by("pk").values_list("ask", "version"))
        assert {ask.pk: ask.version for ask in asks} == latest


@pytest.mark.usefixtures("company")
def test_no_sequence_of_moves_breaks_an_ask():
    run_state_machine_as_test(
        AskMachine,
        settings=settings(
            max_examples=12, stateful_step_count=16, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
