"""Quotas in the tables: laid over one another, bound by room under a lock, ended, suspended, told of before they end."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, Node, NodeState, Pool
from governance.errors import BadData, NotFound, NotTheMoment
from governance.quotas import actions, reads, rooms
from governance.quotas.actions import Terms
from governance.quotas.models import DepartmentShare, Offering, PoolPolicy, Quota
from governance.quotas.rules import Days
from governance.tenants.models import Department
from tests.books import MACHINE, bring, declare, line, settle

D = date.today() + timedelta(days=1)  # noqa: DTZ011 - any day near will do


def day(n: int) -> date:
    return D + timedelta(days=n)


def terms(project: str = "ocr", gpus: int = 16, **other) -> Terms:
    values = {"guaranteed_gpus": gpus, "ceiling_gpus": max(gpus, 24), "from_on": D, "to_on": day(90), **other}
    return Terms(project=project, pool="train-h800", **values)


@pytest.fixture
def company(db):
    declare()


def lines(project: str = "ocr") -> list[tuple]:
    found = Quota.objects.filter(project__code=project).order_by("from_on", "pk")
    return [((q.from_on - D).days, (q.to_on - D).days, q.guaranteed_gpus, q.ended_as, q.is_void) for q in found]


def test_a_line_laid_over_another_leaves_what_is_before_and_after(company):
    first = actions.award(terms(), actor=MACHINE)
    actions.lay(terms(gpus=24, from_on=day(10), to_on=day(20)), actor=MACHINE, ask="A-1")
    assert lines() == [(0, 10, 16, "replaced", False), (10, 20, 24, "", False), (20, 90, 16, "", False)]
    for n, gpus in ((5, 16), (15, 24), (20, 16), (89, 16)):
        assert [q.guaranteed_gpus for q in Quota.objects.held_on(day(n))] == [gpus]
    made = Quota.objects.get(ask="A-1")
    assert made.replaces == first
    assert AuditLine.objects.filter(object_kind="quota", object_code=made.number, action="quota.award").exists()


def test_a_line_replaced_before_its_first_day_is_void(company):
    actions.award(terms(from_on=day(5)), actor=MACHINE)
    actions.lay(terms(gpus=8, from_on=day(2), to_on=day(90)), actor=MACHINE)
    assert lines() == [(2, 90, 8, "", False), (5, 90, 16, "replaced", True)]


def test_a_second_award_for_the_same_days_is_refused_and_says_which_one_stands(company):
    first = actions.award(terms(), actor=MACHINE)
    with pytest.raises(NotTheMoment, match=first.number):
        actions.award(terms(from_on=day(80), to_on=day(120)), actor=MACHINE)
    actions.award(terms(from_on=day(90), to_on=day(120)), actor=MACHINE)
    actions.award(terms(level="elastic", gpus=0), actor=MACHINE)


def test_nothing_is_promised_beyond_the_room_without_a_reason(company):
    actions.award(terms("rank", 20), actor=MACHINE)
    with pytest.raises(NotTheMoment, match="room for 12 of the 16"):
        actions.award(terms(), actor=MACHINE)
    assert Quota.objects.filter(project__code="ocr").count() == 0
    made = actions.award(terms(), actor=MACHINE, override="agreed for the exam week")
    assert made.override_reason == "agreed for the exam week"
    # What only lowers goes through although the pool is promised too far.
    lowered = actions.change(made.number, on=day(3), actor=MACHINE, guaranteed_gpus=14)
    with pytest.raises(NotTheMoment):
        actions.change(lowered.number, on=day(4), actor=MACHINE, guaranteed_gpus=15)


def test_a_node_that_is_down_or_gone_is_no_room(company):
    pool = Pool.objects.get(code="train-h800")
    assert rooms.room(pool, Days(D, None)).gpus == 32
    NodeState.objects.create(node=Node.objects.get(name="gpu001"), state="down", from_at="2026-01-01T00:00Z")
    NodeState.objects.create(
        node=Node.objects.get(name="gpu002"), state="drained", from_at="2026-01-01T00:00Z", cards=3
    )
    NodeState.objects.create(
        node=Node.objects.get(name="gpu003"), state="down", from_at="2026-01-01T00:00Z", to_at="2026-01-02T00:00Z"
    )
    assert rooms.room(pool, Days(D, None)).gpus == 32 - 8 - 3
    PoolPolicy.objects.create(pool=pool, factor="1.5")
    assert rooms.room(pool, Days(D, None)).gpus == 31  # 21 x 1.5, rounded down


def test_in_a_pooled_pool_the_shares_of_the_departments_above_count(company):
    pool = Pool.objects.get(code="train-h800")
    PoolPolicy.objects.create(pool=pool, kind="pooled")
    DepartmentShare.objects.create(pool=pool, department=Department.objects.get(code="research"), gpus=20)
    actions.award(terms("rank", 400, ceiling_gpus=400), actor=MACHINE, override="another department, no share set")
    with pytest.raises(NotTheMoment, match="research"):
        actions.award(terms(gpus=24), actor=MACHINE)
    actions.award(terms(gpus=20), actor=MACHINE)


@pytest.mark.parametrize(
    "bad",
    [
        {"to_on": D}, {"guaranteed_gpus": 32, "ceiling_gpus": 8}, {"level": "gold"}, {"level": "elastic"},
        {"model": "l20"}, {"guaranteed_gpus": -1}, {"gpu_hours": -5}, {"hours_period": "week"},
    ],
)  # fmt: skip
def test_bad_terms_are_refused_with_words_and_write_nothing(company, bad):
    with pytest.raises(BadData):
        actions.award(terms(**bad), actor=MACHINE)
    assert Quota.objects.count() == 0


def test_what_is_not_there_is_not_found(company):
    for wrong in (terms("nobody"), terms("unattributed")):
        with pytest.raises(NotFound):
            actions.award(wrong, actor=MACHINE)
    for number in ("Q-000999", "Q-", "zebra", "Q-99999999999999999999"):
        with pytest.raises(NotFound):
            actions.end(number, on=D, ended_as="revoked", reason="r", actor=MACHINE)


def test_an_end_says_how_and_why_and_another_one_is_too_late(company):
    quota = actions.award(terms(), actor=MACHINE)
    with pytest.raises(BadData):
        actions.end(quota.number, on=day(30), ended_as="returned", reason=" ", actor=MACHINE)
    actions.end(quota.number, on=day(30), ended_as="returned", reason="the experiment is over", actor=MACHINE)
    assert lines() == [(0, 30, 16, "returned", False)]
    assert [Quota.objects.get().state_on(day(n)) for n in (29, 30)] == ["active", "ended"]
    with pytest.raises(NotTheMoment):
        actions.end(quota.number, on=day(31), ended_as="returned", reason="again", actor=MACHINE)


def test_suspended_days_never_overlap_and_resuming_ends_them(company):
    quota = actions.award(terms(), actor=MACHINE)
    actions.suspend(quota.number, from_on=day(5), to_on=None, reason="audit", actor=MACHINE)
    with pytest.raises(NotTheMoment):
        actions.suspend(quota.number, from_on=day(8), to_on=day(9), reason="twice", actor=MACHINE)
    actions.resume(quota.number, on=day(7), actor=MACHINE)
    assert [Quota.objects.get().state_on(day(n)) for n in (4, 5, 6, 7)] == [
        "active",
        "suspended",
        "suspended",
        "active",
    ]


def test_holdings_tell_the_scheduler_what_should_be_in_force(company):
    pool = Pool.objects.get(code="train-h800")
    Offering.objects.create(code="train", pool=pool, qos="normal")
    actions.award(terms(model="h800", gpu_hours=900), actor=MACHINE)
    cluster = Cluster.objects.get(code="bj")
    (found,) = reads.holdings(cluster, day(89))
    assert (found.project, found.accounts, found.shared_accounts) == ("ocr", ("ocr",), ())
    assert (found.guaranteed_gpus, found.ceiling_gpus, found.gpu_hours, found.qos) == (16, 24, 900, "normal")
    assert (found.partitions, found.model_names) == (("train",), ("h800", "NVIDIA-H800"))
    assert [one.state for one in reads.holdings(cluster, day(91))] == ["grace"]
    assert reads.holdings(cluster, day(93)) == [] == reads.holdings(cluster, day(-1))
    actions.lay(terms(model="h800", gpus=8, from_on=day(90), to_on=day(99)), actor=MACHINE)
    assert [(h.state, h.guaranteed_gpus) for h in reads.holdings(cluster, day(91))] == [("active", 8)]


def test_a_shared_account_is_told_apart(company):
    declare(
        mappings=[
            {"cluster": "bj", "account": "ocr", "project": "ocr"},
            {"cluster": "bj", "account": "ocr", "user": "eve", "project": "rank"},
        ]
    )
    actions.award(terms(), actor=MACHINE)
    (found,) = reads.holdings(Cluster.objects.get(code="bj"), D)
    assert (found.accounts, found.shared_accounts) == ((), ("ocr",))


def test_expiring_lines_are_told_unless_another_follows(company):
    quota = actions.award(terms(), actor=MACHINE)
    assert [(q.number, due) for q, due in reads.expiring(day(62))] == [(quota.number, 30)]
    assert reads.expiring(day(50)) == []
    actions.award(terms(from_on=day(90), to_on=day(100)), actor=MACHINE)
    assert reads.expiring(day(62)) == []


def test_use_against_a_line_is_that_of_the_day_facts(company, tmp_path):
    bring(
        tmp_path,
        [
            line(1, "2026-06-02T00:00", "2026-06-02T00:00", "2026-06-03T12:00", gpus=16),
            line(2, "2026-06-02T00:00", "2026-06-02T00:00", "2026-06-02T12:00", gpus=8, QOS="low"),
            line(3, "2026-06-02T00:00", "2026-06-02T00:00", "2026-06-02T12:00", gpus=8, Account="rank"),
        ],
    )
    settle()
    pool = Pool.objects.get(code="train-h800")
    Offering.objects.create(code="train", pool=pool, qos="normal")
    Offering.objects.create(code="spare", pool=pool, qos="low", level="elastic")
    june = Days(date(2026, 6, 1), date(2026, 7, 1))
    normal = actions.award(terms(from_on=june.from_on, to_on=june.to_on), actor=MACHINE)
    elastic = actions.award(terms(gpus=0, level="elastic", from_on=june.from_on, to_on=june.to_on), actor=MACHINE)
    found = reads.use_of(normal, june)
    assert found.by_day == [(date(2026, 6, 2), 16), (date(2026, 6, 3), 8)]
    assert (found.p95, found.peak) == (16, 16)
    assert reads.use_of(elastic, june).by_day == [(date(2026, 6, 2), 4)]
