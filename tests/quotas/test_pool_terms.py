"""What holds for whole pools: dated, never overlapping, changed by ending one and beginning another, told in the trail."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, Pool
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.quotas import pool_terms, reads
from governance.quotas.models import DepartmentShare, Offering, PoolPolicy, QueueRule
from governance.quotas.pool_terms import Offer
from governance.tenants.models import Project, day_of_today
from tests.books import MACHINE, declare

POOL = "train-h800"


@pytest.fixture
def company(db):
    declare()


def day(n: int) -> date:
    return day_of_today() + timedelta(days=n)


def offered(**other) -> Offer:
    return Offer(**{"code": "train", "pool": POOL, "qos": "normal", **other})


def days(model) -> list[tuple]:
    """From and until, in days from today; -999 for an open beginning."""
    rows = model.objects.values_list("from_on", "to_on")
    found = [((low - day(0)).days if low else -999, (high - day(0)).days if high else None) for low, high in rows]
    return sorted(found, key=lambda row: row[0])


def test_an_offering_is_changed_by_ending_it_and_beginning_the_next(company):
    pool_terms.offer(offered(from_on=day(-30), max_gpus=64, departments=("vision",)), actor=MACHINE)
    with pytest.raises(NotTheMoment, match="“train”"):
        pool_terms.offer(offered(code="other"), actor=MACHINE)
    made = pool_terms.change_offering("train", on=day(5), max_gpus=128, actor=MACHINE)
    assert (made.code, made.max_gpus, [one.code for one in made.departments.all()]) == ("train-2", 128, ["vision"])
    assert days(Offering) == [(-30, 5), (5, None)]
    pool_terms.end_offering("train-2", on=day(9), actor=MACHINE)
    assert days(Offering) == [(-30, 5), (5, 9)]
    actions = list(AuditLine.objects.filter(object_kind="offering").order_by("pk").values_list("action", flat=True))
    assert actions == ["offering.begin", "offering.end", "offering.begin", "offering.end"]


def test_one_that_never_held_goes_when_it_is_ended(company):
    pool_terms.offer(offered(from_on=day(3)), actor=MACHINE)
    pool_terms.end_offering("train", on=day(3), actor=MACHINE)
    assert not Offering.objects.exists()


def test_it_is_offered_to_the_departments_named_and_to_all_below_them(company):
    pool_terms.offer(offered(departments=("research",)), actor=MACHINE)
    pool_terms.offer(offered(code="spare", level="elastic", qos="low"), actor=MACHINE)
    found = {
        code: [o.code for o in reads.offered_to(Project.objects.get(code=code), day(0))] for code in ("ocr", "rank")
    }
    assert found == {"ocr": ["train", "spare"], "rank": ["spare"]}


@pytest.mark.parametrize(
    "bad",
    [
        {"code": "Not A Code"}, {"level": "gold"}, {"qos": " "}, {"min_gpus": 0}, {"max_gpus": 4, "min_gpus": 8},
        {"max_wall_s": 0}, {"service_level": 101}, {"from_on": date(2026, 2, 2), "to_on": date(2026, 2, 2)},
    ],
)  # fmt: skip
def test_a_bad_offering_is_refused_with_words(company, bad):
    with pytest.raises(BadData):
        pool_terms.offer(offered(**bad), actor=MACHINE)
    assert not Offering.objects.exists() and not AuditLine.objects.filter(object_kind="offering").exists()


def test_what_is_named_must_be_there(company):
    for terms in (offered(pool="nowhere"), offered(departments=("vision", "nowhere"))):
        with pytest.raises(NotFound, match="nowhere"):
            pool_terms.offer(terms, actor=MACHINE)


def test_a_rule_that_is_set_ends_the_one_that_held(company):
    pool_terms.set_queue_rule(POOL, "urgent", from_on=None, priority=10, actor=MACHINE)
    pool_terms.set_queue_rule(POOL, "urgent", from_on=day(2), priority=20, preempts=["elastic"], actor=MACHINE)
    pool_terms.set_queue_rule(POOL, "urgent", from_on=day(2), priority=30, preempts=["elastic"], actor=MACHINE)
    assert days(QueueRule) == [(-999, 2), (2, None)]
    assert QueueRule.objects.on(day(2)).get().priority == 30
    with pytest.raises(NotTheMoment, match="begins on"):
        pool_terms.set_queue_rule(POOL, "urgent", from_on=day(1), priority=5, actor=MACHINE)
    with pytest.raises(NotTheMoment, match="over"):
        pool_terms.set_queue_rule(POOL, "urgent", from_on=day(-1), to_on=day(1), priority=5, actor=MACHINE)
    pool_terms.end_queue_rule(POOL, "urgent", on=day(4), actor=MACHINE)
    with pytest.raises(NotTheMoment, match="nothing to end"):
        pool_terms.end_queue_rule(POOL, "urgent", on=day(4), actor=MACHINE)


def test_two_levels_never_displace_one_another(company):
    pool_terms.set_queue_rule(POOL, "urgent", from_on=None, preempts=["elastic"], actor=MACHINE)
    with pytest.raises(NotTheMoment, match="displace one another"):
        pool_terms.set_queue_rule(POOL, "elastic", from_on=day(1), preempts=["urgent"], actor=MACHINE)
    for bad in ({"level": "gold"}, {"preempts": ["normal"]}, {"preempted_jobs": "pause"}, {"pool_share_percent": 0}):
        with pytest.raises(BadData):
            pool_terms.set_queue_rule(**{"pool": POOL, "level": "normal", "from_on": None, "actor": MACHINE, **bad})


def test_queue_rules_are_told_with_all_that_a_scheduler_wants(company):
    pool_terms.offer(offered(max_wall_s=86_400, min_run_s=3600), actor=MACHINE)
    pool_terms.offer(offered(code="spare", level="elastic", qos="low", min_run_s=600), actor=MACHINE)
    pool_terms.set_queue_rule(POOL, "normal", from_on=None, priority=5, preempts=["elastic"], actor=MACHINE)
    pool_terms.set_queue_rule(POOL, "elastic", from_on=None, pool_share_percent=30, actor=MACHINE)
    first, second = reads.queue_rules(Cluster.objects.get(code="bj"), day(0))
    assert (first.level, first.qos, first.preempted_qos, first.preempted_jobs) == (
        "normal",
        "normal",
        ("low",),
        "requeue",
    )
    assert (first.partitions, first.max_wall_s, first.min_run_s, first.pool_share_gpus) == (
        ("train",),
        86_400,
        3600,
        32,
    )
    assert (second.level, second.min_run_s, second.pool_share_gpus) == ("elastic", 600, 9)  # 30 % of 32


def test_policies_and_shares(company):
    pool_terms.set_policy(POOL, "reserve", factor="1.25", from_on=None, actor=MACHINE)
    pool_terms.set_policy(POOL, "pooled", from_on=day(1), actor=MACHINE)
    pool_terms.set_share(POOL, "research", 20, from_on=day(1), actor=MACHINE)
    pool_terms.set_share(POOL, "research", 24, from_on=day(6), actor=MACHINE)
    assert days(PoolPolicy) == [(-999, 1), (1, None)]
    assert [one.gpus for one in DepartmentShare.objects.on(day(7))] == [24]
    pool_terms.end_share(POOL, "research", on=day(8), actor=MACHINE)
    pool_terms.end_policy(POOL, on=day(8), actor=MACHINE)
    assert not PoolPolicy.objects.on(day(8)).exists() and not DepartmentShare.objects.on(day(8)).exists()
    for factor in ("0", "-1", "0.0001", "1000"):
        with pytest.raises(BadData):
            pool_terms.set_policy(POOL, "reserve", factor=factor, from_on=day(20), actor=MACHINE)
    with pytest.raises(BadData):
        pool_terms.set_share(POOL, "search", -1, from_on=None, actor=MACHINE)


def test_only_who_manages_the_pool_changes_its_terms(cast):
    for who in ("lead", "approver", "operator", "administrator", "outsider"):
        with pytest.raises(NotAllowed):
            pool_terms.set_share(POOL, "research", 20, from_on=None, actor=cast.actor(who))
    manager = cast.actor("capacity_manager")
    pool_terms.set_share(POOL, "research", 20, from_on=None, actor=manager)
    with pytest.raises(NotAllowed):
        pool_terms.set_policy("infer-l20", "reserve", from_on=None, actor=manager)
    assert Pool.objects.get(code=POOL).shares.get().gpus == 20
