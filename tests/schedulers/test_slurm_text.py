"""sacct text: every trap of its rows and columns, with the right value."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.records import MAX_RAW, BadRecord, Flag, Outcome, RunRecord, Skipped
from tests.schedulers.slurm_reading import (
    RECORDED,
    ROW,
    START,
    bad,
    bad_of,
    read_bytes,
    read_one,
    read_path,
    run,
    run_of,
    runs_of,
    table,
)


def test_a_plain_row_in_full() -> None:
    data = table({"DBIndex": "99", "SLUID": "s1", "Restarts": "2"})
    assert run_of(data) == RunRecord(
        cluster_name="lab",
        job_id="4711",
        label="4711",
        submit_at=START - 3600,
        eligible_at=START - 3600,
        start_at=START,
        end_at=START + 7200,
        state="COMPLETED",
        outcome=Outcome.COMPLETED,
        exit_code="0:0",
        reason="None",
        account="nlp",
        user="ada",
        partition="train",
        qos="normal",
        job_name="train",
        nodes=1,
        node_list="gpu001",
        cpus=8,
        memory_mib=16384,
        gpu_milli=2000,
        gpu_type="a100",
        asked_gpu_milli=2000,
        elapsed_s=7200,
        suspended_s=0,
        limit_s=86400,
        restarts=2,
        db_index=99,
        sluid="s1",
        flags="",
        raw=data.decode().split("\n")[1],
    )


def test_columns_that_are_not_there_are_empty_or_unknown() -> None:
    record = run(without="Cluster JobID Eligible ExitCode Elapsed Suspended Timelimit Reason QOS JobName")
    assert (record.cluster_name, record.label, record.eligible_at, record.exit_code) == ("", "4711", None, "")
    assert (record.elapsed_s, record.suspended_s, record.limit_s, record.reason) == (None, 0, None, "")
    assert (record.restarts, record.db_index, record.sluid) == (None, None, "")


# States and ends


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("COMPLETED", Outcome.COMPLETED),
        ("FAILED", Outcome.FAILED),
        ("SPECIAL_EXIT", Outcome.FAILED),
        ("CANCELLED", Outcome.CANCELLED),
        ("CANCELLED by 1002", Outcome.CANCELLED),
        ("CANCELLED+", Outcome.CANCELLED),
        ("REVOKED", Outcome.CANCELLED),
        ("REQUEUED", Outcome.CANCELLED),
        ("RESIZING", Outcome.COMPLETED),
        ("TIMEOUT", Outcome.TIMEOUT),
        ("DEADLINE", Outcome.TIMEOUT),
        ("OUT_OF_MEMORY", Outcome.OUT_OF_MEMORY),
        ("OUT_OF_ME+", Outcome.OUT_OF_MEMORY),
        ("NODE_FAIL", Outcome.NODE_FAILURE),
        ("BOOT_FAIL", Outcome.NODE_FAILURE),
        ("LAUNCH_FAILED", Outcome.NODE_FAILURE),
        ("RECONFIG_FAIL", Outcome.NODE_FAILURE),
        ("PREEMPTED", Outcome.PREEMPTED),
        ("completed", Outcome.COMPLETED),
    ],
)
def test_states_that_are_over_have_their_outcome_and_end(state: str, outcome: str) -> None:
    record = run(State=state)
    assert (record.outcome, record.end_at) == (outcome, START + 7200)
    assert record.state == record.state.upper() and " " not in record.state


@pytest.mark.parametrize(
    "state", ["RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "SIGNALING", "STAGE_OUT", "CONFIGURING"]
)
def test_states_that_are_not_over_have_no_end_whatever_is_printed(state: str) -> None:
    record = run(State=state, End="2026-03-02T11:00:00")
    assert (record.outcome, record.start_at, record.end_at, record.flags) == (Outcome.RUNNING, START, None, "")


@pytest.mark.parametrize("end", ["Unknown", "None", "0", "null", "", "N/A"])
def test_a_running_job_has_no_end_in_any_spelling(end: str) -> None:
    assert run(State="RUNNING", End=end).end_at is None


@pytest.mark.parametrize("end", ["Unknown", "None", "0", ""])
def test_a_state_that_is_over_without_an_end_is_not_ended_and_found(end: str) -> None:
    record = run(State="NODE_FAIL", End=end)
    assert (record.outcome, record.start_at, record.end_at) == (Outcome.NODE_FAILURE, START, None)
    assert (record.elapsed_s, record.flags) == (7200, Flag.END_MISSING)


def test_a_requeue_by_preemption_is_preempted() -> None:
    assert run(State="REQUEUED", Reason="Preempted").outcome == Outcome.PREEMPTED
    assert run(State="REQUEUED", Reason="BeginTime").outcome == Outcome.CANCELLED


def test_requeued_attempts_of_one_job_are_runs_of_their_own() -> None:
    first = {"State": "REQUEUED"}
    second = {"Submit": "2026-03-02T11:00:00", "Start": "2026-03-02T12:00:00", "End": "2026-03-02T14:00:00"}
    attempts = runs_of(read_bytes(table(first, second)))
    assert [(one.job_id, one.submit_at) for one in attempts] == [("4711", START - 3600), ("4711", START + 7200)]


def test_a_recycled_id_is_another_run() -> None:
    later = {"Submit": "2027-03-02T08:00:00", "Start": "2027-03-02T09:00:00", "End": "2027-03-02T11:00:00"}
    attempts = runs_of(read_bytes(table({}, later)))
    assert len({(one.job_id, one.submit_at) for one in attempts}) == 2


@pytest.mark.parametrize("state", ["FOO", "", "12", "CANCEL"])
def test_an_unknown_state_is_quarantined(state: str) -> None:
    found = bad(State=state)
    assert (found.code, found.raw.split("|")[7]) == ("unknown_state", state)


def test_the_cancelling_user_stays_in_the_raw_record() -> None:
    record = run(State="CANCELLED by 1002")
    assert record.state == "CANCELLED" and "CANCELLED by 1002" in record.raw


# Never started


@pytest.mark.parametrize("nodes", ["None assigned", "", "(null)", "none assigned"])
def test_a_run_without_nodes_never_started_whatever_it_carries(nodes: str) -> None:
    record = run(NodeList=nodes, State="CANCELLED by 0", Start="2026-03-02T11:00:00", Elapsed="00:00:00")
    assert (record.start_at, record.end_at, record.outcome) == (None, START + 7200, Outcome.CANCELLED)
    assert (record.nodes, record.cpus, record.memory_mib, record.gpu_milli) == (0, 0, 0, 0)
    assert (record.gpu_type, record.node_list, record.elapsed_s, record.flags) == ("", "", 0, "")
    assert record.asked_gpu_milli == 2000


def test_a_rejected_submission_never_started() -> None:
    rejected = run(State="FAILED", NodeList="None assigned", AllocTRES="", Start="None", End="2026-03-02T08:00:00")
    assert (rejected.start_at, rejected.outcome, rejected.gpu_milli) == (None, Outcome.FAILED, 0)


def test_a_pending_array_is_one_waiting_run_with_its_expression_as_label() -> None:
    waiting = run(
        JobIDRaw="50",
        JobID="50_[1-3%1]",
        State="PENDING",
        Start="Unknown",
        End="Unknown",
        Eligible="Unknown",
        AllocTRES="",
        NodeList="None assigned",
    )
    assert (waiting.job_id, waiting.label, waiting.outcome) == ("50", "50_[1-3%1]", Outcome.PENDING)
    assert (waiting.start_at, waiting.end_at, waiting.eligible_at, waiting.gpu_milli) == (None, None, None, 0)


def test_a_pending_row_with_nodes_but_no_start_has_not_started() -> None:
    assert run(State="PENDING", Start="Unknown").outcome == Outcome.PENDING


def test_a_pending_row_with_nodes_and_a_start_is_running() -> None:
    late = run(State="PENDING", End="Unknown")
    assert (late.state, late.outcome, late.start_at) == ("PENDING", Outcome.RUNNING, START)


def test_a_running_row_without_nodes_has_not_started() -> None:
    assert run(State="RUNNING", NodeList="").outcome == Outcome.PENDING


def test_without_a_node_list_start_and_state_decide() -> None:
    lacks = "NodeList"
    assert run(without=lacks).start_at == START
    assert run(without=lacks, State="PENDING", Start="Unknown", End="Unknown").start_at is None
    at_once = {"Start": "2026-03-02T11:00:00", "End": "2026-03-02T11:00:00", "Elapsed": "00:00:00"}
    assert run(without=lacks, State="CANCELLED by 0", **at_once).start_at is None
    assert run(without=lacks, State="FAILED", **at_once).start_at == START + 7200
    assert run(without=lacks, State="FAILED", AllocTRES="", **at_once).start_at is None


def test_neither_submit_nor_start_is_quarantined() -> None:
    assert bad(Submit="Unknown", Start="Unknown").code == "no_submit_no_start"
    assert bad(Submit="Unknown", NodeList="None assigned").code == "no_submit_no_start"
    assert run(Submit="Unknown").submit_at is None


# Ids


def test_an_array_task_has_its_raw_id_and_its_label() -> None:
    task = run(JobIDRaw="127", JobID="123_4")
    assert (task.job_id, task.label) == ("127", "123_4")


@pytest.mark.parametrize(
    ("label", "job_id"), [("4711", "4711"), ("12+1", "13"), ("12+0", "12"), ("50_3", "50_3"), ("50_[1-3,7%2]", "50")]
)
def test_without_a_raw_id_it_is_found_from_the_label_where_it_can_be(label: str, job_id: str) -> None:
    record = run(without="JobIDRaw", JobID=label)
    assert (record.job_id, record.label) == (job_id, label)


def test_without_any_id_the_record_is_quarantined() -> None:
    assert bad(JobID="", JobIDRaw="").code == "no_job_id"
    assert bad(JobID="abc", JobIDRaw="abc").code == "bad_job_id"


def test_parts_of_a_heterogeneous_job_are_runs_of_their_own() -> None:
    parts = runs_of(
        read_bytes(table({"JobID": "12+0", "JobIDRaw": "12"}, {"JobID": "12+1", "JobIDRaw": "13", "NodeList": "b1"}))
    )
    assert [(part.job_id, part.label) for part in parts] == [("12", "12+0"), ("13", "12+1")]


@pytest.mark.parametrize("step", ["9.batch", "9.extern", "9.0", "123_4.0", "12+1.batch"])
def test_steps_are_skipped_and_counted(step: str) -> None:
    assert read_bytes(table({}, {"JobID": step, "JobIDRaw": step}))[1:] == [Skipped("step")]
    assert read_one(table({"JobIDRaw": step}, without="JobID")) == Skipped("step")


# Time that does not add up


def test_elapsed_that_does_not_add_up_is_a_finding_and_the_interval_counts() -> None:
    requeued = run(State="REQUEUED", Elapsed="01:59:00")
    assert ((requeued.end_at or 0) - (requeued.start_at or 0), requeued.elapsed_s) == (7200, 7140)
    assert requeued.flags == Flag.ELAPSED_MISMATCH
    assert run(Elapsed="01:59:59").flags == "" and run(Elapsed="01:59:58").flags == Flag.ELAPSED_MISMATCH


def test_suspended_time_explains_a_shorter_elapsed() -> None:
    suspended = run(Elapsed="01:30:00", Suspended="00:30:00")
    assert (suspended.elapsed_s, suspended.suspended_s, suspended.flags) == (5400, 1800, "")


def test_a_running_job_has_no_mismatch() -> None:
    assert run(State="RUNNING", End="Unknown", Elapsed="00:00:01").flags == ""


def test_an_end_before_the_start_moves_to_the_start() -> None:
    record = run(End="2026-03-02T08:59:00", Elapsed="00:00:00")
    assert (record.end_at, record.flags) == (START, Flag.END_BEFORE_START)


def test_a_start_before_the_submit_is_a_finding() -> None:
    assert run(Submit="2026-03-02T09:00:05").flags == Flag.START_BEFORE_SUBMIT


def test_raw_elapsed_wins_over_printed_elapsed() -> None:
    assert run(ElapsedRaw="7199", Elapsed="02:00:00").elapsed_s == 7199


@pytest.mark.parametrize(
    ("field", "text", "code"),
    [("Start", "soon", "bad_time"), ("Elapsed", "long", "bad_duration"), ("NNodes", "some", "bad_tres")],
)
def test_values_that_cannot_be_read_are_quarantined(field: str, text: str, code: str) -> None:
    assert bad(**{field: text}).code == code


# Columns, delimiters, newlines


def test_any_field_order_gives_the_same_records() -> None:
    shuffled = list(ROW)
    random.Random(7).shuffle(shuffled)
    assert run_of(table({}, order=shuffled))._replace(raw="") == run()._replace(raw="")


@given(st.permutations(list(ROW)))
def test_field_order_never_matters(order: list[str]) -> None:
    rows = ({"JobID": "12+1", "JobIDRaw": "13"}, {"State": "PENDING", "NodeList": "None assigned"}, {"State": "X"})
    plain = read_bytes(table(*rows))
    for one, other in zip(plain, read_bytes(table(*rows, order=order)), strict=True):
        assert one._replace(raw="") == other._replace(raw="")  # type: ignore[call-arg]


@pytest.mark.parametrize("delimiter", ["|", "|#", "\x1f", ";", "\t", "~~"])
def test_delimiters_are_found_from_the_header(delimiter: str) -> None:
    data = table({}, delimiter=delimiter)
    assert run_of(data)._replace(raw="") == run()._replace(raw="")
    assert run_of(data, delimiter=delimiter)._replace(raw="") == run()._replace(raw="")


def test_header_names_may_have_any_case_and_a_width() -> None:
    data = table({"JobName": "train   "}).replace(b"JobName", b"JOBNAME%-20").replace(b"Account", b"account%30")
    assert run_of(data)._replace(raw="") == run()._replace(raw="")


def test_a_trailing_delimiter_on_every_line_is_no_column() -> None:
    lines = table({}, {}).decode().splitlines()
    data = "".join(f"{line}|\n" for line in lines).encode()
    assert len(runs_of(read_bytes(data))) == 2
    headless = "".join(f"{line}|\n" for line in lines[1:]).encode()
    assert runs_of(read_bytes(headless, fields=tuple(ROW)))[0].job_name == "train"


def test_fields_given_by_name_need_no_header() -> None:
    headless = b"".join(table({}).splitlines(keepends=True)[1:])
    assert run_of(headless, fields=tuple(ROW)) == run()
    hashed = b"".join(table({}, delimiter="|#").splitlines(keepends=True)[1:])
    assert run_of(hashed, fields=tuple(ROW))._replace(raw="") == run()._replace(raw="")


def test_xdmod_names_the_order_of_its_log() -> None:
    line = (
        b"7|7|phil|gpu|norm|acc|grp|1|usr|2|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T09:00:00|"
        b"2026-03-02T11:00:00|02:00:00|0:0|CANCELLED by 2|1|12|12|31000Mn|cpu=12,node=1|"
        b"billing=12,cpu=12,gres/gpu=2,mem=31000M,node=1|37-14:00:00|cpn-f11-31|name | with a bar\n"
    )
    record = run_of(line, fields=("xdmod",))
    assert (record.cluster_name, record.account, record.user, record.gpu_milli) == ("phil", "acc", "usr", 2000)
    assert (record.job_name, record.memory_mib, record.limit_s) == ("name | with a bar", 31000, 3247200)


def test_headers_of_files_put_together_are_passed_over() -> None:
    assert len(read_bytes(table({}) + table({"JobIDRaw": "4712"}))) == 2


def test_a_file_put_behind_one_with_other_columns_is_read_by_its_own_header() -> None:
    order = sorted(ROW)
    both = runs_of(read_bytes(table({}) + table({"JobIDRaw": "4712", "User": "ben"}, order=order)))
    assert [(one.job_id, one.user, one.account) for one in both] == [("4711", "ada", "nlp"), ("4712", "ben", "nlp")]


def test_delimiters_in_the_last_free_text_belong_to_it() -> None:
    assert run(JobName="a|b||c").job_name == "a|b||c"


def test_delimiters_in_one_free_text_in_the_middle_are_found() -> None:
    order = ["JobName", *(name for name in ROW if name != "JobName")]
    record = run_of(table({"JobName": "a|b|c"}, order=order))
    assert (record.job_name, record.cluster_name, record.gpu_milli) == ("a|b|c", "lab", 2000)


def test_delimiters_in_several_free_texts_are_found_where_only_one_reading_makes_sense() -> None:
    order = ["JobName", *(name for name in ROW if name != "JobName"), "Comment", "SubmitLine", "WorkDir"]
    row = {"JobName": "a|b", "Comment": "pipe | in it", "SubmitLine": 'sbatch -J "a|b"', "WorkDir": "/tmp"}
    record = run_of(table(row, order=order))
    assert (record.job_name, record.state, record.node_list) == ("a|b", "COMPLETED", "gpu001")


def test_a_delimiter_nobody_can_place_is_quarantined() -> None:
    order = [name for name in ROW if name not in ("JobName", "Account")]
    order = ["JobName", "Account", *order]
    found = bad_of(table({"JobName": "a|b"}, order=[*order[:2], "Comment", *order[2:]], without="Cluster"))
    assert (found.code, found.reason) == ("wrong_column_count", "23 columns expected, 24 found")


def test_a_line_of_nothing_but_delimiters_is_quarantined_at_once() -> None:
    order = [*(name for name in ROW if name != "JobName"), "JobName", "Comment", "SubmitLine", "Extra", "WorkDir"]
    assert bad_of(table(order=order) + b"|" * 900_000 + b"\n").code == "wrong_column_count"


def test_too_few_columns_are_quarantined_with_their_text() -> None:
    good = table({}).decode()
    half = "4712|lab|nlp"
    records = read_bytes((good + half + "\n" + good.splitlines()[1] + "\n").encode())
    assert [type(record) for record in records] == [RunRecord, BadRecord, RunRecord]
    assert records[1] == BadRecord(half, "wrong_column_count", "23 columns expected, 3 found")


def test_a_half_line_at_the_end_is_quarantined() -> None:
    data = table({}, {"JobIDRaw": "4712"})
    records = read_bytes(data[:-100])
    assert [type(record) for record in records] == [RunRecord, BadRecord]
    assert records[1].code == "wrong_column_count"  # type: ignore[union-attr]


def test_a_half_id_at_the_end_is_not_taken_for_the_end_of_a_name() -> None:
    records = read_bytes(table({}) + b"47")
    assert [type(record) for record in records] == [RunRecord, BadRecord]


def test_an_end_cut_off_with_its_line_is_not_read_as_another_time() -> None:
    order = [*(name for name in ROW if name != "End"), "End"]
    records = read_bytes(table({}, {}, order=order)[:-5])
    assert [getattr(record, "code", "") for record in records] == ["", "bad_time"]


def test_a_last_line_without_its_newline_is_a_record() -> None:
    assert run_of(table({})[:-1]) == run()


def test_newlines_in_free_text_are_glued() -> None:
    order = ["Cluster", "SubmitLine", *ROW]
    row = {"SubmitLine": "sbatch -J x && \n \n --wrap y", "JobName": "two\nlines"}
    records = read_bytes(table({}, row, {}, order=order))
    assert [type(record) for record in records] == [RunRecord] * 3
    assert [record.job_name for record in runs_of(records)] == ["train", "two\nlines", "train"]


def test_delimiters_and_newlines_in_one_text_are_beyond_repair_but_not_lost() -> None:
    order = ["Cluster", "SubmitLine", *ROW]
    records = read_bytes(table({}, {"SubmitLine": "a || \n b"}, {}, order=order))
    assert [getattr(record, "code", "run") for record in records] == [
        "run",
        "wrong_column_count",
        "wrong_column_count",
        "run",
    ]


def test_two_half_lines_never_make_one_record() -> None:
    line = table({}).decode().splitlines()[1].split("|")
    head, tail = "|".join(line[:10]), "|".join(line[9:])
    records = read_bytes((table({}).decode() + head + "\n" + tail + "\n").encode())
    assert [type(record) for record in records] == [RunRecord, BadRecord, BadRecord]


def test_a_tools_complaint_between_rows_is_quarantined() -> None:
    data = table({}).decode() + "sacct: error: slurmdbd is down\n" + table({}).decode().splitlines()[1] + "\n"
    assert [type(record) for record in read_bytes(data.encode())] == [RunRecord, BadRecord, RunRecord]


def test_blank_lines_and_carriage_returns_are_nothing() -> None:
    data = table({}, {}).replace(b"\n", b"\r\n") + b"\r\n\n"
    assert [one.job_name for one in runs_of(read_bytes(data))] == ["train", "train"]


def test_invalid_bytes_are_replaced_and_the_record_is_kept() -> None:
    data = table({"JobName": "caf\udce9\0x"})
    assert run_of(data).job_name == "caf\ufffd\ufffdx"
    assert "\0" not in run_of(data).raw


def test_names_in_any_script_survive() -> None:
    assert run(JobName="训练 🚀 aàb").job_name == "训练 🚀 aàb"


def test_a_byte_order_mark_is_nothing() -> None:
    assert run_of(b"\xef\xbb\xbf" + table({})) == run()


def test_the_recorded_broken_lines_give_what_their_glued_form_gives() -> None:
    broken, glued = (read_path(RECORDED / f"sacct-{form}.txt") for form in ("broken-lines", "glued-lines"))
    assert [type(record) for record in broken] == [RunRecord, Skipped, RunRecord, RunRecord]
    for one, other in zip(broken, glued, strict=True):
        assert one == other or one._replace(raw="") == other._replace(raw="")  # type: ignore[call-arg]


def test_the_recorded_change_of_clocks() -> None:
    records = read_path(RECORDED / "sacct-new-york-clocks.txt", time_zone="America/New_York")
    shown = [(getattr(one, "label", ""), getattr(one, "flags", ""), getattr(one, "code", "")) for one in records]
    assert shown == [
        ("1", "", ""),
        ("2", Flag.FOLDED_HOUR, ""),
        ("3", f"{Flag.ELAPSED_MISMATCH},{Flag.FOLDED_HOUR}", ""),
        ("", "", "no_such_hour"),
        ("5", "", ""),
    ]
    lengths = [(one.end_at or 0) - (one.start_at or 0) for one in runs_of(records)]
    assert lengths == [90000, 1800, 3600, 82800]  # a day of 25 hours, ..., a day of 23


# Limits


def test_a_line_of_a_megabyte_is_cut_into_quarantine() -> None:
    records = read_bytes(table({}) + b"x" * 3_000_000 + b"|y\n" + table({}).splitlines(keepends=True)[1])
    assert [getattr(record, "code", "run") for record in records] == ["run", "line_too_long", "run"]
    assert records[1].raw == "x" * MAX_RAW  # type: ignore[union-attr]


def test_a_longest_last_line_is_cut_into_quarantine() -> None:
    records = read_bytes(table({}) + b"x" * 3_000_000)
    assert [getattr(record, "code", "run") for record in records] == ["run", "line_too_long"]


def test_rows_over_block_borders_are_whole() -> None:
    rows = [{"JobIDRaw": str(number), "JobName": "n" * (number % 700)} for number in range(3000)]
    records = runs_of(read_bytes(table(*rows)))
    assert [(one.job_id, len(one.job_name)) for one in records] == [(str(n), n % 700) for n in range(3000)]


# Refusals


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("JobID           JobName  Partition    Account\n------------ ---------- ---------\n", "no_known_columns"),
        ("4711|4711|lab|train\n", "no_known_columns"),
        ("Type|Name|ID\ncpu||1\n", "no_known_columns"),
        ("JobID\n4711\n", "no_known_columns"),
        ("JobID|State|Elapsed\n9|COMPLETED|00:00:03\n", "missing_columns"),
        ("JobID|Submit|Start|End\n9|a|b|c\n", "missing_columns"),
    ],
)
def test_tables_that_are_no_accounting_are_refused(text: str, code: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        read_bytes(text.encode())
    assert caught.value.code == code


def test_a_refusal_names_the_missing_columns() -> None:
    with pytest.raises(UnreadableSource) as caught:
        read_bytes(b"Account|User\n", fields=("Account", "User"))
    assert caught.value.detail["columns"] == ("JobID", "State", "Submit")


# Anything


@given(st.binary(max_size=600))
def test_any_bytes_behind_a_header_become_records(data: bytes) -> None:
    for record in read_bytes(table() + data):
        assert isinstance(record, RunRecord | BadRecord | Skipped)


@given(st.lists(st.text(alphabet="ab|1.\n:T-", max_size=200), max_size=6))
def test_no_line_is_lost(lines: list[str]) -> None:
    marked = "".join(f"mark{at}|{line}\n" for at, line in enumerate(lines))
    kept = "".join(getattr(record, "raw", "") for record in read_bytes(table() + marked.encode()))
    assert [at for at in range(len(lines)) if f"mark{at}|" not in kept] == []


@given(st.lists(st.sampled_from(["4711", "4712", "4711.batch", "50_3", "x"]), max_size=30), st.integers(1, 400))
def test_the_size_of_reads_never_matters(ids: list[str], size: int) -> None:
    data = table(*({"JobIDRaw": one, "JobID": one, "JobName": "a\nb" if one == "4712" else "c"} for one in ids))

    class Slow:
        def __init__(self) -> None:
            self.at = 0

        def read(self, _: int = -1) -> bytes:
            self.at += size
            return data[self.at - size : self.at]

    from governance.schedulers.files import ReadOptions, read

    assert list(read(Slow(), name="slow", options=ReadOptions())) == read_bytes(data)  # type: ignore[arg-type]
