"""Quotas in a real Slurm: in force and proved by jobs, lowered, expired, used up, changed behind our back, killed half-way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from governance.access.models import Person
from governance.catalogue.models import Pool
from governance.errors import NotTheMoment
from governance.quotas.enforcement import actions
from governance.quotas.enforcement.models import DRAINING, DRIFTED, IN_FORCE, EnforcedCluster, LimitDrift, LimitOrder
from governance.quotas.models import Offering, QueueRule
from governance.schedulers.slurm.runner import LocalRunner
from governance.tenants.models import ProjectGrant
from tests.books import MACHINE
from tests.enforcement.lab import Site, days_from_today, declare

pytestmark = pytest.mark.slurm

QOS = "sy.alpha.lab-train"


def _setup() -> EnforcedCluster:
    return EnforcedCluster.objects.get(cluster__code="lab")


def _open(name: str) -> LimitDrift | None:
    return LimitDrift.objects.filter(resolved_at__isnull=True, name=name).first()


def test_an_award_is_in_force_and_a_job_beyond_it_waits_for_the_quota(site: Site) -> None:
    site.opt_in()
    quota = site.award(gpus=16)
    done = site.round()
    assert done.told > 0
    assert done.in_force == done.limits
    for name in (QOS, "te-alpha"):
        row = site.limit(name)
        assert (row.state, row.quotas) == (IN_FORCE, [quota.number])
        assert row.wanted["GrpTRES:gres/gpu"] == 16
        assert row.held == row.wanted
    within = site.submit("-N2", "--gpus=a100:16")
    site.runs(within)
    beyond = site.submit("--gpus=a100:1")
    site.waits(beyond, "QOSGrpGRES", "AssocGrpGRES")
    site.cancel()
    # Without a type, with another type, or with whole nodes of the other partition: no way round.
    for job in (
        site.submit("--gpus=2"),
        site.submit("-p", "infer", "--gpus=2"),
        site.submit("-p", "infer", "--gpus=h100:1"),
        site.submit("-p", "infer", "-N1", "--exclusive"),
    ):
        site.waits(job, "QOSMinGRES", "QOSGrpGRES", "AssocGrpGRES")
    site.runs(site.submit("--qos=sy.nogpu"))
    # Nothing to do is nothing told.
    before = LimitOrder.objects.count()
    assert site.round().told == 0
    assert LimitOrder.objects.count() == before


def test_a_quota_lowered_below_use_drains_and_kills_nothing(site: Site) -> None:
    site.opt_in()
    quota = site.award(gpus=16)
    site.round()
    job = site.submit("-N2", "--gpus=a100:16", "-t", "30")
    site.runs(job)
    site.change(quota, guaranteed_gpus=4, ceiling_gpus=4)
    site.round()
    row = site.limit(QOS)
    assert row.state == DRAINING
    assert row.words_params["over"] == 12
    assert row.clear_at is not None
    assert site.state(job)[0] == "RUNNING"
    site.cancel()
    site.round()
    row = site.limit(QOS)
    assert (row.state, row.clear_at) == (IN_FORCE, None)


def test_a_quota_that_ended_is_lowered_to_nothing_and_nothing_is_deleted(site: Site) -> None:
    site.opt_in()
    site.award(gpus=8, to_on=days_from_today(10))
    site.round()
    job = site.submit("--gpus=a100:8")
    site.runs(job)
    site.round(day=days_from_today(400))  # beyond its days and any grace
    assert site.limit(QOS).wanted["GrpTRES:gres/gpu"] == 0
    assert QOS in site.show("qos", "format=Name")
    assert site.state(job)[0] == "RUNNING"
    later = site.submit("--gpus=a100:1")
    site.waits(later, "QOSGrpGRES", "AssocGrpGRES")


def test_a_budget_used_up_lets_jobs_wait_and_kills_nothing(site: Site) -> None:
    site.opt_in()
    quota = site.award(gpus=16, gpu_hours=4)
    site.round()
    assert site.limit(QOS).wanted["GrpTRESMins:gres/gpu"] == 240
    job = site.submit("-N2", "--gpus=a100:14", "-t", "17")  # 238 of the 240 minutes are set aside for it
    site.runs(job)
    beyond = site.submit("--gpus=a100:1", "-t", "17")
    site.waits(beyond, "QOSGrpGRESMinutes")
    quota = site.change(quota, gpu_hours=0)
    site.round()
    assert site.state(job)[0] == "RUNNING"
    site.waits(beyond, "QOSGrpGRESMinutes")
    site.change(quota, gpu_hours=None)  # no budget any more
    done = site.round()
    assert done.in_force == done.limits
    site.runs(beyond)


def test_a_change_by_hand_is_drift_with_its_author_and_is_restored_by_a_click(site: Site) -> None:
    site.opt_in()
    site.award(gpus=16)
    site.round()
    site.sacctmgr("modify", "qos", "where", f"name={QOS}", "set", "GrpTRES=gres/gpu=40,gres/gpu:a100=40")
    assert site.round().told == 0  # shown, not overwritten in silence
    drift = _open(QOS)
    assert drift is not None
    assert (drift.drift, drift.changed_by) == ("changed", "root")
    assert drift.differs["GrpTRES:gres/gpu"] == [16, 40]
    assert site.limit(QOS).state == DRIFTED
    assert 0 < _setup().foreign_limits <= _setup().limits
    actions.restore(drift.pk, reason="by the quota", actor=MACHINE)
    site.round()
    assert site.limit(QOS).state == IN_FORCE
    assert site.show("qos", "where", f"name={QOS}", "format=GrpTRES") == [
        "gres/gpu:a100=16,gres/gpu:h100=0,gres/gpu=16"
    ]


def test_a_change_by_hand_can_be_adopted_by_the_quota(site: Site) -> None:
    site.opt_in()
    quota = site.award(gpus=16)
    site.round()
    site.sacctmgr("modify", "qos", "where", f"name={QOS}", "set", "GrpTRES=gres/gpu=24,gres/gpu:a100=24")
    site.round()
    drift = _open(QOS)
    assert drift is not None
    actions.adopt(drift.pk, reason="agreed by phone", actor=MACHINE)
    site.round()
    row = site.limit(QOS)
    assert (row.state, row.wanted["GrpTRES:gres/gpu"]) == (IN_FORCE, 24)
    assert row.quotas != [quota.number]  # that line was replaced


def test_a_user_who_may_use_other_qos_than_the_account_is_extra(site: Site) -> None:
    site.opt_in()
    site.award(gpus=16)
    site.round()
    who = ("where", "name=lab-ben", "account=te-alpha", "cluster=lab")
    site.sacctmgr("modify", "user", *who, "set", f"QOS=normal,{QOS}")
    site.round()
    drift = _open("te-alpha/lab-ben")
    assert drift is not None
    assert (drift.drift, drift.changed_by) == ("extra", "root")
    actions.restore(drift.pk, actor=MACHINE)
    site.round()
    assert _open("te-alpha/lab-ben") is None


def test_the_rules_of_a_queue_are_set_and_the_higher_level_displaces_the_lower(site: Site) -> None:
    pool = Pool.objects.get(code="lab-train")
    QueueRule.objects.create(pool=pool, level="normal", priority=500, preempts=["elastic"], preempted_jobs="cancel")
    Offering.objects.create(code="train-elastic", pool=pool, level="elastic", qos="low", max_wall_s=7200)
    site.opt_in()
    site.award(gpus=40)
    site.award(project="beta", gpus=48, level="elastic", guaranteed_gpus=0)
    done = site.round()
    assert done.in_force == done.limits
    lent = site.submit("-N6", "--gpus=a100:48", "-t", "60", project="beta")
    site.runs(lent)
    assert site.show("qos", "where", "name=sy.beta.lab-train.elastic", "format=MaxWall,PreemptMode") == [
        "02:00:00|cancel"
    ]
    own = site.submit("-N5", "--gpus=a100:40")
    site.runs(own)
    assert site.state(lent)[0] != "RUNNING"


class Killed(BaseException):
    """What a SIGKILL between two statements comes to."""


@pytest.mark.parametrize("after", [0, 1, 2])
def test_killed_between_telling_and_reading_back_it_converges(site: Site, after: int) -> None:
    site.opt_in()
    site.award(gpus=16)

    def die(done: int, of: int) -> None:
        if done > after:
            raise Killed

    with pytest.raises(Killed):
        site.round(step=die)
    done = site.round()
    assert done.in_force == done.limits
    assert _open(QOS) is None
    assert _open("te-alpha") is None


def test_a_login_without_the_right_cannot_opt_in_and_is_told_what_to_do(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = LocalRunner.open

    def as_ben(self: LocalRunner, argv: Sequence[str], **given: Any) -> Any:
        return plain(self, ["setpriv", "--reuid=lab-ben", "--clear-groups", *argv], **given)

    monkeypatch.setattr(LocalRunner, "open", as_ben)
    with pytest.raises(NotTheMoment, match="may_not_set_limits"):
        site.opt_in()
    assert not _setup().is_on


def test_while_slurmctld_is_away_nothing_is_told_and_the_words_say_so(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.opt_in()
    site.award(gpus=16)
    conf = site.lab.folder / "etc" / "slurm.conf"
    away = conf.with_name("slurm-away.conf")
    lines = ["SlurmctldPort=1" if line.startswith("SlurmctldPort=") else line for line in conf.read_text().splitlines()]
    away.write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SLURM_CONF", str(away))
    with pytest.raises(NotTheMoment, match="slurmctld"):
        site.round()
    assert LimitOrder.objects.count() == 0
    assert "slurmctld" in _setup().error
    monkeypatch.setenv("SLURM_CONF", str(conf))
    away.unlink()
    done = site.round()
    assert done.in_force == done.limits
    assert _setup().error == ""


def test_a_change_that_went_half_way_is_finished(site: Site) -> None:
    """The QOS was made, and the account never heard of it."""
    site.opt_in()
    site.award(gpus=16)
    site.sacctmgr("add", "qos", QOS, "set", "GrpTRES=gres/gpu=3")
    done = site.round()
    assert done.in_force == done.limits
    assert site.limit(QOS).state == IN_FORCE


def test_people_of_a_project_are_added_and_those_who_leave_are_barred_not_deleted(site: Site) -> None:
    roles = [{"role": "member", "project": "alpha"}]
    declare(people=[{"username": "dee", "roles": roles, "logins": [{"cluster": "lab", "login": "lab-dee"}]}])
    site.opt_in()
    site.award(gpus=16)
    actions.configure("lab", requires_type=True, keeps_qos=[], syncs_members=True, actor=MACHINE)
    site.round()
    there = ("assoc", "where", "account=te-alpha", "format=User,MaxSubmitJobs")
    assert {"lab-ben|", "lab-dee|"} <= set(site.show(*there))
    ProjectGrant.objects.filter(user=Person.objects.get(username="dee")).delete()
    site.round()
    assert {"lab-ben|", "lab-dee|0"} <= set(site.show(*there))  # lab-ben was not added here


def test_an_account_that_two_projects_share_carries_no_quota(site: Site) -> None:
    declare(
        mappings=[
            {"cluster": "lab", "account": "te-alpha", "user": "lab-ben", "project": "alpha"},
            {"cluster": "lab", "account": "te-alpha", "project": "beta"},
        ]
    )
    site.opt_in()
    quota = site.award(gpus=16)
    site.round()
    assert _setup().refused[quota.number][0] == "shared_account"
    assert site.show("assoc", "where", "account=te-alpha", "format=GrpTRES") == []
