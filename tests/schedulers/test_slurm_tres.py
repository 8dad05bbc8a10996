"""Cards, types, slices and shares, and when their count is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.errors import RecordFault
from governance.schedulers.records import Flag
from governance.schedulers.slurm.tres import memory, read_gres, read_tres
from tests.schedulers.slurm_reading import bad, run


@pytest.mark.parametrize(
    ("text", "milli", "signature"),
    [
        ("cpu=1,gres/gpu=2,node=1", 2000, ""),
        ("gres/gpu:h100=2,gres/gpu=2", 2000, "h100"),
        ("gres/gpu=2,gres/gpu:H100=2", 2000, "h100"),
        ("gres/gpu:h100=2", 2000, "h100"),
        ("gres/gpu:h100=2,gres/gpu:a100=4", 6000, "a100:4000+h100:2000"),
        ("gres/gpu=7,gres/gpu:h100=2,gres/gpu:a100=4", 7000, "a100:4000+h100:2000+:1000"),
        ("gres/gpu=3,gres/gpu:h100=2", 3000, "h100:2000+:1000"),
        ("gres/gpu:1g.10gb=3", 3000, "1g.10gb"),
        ("gres/gpu:a100_1g.5gb=1,gres/gpu:a100=1,gres/gpu=2", 2000, "a100:1000+a100_1g.5gb:1000"),
        ("gres/mps=50", 500, ""),
        ("gres/mps:a100=25", 250, "a100"),
        ("gres/mps=50,gres/gpu=1", 1500, ""),
        ("gres/gpu=0", 0, ""),
        ("gres/gpu=2K", 2048000, ""),
        ("gres/gpu:a100=0,gres/gpu:h100=1", 1000, "h100"),
        ("gres/npu:910b=8", 8000, "910b"),
    ],
)
def test_counted_cards_and_their_types(text: str, milli: int, signature: str) -> None:
    read = read_tres(text)
    assert (read.gpu_milli, read.gpu_type, read.types_contradict) == (milli, signature, False)


def test_types_that_add_to_more_than_the_total_are_not_believed() -> None:
    contradicting = run(AllocTRES="cpu=8,gres/gpu=2,gres/gpu:a100=2,gres/gpu:h100=1,node=1")
    assert (contradicting.gpu_milli, contradicting.gpu_type) == (2000, "")
    assert contradicting.flags == Flag.TYPES_CONTRADICT


@pytest.mark.parametrize("text", ["gres/shard=4", "gres/gpu", "gres/gpu=", "gres/gpu:a100", "gres/gpu=-2"])
def test_named_cards_without_a_count_are_unknown(text: str) -> None:
    unknown = run(AllocTRES=f"cpu=8,{text},node=1")
    assert (unknown.gpu_milli, unknown.gpu_type) == (None, "")


def test_no_shards_are_no_cards() -> None:
    assert run(AllocTRES="cpu=8,gres/shard=0,node=1", ReqTRES="cpu=8").gpu_milli == 0


@pytest.mark.parametrize("text", ["cpu=many", "gres/gpu=two", "mem=a lot", "node=1.2.3"])
def test_a_count_that_is_none_is_quarantined(text: str) -> None:
    assert bad(AllocTRES=text).code == "bad_tres"


def test_a_run_that_asked_for_none_and_got_none_is_known_to_have_none() -> None:
    plain = run(ReqTRES="cpu=8,mem=16G,node=1", AllocTRES="billing=8,cpu=8,mem=16G,node=1")
    assert (plain.gpu_milli, plain.gpu_type, plain.asked_gpu_milli) == (0, "", 0)


def test_cards_that_were_asked_for_but_not_counted_are_unknown() -> None:
    uncounted = run(ReqTRES="cpu=8,gres/gpu=4,node=1", AllocTRES="billing=8,cpu=8,mem=16G,node=1")
    assert (uncounted.gpu_milli, uncounted.asked_gpu_milli) == (None, 4000)


@pytest.mark.parametrize(
    "line", ["sbatch --gpus 4 x", "srun -G2 x", "sbatch --gres=gpu:2 x", "sbatch --gpus-per-node=h100:1", "salloc -G 8"]
)
def test_cards_asked_for_on_the_submit_line_alone_are_unknown(line: str) -> None:
    asked = run(SubmitLine=line, ReqTRES="cpu=8,node=1", AllocTRES="cpu=8,node=1")
    assert (asked.gpu_milli, asked.asked_gpu_milli) == (None, None)


@pytest.mark.parametrize("line", ["sbatch --gpus=0 x", "sbatch --gres=craynetwork:1 x", "sbatch train.sh", "a-Gb"])
def test_a_submit_line_without_cards_leaves_the_count_at_none(line: str) -> None:
    assert run(SubmitLine=line, ReqTRES="cpu=8,node=1", AllocTRES="cpu=8,node=1").gpu_milli == 0


def test_a_started_run_whose_record_states_no_resources_has_an_unknown_count() -> None:
    assert run(ReqTRES="", AllocTRES="").gpu_milli is None
    silent = run(without="AllocTRES ReqTRES")
    assert (silent.gpu_milli, silent.asked_gpu_milli, silent.cpus, silent.nodes) == (None, None, 8, 1)


def test_cpus_memory_and_nodes_come_from_the_allocation_where_no_column_has_them() -> None:
    allocated = run(without="NCPUS NNodes", AllocTRES="cpu=48,mem=62.50G,node=4,gres/gpu=1")
    assert (allocated.cpus, allocated.memory_mib, allocated.nodes) == (48, 64000, 4)


def test_nodes_are_counted_from_the_list_where_nothing_else_has_them() -> None:
    assert run(without="NNodes", AllocTRES="cpu=48", NodeList="gpu[001-003,007],b3").nodes == 5
    assert run(without="NNodes", AllocTRES="cpu=48", NodeList="gpu[001-").nodes == 0


@pytest.mark.parametrize(
    ("text", "mib"), [("31000M", 31000), ("62.50G", 64000), ("1T", 1048576), ("512K", 1), ("4000", 4000), ("", None)]
)
def test_memory_in_mib(text: str, mib: int | None) -> None:
    assert memory(text) == mib


@pytest.mark.parametrize(
    ("text", "milli", "signature"),
    [
        ("gpu:2", 6000, ""),
        ("gpu:v100:4", 12000, "v100"),
        ("gpu:v100:4(S:0-1),craynetwork:1", 12000, "v100"),
        ("PER_NODE:gpu:8", 24000, ""),
        ("PER_JOB:gpu:8", 8000, ""),
        ("gres:gpu:a100:1", 3000, "a100"),
        ("gpu", 3000, ""),
        ("PER_TASK:gpu:1", None, ""),
    ],
)
def test_older_gres_counts_per_node(text: str, milli: int | None, signature: str) -> None:
    read = read_gres(text, nodes=3)
    assert (read.names_gpus, read.gpu_milli, read.gpu_type) == (True, milli, signature)


def test_alloc_gres_counts_where_alloc_tres_has_no_cards() -> None:
    old = run(AllocGRES="gpu:v100:4", ReqGRES="gpu:4", AllocTRES="cpu=8,node=2", ReqTRES="cpu=8", NNodes="2")
    assert (old.gpu_milli, old.gpu_type, old.asked_gpu_milli) == (8000, "v100", 8000)


def test_req_gres_beside_an_allocation_without_cards_makes_the_count_unknown() -> None:
    old = run(AllocGRES="", ReqGRES="gpu:4", AllocTRES="cpu=8,node=2", ReqTRES="cpu=8", NNodes="2")
    assert (old.gpu_milli, old.asked_gpu_milli) == (None, 8000)


def test_req_gres_stands_for_the_allocation_in_records_without_tres() -> None:
    old = run(without="AllocTRES ReqTRES", ReqGRES="gpu:4", NNodes="2")
    assert (old.gpu_milli, old.asked_gpu_milli) == (8000, 8000)
    assert run(without="AllocTRES ReqTRES", ReqGRES="", NNodes="2").gpu_milli == 0


def test_alloc_tres_wins_over_alloc_gres() -> None:
    assert run(AllocGRES="gpu:8", AllocTRES="cpu=8,gres/gpu=2,node=2", NNodes="2").gpu_milli == 2000


@given(
    st.dictionaries(st.sampled_from(["a100", "h100", "l20", "1g.10gb"]), st.integers(0, 64), max_size=4),
    st.integers(0, 300) | st.none(),
    st.randoms(),
)
def test_the_signature_always_adds_up_to_the_count(typed: dict[str, int], total: int | None, random: object) -> None:
    entries = [f"gres/gpu:{name}={count}" for name, count in typed.items()]
    entries += [f"gres/gpu={total}"] if total is not None else []
    random.shuffle(entries)  # type: ignore[attr-defined]
    read = read_tres(",".join(entries))
    if not entries:
        assert not read.names_gpus
        return
    assert read.gpu_milli == 1000 * (sum(typed.values()) if total is None else total)
    assert read.types_contradict == (total is not None and sum(typed.values()) > total)
    if ":" in read.gpu_type:
        assert sum(int(part.rpartition(":")[2]) for part in read.gpu_type.split("+")) == read.gpu_milli


@given(st.text(max_size=40))
def test_any_text_is_resources_or_a_fault(text: str) -> None:
    try:
        read = read_tres(text)
    except RecordFault as fault:
        assert fault.code == "bad_tres"
    else:
        assert read.gpu_milli is None or read.gpu_milli >= 0
    assert read_gres("gpu:" + text, 2).stated
