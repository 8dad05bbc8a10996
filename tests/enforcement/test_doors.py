"""Pages and endpoints of enforcement without a scheduler: what is wanted by the catalogue, what the page shows of rows, who may."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation, today
from governance.errors import BadData, NotAllowed, NotTheMoment
from governance.quotas import actions as quotas
from governance.quotas.actions import Terms
from governance.quotas.enforcement import actions, reads
from governance.quotas.enforcement.models import EnforcedCluster, EnforcedLimit, LimitDrift, LimitOrder
from governance.quotas.enforcement.reconciling import reconcile
from governance.quotas.models import Quota
from governance.work.models import WorkItem
from tests.books import MACHINE
from tests.cast import Cast

NOW = datetime.now(UTC)


def award(project: str = "ocr", gpus: int = 16) -> Quota:
    return quotas.award(Terms(project, "train-h800", 0, gpus, today(installation())), actor=MACHINE)


def live() -> Cluster:
    """The company's cluster as if it had a live scheduler; nothing asks it here."""
    Cluster.objects.filter(code="bj").update(scheduler_kind="slurm")
    return Cluster.objects.get(code="bj")


def carried(quota: Quota, state: str = "in_force", **other: Any) -> EnforcedLimit:
    wanted = {"GrpTRES:gres/gpu": quota.ceiling_gpus}
    values = {
        "wanted": wanted,
        "wanted_at": NOW,
        "held": wanted,
        "held_at": NOW,
        "seen": wanted,
        "seen_at": NOW,
        **other,
    }
    return EnforcedLimit.objects.create(
        cluster=live(), kind="qos", name="sy.ocr.train", project="ocr", quotas=[quota.number], state=state, **values
    )


def drift(quota: Quota, found: int | None = 24, **other: Any) -> LimitDrift:
    values = {
        "kind": "qos",
        "name": "sy.ocr.train",
        "drift": "changed",
        "changed_by": "root",
        "changed_at": NOW,
        **other,
    }
    differs = {"GrpTRES:gres/gpu": [quota.ceiling_gpus, found]}
    return LimitDrift.objects.create(
        cluster=live(), quotas=[quota.number], differs=differs, first_at=NOW, last_at=NOW, **values
    )


def opted_in() -> EnforcedCluster:
    return EnforcedCluster.objects.create(cluster=live(), is_on=True, read_at=NOW, limits=4, foreign_limits=1)


def test_the_desired_state_of_a_cluster_that_is_never_read_comes_from_the_catalogue(cast: Cast) -> None:
    quota = award()
    answer = cast.client("operator").get("/api/v1/clusters/bj/desired")
    assert answer.status_code == 200
    found = answer.json()
    assert found["as_of"] is None
    names = [(one["kind"], one["name"]) for one in found["limits"]]
    assert names == [("qos", "sy.nogpu"), ("qos", "sy.ocr.train-h800"), ("account", "ocr")]
    assert found["limits"][1]["quotas"] == [quota.number]
    assert found["limits"][1]["values"]["GrpTRES:gres/gpu:h800"] == 16
    assert found["limits"][1]["values"]["GrpTRES:gres/gpu:l20"] == 0
    again = cast.client("operator").get("/api/v1/clusters/bj/desired", headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("state", "words", "says"),
    [
        ("in_force", "", "Holds in the scheduler"),
        ("draining", "%(over)s GPUs more are in use than the limit.", "12 GPUs more are in use"),
        ("failed", "Slurm did not take it: %(answer)s", "Slurm did not take it: no"),
        ("dry", "", "Dry run only"),
    ],
)
def test_the_page_says_how_each_limit_stands(cast: Cast, state: str, words: str, says: str) -> None:
    quota = award()
    opted_in()
    order = LimitOrder.objects.create(
        cluster=live(), command="sacctmgr -i -Q modify qos", exit_code=1, answer="no", fault="failed"
    )
    clear_at = NOW + timedelta(hours=3) if state == "draining" else None
    params = {"over": 12, "answer": "no"} if words else {}
    carried(quota, state, words=words, words_params=params, clear_at=clear_at, told=order, told_at=NOW)
    page = cast.client("operator").get("/ops/enforcement/bj/").content.decode()
    assert says in page
    assert "sacctmgr -i -Q modify qos" in page
    assert "25" in page  # one of four limits was not born here
    standing = reads.standing_of([quota.number])[quota.number]
    assert (standing.state, standing.clear_at) == (state, clear_at)
    assert standing.command == "sacctmgr -i -Q modify qos"


def test_a_quota_that_nothing_carries_says_why(cast: Cast) -> None:
    quota = award()
    setup = opted_in()
    setup.refused = {quota.number: ["shared_account", {"accounts": "common"}]}
    setup.save()
    standing = reads.standing_of([quota.number])[quota.number]
    assert standing.state == "refused"
    assert "common" in standing.says
    assert "common" in cast.client("operator").get("/ops/enforcement/bj/").content.decode()


def test_restoring_asks_for_a_round_and_is_written_down(cast: Cast) -> None:
    quota = award()
    opted_in()
    row, found = carried(quota, "drifted"), drift(quota)
    page = cast.client("operator").get("/ops/enforcement/bj/").content.decode()
    assert "changed by root" in page
    assert "there 24, by the quotas 16" in page
    cast.client("operator").post(f"/ops/enforcement/bj/drift/{found.pk}/restore/", {"reason": "no"})
    found.refresh_from_db()
    row.refresh_from_db()
    assert (found.resolved_as, found.resolved_by, row.held) == ("restored", "operator", None)
    assert AuditLine.objects.filter(action="enforcement.restored", object_code="bj").count() == 1
    assert WorkItem.objects.filter(kind="quotas.enforce", key="bj").exists()
    with pytest.raises(NotTheMoment):
        actions.restore(found.pk, actor=MACHINE)


def test_adopting_changes_the_quota_and_wants_a_reason_and_the_right_on_the_pool(cast: Cast) -> None:
    quota = award()
    opted_in()
    found = drift(quota)
    with pytest.raises(BadData):
        actions.adopt(found.pk, reason=" ", actor=MACHINE)
    with pytest.raises(NotAllowed):
        actions.adopt(found.pk, reason="agreed", actor=cast.actor("operator"))
    actions.adopt(found.pk, reason="agreed", actor=cast.actor("capacity_manager"))
    held = Quota.objects.held_on(today(installation())).get(project__code="ocr")
    assert (held.ceiling_gpus, held.guaranteed_gpus) == (24, 0)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"found": None}, "unlimited"),
        ({"drift": "missing"}, "unlimited"),
        ({"kind": "account", "name": "ocr", "quotas": ["Q-1", "Q-2"]}, "No quota of one project"),
    ],
)
def test_what_no_quota_can_say_is_not_adopted(cast: Cast, given: dict[str, Any], match: str) -> None:
    quota = award()
    opted_in()
    several = given.pop("quotas", None)
    found = drift(quota, **given)
    if several:
        found.quotas = several
        found.save()
    with pytest.raises(NotTheMoment, match=match):
        actions.adopt(found.pk, reason="agreed", actor=MACHINE)
    assert LimitDrift.objects.get(pk=found.pk).resolved_at is None


def test_an_unmanaged_limit_becomes_a_quota_that_guarantees_nothing(cast: Cast) -> None:
    live()
    opted_in()
    found = LimitDrift.objects.create(
        cluster=live(), kind="account", name="rank", drift="unmanaged", differs={"GrpTRES:gres/gpu": [None, 12]},
        first_at=NOW, last_at=NOW,
    )  # fmt: skip
    with pytest.raises(NotTheMoment):
        actions.restore(found.pk, actor=MACHINE)
    with pytest.raises(BadData):
        actions.adopt(found.pk, reason="it is so", actor=MACHINE)  # of two pools, which
    actions.adopt(found.pk, reason="it is so", pool="train-h800", actor=MACHINE)
    held = Quota.objects.held_on(today(installation())).get(project__code="rank")
    assert (held.ceiling_gpus, held.guaranteed_gpus) == (12, 0)


def test_a_cluster_behind_slurmrestd_cannot_be_opted_in_and_says_why(cast: Cast) -> None:
    Cluster.objects.filter(code="bj").update(
        scheduler_kind="slurmrestd", connection={"url": "https://slurm.example", "token_env": "X"}
    )
    with pytest.raises(NotTheMoment, match="limits_not_by_rest"):
        actions.opt_in("bj", actor=MACHINE)
    assert reconcile("bj", actor=MACHINE).limits == 0  # nothing to try again
    assert "slurmrestd" in reads.cluster_state(Cluster.objects.get(code="bj")).error
    assert (
        "answers 200 without changing anything" in cast.client("operator").get("/ops/enforcement/bj/").content.decode()
    )


@pytest.mark.parametrize("name", ["a b", "x=y", 'q"', "a|b"])
def test_a_qos_with_an_impossible_name_is_refused_and_nothing_is_saved(cast: Cast, name: str) -> None:
    live()
    answer = cast.client("operator").post("/ops/enforcement/bj/configure/", {"keeps_qos": name, "requires_type": "on"})
    assert answer.status_code == 422
    assert not EnforcedCluster.objects.filter(cluster__code="bj").exclude(keeps_qos=[]).exists()


def test_the_state_of_many_quotas_is_few_questions(cast: Cast, django_assert_max_num_queries: Any) -> None:
    quota = award()
    opted_in()
    carried(quota)
    with django_assert_max_num_queries(5):
        assert reads.standing_of([quota.number, "Q-999999"]).keys() == {quota.number}


@pytest.mark.parametrize(
    ("who", "status", "sees_answer"),
    [
        ("member", 200, False),
        ("operator", 200, True),
        ("auditor", 200, True),
        ("outsider", 404, False),
        ("former", 404, False),
    ],
)
def test_who_sees_a_quota_sees_how_it_stands_and_operations_see_the_answer(
    cast: Cast, who: str, status: int, sees_answer: bool
) -> None:
    quota = award()
    opted_in()
    order = LimitOrder.objects.create(cluster=live(), command="sacctmgr x", exit_code=1, answer="rank", fault="failed")
    carried(
        quota,
        "failed",
        words="Slurm did not take it: %(answer)s",
        words_params={"answer": "rank"},
        told=order,
        told_at=NOW,
    )
    page = cast.client(who).get(f"/quotas/{quota.number}/")
    door = cast.client(who).get(f"/api/v1/quotas/{quota.number}/enforcement")
    assert (page.status_code, door.status_code) == (status, status)
    if status == 200:
        assert door.json()["state"] == "failed"
        assert "Not taken" in page.content.decode()
        for text in (page.content.decode(), str(door.json())):
            assert ("sacctmgr x" in text) is sees_answer  # another project's name may stand in it


def test_a_quota_that_is_ahead_stands_in_no_scheduler_yet(cast: Cast) -> None:
    later = today(installation()) + timedelta(days=3)
    quota = quotas.award(Terms("ocr", "train-h800", 0, 8, later), actor=MACHINE)
    live()
    assert cast.client("operator").get(f"/api/v1/quotas/{quota.number}/enforcement").status_code == 404
    assert "h-standing" not in cast.client("operator").get(f"/quotas/{quota.number}/").content.decode()


def test_the_door_of_a_cluster_says_how_it_stands_and_changes_only_what_is_given(cast: Cast) -> None:
    quota = award()
    live()
    carried(quota)
    client = cast.client("operator")
    door = "/api/v1/clusters/bj/enforcement"
    said = client.post(door, {"keeps_qos": ["Low", "urgent"]}, content_type="application/json").json()
    assert (said["keeps_qos"], said["requires_type"], said["is_on"]) == (["low", "urgent"], True, False)
    assert client.post(door, {"requires_type": "perhaps"}, content_type="application/json").status_code == 422
    assert client.get(door).json()["states"]["in_force"] == 1
    assert client.get(door).json()["keeps_qos"] == ["low", "urgent"]
    assert client.post(f"{door}/round").status_code == 202
