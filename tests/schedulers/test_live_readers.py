"""What squeue, scontrol and sacctmgr print, read: made-up answers with the traps of the real ones."""

from __future__ import annotations

import pytest

from governance.schedulers.errors import RecordFault
from governance.schedulers.limits import Association, Qos, Transaction
from governance.schedulers.live import NodeEvent, NodeRecord, PendingRecord
from governance.schedulers.records import BadRecord
from governance.schedulers.slurm import accounting, node_states, nodes, queue
from tests.schedulers.slurm_reading import RECORDED


def recorded(name: str) -> list[str]:
    """The lines of a made-up answer."""
    return (RECORDED / name).read_text().splitlines()


def test_waiting_jobs_are_read_and_those_that_run_passed_over() -> None:
    found = list(queue.pending(recorded("squeue-waiting.txt")))
    waiting = [one for one in found if isinstance(one, PendingRecord)]
    assert [one.label for one in waiting] == ["201", "202_[0-4,7,10-20:5%3]", "203", "205+1", "207"]
    first = PendingRecord(
        "201", "201", 1_796_100_000, 1_796_100_000, "vision", "ada", "train", "normal", "Resources", 16_000, "h100", 2, 11_306, 1
    )  # fmt: skip
    assert waiting[0] == first
    assert [(one.job_id, one.asked_gpu_milli, one.gpu_type, one.tasks) for one in waiting[1:]] == [
        ("202", 1_000, "", 9),
        ("203", 8_000, "a100", 1),  # two for each of four tasks
        ("206", 0, "", 1),
        ("207", 1_000, "", 1),
    ]
    assert [one.eligible_at for one in waiting] == [1_796_100_000, None, 1_796_186_400, 1_796_100_004, 1_796_100_005]
    assert waiting[3].account == ""


def test_a_reason_to_wait_is_a_word_without_its_particulars() -> None:
    waiting = [one for one in queue.pending(recorded("squeue-waiting.txt")) if isinstance(one, PendingRecord)]
    assert [one.reason for one in waiting] == [
        "Resources",
        "JobArrayTaskLimit",
        "BeginTime",
        "ReqNodeNotAvail",
        "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
    ]


def test_waiting_jobs_that_cannot_be_read_are_told() -> None:
    bad = [one for one in queue.pending(recorded("squeue-waiting.txt")) if isinstance(one, BadRecord)]
    assert [one.code for one in bad] == ["bad_job_id", "bad_time", "wrong_column_count"]


@pytest.mark.parametrize(
    "label, tasks",
    [
        ("7", 1),
        ("7_3", 1),
        ("12+1", 1),
        ("7_[0-8:4]", 3),
        ("7_[1-3%1]", 3),
        ("7_[5]", 1),
        ("7_[1-1000000%500]", 1_000_000),
    ],
)
def test_a_list_of_tasks_is_counted(label: str, tasks: int) -> None:
    assert queue.tasks_in(label) == tasks


@pytest.mark.parametrize("label", ["7_[1-3,...]", "7_[3-1]", "7_[]", "7_[0-99999999]", "7_[1-4:0]", "[1]"])
def test_a_list_of_tasks_that_is_none_is_refused(label: str) -> None:
    with pytest.raises(RecordFault):
        queue.tasks_in(label)


def test_nodes_are_read_with_base_state_and_flags_apart() -> None:
    found = list(nodes.nodes(recorded("scontrol-nodes.txt")))
    assert found[0] == NodeRecord(
        "gpu001", "MIXED", ("PLANNED",), "", None, "", (("h100", 8),), 5, 128, 1_000_000, ("train", "urgent"), 1_796_000_000
    )  # fmt: skip
    assert found[1] == NodeRecord(
        "gpu002",
        "DOWN",
        ("DRAIN", "NOT_RESPONDING", "REBOOT_ISSUED"),
        "XID 79 = off the bus, State=IDLE? [see ticket]",
        1_796_099_000,
        "ops",
        (("a100", 6), ("a100_1g.5gb", 7)),
        3,
        128,
        512_000,
        ("train",),
        None,
    )
    assert found[2] == NodeRecord(
        "gpu003",
        "IDLE",
        ("CLOUD", "POWERED_DOWN"),
        "Not responding second line of it",
        1_796_098_000,
        "slurm",
        (("910b", 16),),
        4,
        192,
        1_500_000,
        (),
        None,
    )
    bad = found[-1]
    assert isinstance(bad, BadRecord) and bad.code == "not_a_node"


def test_a_node_without_cards_uses_none_and_cards_nobody_tracks_are_unknown() -> None:
    used = {
        one.name: (one.gpus, one.gpus_used)
        for one in nodes.nodes(recorded("scontrol-nodes.txt"))
        if isinstance(one, NodeRecord)
    }
    assert used["cpu001"] == ((), 0)
    assert used["gpu004"] == ((("", 2),), None)


@pytest.mark.parametrize(
    "text, base, flags",
    [
        ("IDLE", "IDLE", ()),
        ("IDLE+DRAIN", "IDLE", ("DRAIN",)),
        ("DOWN*+DRAIN", "DOWN", ("DRAIN", "NOT_RESPONDING")),
        ("MIXED+DRAIN+MAINT", "MIXED", ("DRAIN", "MAINTENANCE")),
        ("ALLOCATED+COMPLETING", "ALLOCATED", ("COMPLETING",)),
        ("IDLE+RESERVED+PLANNED", "IDLE", ("PLANNED", "RESERVED")),
        ("IDLE~", "IDLE", ("POWERED_DOWN",)),
        ("mix-", "MIXED", ("PLANNED",)),
        ("alloc$", "ALLOCATED", ("MAINTENANCE",)),
        ("drained*", "IDLE", ("DRAIN", "NOT_RESPONDING")),
        ("draining@", "ALLOCATED", ("DRAIN", "REBOOT_REQUESTED")),
        ("maint", "IDLE", ("MAINTENANCE",)),
        ("resv", "IDLE", ("RESERVED",)),
        ("comp", "ALLOCATED", ("COMPLETING",)),
        ("unk*", "UNKNOWN", ("NOT_RESPONDING",)),
        ("FUTURE", "FUTURE", ()),
        ("NEVER_SEEN", "UNKNOWN", ("NEVER_SEEN",)),
        ("", "UNKNOWN", ()),
    ],
)
def test_a_nodes_state_in_each_spelling(text: str, base: str, flags: tuple[str, ...]) -> None:
    assert node_states.from_text(text) == (base, flags)


@pytest.mark.parametrize(
    "number, base, flags",
    [
        (1, "DOWN", ()),
        (514, "IDLE", ("DRAIN",)),
        (2_049, "DOWN", ("NOT_RESPONDING",)),
        (0x8000 | 0x200 | 5, "MIXED", ("DRAIN", "MAINTENANCE")),
        (15, "UNKNOWN", ()),
    ],
)
def test_a_nodes_state_as_the_database_numbers_it(number: int, base: str, flags: tuple[str, ...]) -> None:
    assert node_states.from_number(number) == (base, flags)


def test_node_events_are_read_with_whatever_their_reasons_hold() -> None:
    found = list(accounting.events(recorded("sacctmgr-events.txt")))
    assert found[:3] == [
        NodeEvent("gpu001", "DOWN", (), 1_796_010_000, 1_796_020_000, "node lost power | again", "root"),
        NodeEvent("gpu002", "IDLE", ("DRAIN",), 1_796_010_000, None, "XID 79,\ncards 3|4 are gone", "ops"),
        NodeEvent("gpu003", "DOWN", ("NOT_RESPONDING",), 1_796_010_000, 1_796_020_000, "Not responding", "slurm"),
    ]
    assert isinstance(found[3], BadRecord) and found[3].code == "bad_time"
    assert found[4] == NodeEvent("gpu005", "IDLE", ("MAINTENANCE",), 1_796_010_000, 1_796_020_000, "planned work", "")


def test_an_event_that_cannot_be_read_is_told() -> None:
    (bad,) = accounting.events(["lab|gpu004|1796020000|17|DOWN|1|root(0)|clock lost"])
    assert isinstance(bad, BadRecord) and bad.code == "bad_time"
    (short,) = accounting.events(["lab|gpu004|1796020000"])
    assert isinstance(short, BadRecord) and short.code == "wrong_column_count"


def test_associations_and_qualities_of_service_are_read() -> None:
    (account, user) = accounting.associations(
        [
            "lab|nlp|||research|60|gres/gpu=64,gres/gpu:h100=32|gres/gpu=3000000||100||||normal,low|normal",
            "lab|nlp|ada|train||parent||||||cpu=8|2-00:00:00|normal|",
        ]
    )
    assert account == Association(
        "lab", "nlp", "", "", "research", "60", "gres/gpu=64,gres/gpu:h100=32", "gres/gpu=3000000", "", 100, None, "", None,
        ("low", "normal"), "normal",
    )  # fmt: skip
    assert user == Association(
        "lab", "nlp", "ada", "train", "", "parent", "", "", "", None, None, "cpu=8", 172_800, ("normal",), ""
    )
    (budget,) = accounting.qos(["bud_nlp|10|NoDecay,DenyOnLimit|low|0.500000||gres/gpu=60||gres/gpu=16||1-00:00:00"])
    assert budget == Qos(
        "bud_nlp",
        10,
        ("DenyOnLimit", "NoDecay"),
        ("low",),
        "0.500000",
        "",
        "gres/gpu=60",
        "",
        "gres/gpu=16",
        "",
        86_400,
    )


def test_changes_of_the_accounting_are_read_over_all_their_lines() -> None:
    (change,) = accounting.transactions(
        ["1796010000|Modify Associations|root|(id_assoc=1)|grp_tres='1001=64', a|b", "second line"]
    )
    assert change == Transaction(
        1_796_010_000, "Modify Associations", "root", "(id_assoc=1)", "grp_tres='1001=64', a|b\nsecond line"
    )


def test_runaway_jobs_are_read_and_the_question_behind_them_is_none() -> None:
    said = (
        "NOTE: Runaway jobs are jobs that don't exist in the controller but have a start time and no end time in the database\n"
        "4711|train|train|lab|RUNNING|1796010000|Unknown\n4712|a|b|train|lab|RUNNING|1796010000|Unknown\n\n"
        "Would you like to fix these runaway jobs?\n(This will set the end time for each job)\n\n (N/y): "
    )
    assert accounting.runaway(said) == ["4711", "4712"]
    assert accounting.runaway("Runaway Jobs: No runaway jobs found on cluster lab\n") == []
