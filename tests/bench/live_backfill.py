"""The back-fill of a real Slurm's whole history against its `sacct` alone, asked for the same fields over the same windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from governance.schedulers.slurm.commands import ENV, GAP, SlurmCommands
from governance.schedulers.slurm.runner import LocalRunner
from governance.usage.models import Intake
from portal.organisation.actions import load
from tests.bench.report import Figure
from tests.books import COLUMNS, SHARED, line
from tests.work.fake_slurm import FakeSlurm

if TYPE_CHECKING:
    from tests.bench.measures import Bench

ROOT = Path(__file__).resolve().parents[2]
LAB = SHARED / "slurmlab" / "slurmlab"
JOBS, DAYS = 200_000, 91  # what the lab's `load-history` spreads them over, and a day
FEW = 10_000  # a bench of fewer rows only shows that it runs: against commands that answer from a file
FLAT = 1.25
GOAL = "<= 1.5"
CODE = "lab"


def backfill(bench: Bench) -> Iterator[Figure]:
    """The back-fill, sacct alone, the back-fill again; then the peak of a tenth of the time against that of all of it."""
    if bench.rows < FEW:
        yield from _measured(bench, _made_up(bench.folder), 8, datetime(2026, 3, 9, tzinfo=UTC))
        return
    why = _why_no_lab()
    if why:
        yield Figure("backfill", f"left out: {why}")
        return
    with _lab() as env:
        yield from _measured(bench, env, DAYS, datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5))


def _measured(bench: Bench, env: dict[str, str], days: int, until: datetime) -> Iterator[Figure]:
    os.environ.update(env)
    load(_document(), actor=bench.actor)
    since = until - timedelta(days=days)
    client = SlurmCommands(LocalRunner(), cluster=env.get("BENCH_SLURM_CLUSTER", ""))
    bench.empty()
    part = _pull(since, since + timedelta(days=max(1, days // 10)))
    bench.empty()
    whole = _pull(since, until)
    alone, rows = _alone(client), int(whole["new"])
    bench.empty()
    again = _pull(since, until)
    seconds = (whole["seconds"] + again["seconds"]) / 2
    yield Figure("backfill", f"sacct alone over {int(whole['windows'])} windows", alone, rows)
    yield Figure(
        "backfill", "back-fill, mean of two", seconds, rows, ratio=seconds / alone, against="sacct alone", goal=GOAL
    )
    yield Figure("backfill", f"peak of {int(part['new']):,} runs", part["seconds"], int(part["new"]), part["mib"])
    peak = Figure("backfill", f"peak of {rows:,} runs", whole["seconds"], rows, whole["mib"])
    peak.ratio, peak.against, peak.goal = whole["mib"] / part["mib"], "the peak of the part", f"<= {FLAT}"
    yield peak


def _pull(since: datetime, until: datetime) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.live_peak", CODE, since.isoformat(), until.isoformat()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, float] = json.loads(done.stdout)
    assert found["new"] > 0, found
    return found


def _alone(client: SlurmCommands) -> float:
    """Seconds of sacct over the windows of the pull that is in, its output thrown away."""
    spans = [source.split()[1].split("..") for source in Intake.objects.order_by("pk").values_list("source", flat=True)]
    begin = perf_counter()
    for low, high in spans:
        span = ("-S", low.removesuffix("Z"), "-E", high.removesuffix("Z"))
        words = ("-a", "-X", "-D", "-P", "--noconvert", f"--delimiter={GAP}", *span, "-o", ",".join(client.fields))
        subprocess.run(
            client.command("sacct", *words), env={**os.environ, **ENV}, stdout=subprocess.DEVNULL, check=True
        )
    return perf_counter() - begin


def _document() -> dict[str, object]:
    return {
        "steelyard": 1,
        "clusters": [
            {
                "code": CODE,
                "name": CODE,
                "scheduler": {"kind": "slurm", "time_zone": "UTC", "cluster_name": "*"}
                | ({"cluster": name} if (name := os.environ.get("BENCH_SLURM_CLUSTER")) else {}),
            }
        ],
    }


def _made_up(folder: Path) -> dict[str, str]:
    """Commands that answer from a file with two runs an hour."""
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    starts = [begin + timedelta(minutes=30 * number) for number in range(300)]
    rows = [
        line(number, at.isoformat(), at.isoformat(), (at + timedelta(hours=1)).isoformat(), Cluster=CODE)
        for number, at in enumerate(starts)
    ]
    assert set(rows[0]) >= set(COLUMNS)
    commands = FakeSlurm(folder / "bin")
    commands.write({CODE: rows}, int(datetime(2026, 3, 9, tzinfo=UTC).timestamp()))
    return {"PATH": f"{commands.folder}:{os.environ['PATH']}", "BENCH_SLURM_CLUSTER": CODE}


def _why_no_lab() -> str:
    if not LAB.exists():
        return "the Slurm lab is not beside the project"
    return "" if os.geteuid() == 0 else "the Slurm lab needs root"


@contextmanager
def _lab() -> Iterator[dict[str, str]]:
    """A lab of the bench's own with the history in it, purged afterwards; one that is up is taken as it is."""
    own = {"SLURMLAB_DIR": "/tmp/slurmlab-bench", "SLURMLAB_PORT": "18800"}
    env = {**os.environ, **own}

    def lab(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(LAB), *words], env=env, capture_output=True, text=True, timeout=600, check=False)

    was_up = lab("status").returncode == 0
    try:
        for words in () if was_up else (("up", "--nodes", "8"), ("load-history", str(JOBS))):
            done = lab(*words)
            assert done.returncode == 0, done.stderr[-2000:]
        pairs = (row.removeprefix("export ").split("=", 1) for row in lab("env").stdout.splitlines() if "=" in row)
        yield {name: value.strip("'\"") for name, value in pairs}
    finally:
        if not was_up:
            lab("down", "--purge")
