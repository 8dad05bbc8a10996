"""JSON answers of all data parsers: shapes, numbers, states, and answers that hold no jobs."""

from __future__ import annotations

import io
import json
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.files import ReadOptions, read
from governance.schedulers.records import BadRecord, Flag, Outcome, RunRecord
from tests.schedulers.slurm_reading import (
    RECORDED,
    START,
    answer,
    bad_of,
    job,
    read_bytes,
    read_path,
    run,
    run_of,
    runs_of,
)


def test_json_and_text_of_one_run_are_the_same_record() -> None:
    assert run_of(answer(job()))._replace(raw="", exit_code="") == run()._replace(raw="", exit_code="")


def test_steps_are_left_out_of_the_raw_record_and_everything_else_is_kept() -> None:
    raw = json.loads(run_of(answer(job())).raw)
    assert "steps" not in raw and raw == {key: value for key, value in job().items() if key != "steps"}


def _shown(version: str) -> list[tuple[Any, ...]]:
    return [
        (
            one.label,
            one.state,
            one.outcome,
            one.exit_code,
            one.start_at and one.start_at - START,
            one.end_at and one.end_at - START,
            one.gpu_milli,
            one.gpu_type,
            one.asked_gpu_milli,
            one.limit_s,
            one.restarts,
            one.flags,
        )
        for one in runs_of(read_path(RECORDED / f"jobs-v0.0.{version}.json"))
    ]


def test_answers_of_data_parser_36() -> None:
    assert _shown("36") == [
        ("101", "COMPLETED", "completed", "0:0", 0, 7200, 8000, "", 8000, 86400, None, ""),
        ("102_1", "CANCELLED", "cancelled", "0:9", 0, 7200, 8000, "", 8000, 86400, None, ""),
        ("104", "PENDING", "pending", "0:0", None, None, 0, "", 8000, None, None, ""),
    ]


def test_answers_of_data_parser_39() -> None:
    mixed = "a100:4000+h100:2000+:1000"
    assert _shown("39") == [
        ("201", "FAILED", "failed", "3:0", 0, 7200, 7000, mixed, 7000, 86400, 1, ""),
        ("202+1", "RUNNING", "running", "0:0", 0, None, 3000, "1g.10gb", 3000, None, 1, ""),
    ]


def test_answers_of_data_parser_44() -> None:
    mixed = "a100:4000+h100:2000+:1000"
    assert _shown("44") == [
        ("301", "COMPLETED", "completed", "0:0", 0, 7200, 7000, mixed, 7000, 86400, 0, ""),
        ("302", "REQUEUED", "preempted", "0:0", 0, 7200, 7000, mixed, 7000, 86400, 2, ""),
        ("303", "RUNNING", "running", "0:0", 0, None, 7000, mixed, 7000, 86400, 0, ""),
        ("304", "COMPLETED", "completed", "0:0", 0, 7200, None, "", None, 86400, 0, ""),
        ("305_[4-7]", "PENDING", "pending", "0:0", None, None, 0, "", 1000, 3600, 0, ""),
        ("307", "OUT_OF_MEMORY", "out_of_memory", "0:125", 0, 7200, 7000, mixed, 7000, 86400, 0, ""),
    ]


@pytest.mark.parametrize("version", ["36", "39", "44"])
def test_identity_and_sizes_are_the_same_in_all_versions(version: str) -> None:
    first = runs_of(read_path(RECORDED / f"jobs-v0.0.{version}.json"))[0]
    assert (first.cluster_name, first.account, first.user, first.partition) == ("lab", "nlp", "ada", "train")
    assert (first.nodes, first.node_list, first.cpus, first.memory_mib) == (2, "gpu[001-002]", 16, 65536)


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (["COMPLETED"], Outcome.COMPLETED),
        (["CANCELLED", "COMPLETING"], Outcome.CANCELLED),
        (["COMPLETING", "CANCELLED"], Outcome.CANCELLED),
        (["RUNNING", "COMPLETING"], Outcome.RUNNING),
        (["RUNNING", "CONFIGURING"], Outcome.RUNNING),
        (["NODE_FAIL", "REQUEUED"], Outcome.NODE_FAILURE),
        (["REQUEUED"], Outcome.CANCELLED),
        (["PENDING", "REQUEUED"], Outcome.CANCELLED),
        (["PENDING", "RESIZING"], Outcome.COMPLETED),
        ("COMPLETED", Outcome.COMPLETED),
    ],
)
def test_state_lists_give_their_base_state(words: object, outcome: str) -> None:
    assert run_of(answer(job(state={"current": words}))).outcome == outcome


def test_a_requeued_job_that_waits_again_is_pending() -> None:
    waiting = job(state={"current": ["PENDING", "REQUEUED"]}, nodes="", time={"start": 0, "end": 0})
    assert run_of(answer(waiting)).outcome == Outcome.PENDING


@pytest.mark.parametrize("state", [{"current": ["LOST"]}, {"current": []}, {"current": None}])
def test_unknown_states_are_quarantined(state: dict[str, Any]) -> None:
    assert bad_of(answer(job(state=state))).code == "unknown_state"


def test_a_planned_end_is_no_end() -> None:
    record = run_of(answer(job(state={"current": ["RUNNING"]}, time={"end": START + 999_999})))
    assert (record.end_at, record.outcome) == (None, Outcome.RUNNING)


@pytest.mark.parametrize("end", [0, None, 4294967294, {"set": False, "infinite": False, "number": 0}, -1])
def test_an_over_state_without_an_end_is_not_ended_and_found(end: object) -> None:
    record = run_of(answer(job(state={"current": "NODE_FAIL"}, time={"end": end})))
    assert (record.end_at, record.outcome, record.flags) == (None, Outcome.NODE_FAILURE, Flag.END_MISSING)


@pytest.mark.parametrize("nodes", ["None assigned", "", None])
def test_a_job_without_nodes_never_started(nodes: str | None) -> None:
    record = run_of(answer(job(nodes=nodes, state={"current": ["CANCELLED"]})))
    assert (record.start_at, record.nodes, record.cpus, record.gpu_milli) == (None, 0, 0, 0)


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (60, 3600),
        ({"set": True, "infinite": False, "number": 60}, 3600),
        ({"set": False, "infinite": True, "number": 0}, None),
        ({"set": True, "infinite": True, "number": 4294967295}, None),
        (4294967295, None),
        (None, None),
        (0, None),
    ],
)
def test_limits_in_every_form(limit: object, seconds: int | None) -> None:
    assert run_of(answer(job(time={"limit": limit}))).limit_s == seconds


@pytest.mark.parametrize(
    ("parts", "unknown"),
    [
        ({"submit_line": "sbatch --gpus 4 x"}, True),
        ({"used_gres": "gpu:4"}, True),
        ({"tres_per_node": "gres/gpu:4"}, True),
        ({"gres_detail": ["gpu:a100:4(IDX:0-3)"]}, True),
        ({"submit_line": "sbatch x", "used_gres": ""}, False),
    ],
)
def test_cards_named_outside_the_allocation_are_unknown(parts: dict[str, Any], unknown: bool) -> None:
    plain = [{"type": "cpu", "name": "", "id": 1, "count": 8}]
    record = run_of(answer(job(tres={"allocated": plain, "requested": plain}, **parts)))
    assert record.gpu_milli == (None if unknown else 0)


def test_cards_without_a_count_are_unknown() -> None:
    for count in (None, -2, 18446744073709551614):
        allocated = [{"type": "gres", "name": "gpu", "id": 1001, "count": count}]
        assert run_of(answer(job(tres={"allocated": allocated}))).gpu_milli is None


def test_a_late_state_with_nodes_and_a_start_is_running_with_an_unknown_count() -> None:
    late = job(
        state={"current": ["PENDING"]}, time={"end": 0}, tres={"allocated": [], "requested": []}, allocation_nodes=0
    )
    record = run_of(answer(late))
    assert (record.state, record.outcome, record.nodes, record.gpu_milli) == ("PENDING", Outcome.RUNNING, 1, None)


def test_a_job_without_an_id_is_quarantined() -> None:
    assert bad_of(answer(job(job_id=None))).code == "no_job_id"
    assert bad_of(answer(job(time={"submission": 0, "start": 0}))).code == "no_submit_no_start"


def test_a_job_of_the_controller_is_quarantined_as_such() -> None:
    live = {"job_id": 1, "job_state": ["RUNNING"], "nodes": "a1", "start_time": {"set": True, "number": START}}
    assert bad_of(answer(live)).code == "controller_record"


def test_what_is_no_job_is_quarantined() -> None:
    assert [one.code for one in read_bytes(answer(7, "x", None, [1])) if isinstance(one, BadRecord)] == [
        "not_an_object"
    ] * 4


@pytest.mark.parametrize("size", [3, 1000, 100_000])
def test_a_number_of_thousands_of_digits_is_quarantined(size: int) -> None:
    data = answer(job(job_id=0, elapsed=0)).replace(b'"job_id": 0, "name"', b'"job_id": ' + b"9" * 9000 + b', "name"')
    assert len(data) > 9000
    pieces = iter([data[at : at + size] for at in range(0, len(data), size)])

    class Slow(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            return next(pieces, b"")

    (found,) = read(cast(BinaryIO, Slow()), name="slow", options=ReadOptions())
    assert isinstance(found, BadRecord) and found.code == "bad_job_id"


def test_fractions_and_enormous_exponents_are_numbers_or_none() -> None:
    data = answer(job(elapsed_x=0)).replace(
        b'"elapsed": 7200', b'"elapsed": 7200.5, "load": 1e999999999, "x": -1e-99999'
    )
    assert run_of(data).elapsed_s == 7200
    assert run_of(data.replace(b"7200.5", b"1e999999999")).elapsed_s is None


def test_a_job_nested_beyond_reading_is_quarantined() -> None:
    deep = b'{"job_id": 7, "x": ' + b"[" * 1_500 + b"]" * 1_500 + b"}"
    records = read_bytes(b'{"jobs": [' + deep + b"," + json.dumps(job()).encode() + b"]}")
    assert records[0] == BadRecord("7", "nested_too_deeply", "a job nested beyond reading")
    assert isinstance(records[1], RunRecord)


def test_a_quarantined_job_is_read_again_from_its_raw_text() -> None:
    found = bad_of(answer(job(state={"current": ["LOST"]})))
    assert run_of(f"[{found.raw.replace('LOST', 'FAILED')}]".encode()).outcome == Outcome.FAILED


def test_meta_may_come_before_or_after_and_answers_may_follow_each_other() -> None:
    behind = json.dumps({"meta": {"jobs": [1]}, "jobs": [job(job_id=1)]}).encode()
    ahead = json.dumps({"jobs": [job(job_id=2)], "meta": {}}).encode()
    assert [one.job_id for one in runs_of(read_bytes(behind + b"\n" + ahead))] == ["1", "2"]


def test_texts_that_cannot_be_stored_are_replaced() -> None:
    data = answer(job(name="a\0b \ud800 训练")).replace(b'"train"', b'"tra\xffin"')
    record = run_of(data)
    assert (record.job_name, record.partition) == ("a\ufffdb ? 训练", "tra\ufffdin")
    assert "\0" not in record.raw and record.raw.encode()


def test_no_jobs_at_all_are_no_records() -> None:
    nothing = {"description": "slurmdb_jobs_get found nothing", "source": "_dump_jobs"}
    assert read_bytes(answer()) == []
    assert read_bytes(answer(errors=[nothing], warnings=[nothing])) == []
    assert read_bytes(b'{"jobs": null, "errors": []}') == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"accounts": [], "meta": {}}', "no_jobs"),
        (b'{"jobs": {"1": {}}}', "no_jobs"),
        (
            b'{"jobs": [], "errors": [{"error_number": 1007, "error": "Protocol authentication error"}]}',
            "scheduler_errors",
        ),
        (b'{"errors": [{"error_number": 1007, "error": "Protocol authentication error"}]}', "scheduler_errors"),
        (b'{"jobs": [}', "not_json"),
        (b'{"jobs": [' + b"[" * 100_000, "not_json"),
        (b"{jobs: 1}", "not_json"),
    ],
)
def test_answers_without_jobs_are_refused_with_the_reason(data: bytes, code: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        read_bytes(data)
    assert caught.value.code == code


def test_text_read_as_json_is_refused() -> None:
    with pytest.raises(UnreadableSource) as caught:
        read_bytes(b"JobID|State\n1|COMPLETED\n", format="sacct-json")
    assert caught.value.code == "not_json"


@pytest.mark.parametrize("cut", [30, 400, 2000])
def test_a_cut_answer_says_how_many_records_it_gave(cut: int) -> None:
    data = answer(job(job_id=1), job(job_id=2))
    records: list[object] = []
    with pytest.raises(UnreadableSource) as caught:
        records.extend(iter(read(io.BytesIO(data[:-cut]), name="cut", options=ReadOptions())))
    assert (caught.value.code, caught.value.detail["name"]) == ("truncated_json", "cut")
    assert isinstance(caught.value.detail["records"], int)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_size_of_reads_never_matters(size: int) -> None:
    data = answer(job(job_id=1, name="训练"), job(job_id=2))
    pieces = iter([data[at : at + size] for at in range(0, len(data), size)])

    class Slow(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            return next(pieces, b"")

    assert list(read(cast(BinaryIO, Slow()), name="slow", options=ReadOptions())) == read_bytes(data)


def test_sentinels_of_64_bits_do_not_break_the_answer() -> None:
    assert run_of(answer(job(priority=18446744073709551614, load=0.5))).gpu_milli == 2000


_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["set", "number", "x"]), inner),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted(job())), _value, max_size=5))
def test_any_values_in_a_job_make_a_record(parts: dict[str, Any]) -> None:
    (record,) = read_bytes(answer({**job(), **parts}))
    assert isinstance(record, RunRecord | BadRecord)


@given(
    st.dictionaries(st.sampled_from(["elapsed", "eligible", "end", "limit", "start", "submission"]), _value),
    st.lists(st.fixed_dictionaries({"type": _value | st.just("gres"), "name": _value, "count": _value}), max_size=3),
)
def test_any_times_and_resources_make_a_record(times: dict[str, Any], entries: list[Any]) -> None:
    (record,) = read_bytes(answer(job(time=times, tres={"allocated": entries})))
    assert isinstance(record, RunRecord | BadRecord)
