"""Controllers' answers of real sites and of the lab, read in place; the literals were taken from the files by eye, awk and grep."""

from __future__ import annotations

from collections import Counter

import pytest

from governance.schedulers.live import NodeEvent, NodeRecord
from governance.schedulers.records import BadRecord
from governance.schedulers.slurm import accounting, node_states, nodes
from tests.schedulers.slurm_reading import SHARED, needs_shared

pytestmark = [pytest.mark.real_data, needs_shared]


def lines(path: str) -> list[str]:
    """The lines of a file beside the project."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"{path} is not here")
    return found.read_text().splitlines()


# file, nodes, bad, cards by type, cards in use (None: nobody counts them), nodes by state
NODES = [
    ("data/mila-clockwork-slurm/small_scontrol_node.txt", 1, 0, {"rtx8000": 8}, 8, {"MIXED": 1}),
    ("data/mila-clockwork-slurm/scontrol_node_2.txt", 2, 0, {"rtx8000": 16}, 16, {"MIXED": 2}),
    ("slurmlab/captures/scontrol-show-node.txt", 16, 0, {"a100": 96, "h100": 32}, 25, {"IDLE": 12, "MIXED": 4}),
]


@pytest.mark.parametrize("path, count, bad, cards, used, states", NODES, ids=[row[0] for row in NODES])
def test_scontrols_nodes_of_other_sites(
    path: str, count: int, bad: int, cards: dict[str, int], used: int, states: dict[str, int]
) -> None:
    found = list(nodes.nodes(lines(path)))
    read = [one for one in found if isinstance(one, NodeRecord)]
    assert (len(read), sum(isinstance(one, BadRecord) for one in found)) == (count, bad)
    assert dict(sum((Counter(dict(one.gpus)) for one in read), Counter())) == cards
    assert sum(one.gpus_used or 0 for one in read) == used
    assert dict(Counter(one.state for one in read)) == states


def test_a_real_node_of_another_site_in_every_field() -> None:
    (node,) = nodes.nodes(lines("data/mila-clockwork-slurm/small_scontrol_node.txt"), time_zone="America/Montreal")
    partitions = (
        "unkillable",
        "short-unkillable",
        "main",
        "main-grace",
        "long",
        "long-grace",
        "cpu_jobs_low",
        "cpu_jobs_low-grace",
    )
    boot_at = 1_630_444_118  # 2021-08-31T17:08:38-04:00
    assert node == NodeRecord(
        "test-node", "MIXED", (), "", None, "", (("rtx8000", 8),), 8, 80, 386_619, partitions, boot_at
    )


def test_the_drained_node_of_the_lab_says_why_and_by_whom() -> None:
    drained = [
        one
        for one in nodes.nodes(lines("slurmlab/captures/scontrol-show-node.txt"))
        if isinstance(one, NodeRecord) and one.flags
    ]
    assert [(one.name, one.flags, one.reason, one.reason_by, one.reason_at) for one in drained] == [
        ("gpu012", ("DRAIN",), "lab: XID 79, GPU has fallen off the bus", "root", 1_796_099_423)
    ]


def test_sinfos_states_of_a_site_with_many_of_them() -> None:
    words = [line.partition(",")[2] for line in lines("data/vpenso-slurm-exporter/sinfo.txt") if line]
    assert Counter(node_states.from_text(word) for word in words) == {
        ("ALLOCATED", ()): 250,
        ("DOWN", ()): 1,
        ("DOWN", ("NOT_RESPONDING",)): 66,
        ("IDLE", ("DRAIN",)): 7,
        ("IDLE", ("DRAIN", "NOT_RESPONDING")): 11,
        ("ALLOCATED", ("DRAIN",)): 10,
        ("IDLE", ("FAIL", "NOT_RESPONDING")): 1,
        ("IDLE", ()): 319,
        ("MIXED", ()): 44,
    }


@pytest.mark.parametrize(
    "path, cards",
    [
        ("data/vpenso-slurm-exporter/sinfo_gpus_typed_slurm19.txt", {"2080": 5, "8000": 4, "a4000": 4, "1080": 2}),
        ("data/vpenso-slurm-exporter/sinfo_gpus_total_slurm21.08.5.txt", {"": 8}),
    ],
)
def test_cards_as_sites_write_them(path: str, cards: dict[str, int]) -> None:
    found: Counter[str] = Counter()
    for line in lines(path):
        found.update(dict(nodes.gpus_in(line.split()[-1], "")))
    assert dict(found) == cards


def test_cards_in_use_as_a_site_with_a_null_type_writes_them() -> None:
    (line, *_) = lines("data/vpenso-slurm-exporter/sinfo_gpus_idle_slurm21.08.5.txt")
    _, configured, used = line.split()
    assert nodes.gpus_in(configured, "") == (("", 8),)
    assert nodes.gpus_used_in(used, "", "", (("", 8),)) == 0


def test_nodes_of_a_large_site_by_sinfo_columns() -> None:
    found = []
    for line in lines("data/meta-gcm-slurm/sinfo-output-for-structured.txt"):
        name, gres, used, cpus, _, state, *_ = (cell.strip() for cell in line.split("|"))
        gpus = nodes.gpus_in(gres, "")
        found.append((name, gpus, nodes.gpus_used_in(used, "", "", gpus), cpus, node_states.from_text(state)))
    assert len(found) == 10
    assert {one[1] for one in found} == {(("ampere", 8),)}
    assert sum(one[2] or 0 for one in found) == 56
    assert found[8] == ("node2654", (("ampere", 8),), 0, "256", ("IDLE", ("DRAIN", "MAINTENANCE")))


def test_the_labs_events_with_their_columns_in_order() -> None:
    # the capture has no StateRaw and its reason before its user: put in the order that is asked for
    rows = [line.split("|") for line in lines("slurmlab/captures/sacctmgr-events.txt")[1:]]
    asked = [
        "|".join((cluster, name, begin, end, state, "", by, reason))
        for cluster, name, begin, end, state, reason, by in rows
    ]
    assert list(accounting.events(asked)) == [
        NodeEvent("gpu011", "DOWN", (), 1_796_099_422, 1_796_099_422, "lab: node lost power", "root"),
        NodeEvent("gpu012", "IDLE", ("DRAIN",), 1_796_099_423, None, "lab: XID 79, GPU has fallen off the bus", "root"),
    ]


def test_the_labs_changes_are_all_read() -> None:
    captured = lines("slurmlab/captures/sacctmgr-transactions.txt")[1:]
    found = list(accounting.transactions(captured))
    assert len(found) == len(captured)
    assert not [one for one in found if isinstance(one, BadRecord)]
