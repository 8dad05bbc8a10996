"""A case from the books to its effect, on the records of a month."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine
from django.db import connection

from governance.access.actor import Actor
from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, Pool
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.notices.models import Notice
from governance.quotas import actions as quotas
from governance.quotas.enforcement.models import EnforcedCluster
from governance.quotas.models import Quota
from governance.reclaim import actions, detection, effect, reads
from governance.reclaim.models import ReclaimCase, ReclaimRule
from governance.reclaim.rules import Terms
from governance.usage.models import DirtyDay
from tests.books import MACHINE, bring, line, settle

TODAY = date(2026, 6, 25)
UNUSED = Terms("held_unused", window_days=15, below_percent=30, keep_percent=0, step_gpus=8)


@pytest.fixture
def june(cast, tmp_path):
    """The month of the cast metered to the 24th, a quota of 24 GPUs that ocr hardly used, and a rule that looks for it."""
    with time_machine.travel(datetime(2026, 6, 25, 2, tzinfo=UTC), tick=True):
        bring(
            tmp_path,
            [line(900, "2026-06-24T10:00", "2026-06-24T10:00", "2026-06-25T09:00", gpus=1, Account="rank", User="eve")],
        )
        settle()
        quotas.award(quotas.Terms("ocr", "train-h800", 24, 32, date(2026, 6, 1), date(2026, 12, 1)), actor=MACHINE)
        actions.write_rule("unused", UNUSED, actor=MACHINE)
        actions.switch("unused", 1, actor=MACHINE)
        yield cast


def opened() -> ReclaimCase:
    assert actions.detect(TODAY, actor=MACHINE) == 1
    return ReclaimCase.objects.get()


def guaranteed() -> int:
    return sum(q.guaranteed_gpus for q in Quota.objects.held_on(TODAY))


def test_what_is_idle_is_found_once_with_its_days_and_its_people_are_told(june):
    case = opened()
    # On the 12th ocr used 8 GPUs for seven hours, a mean of 2.33, on no day more: of 24 held one node of 8 is left.
    assert (case.gpus, case.state, case.evidence["held"]) == (16, "notified", 24)
    assert case.evidence["window"] == ["2026-06-10", "2026-06-25"]
    assert case.due_at - case.detected_at == timedelta(hours=24)
    assert actions.detect(TODAY, actor=MACHINE) == 0
    told = set(Notice.objects.filter(happening__about=case.number).values_list("person__username", flat=True))
    assert told == {"lead", "approver"}
    assert AuditLine.objects.filter(action="reclaim.open", object_code=case.number).count() == 1


def test_a_day_that_is_to_be_counted_again_is_no_ground(june):
    DirtyDay.objects.create(cluster=Cluster.objects.get(code="bj"), day=date(2026, 6, 18))
    assert actions.detect(TODAY, actor=MACHINE) == 0


def test_nothing_happens_before_it_is_due_and_then_the_guarantee_is_lowered(june):
    case = opened()
    assert actions.advance(actor=MACHINE) == 0
    with time_machine.travel(case.due_at + timedelta(minutes=1)):
        assert actions.advance(actor=MACHINE) == 1
    case.refresh_from_db()
    assert (case.state, case.made.guaranteed_gpus, case.made.ceiling_gpus) == ("applied", 8, 32)
    assert Quota.objects.get(pk=case.quota_id).ended_as == "reclaimed"


def test_who_agrees_does_not_wait(june):
    case = opened()
    actions.answer(case.number, "agree", actor=june.actor("lead"))
    actions.advance(actor=MACHINE)
    assert guaranteed() == 8


def test_a_reason_to_keep_becomes_an_ask_that_decides(june):
    case = opened()
    actions.answer(
        case.number,
        "keep",
        reason="the next run begins on Monday",
        keep_until=date(2026, 7, 20),
        actor=june.actor("lead"),
    )
    case.refresh_from_db()
    assert (case.state, bool(case.keep_ask)) == ("answered", True)
    with time_machine.travel(case.due_at + timedelta(days=2)):
        assert actions.advance(actor=MACHINE) == 0  # the ask is open
    assert guaranteed() == 24


def test_a_dispute_is_judged_by_the_pools_manager(june):
    case = opened()
    actions.answer(case.number, "dispute", reason="telemetry was down", actor=june.actor("approver"))
    with pytest.raises(NotAllowed):
        actions.judge(case.number, was_right=True, reason="r", actor=june.actor("lead"))
    actions.judge(case.number, was_right=True, reason="it was", actor=june.actor("capacity_manager"))
    case.refresh_from_db()
    assert (case.state, case.outcome) == ("closed", "upheld")
    balance = reads.balance(june.actor("finance"), datetime(2026, 6, 1, tzinfo=UTC))
    assert (balance.opened, balance.applied, balance.false, balance.false_rate) == (1, 0, 1, 1)


def test_a_dispute_that_was_not_right_goes_on(june):
    case = opened()
    actions.answer(case.number, "dispute", reason="we need it", actor=june.actor("lead"))
    actions.judge(case.number, was_right=False, reason="no run asks for it", actor=june.actor("capacity_manager"))
    actions.advance(actor=MACHINE)
    assert guaranteed() == 8


def test_undone_within_three_days_it_is_back_and_counts_as_false(june):
    case = opened()
    actions.answer(case.number, "agree", actor=june.actor("lead"))
    actions.advance(actor=MACHINE)
    with pytest.raises(BadData):
        actions.undo(case.number, reason=" ", actor=june.actor("lead"))
    actions.undo(case.number, reason="a deadline was moved", actor=june.actor("lead"))
    case.refresh_from_db()
    assert (guaranteed(), case.outcome) == (24, "undone")
    with pytest.raises(NotTheMoment):
        actions.undo(case.number, reason="again", actor=june.actor("lead"))


def test_after_three_days_it_is_too_late(june):
    case = opened()
    actions.answer(case.number, "agree", actor=june.actor("lead"))
    actions.advance(actor=MACHINE)
    with time_machine.travel(datetime(2026, 6, 29, tzinfo=UTC)), pytest.raises(NotTheMoment, match="72"):
        actions.undo(case.number, reason="late", actor=june.actor("lead"))


def test_the_effect_is_measured_after_a_week_from_the_facts(june, tmp_path):
    case = opened()
    actions.answer(case.number, "agree", actor=june.actor("lead"))
    actions.advance(actor=MACHINE)
    assert effect.measure_due(actor=MACHINE) == 0
    with time_machine.travel(datetime(2026, 7, 3, 2, tzinfo=UTC)):
        (tmp_path / "after").mkdir()
        bring(tmp_path / "after", [line(950, "2026-06-26T00:00", "2026-06-26T00:00", "2026-06-28T00:00", gpus=12)])
        settle()
        assert effect.measure_due(actor=MACHINE) == 1
        assert effect.measure_due(actor=MACHINE) == 0
    case.refresh_from_db()
    # 24 were held, 8 are left, 12 were used: of the 16 taken 12 are free, and it was too much.
    assert (case.effect["freed_gpus"], case.effect["p95"], case.effect["was_wrong"]) == ("12.00", "12.000", True)
    assert reads.balance(MACHINE, datetime(2026, 6, 1, tzinfo=UTC)).freed_gpus == 12


def test_what_has_changed_meanwhile_is_let_be(june):
    case = opened()
    quotas.end(case.quota.number, on=TODAY, ended_as="returned", reason="done", actor=june.actor("lead"))
    with time_machine.travel(case.due_at + timedelta(minutes=1)):
        actions.advance(actor=MACHINE)
    case.refresh_from_db()
    assert (case.state, case.outcome) == ("closed", "lapsed")


def test_a_rule_shows_what_it_would_have_opened_before_it_is_switched_on(june):
    found = detection.preview(UNUSED, pool=None, until=TODAY, days=10)
    assert [(one.day, one.finding.gpus) for one in found][-1:] != []
    assert all(one.quota.project.code == "ocr" for one in found)
    assert len(found) == 1  # one window, one case
    assert ReclaimCase.objects.count() == 0


def test_a_change_of_a_rule_is_its_next_version_and_one_is_on(june):
    actions.write_rule("unused", Terms("never_started"), actor=MACHINE)
    actions.switch("unused", 2, actor=MACHINE)
    assert list(ReclaimRule.objects.values_list("version", "is_on")) == [(1, False), (2, True)]
    actions.switch("unused", None, actor=MACHINE)
    assert actions.detect(TODAY, actor=MACHINE) == 0
    for wrong in (Terms("nothing"), Terms("held_unused", window_days=0), Terms("held_unused", below_percent=101)):
        with pytest.raises(BadData):
            actions.write_rule("unused", wrong, actor=MACHINE)


def test_others_neither_see_nor_answer_a_case(june):
    case = opened()
    for who in ("outsider", "former", "security"):
        with pytest.raises(NotFound):
            actions.answer(case.number, "agree", actor=june.actor(who))
    with pytest.raises(NotAllowed):
        actions.answer(case.number, "agree", actor=june.actor("member"))
    with pytest.raises(NotAllowed):
        actions.switch("unused", None, actor=june.actor("lead"))
    with pytest.raises(NotFound):
        actions.answer(case.number, "agree", actor=Actor.anonymous())


@pytest.fixture
def idle_run(june, tmp_path):
    """A run of 4 GPUs that idled for three days and still runs, and a rule that looks for such."""
    (tmp_path / "run").mkdir()
    running = line(777, "2026-06-20T00:00", "2026-06-20T00:00", None, gpus=4)
    bring(tmp_path / "run", [{**running, "ElapsedRaw": str(5 * 86400)}], observed_at="2026-06-25T09:00")
    settle()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO run_activity (cluster_id, day, job_id, submit_at, node, cards, active_milligpu_seconds, idle_milligpu_seconds,"
            " measured_milligpu_seconds, busy_milligpu_seconds, samples, clamped, first_at, last_at, observed_at)"
            " SELECT c.id, d::date, '777', '2026-06-19T16:00Z', 'gpu001', 4, 0, 4000 * 86400, 4000 * 86400, 0, 10, 0, d, d, d"
            " FROM cluster c, generate_series(timestamptz '2026-06-22', '2026-06-24', '1 day') d WHERE c.code = 'bj'"
        )
    actions.switch("unused", None, actor=MACHINE)

    def rule(**terms) -> ReclaimCase:
        version = actions.write_rule("idle", Terms("idle_gpus", window_days=3, **terms), actor=MACHINE).version
        actions.switch("idle", version, actor=MACHINE)
        return opened()

    return rule


def test_idle_gpus_of_a_run_are_told_and_the_case_ends_with_the_run(idle_run, tmp_path):
    case = idle_run()
    assert (case.project.code, case.pool.code, case.gpus) == ("ocr", "train-h800", 4)
    assert case.evidence["idle_share"] == "1.0000"
    with time_machine.travel(case.due_at + timedelta(days=1)):
        assert actions.advance(actor=MACHINE) == 0
        case.refresh_from_db()
        assert case.state == "due"
        (tmp_path / "end").mkdir()
        bring(tmp_path / "end", [line(777, "2026-06-20T00:00", "2026-06-20T00:00", "2026-06-26T00:00", gpus=4)])
        actions.advance(actor=MACHINE)
    case.refresh_from_db()
    assert (case.state, case.outcome) == ("closed", "freed")


@pytest.mark.parametrize(
    ("purpose", "enforced", "stops", "told"),
    [
        ("development", True, True, True),
        ("training", True, True, False),
        ("development", False, True, False),
        ("development", True, False, False),
    ],
)
def test_only_interactive_runs_are_ended_and_only_where_rule_and_site_say_so(
    idle_run, tmp_path, monkeypatch, purpose, enforced, stops, told
):
    (tmp_path / "bin").mkdir()
    for name, script in {"squeue": "echo 777 1781884800 RUNNING", "scancel": f"echo $* >> {tmp_path}/told"}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    case = idle_run(stops_interactive=stops)
    cluster = Cluster.objects.get(code="bj")
    cluster.scheduler_kind, cluster.connection = "slurm", {"bin_dir": str(tmp_path / "bin")}
    cluster.save()
    EnforcedCluster.objects.create(cluster=cluster, is_on=enforced)
    Pool.objects.filter(code="train-h800").update(purpose=purpose)
    assert actions.advance(actor=MACHINE) == 0 and not (tmp_path / "told").exists()  # notice is given first
    with time_machine.travel(case.due_at + timedelta(minutes=1)):
        actions.advance(actor=MACHINE)
        actions.advance(actor=MACHINE)
    case.refresh_from_db()
    assert (tmp_path / "told").exists() is told
    assert case.state == ("applied" if told else "due")
    if told:
        assert (tmp_path / "told").read_text() == "--quiet 777\n"
        assert AuditLine.objects.get(action="reclaim.stop").after["command"].endswith("scancel --quiet 777")


def test_a_rule_about_quota_ends_no_run(june):
    with pytest.raises(BadData):
        actions.write_rule("unused", Terms("held_unused", stops_interactive=True), actor=MACHINE)
