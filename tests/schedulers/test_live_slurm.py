"""A real Slurm, asked by its own commands: every end state and every reason to wait of the lab's job mix."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from governance.schedulers.findings import FINDINGS
from governance.schedulers.limits import Association, Qos, Transaction
from governance.schedulers.live import NodeEvent, NodeRecord, PendingRecord, SourceFault, Window
from governance.schedulers.records import Outcome, RunRecord
from governance.schedulers.registry import connect
from governance.schedulers.slurm.commands import SlurmCommands
from governance.usage.rules import waits_for
from tests.slurm.job_mix import ENDS, Mix

pytestmark = pytest.mark.slurm

NEVER_STARTED = {"deadline", "cancelled-pending"}


@pytest.fixture(scope="module")
def slurm(job_mix: dict[str, str]) -> SlurmCommands:
    """A client of the lab."""
    client = connect("slurm", name="lab", connection={"slurm_conf": job_mix["SLURM_CONF"]})
    assert isinstance(client, SlurmCommands)
    return client


@pytest.fixture(scope="module")
def today(slurm: SlurmCommands) -> Window:
    """The last day by the scheduler's clock."""
    now = slurm.clock()
    return Window(now - 86_400, now + 1)


@pytest.fixture(scope="module")
def every(slurm: SlurmCommands, today: Window) -> list[RunRecord]:
    """The runs of the last day; nothing of it was unreadable."""
    found = []
    for record in slurm.runs(today):
        assert isinstance(record, RunRecord), record
        found.append(record)
    return found


@pytest.fixture(scope="module")
def runs(every: list[RunRecord], mix: Mix) -> dict[str, list[RunRecord]]:
    """The runs of the mix by job name, whatever else the lab has run today."""
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for record in every:
        if mix.holds(record.job_id):
            found[record.job_name].append(record)
    return found


@pytest.mark.parametrize("name", ENDS)
def test_each_job_of_the_mix_ends_as_it_was_made_to(runs: dict[str, list[RunRecord]], name: str) -> None:
    ended = [run for run in runs[name] if run.outcome not in (Outcome.RUNNING, Outcome.PENDING)]
    assert {(run.state, run.outcome, (run.gpu_milli or 0) // 1000) for run in ended} == ENDS[name]
    assert all(run.cluster_name == "lab" and run.submit_at and run.end_at and not run.flags for run in ended)
    assert {run.start_at is None for run in ended} == {name in NEVER_STARTED}


def test_a_run_is_told_once(every: list[RunRecord]) -> None:
    keys = [(run.job_id, run.submit_at) for run in every]
    assert len(keys) == len(set(keys))


def test_a_job_cancelled_before_it_was_eligible_is_not_missed(runs: dict[str, list[RunRecord]]) -> None:
    assert [run.eligible_at for run in runs["cancelled-pending"][:1]] == [None]


def test_a_window_holds_what_overlaps_it_and_nothing_else(
    slurm: SlurmCommands, runs: dict[str, list[RunRecord]]
) -> None:
    (first, *_) = (run for run in runs["exit-42"] if run.end_at)
    assert first.end_at is not None
    around = {
        (run.job_id, run.submit_at)
        for run in slurm.runs(Window(first.end_at - 1, first.end_at + 1))
        if isinstance(run, RunRecord)
    }
    assert (first.job_id, first.submit_at) in around
    after = {
        (run.job_id, run.submit_at)
        for run in slurm.runs(Window(first.end_at + 1, first.end_at + 2))
        if isinstance(run, RunRecord)
    }
    assert (first.job_id, first.submit_at) not in after


def test_each_reason_to_wait_is_classed(slurm: SlurmCommands) -> None:
    waiting = [one for one in slurm.queue() if isinstance(one, PendingRecord)]
    classed = {one.reason: waits_for(one.reason) for one in waiting}
    expected = {
        "AssocGrpGRES": "quota",
        "QOSMaxGRESPerUser": "quota",
        "ReqNodeNotAvail": "capacity",
        "JobHeldUser": "other",
        "BeginTime": "other",
        "DependencyNeverSatisfied": "other",
    }
    assert expected.items() <= classed.items()
    cards = {one.reason: (one.asked_gpu_milli, one.nodes, one.tasks, one.user) for one in waiting}
    assert cards["AssocGrpGRES"] == (1_000, 1, 1, "lab-eli")
    assert cards["QOSMaxGRESPerUser"] == (24_000, 3, 1, "lab-cai")
    held = next(one for one in waiting if one.reason == "JobHeldUser")
    assert held.eligible_at is None and held.submit_at is not None


def test_an_array_that_is_not_yet_split_is_one_record_of_its_tasks(slurm: SlurmCommands, lab: dict[str, str]) -> None:
    env = {"SLURM_CONF": lab["SLURM_CONF"], "PATH": "/usr/bin:/bin"}
    words = [
        "sbatch",
        "--parsable",
        "-D",
        "/tmp",
        "-o",
        "/dev/null",
        "--hold",
        "-a",
        "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39%2",
    ]
    job_id = subprocess.run(
        [*words, "--wrap", "true"], check=True, capture_output=True, text=True, env=env
    ).stdout.strip()
    try:
        (record,) = (one for one in slurm.queue() if isinstance(one, PendingRecord) and one.job_id == job_id)
        assert (record.tasks, record.asked_gpu_milli, record.user) == (20, 0, "root")
    finally:
        subprocess.run(["scancel", job_id], check=True, env=env)


def test_the_nodes_are_those_of_the_lab(slurm: SlurmCommands) -> None:
    nodes = [one for one in slurm.nodes() if isinstance(one, NodeRecord)]
    assert len(nodes) >= 8
    assert {one.gpus for one in nodes} == {(("a100", 8),), (("h100", 8),)}
    assert {(one.partitions, one.gpus[0][0]) for one in nodes} == {(("train",), "a100"), (("infer",), "h100")}
    drained = next(one for one in nodes if "XID 79" in one.reason)
    assert (drained.state, drained.flags, drained.reason_by) == ("IDLE", ("DRAIN",), "root")
    assert all(one.gpus_used is not None and one.boot_at for one in nodes)


def test_the_failed_node_of_the_mix_is_an_event(slurm: SlurmCommands, today: Window, mix: Mix) -> None:
    events = [one for one in slurm.events(today) if isinstance(one, NodeEvent)]
    lost = [one for one in events if one.reason == "lab: node lost power" and one.from_at >= mix.began_at]
    assert lost and all(one.state == "DOWN" and one.by == "root" and one.to_at is not None for one in lost)
    drained = [one for one in events if "XID 79" in one.reason and one.to_at is None]
    assert drained and drained[-1].flags == ("DRAIN",)


def test_limits_and_their_changes_are_read(slurm: SlurmCommands, today: Window) -> None:
    accounts = {(one.account, one.user): one for one in slurm.associations() if isinstance(one, Association)}
    assert (accounts["ads", ""].parent, accounts["ads", ""].grp_tres) == ("product", "gres/gpu=8")
    assert accounts["nlp", "lab-ada"].qos == ("low", "normal", "urgent")
    assert {one.name: one.max_tres_per_user for one in slurm.qos() if isinstance(one, Qos)}["urgent"] == "gres/gpu=16"
    assert all(isinstance(one, Transaction) for one in slurm.transactions(today))


def test_the_lab_has_no_runaway_jobs(slurm: SlurmCommands) -> None:
    assert slurm.runaway() == []


def test_the_connection_test_finds_nothing_that_blocks(slurm: SlurmCommands) -> None:
    findings = {one.code: one for one in slurm.probe()}
    assert not [one for one in findings.values() if one.severity in ("blocking", "warning")]
    assert {
        "controller_answers",
        "accounting_answers",
        "gpus_tracked",
        "limits_enforced",
        "sees_all_jobs",
        "first_pull",
    } <= findings.keys()
    assert all(words % one.detail is not None for one in findings.values() for words in FINDINGS[one.code])


def moved(lab: dict[str, str], folder: Path, name: str, port: int) -> str:
    """A copy of the lab's configuration in which one daemon is where nobody listens; what asks for it gives up as soon as by default."""
    text = Path(lab["SLURM_CONF"]).read_text()
    lines = [f"{name}={port}" if line.startswith(f"{name}=") else line for line in text.splitlines()]
    assert lines != text.splitlines()
    lines = [line for line in lines if not line.startswith("MessageTimeout=")]
    path = folder / "slurm.conf"
    path.write_text("\n".join(lines) + "\n")
    (folder / "gres.conf").write_text((Path(lab["SLURM_CONF"]).parent / "gres.conf").read_text())
    return str(path)


def test_a_database_that_is_down_is_told_while_the_controller_answers(
    lab: dict[str, str], tmp_path: Path, today: Window
) -> None:
    client = connect("slurm", name="lab", connection={"slurm_conf": moved(lab, tmp_path, "AccountingStoragePort", 9)})
    with pytest.raises(SourceFault) as caught:
        list(client.runs(today))
    assert (caught.value.code, caught.value.detail["daemon"]) == ("daemon_down", "slurmdbd")
    assert list(client.queue())


def test_a_controller_that_is_down_is_told_while_the_database_answers(
    lab: dict[str, str], tmp_path: Path, today: Window
) -> None:
    client = connect("slurm", name="lab", connection={"slurm_conf": moved(lab, tmp_path, "SlurmctldPort", 9)})
    with pytest.raises(SourceFault) as caught:
        list(client.queue())
    assert (caught.value.code, caught.value.detail["daemon"]) == ("daemon_down", "slurmctld")
    assert list(client.runs(Window(today.until_at - 3_600, today.until_at)))


def test_a_cluster_the_lab_does_not_know_is_told(lab: dict[str, str]) -> None:
    client = connect("slurm", name="lab", connection={"slurm_conf": lab["SLURM_CONF"], "cluster": "nowhere"})
    with pytest.raises(SourceFault, match="unknown_cluster"):
        list(client.queue())


def test_the_lab_named_with_its_cluster_answers_the_same(lab: dict[str, str], slurm: SlurmCommands) -> None:
    named = connect("slurm", name="lab", connection={"slurm_conf": lab["SLURM_CONF"], "cluster": "lab"})
    assert [one.name for one in named.nodes() if isinstance(one, NodeRecord)] == [
        one.name for one in slurm.nodes() if isinstance(one, NodeRecord)
    ]
