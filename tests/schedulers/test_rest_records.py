"""Waiting jobs and nodes as slurmctld tells them over REST, old shapes and new ones, made up and real."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from governance.schedulers.live import NodeRecord, PendingRecord
from governance.schedulers.records import BadRecord, Outcome
from governance.schedulers.slurm import rest_records
from governance.schedulers.slurm.states import status_of_flags
from tests.schedulers.rest_serving import recorded
from tests.schedulers.slurm_reading import SHARED, answer, job, needs_shared, run_of

T = 1_772_438_400
BOTH = pytest.mark.parametrize("version", ["38", "42"])


def waiting(data: bytes) -> tuple[list[PendingRecord], list[BadRecord]]:
    records = list(rest_records.pending(io.BytesIO(data)))
    bad = [one for one in records if isinstance(one, BadRecord)]
    return [one for one in records if isinstance(one, PendingRecord)], bad


def nodes_of(data: bytes) -> tuple[list[NodeRecord], list[BadRecord]]:
    records = list(rest_records.nodes(io.BytesIO(data)))
    bad = [one for one in records if isinstance(one, BadRecord)]
    return [one for one in records if isinstance(one, NodeRecord)], bad


@BOTH
def test_jobs_that_wait_are_told_from_those_that_run_or_ended(version: str) -> None:
    records, bad = waiting(recorded(f"rest-jobs-v0.0.{version}.json"))
    assert [(one.job_id, one.label, one.reason, one.tasks) for one in records] == [
        ("2", "2", "AssocGrpGRES", 1),
        ("3", "3", "JobHeldUser", 1),
        ("4", "4_[1-3%1]", "JobArrayTaskLimit", 3),
        ("5", "4_7", "Priority", 1),
        ("6", "6+0", "Resources", 1),
        ("7", "6+1", "Resources", 1),
        ("8", "8", "ReqNodeNotAvail", 1),
        ("9", "9_[1,3,5,8-10,...]", "None", 6),
    ]
    assert [one.code for one in bad] == ["bad_job_id"]


@BOTH
def test_cards_asked_for_are_counted_where_tracked_and_unknown_rather_than_none_where_not(version: str) -> None:
    records = {one.job_id: one for one in waiting(recorded(f"rest-jobs-v0.0.{version}.json"))[0]}
    cards = {job_id: (one.asked_gpu_milli, one.gpu_type) for job_id, one in records.items()}
    assert cards["2"] == (24_000, "a100")
    assert cards["3"] == (1_000, "")
    assert cards["7"] == (0, "")
    assert cards["8"] == (4_000, "")


@BOTH
def test_instants_of_a_waiting_job_that_are_zero_are_none(version: str) -> None:
    records = {one.job_id: one for one in waiting(recorded(f"rest-jobs-v0.0.{version}.json"))[0]}
    assert (records["2"].submit_at, records["2"].eligible_at, records["2"].priority) == (T, T, 1002)
    assert (records["3"].submit_at, records["3"].eligible_at, records["3"].priority) == (T, None, 0)


@BOTH
def test_nodes_have_a_base_state_with_flags_and_cards_in_use(version: str) -> None:
    records, bad = nodes_of(recorded(f"rest-nodes-v0.0.{version}.json"))
    assert [(one.name, one.state, one.flags, one.gpus, one.gpus_used) for one in records] == [
        ("gpu001", "MIXED", (), (("a100", 8),), 3),
        ("gpu002", "IDLE", ("DRAIN",), (("a100", 8),), 0),
        ("gpu003", "DOWN", ("NOT_RESPONDING",), (("a100", 8),), 0),
        ("cpu001", "ALLOCATED", (), (), 0),
        ("gpu004", "IDLE", ("MAINTENANCE", "RESERVED"), (("a100", 4), ("h100", 4)), None),
    ]
    assert [one.code for one in bad] == ["not_a_node"]


@BOTH
def test_a_reason_keeps_its_words_its_time_and_who_gave_it(version: str) -> None:
    records = {one.name: one for one in nodes_of(recorded(f"rest-nodes-v0.0.{version}.json"))[0]}
    drained = records["gpu002"]
    assert (drained.reason, drained.reason_at, drained.reason_by) == ("XID 79, [fan] 3=loud", T + 60, "root")
    assert (records["gpu001"].reason, records["gpu001"].reason_at, records["gpu001"].reason_by) == ("", None, "")
    assert (records["gpu001"].boot_at, records["gpu003"].boot_at) == (T, None)
    assert (records["cpu001"].cpus, records["cpu001"].memory_mib, records["cpu001"].partitions) == (
        64,
        1_000_000,
        ("cpu", "long"),
    )


def test_old_and_new_shapes_of_the_same_are_the_same_records() -> None:
    assert waiting(recorded("rest-jobs-v0.0.38.json"))[0] == waiting(recorded("rest-jobs-v0.0.42.json"))[0]
    assert nodes_of(recorded("rest-nodes-v0.0.38.json"))[0] == nodes_of(recorded("rest-nodes-v0.0.42.json"))[0]


@pytest.mark.parametrize(
    "these, code",
    [
        (["a text"], "not_an_object"),
        ([{"job_id": 7, "job_state": []}], "unknown_state"),
        ([{"job_id": 7, "job_state": ["DREAMING"]}], "unknown_state"),
        ([{"job_id": 7, "job_state": "PENDING", "submit_time": 10**15}], "bad_time"),
        ([{"job_id": 7, "job_state": "PENDING", "array_job_id": 7, "array_task_string": "x"}], "bad_job_id"),
    ],
)
def test_a_job_that_cannot_be_read_is_a_bad_record_and_the_next_is_read(these: list[Any], code: str) -> None:
    good = {"job_id": 8, "job_state": "PENDING", "submit_time": T}
    records, bad = waiting(json.dumps({"jobs": [*these, good]}).encode())
    assert ([one.code for one in bad], [one.job_id for one in records]) == ([code], ["8"])


@pytest.mark.parametrize(
    "bits, most, label",
    [
        ("0xE", 1, "46_[1-3%1]"),
        ("0xAAAAAAAAAA", 2, "46_[1-39:2%2]"),
        ("0x1", 0, "46_[0]"),
        ("0x2E", 0, "46_[1-3,5]"),
        ("1-3%1", 1, "46_[1-3%1]"),
        ("0x" + "9" * 40, 0, "46_[0,3-4,7-8,11-12,15-16,19-20,23-24,27-28,31-32,35-36,39-40,43-44,...]"),
    ],
)
def test_tasks_kept_as_bits_are_shown_as_sacct_shows_them(bits: str, most: int, label: str) -> None:
    array = {"job_id": 46, "task": bits, "task_id": None, "limits": {"max": {"running": {"tasks": most}}}}
    assert run_of(answer(job(array=array))).label == label


REAL = [
    # release/version, nodes, with cards, cards, waiting, running: counted with jq
    ("24.05/0.0.41", 100, 0, 0, 1, 3),
    ("24.11/0.0.42", 6, 2, 12, 2, 7),
    ("25.05/0.0.43", 6, 2, 8, 2, 6),
]


def real(path: str) -> BinaryIO:
    whole = SHARED / "data" / path
    packed = Path(f"{whole}.gz")
    return cast(BinaryIO, gzip.open(packed)) if packed.exists() else open(whole, "rb")  # noqa: SIM115


@pytest.mark.real_data
@needs_shared
@pytest.mark.parametrize("release, nodes, with_cards, cards, waits, runs", REAL)
def test_answers_of_real_controllers_hold_the_nodes_and_jobs_counted_in_them(
    release: str, nodes: int, with_cards: int, cards: int, waits: int, runs: int
) -> None:
    with real(f"slurm-web-slurmrestd/{release}/slurm-nodes.json") as source:
        seen = list(rest_records.nodes(source))
    assert len(seen) == nodes and all(isinstance(one, NodeRecord) for one in seen)
    with_gpus = [one.gpus for one in seen if isinstance(one, NodeRecord) and one.gpus]
    assert (len(with_gpus), sum(number for gpus in with_gpus for _, number in gpus)) == (with_cards, cards)
    with real(f"slurm-web-slurmrestd/{release}/slurm-jobs.json") as source:
        jobs = list(rest_records.objects(source, "jobs"))
    states = [status_of_flags(one["job_state"], ended=False).outcome for one in jobs if not isinstance(one, BadRecord)]
    assert states.count(Outcome.RUNNING) == runs
    with real(f"slurm-web-slurmrestd/{release}/slurm-jobs.json") as source:
        assert [type(one) for one in rest_records.pending(source)] == [PendingRecord] * waits


@pytest.mark.real_data
@needs_shared
@pytest.mark.parametrize("release, cards", [("24.05/0.0.41", 4_000), ("24.11/0.0.42", 6_000), ("25.05/0.0.43", 4_000)])
def test_cards_that_a_cluster_does_not_track_are_read_from_the_request(release: str, cards: int) -> None:
    with real(f"slurm-web-slurmrestd/{release}/slurm-job-gpus-pending.json") as source:
        assert [one.asked_gpu_milli for one in rest_records.pending(source) if isinstance(one, PendingRecord)] == [
            cards
        ]


@pytest.mark.real_data
@needs_shared
@pytest.mark.parametrize(
    "name, release, state, flags",
    [
        ("down", "24.05/0.0.41", "DOWN", ()),
        ("drain", "24.05/0.0.41", "IDLE", ("DRAIN",)),
        ("draining", "24.05/0.0.41", "MIXED", ("DRAIN",)),
        ("planned", "24.11/0.0.42", "IDLE", ("PLANNED",)),
        ("planned", "25.05/0.0.43", "IDLE", ("COMPLETING", "PLANNED")),
    ],
)
def test_states_of_real_nodes(name: str, release: str, state: str, flags: tuple[str, ...]) -> None:
    with real(f"slurm-web-slurmrestd/{release}/slurm-node-{name}.json") as source:
        (node,) = rest_records.nodes(source)
    assert isinstance(node, NodeRecord) and (node.state, node.flags) == (state, flags)


@pytest.mark.real_data
@needs_shared
def test_a_real_cluster_of_data_parser_40_with_slices_of_cards() -> None:
    with real("talapas-slurmrestd-v0.0.40/V0040OpenapiNodesResp.json") as source:
        seen = [one for one in rest_records.nodes(source) if isinstance(one, NodeRecord)]
    states = sorted("+".join((one.state, *one.flags)) for one in seen)
    assert states == ["ALLOCATED"] * 6 + ["DOWN+NOT_RESPONDING"] * 2 + ["IDLE+DRAIN"] * 2 + ["MIXED"] * 2
    sliced = [(one.gpus, one.gpus_used) for one in seen if ("1g.10gb", 21) in one.gpus]
    assert (21, 1) in [(gpus[0][1], used) for gpus, used in sliced]


@pytest.mark.real_data
@needs_shared
def test_answers_of_21_08_with_plain_numbers_and_sentinels() -> None:
    with real("rivos-slurm-exporter/sinfo_out.json") as source:
        assert [type(one) for one in rest_records.nodes(source)] == [NodeRecord] * 4
    with real("rivos-slurm-exporter/squeue_out.json") as source:
        assert [type(one) for one in rest_records.pending(source)] == [PendingRecord]
    with real("mila-clockwork-slurm/sinfo_1.json") as source:
        seen = [one for one in rest_records.nodes(source) if isinstance(one, NodeRecord)]
    assert len(seen) == 2 and (seen[0].state, seen[0].flags, seen[0].gpus) == ("DOWN", ("NOT_RESPONDING",), (("", 1),))
