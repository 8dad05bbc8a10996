"""How a scheduler's commands fail, by commands that really run and fail so: each fault has its code, and half an answer is none."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from governance.schedulers.findings import FINDINGS
from governance.schedulers.live import SourceFault, Window
from governance.schedulers.records import RunRecord
from governance.schedulers.registry import connect
from governance.schedulers.slurm.commands import SlurmCommands
from governance.schedulers.slurm.runner import LocalRunner, Patience
from tests.schedulers.conftest import write_command

DAY = Window(1_796_083_200, 1_796_169_600)  # 2026-12-01 in UTC
HELP = "Cluster JobID JobIDRaw State Submit Start End NodeList JobName"
HEADER = r"Cluster\037JobIDRaw\037JobID\037State\037Submit\037Start\037End\037NodeList\037JobName\n"
ROW = r"lab\03741\03741\037COMPLETED\0371796100000\0371796100010\0371796100020\037gpu001\037train\n"


def sacct(answer: str) -> str:
    """A sacct that knows its fields and answers every question for jobs so."""
    return f'case "$*" in *helpformat*) echo {HELP};; *) {answer};; esac\n'


def slurm(patience: Patience = Patience(5, 10)) -> SlurmCommands:
    """A client of the commands on the path."""
    return SlurmCommands(LocalRunner(), patience=patience, short=patience)


def fault_of(client: SlurmCommands) -> tuple[SourceFault, list[object]]:
    """The fault a pull ends with, and the records that came before it."""
    came: list[object] = []
    with pytest.raises(SourceFault) as caught:
        for record in client.runs(DAY):
            came.append(record)
    return caught.value, came


def test_a_whole_answer_is_read(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct(f"printf '{HEADER}'; case \"$*\" in *CA*) ;; *) printf '{ROW}';; esac"))
    (run,) = slurm().runs(DAY)
    assert isinstance(run, RunRecord)
    assert (run.cluster_name, run.job_id, run.submit_at, run.start_at, run.end_at) == (
        "lab",
        "41",
        1_796_100_000,
        1_796_100_010,
        1_796_100_020,
    )


def test_sacct_is_asked_in_utc_for_epochs_and_with_a_separator_that_cannot_occur(
    fake_bin: Path, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    write_command(fake_bin, "sacct", sacct(f"echo \"$TZ $SLURM_TIME_FORMAT $*\" >> {heard}; printf '{HEADER}'"))
    assert list(SlurmCommands(LocalRunner(), cluster="lab").runs(DAY)) == []
    asked = heard.read_text().splitlines()  # two questions at the same time, each once more since nothing came
    first, again = [line for line in asked if " -s CA -o " not in line]
    assert len(asked) == 4
    assert again == first
    assert first == (
        "UTC %s -M lab -a -X -D -P --noconvert --delimiter=\x1f -S 2026-12-01T00:00:00 -E 2026-12-02T00:00:00"
        " -o Cluster,JobIDRaw,JobID,State,Submit,Start,End,NodeList,JobName"
    )


def test_an_empty_answer_is_believed_only_when_it_is_given_twice(fake_bin: Path, tmp_path: Path) -> None:
    # slurmdbd answers so, with status 0, when its database is killed under a question
    once = f"printf '{HEADER}'; case \"$*\" in *CA*) exit;; esac; test -e {tmp_path}/asked && printf '{ROW}'; touch {tmp_path}/asked; true"
    write_command(fake_bin, "sacct", sacct(once))
    assert [run.job_id for run in slurm().runs(DAY) if isinstance(run, RunRecord)] == ["41"]


def test_a_database_that_dies_under_a_question_is_told_by_the_next_one(fake_bin: Path, tmp_path: Path) -> None:
    dead = "echo 'error: Problem talking to the database' >&2; exit 1"
    dying = f"test -e {tmp_path}/asked && {{ {dead}; }}; touch {tmp_path}/asked; printf '{HEADER}'"
    write_command(fake_bin, "sacct", sacct(dying))
    fault, came = fault_of(slurm())
    assert (fault.code, fault.detail["daemon"], came) == ("daemon_down", "slurmdbd", [])


def test_an_accounting_without_any_account_is_no_answer(fake_bin: Path) -> None:
    write_command(fake_bin, "sacctmgr", "true\n")
    for ask in (slurm().associations, slurm().qos):
        with pytest.raises(SourceFault, match="bad_answer"):
            list(ask())
    assert list(slurm().events(DAY)) == []


def test_the_portals_own_environment_stays_at_home(
    fake_bin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "not-for-others")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    write_command(fake_bin, "date", f"env > {tmp_path}/env; echo 1796100000\n")
    assert slurm().clock() == 1_796_100_000
    env = (tmp_path / "env").read_text()
    assert "not-for-others" not in env
    assert "TZ=UTC\n" in env


def test_half_an_answer_gives_its_rows_and_then_the_fault(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct(f"printf '{HEADER}{ROW}{ROW}lab'; exit 1"))
    fault, came = fault_of(slurm())
    assert fault.code == "output_cut"
    assert fault.detail["command"] == "sacct"
    assert fault.detail["status"] == 1
    assert len(came) <= 2  # the half line is no record


def test_a_command_killed_in_the_middle_is_a_cut_answer(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct(f"printf '{HEADER}{ROW}'; kill -9 $$"))
    assert fault_of(slurm())[0].code == "output_cut"


def test_an_answer_without_its_header_is_none(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct("echo Welcome to the cluster"))
    assert fault_of(slurm())[0].code == "bad_answer"


def test_no_answer_at_all_is_not_taken_for_an_empty_one(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct("true"))
    assert fault_of(slurm())[0].code == "bad_answer"


def test_other_columns_than_asked_for_are_no_answer(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct(r"printf 'JobID\037State\037Submit\n'"))
    fault, _ = fault_of(slurm())
    assert (fault.code, fault.detail["columns"]) == ("bad_answer", ("jobid", "state", "submit"))


@pytest.mark.parametrize(
    "complaint, status, code, detail",
    [
        ("sacct: error: Problem talking to the database: Connection refused", 1, "daemon_down", {"daemon": "slurmdbd"}),
        ("sacct: error: Sending PersistInit msg: Connection refused", 1, "daemon_down", {"daemon": "slurmdbd"}),
        (
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
            1,
            "daemon_down",
            {"daemon": "slurmctld"},
        ),
        ('sacct: error: Invalid field requested: "Planned"', 1, "unknown_field", {"field": "Planned"}),
        ("squeue: error: Invalid job format specification: foo", 0, "unknown_field", {"field": "foo"}),
        ("Unknown field 'foo'", 1, "unknown_field", {"field": "foo"}),
        ("sacct: unrecognized option '--array'", 1, "unknown_field", {"field": "--array"}),
        ("squeue: error: No cluster 'nope' known by database.", 1, "unknown_cluster", {}),
        ("sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs", 1, "not_permitted", {}),
        (
            "sacctmgr: error: Slurmctld running on cluster lab is not up, can't check running jobs",
            1,
            "daemon_down",
            {"daemon": "slurmctld"},
        ),
        ("sacct: error: DBD_GET_JOBS_COND failure: Unspecified error", 111, "daemon_down", {"daemon": "slurmdbd"}),
        ("slurm_load_jobs error: Access/permission denied", 1, "not_permitted", {}),
        ("sacct: error: If munged is up, restart with --num-threads=10", 1, "refused", {}),
        ("sacct: error: Munge encode failed: Failed to access socket", 1, "refused", {}),
        ("slurm_load_jobs error: Incompatible versions of client and server code", 1, "version", {}),
        ("something nobody has seen", 3, "failed", {"status": 3}),
    ],
)
def test_what_slurm_complains_of_has_a_code(
    fake_bin: Path, complaint: str, status: int, code: str, detail: dict[str, object]
) -> None:
    (fake_bin / "complaint").write_text(complaint)
    write_command(fake_bin, "sacct", sacct(f"cat {fake_bin}/complaint >&2; exit {status}"))
    fault, came = fault_of(slurm())
    assert fault.code == code
    assert detail.items() <= fault.detail.items()
    assert fault.detail["words"] == complaint
    assert came == []


def test_a_warning_beside_a_whole_answer_is_no_fault(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct(f"echo 'sacct: warning: clock is slow' >&2; printf '{HEADER}'"))
    assert list(slurm().runs(DAY)) == []


def test_a_flood_of_complaints_is_kept_within_bounds(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1"))
    fault, _ = fault_of(slurm())
    assert fault.code == "failed"
    assert len(str(fault.detail["words"])) == 2_000


def test_a_missing_command_is_told(fake_bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_bin))
    fault, _ = fault_of(slurm())
    assert (fault.code, fault.detail["command"]) == ("command_missing", "sacct")


def test_a_command_that_may_not_be_run_is_missing(fake_bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_bin))
    (fake_bin / "sacct").write_text("#!/bin/sh\n")
    assert fault_of(slurm())[0].code == "command_missing"


def test_a_slurm_too_old_for_what_is_needed_is_a_matter_of_version(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", "echo JobID JobIDRaw State Submit Start End\n")
    fault, _ = fault_of(slurm())
    assert (fault.code, fault.detail["missing"]) == ("version", ["NodeList"])


def gone(pid_file: Path) -> bool:
    """Whether the process is gone, within a few seconds."""
    pid = int(pid_file.read_text())
    for _ in range(50):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    "answer, patience, kind",
    [
        ("sleep 60", Patience(0.5, 30), "silent"),
        (f"printf '{HEADER}'; sleep 60", Patience(0.5, 30), "silent"),
        ("while :; do echo still trying >&2; sleep 0.05; done", Patience(0.5, 30), "silent"),
        (f"printf '{HEADER}'; while :; do printf '{ROW}'; sleep 0.05; done", Patience(5, 1), "total"),
        (f"printf '{HEADER}'; exec >&-; sleep 60", Patience(0.5, 30), "end"),
    ],
    ids=[
        "silent from the start",
        "silent in the middle",
        "only complaints",
        "without end",
        "output closed, still running",
    ],
)
def test_a_slow_or_endless_answer_is_given_up_and_its_command_ended(
    fake_bin: Path, tmp_path: Path, answer: str, patience: Patience, kind: str
) -> None:
    write_command(fake_bin, "sacct", sacct(f"echo $$ > {tmp_path}/pid; {answer}"))
    client = slurm(patience)
    client.fields  # noqa: B018  asked for beforehand, with its own patience
    begin = time.monotonic()
    fault, _ = fault_of(client)
    assert (fault.code, fault.detail["kind"]) == ("timed_out", kind)
    assert time.monotonic() - begin < 8
    assert gone(tmp_path / "pid")


def test_a_command_that_asks_a_dead_database_for_ever_says_so_when_given_up(fake_bin: Path) -> None:
    endless = f"printf '{HEADER}'; while :; do echo 'sacct: error: Unable to connect to database' >&2; sleep 0.05; done"
    write_command(fake_bin, "sacct", sacct(endless))
    fault, _ = fault_of(slurm(Patience(0.5, 30)))
    assert (fault.code, fault.detail["daemon"], fault.detail["kind"]) == ("daemon_down", "slurmdbd", "silent")


def test_a_reader_who_leaves_leaves_no_process_behind(fake_bin: Path, tmp_path: Path) -> None:
    endless = f"echo $$ > {tmp_path}/pid; printf '{HEADER}'; while :; do printf '{ROW}'; done"
    write_command(fake_bin, "sacct", sacct(endless))
    records = slurm().runs(DAY)
    next(iter(records))
    records.close()  # type: ignore[attr-defined]
    assert gone(tmp_path / "pid")


def test_a_reader_who_takes_long_does_not_use_up_the_patience(fake_bin: Path) -> None:
    write_command(fake_bin, "sacct", sacct(f"printf '{HEADER}{ROW}'; sleep 0.2"))
    records = SlurmCommands(LocalRunner(), patience=Patience(1, 1), short=Patience(5, 5)).runs(DAY)
    came = []
    for record in records:
        time.sleep(1.5)
        came.append(record)
    assert len(came) == 1


def test_open_files_do_not_pile_up_over_many_questions(fake_bin: Path) -> None:
    write_command(fake_bin, "date", "echo 1796100000\n")
    client = slurm()
    client.clock()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        client.clock()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_clock_that_is_none_is_a_bad_answer(fake_bin: Path) -> None:
    write_command(fake_bin, "date", "echo Tue Dec 1\n")
    with pytest.raises(SourceFault, match="bad_answer"):
        slurm().clock()


@pytest.mark.parametrize(
    "kind, connection, code, what",
    [
        ("pbs", {}, "unknown_kind", None),
        ("slurm", {"host": "login1"}, "bad_connection", "known_hosts"),
        ("slurm", {"host": "-oProxyCommand=x", "known_hosts": "/k"}, "bad_connection", "host"),
        ("slurm", {"host": "login1", "known_hosts": "/k", "user": "a b"}, "bad_connection", "user"),
        ("slurm", {"host": "login1", "known_hosts": "/k", "port": "22"}, "bad_connection", "port"),
        ("slurm", {"host": "login1", "known_hosts": "/k", "port": 70_000}, "bad_connection", "port"),
        ("slurm", {"password": "hunter2"}, "bad_connection", "password"),
        ("slurm", {"bin_dir": "/opt\n/bin"}, "bad_connection", "bin_dir"),
        ("slurm", {"silent_s": 0}, "bad_connection", "silent_s"),
    ],
)
def test_a_connection_that_makes_no_sense_is_refused_by_its_key(
    kind: str, connection: dict[str, object], code: str, what: str | None
) -> None:
    with pytest.raises(SourceFault) as caught:
        connect(kind, name="lab", connection=connection)
    assert (caught.value.code, caught.value.detail.get("what")) == (code, what)
    assert "hunter2" not in str(caught.value)


def test_every_fault_of_a_source_has_words_for_the_connection_test() -> None:
    codes = {
        "unreachable",
        "host_key",
        "refused",
        "command_missing",
        "unknown_field",
        "timed_out",
        "output_cut",
        "unknown_cluster",
    }
    codes |= {
        "not_permitted",
        "secret_missing",
        "version",
        "bad_answer",
        "failed",
        "controller_down",
        "accounting_down",
    }
    assert codes <= FINDINGS.keys()
