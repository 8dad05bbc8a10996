"""What goes wrong around a pull, whole pulls against commands and a database that really fail so: a fault has words, nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import InternalError, connection

from governance.catalogue.models import Cluster, NodeState
from governance.errors import NotTheMoment
from governance.schedulers.slurm.commands import GAP, WANTED
from governance.usage import findings, live, pulling, tasks
from governance.usage.live_models import NodeSeen, PullFinding, QueueSample
from governance.usage.models import Run, Watermark
from governance.usage.ops import words
from governance.work import actions as work
from governance.work import reads
from governance.work.models import DONE, FAILED, WorkItem
from tests.books import COLUMNS, MACHINE, at, company, declare, line, settle
from tests.natural import content
from tests.usage.test_live import FakeScheduler, waits

HOUR = 3600
NOW = at("2026-03-03T12:00")
FIELDS = [name for name in WANTED if name in COLUMNS]
NODE = (
    "NodeName=gpu001 CPUAlloc=0 CPUTot=128 Gres=gpu:h800:8 GresUsed=gpu:h800:0 RealMemory=1048576 State={state} Partitions=train"
    " CfgTRES=cpu=128,mem=1T,gres/gpu=8\n"
)
# Answers from files, unless it is told to fail. What instants it was asked for, it understands in the zone it is run in.
COMMAND = """#!/bin/sh
here={folder}
me=$(basename "$0")
case "$*" in
  *helpformat*) cat "$here/fields"; exit;;
esac
[ -r "$here/$me.fault" ] && . "$here/$me.fault"
if [ "$me" = date ]; then cat "$here/now"; exit; fi
if [ "$me" = sacct ]; then
  while [ $# -gt 0 ]; do
    case "$1" in -S) since=$2;; -E) until=$2;; CA) exec head -1 "$here/sacct";; esac
    shift
  done
  echo "$(/bin/date -d "$since" +%s) $(/bin/date -d "$until" +%s) $SLURM_TIME_FORMAT" >> "$here/asked"
fi
exec cat "$here/$me"
"""
HALF = 'head -c 420 "$here/sacct"; '
DOWN = {
    "slurmdbd": "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1",
    "slurmctld": "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
}


class Commands:
    """Slurm's commands on the path: what they answer, and how they fail."""

    def __init__(self, folder: Path, bin_dir: Path) -> None:
        self.folder = folder
        for name in ("sacct", "squeue", "scontrol", "sacctmgr", "date"):
            path = bin_dir / name
            path.write_text(COMMAND.format(folder=folder))
            path.chmod(0o755)
        (folder / "fields").write_text(" ".join(FIELDS))
        self.now(NOW)
        self.rows([])
        self.node("IDLE")
        self.wait()
        (folder / "sacctmgr").write_text("")

    def now(self, epoch: int) -> None:
        """The host's clock."""
        (self.folder / "now").write_text(f"{epoch}\n")

    def rows(self, rows: list[dict[str, str]]) -> None:
        """What the accounting holds, whatever the window."""
        lines = [GAP.join(FIELDS), *(GAP.join(row[name] for name in FIELDS) for row in rows)]
        (self.folder / "sacct").write_text("\n".join(lines) + "\n")

    def node(self, state: str) -> None:
        """The state of the one node."""
        (self.folder / "scontrol").write_text(NODE.format(state=state))

    def wait(self, *jobs: int) -> None:
        """The jobs that wait."""
        asked = ("cpu=1,gres/gpu=8", "N/A", "gres:gpu:8", "N/A", "Resources")
        cells = [
            (job, job, "PENDING", NOW - HOUR, NOW - HOUR, "ocr", "ada", "train", "normal", 1, 1, 100, *asked)
            for job in jobs
        ]
        (self.folder / "squeue").write_text("".join(GAP.join(map(str, row)) + GAP + "\n" for row in cells))

    def fail(self, name: str, how: str) -> None:
        """Let the command do this instead of answering."""
        (self.folder / f"{name}.fault").write_text(how + "\n")

    def heal(self) -> None:
        """Let every command answer."""
        for path in self.folder.glob("*.fault"):
            path.unlink()

    def asked(self) -> list[tuple[int, int, str]]:
        """The windows that sacct was asked for since the last call, and the form of times it was to print."""
        said = [row.split() for row in (self.folder / "asked").read_text().splitlines()]
        (self.folder / "asked").unlink()
        return [(int(since), int(until), form) for since, until, form in said]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The company's cluster bj, live over those commands and with little patience."""
    bin_dir, folder = tmp_path / "bin", tmp_path / "slurm"
    bin_dir.mkdir()
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{bin_dir}:/usr/bin:/bin")
    monkeypatch.setattr(pulling, "our_clock", lambda: float((folder / "now").read_text()))
    monkeypatch.setattr(pulling, "FIRST_PULL", pulling.WINDOW)
    document = company()
    document["clusters"][0]["scheduler"] = {"kind": "slurm", "time_zone": "UTC"}
    declare(clusters=document["clusters"])
    Cluster.objects.update(connection={"silent_s": 1, "total_s": 4})
    return Commands(folder, bin_dir)


def runs(count: int) -> list[dict[str, str]]:
    """Runs that ended within the last two hours."""
    return [line(n, "2026-03-03T09:00", "2026-03-03T10:00", "2026-03-03T11:00") for n in range(1, count + 1)]


def pull() -> pulling.Pulled:
    """A pull as beat asks for it."""
    return live.pull("bj", actor=MACHINE)


def ingested() -> datetime:
    """How far the records are in."""
    return Watermark.objects.get(stage="ingested").until_at


def sentences() -> list[str]:
    """What the operations page says of the open findings."""
    return [words.of_pull(found).means for found in findings.open_findings()]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "how, code",
    [
        (HALF + "exit 1", "output_cut"),
        (HALF + "kill -9 $$", "output_cut"),
        (HALF + "sleep 60", "timed_out"),
        ("sleep 60", "timed_out"),
        ("while :; do echo x; sleep 0.1; done", "bad_answer"),
        (DOWN["slurmdbd"], "daemon_down"),
        ("echo 'sacct: error: Invalid field requested: \"Reason\"' >&2; exit 1", "unknown_field"),
    ],
    ids=["half", "killed", "stops", "slow", "rubbish", "slurmdbd down", "unknown field"],
)
def test_accounting_that_fails_costs_no_record_and_hides_neither_queue_nor_nodes(
    slurm: Commands, how: str, code: str
) -> None:
    pull()
    before, mark = content(), ingested()
    slurm.rows(runs(3))
    slurm.node("DOWN")
    slurm.wait(7, 8)
    slurm.now(NOW + 300)
    slurm.fail("sacct", how)
    with pytest.raises(NotTheMoment, match="bj"):
        pull()
    assert content("runs", "watermarks", "quarantine") == {
        name: before[name] for name in ("runs", "watermarks", "quarantine")
    }
    assert QueueSample.objects.get().jobs == 2
    assert (NodeSeen.objects.get().state, NodeState.objects.get().state) == ("DOWN", "down")
    assert [found.subject for found in findings.open_findings()] == [code]
    assert all(sentences())
    slurm.heal()
    slurm.now(NOW + 600)
    assert pull().records.new == 3
    assert findings.open_findings() == [] and ingested() > mark


@pytest.mark.django_db
def test_a_slow_answer_within_the_patience_is_taken(slurm: Commands) -> None:
    slurm.rows(runs(3))
    slurm.fail("sacct", "sleep 0.6")
    assert pull().records.new == 3
    assert findings.open_findings() == []


@pytest.mark.django_db
def test_slurmdbd_that_is_down_takes_the_events_along_and_the_queue_still_comes_in(slurm: Commands) -> None:
    pull()
    slurm.wait(7)
    slurm.now(NOW + 300)
    for name in ("sacct", "sacctmgr"):
        slurm.fail(name, DOWN["slurmdbd"])
    with pytest.raises(NotTheMoment, match="slurmdbd"):
        pull()
    assert QueueSample.objects.get().at == datetime.fromtimestamp(NOW + 300, UTC)
    (found,) = findings.open_findings()
    assert (found.code, found.detail["daemon"]) == ("source_fault", "slurmdbd")
    assert "slurmdbd" in sentences()[0]


@pytest.mark.django_db
def test_slurmctld_that_is_down_holds_no_record_up(slurm: Commands) -> None:
    pull()
    slurm.rows(runs(3))
    slurm.now(NOW + 300)
    for name in ("squeue", "scontrol"):
        slurm.fail(name, DOWN["slurmctld"])
    with pytest.raises(NotTheMoment, match="slurmctld"):
        pull()
    assert Run.objects.count() == 3 and ingested() == datetime.fromtimestamp(NOW + 300, UTC)
    slurm.heal()
    assert pull().records.unchanged == 3
    assert findings.open_findings() == []


@pytest.mark.django_db
def test_a_finding_that_stands_tells_what_is_wrong_now(slurm: Commands) -> None:
    slurm.fail("sacct", DOWN["slurmdbd"])
    with pytest.raises(NotTheMoment):
        pull()
    slurm.heal()
    slurm.fail("squeue", DOWN["slurmctld"])
    with pytest.raises(NotTheMoment):
        pull()
    (found,) = findings.open_findings()
    assert found.detail["daemon"] == "slurmctld"


@pytest.mark.django_db
def test_events_of_an_outage_of_days_are_asked_for_when_it_is_over(slurm: Commands) -> None:
    pull()
    for name in ("sacct", "sacctmgr"):
        slurm.fail(name, DOWN["slurmdbd"])
    slurm.now(NOW + 3 * 24 * HOUR)
    with pytest.raises(NotTheMoment):
        pull()
    slurm.heal()
    slurm.now(NOW + 3 * 24 * HOUR + 300)
    slurm.fail("sacctmgr", f'echo "$*" >> {slurm.folder}/events')
    pull()
    (question,) = set((slurm.folder / "events").read_text().splitlines())
    assert f"start={datetime.fromtimestamp(NOW - 24 * HOUR, UTC):%Y-%m-%dT%H:%M:%S}" in question


@pytest.mark.django_db
def test_a_host_whose_zone_is_changed_is_asked_for_the_same_instants(
    slurm: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm.rows(runs(3))
    found = []
    for zone in ("Asia/Shanghai", "America/New_York", "UTC"):
        monkeypatch.setenv("TZ", zone)
        Watermark.objects.all().delete()
        pull()
        found.append((slurm.asked(), content("runs")))
    assert found[0] == found[1] == found[2]
    assert found[0][0][0] == (NOW - 24 * HOUR, NOW, "%s")
    assert Run.objects.count() == 3


@pytest.fixture
def clocks(slurm: Commands, monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    """A scheduler that answers by windows and by its own clock, which may be off ours."""
    fake = FakeScheduler()
    monkeypatch.setattr(live, "connect", lambda kind, *, name, connection: fake)
    return fake


@pytest.mark.django_db
@pytest.mark.parametrize("off", [600, -600], ids=["ahead", "behind"])
def test_a_clock_ten_minutes_off_is_a_finding_and_its_correction_loses_nothing(
    slurm: Commands, clocks: FakeScheduler, off: int
) -> None:
    def look(ours: int, skew: int) -> None:
        slurm.now(ours)
        clocks.now = ours + skew
        pull()

    def clocked(epoch: int) -> str:
        return datetime.fromtimestamp(epoch, UTC).isoformat()

    clocks.rows = [line(1, clocked(NOW - HOUR), clocked(NOW - 1800), None)]
    clocks.waiting = [waits(9, "Resources", clocked(NOW - HOUR))]
    look(NOW, 0)
    assert findings.open_findings() == []
    look(NOW + 300, off)
    assert [found.code for found in findings.open_findings()] == ["clock_skew"]
    assert str(off) in sentences()[0]
    assert ingested() == datetime.fromtimestamp(max(NOW, NOW + 300 + off), UTC)
    # Run 1 ends and run 2 comes and goes by the wrong clock; run 3 after it was set right.
    wrong = NOW + 400 + off
    clocks.rows = [
        line(1, clocked(NOW - HOUR), clocked(NOW - 1800), clocked(wrong)),
        line(2, clocked(wrong - 60), clocked(wrong - 30), clocked(wrong)),
    ]
    look(NOW + 600, off)
    clocks.rows.append(line(3, clocked(NOW + 700), clocked(NOW + 710), clocked(NOW + 720)))
    for later in (900, 1200, 1500, 1800):
        look(NOW + later, 0)
    assert findings.open_findings() == []
    assert ingested() == datetime.fromtimestamp(NOW + 1800, UTC)
    assert list(Run.objects.order_by("job_id").values_list("job_id", "state", "end_at")) == [
        ("1", "COMPLETED", datetime.fromtimestamp(wrong, UTC)),
        ("2", "COMPLETED", datetime.fromtimestamp(wrong, UTC)),
        ("3", "COMPLETED", datetime.fromtimestamp(NOW + 720, UTC)),
    ]
    settle()
    assert not PullFinding.objects.filter(code="vanished_run", resolved_at__isnull=True).exists()


@contextmanager
def own_database(blocker: Any, place: Path | None = None) -> Iterator[None]:
    """A copy of the test's database in which all is committed, on another disk where one is named; dropped afterwards."""
    given = connection.settings_dict
    name, own = given["NAME"], f"{given['NAME']}_faults"
    login = {"host": given["HOST"], "port": given["PORT"], "user": given["USER"], "password": given["PASSWORD"]}
    with blocker.unblock(), psycopg.connect(dbname="postgres", autocommit=True, **login) as server:
        local = given["HOST"] in ("127.0.0.1", "localhost") and server.execute("SHOW is_superuser").fetchone() == (
            "on",
        )
        if place is not None and not local:
            pytest.skip("only a superuser of a database on this host may keep tables on another disk")
        connection.close()
        server.execute(f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)')
        if place is not None:
            server.execute("DROP TABLESPACE IF EXISTS small_disk")
            server.execute(f"CREATE TABLESPACE small_disk LOCATION '{place}'")
        server.execute(f'CREATE DATABASE "{own}" TEMPLATE "{name}"' + (" TABLESPACE small_disk" if place else ""))
        given["NAME"] = own
        try:
            yield
        finally:
            connection.close()
            given["NAME"] = name
            server.execute(f'DROP DATABASE "{own}" WITH (FORCE)')
            if place is not None:
                server.execute("DROP TABLESPACE small_disk")


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Durable work is done outside transactions."""
    with own_database(django_db_blocker):
        yield


def worked() -> WorkItem:
    """A pull as a worker does it, its pause over; the item that tells of its end."""
    work.ask("usage.pull", "bj", actor=MACHINE)
    WorkItem.objects.filter(kind="usage.pull", state=FAILED).update(due_at=datetime(2026, 1, 1, tzinfo=UTC))
    tasks.pull("bj")
    item = reads.of("usage.pull", "bj")
    assert item is not None
    return item


def test_the_work_item_of_a_pull_that_failed_says_so_in_words(committed: None, slurm: Commands) -> None:
    slurm.fail("sacct", HALF + "exit 1")
    item = worked()
    assert (item.state, item.last_error_code) == (FAILED, "NotTheMoment")
    assert reads.error_words(item).startswith("The answer of “bj” stopped in the middle")
    slurm.heal()
    assert worked().state == DONE


def test_a_database_that_takes_no_writes_is_no_loss_and_the_next_pull_repairs(committed: None, slurm: Commands) -> None:
    slurm.rows(runs(2))
    assert worked().state == DONE
    slurm.rows(runs(3))
    before = content()
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        with pytest.raises(InternalError, match="read-only"):
            pull()
        cursor.execute("SET default_transaction_read_only = off")
    assert content() == before
    assert worked().state == DONE
    assert Run.objects.count() == 3


@pytest.fixture
def small_disk(django_db_setup: None, django_db_blocker: Any, tmp_path: Path) -> Iterator[Path]:
    """A disk that holds all the portal's tables and has next to nothing left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=96m", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounted, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can be mounted by root alone, and not in every container")
    try:
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(folder.stat().st_mode | 0o011)  # the server may be another user
        place = disk / "space"
        place.mkdir()
        place.chmod(0o777)
        with own_database(django_db_blocker, place):
            yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def fill(disk: Path, leaving: int) -> Path:
    """A file that takes all of the disk but so many bytes."""
    room = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * (room.f_bavail * room.f_frsize - leaving))
    return ballast


def test_a_full_disk_of_the_database_is_told_in_words_and_the_next_pull_repairs(
    small_disk: Path, slurm: Commands
) -> None:
    slurm.rows(runs(3))
    assert worked().state == DONE
    before, mark = content(), ingested()
    slurm.rows(runs(4000))
    slurm.now(NOW + 300)
    ballast = fill(small_disk, leaving=300_000)
    item = worked()
    assert item.state == FAILED
    assert "No space left on device" in reads.error_words(item)
    assert content() == before and ingested() == mark
    ballast.unlink()
    item = worked()
    assert (item.state, item.last_error) == (DONE, "")
    assert Run.objects.count() == 4000
