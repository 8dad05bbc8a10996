"""Two workers against one on metering the dirty days of many clusters, and what two processes gain here at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from django.db import connection

from governance.usage import actions as usage
from governance.work import actions as work
from governance.work.models import WorkItem
from portal.organisation.actions import load
from tests.bench.company import document
from tests.bench.measures import OPTIONS
from tests.bench.records import write_records
from tests.bench.report import Figure

if TYPE_CHECKING:
    from tests.bench.measures import Bench

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS, DAYS = 8, 20
FEW, FEW_DAYS = 10_000, 2  # a bench of fewer rows only shows that it runs
SPIN = "import sys; print('ready', flush=True); sys.stdin.readline(); n = 0\nfor i in range(int(sys.argv[1])): n += i"
STEPS = 20_000_000
ROUNDS = 3
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    " AND wait_event_type IN ('Lock', 'LWLock', 'BufferPin')"
)
GOAL = ">= 1.7"


def two_workers(bench: Bench) -> Iterator[Figure]:
    """One worker, two, one again, over the same days of eight clusters, every fact to be written; and the same of mere counting.

    In several rounds, since others may use the cores: the round counts in which they used least.
    """
    rows = max(bench.rows // 20, CLUSTERS)
    days = DAYS if bench.rows >= FEW else FEW_DAYS
    codes = [f"bench-{number}" for number in range(CLUSTERS)]
    bench.empty()
    load(_document(codes), actor=bench.actor)
    for number, code in enumerate(codes):
        file = bench.folder / f"{code}.txt"
        write_records(file, rows // CLUSTERS, days, seed=10 + number)
        usage.import_files(code, [str(file)], actor=bench.actor, options=OPTIONS)
        file.unlink()
    steps = STEPS if bench.rows >= 100_000 else STEPS // 100
    rounds = [_round(bench, codes, steps) for _ in range(ROUNDS if bench.rows >= FEW else 1)]
    for number, each in enumerate(rounds if len(rounds) > 1 else (), start=1):
        yield from each.figures(f"round {number}")
    quietest = min(rounds, key=lambda each: each.others)
    yield from quietest.figures("the quietest", GOAL)


class Took(NamedTuple):
    """Wall clock seconds of some processes, and the CPU seconds of the busiest of them with its database process (0: not known)."""

    seconds: float
    cpu: float


@dataclass
class Round:
    """One worker and two under conditions as equal as can be had.

    `waited`: the share of the two workers' time in which they waited for locks; `others`: the cores that others used, the most that was
    seen.
    """

    one: Took
    two: Took
    counting: Took
    counted: Took
    waited: float
    others: float
    load: float

    def figures(self, what: str, goal: str = "") -> Iterator[Figure]:
        """What it came to."""
        seen = f"{what}; others used {self.others:.1f} cores, load {self.load:.1f}"
        gain = Figure("two_workers", f"counting in two processes ({seen})", self.counted.seconds)
        gain.ratio, gain.against = (
            self.counting.seconds / self.counted.seconds,
            "one process: what this machine gives now",
        )
        yield gain
        yield Figure("two_workers", f"one worker, mean of two ({what})", self.one.seconds)
        two = Figure("two_workers", f"two workers ({what})", self.two.seconds, goal=goal)
        two.ratio, two.against = self.one.seconds / self.two.seconds, "speed of one"
        yield two
        if self.one.cpu and self.two.cpu:
            cpu = Figure(
                "two_workers", f"two workers, CPU of the busier and its database process ({what})", self.two.cpu
            )
            cpu.ratio, cpu.against = self.one.cpu / self.two.cpu, "one's over it: what free cores would give"
            yield cpu
        waited = Figure("two_workers", f"two workers, of it waiting for locks ({what})", self.two.seconds * self.waited)
        waited.ratio, waited.against = self.waited, "their time"
        yield waited


def _round(bench: Bench, codes: list[str], steps: int) -> Round:
    others = [_used_by_others()]
    counting, counted = _took([["-c", SPIN, str(2 * steps)]]), _took([["-c", SPIN, str(steps)]] * 2)
    command = ["-m", "tests.bench.live_worker", *codes]
    took, shares = [], []
    for processes in (1, 2, 1):
        _make_dirty(bench, codes)
        others.append(_used_by_others())
        with _lock_waits(processes) as waits:
            took.append(_took([command] * processes))
        shares.append(waits["share"])
        assert set(WorkItem.objects.filter(kind="usage.meter").values_list("state", flat=True)) == {"done"}
    others.append(_used_by_others())
    one = Took((took[0].seconds + took[2].seconds) / 2, (took[0].cpu + took[2].cpu) / 2)
    return Round(one, took[1], counting, counted, shares[1], max(others), os.getloadavg()[0])


@contextmanager
def _lock_waits(processes: int) -> Iterator[dict[str, float]]:
    """Look twenty times a second who waits for a lock; at the end, `share` is that of the processes' time."""
    over, found = Event(), Counter[str]()

    def look() -> None:
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
            while not over.wait(0.05):
                found["waiting"] += server.execute(WAITING).fetchone()[0]  # type: ignore[index]
                found["looks"] += 1

    sampler, waits = Thread(target=look, daemon=True), {"share": 0.0}
    sampler.start()
    try:
        yield waits
    finally:
        over.set()
        sampler.join()
        waits["share"] = found["waiting"] / max(1, found["looks"] * processes)


def _used_by_others(seconds: float = 0.5) -> float:
    """How many cores are used while the bench does nothing; 0 where the kernel does not tell."""

    def busy() -> float:
        try:
            words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        except OSError:
            return 0.0
        user, nice, system, _, _, irq, soft, steal = (int(word) for word in words)
        return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")

    before, begin = busy(), perf_counter()
    sleep(seconds)
    return (busy() - before) / (perf_counter() - begin)


def _document(codes: list[str]) -> dict[str, object]:
    made = document()
    (cluster,), mappings, prices = made["clusters"], made["mappings"], made["prices"]
    many = []
    for code in codes:
        pools = [{**pool, "code": f"{code}-{pool['code']}"} for pool in cluster["pools"]]
        nodes = [
            {**node, "pool": f"{code}-{node['pool']}", "names": f"{code}-{node['names']}"} for node in cluster["nodes"]
        ]
        scheduler = {**cluster["scheduler"], "cluster_name": "*"}
        many.append({**cluster, "code": code, "scheduler": scheduler, "pools": pools, "nodes": nodes})
    return {
        **made,
        "clusters": [cluster, *many],
        "mappings": [*mappings, *({**each, "cluster": code} for code in codes for each in mappings)],
        "prices": prices,
    }


def _make_dirty(bench: Bench, codes: list[str]) -> None:
    """No day is metered yet, and each cluster waits for it."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE usage_day, capacity_day, fact_day, dirty_day, work_item")
        cursor.execute("DELETE FROM watermark WHERE stage = 'metered'")
        cursor.execute(
            "INSERT INTO dirty_day (cluster_id, day) SELECT DISTINCT cluster_id, d::date FROM run,"
            " generate_series(start_at::date, stop_at::date, interval '1 day') AS d WHERE start_at IS NOT NULL"
        )
    for code in codes:
        work.ask("usage.meter", code, actor=bench.actor)


def _took(commands: list[list[str]]) -> Took:
    """From the go to the end of the last of these processes; their start does not count."""
    started = [
        subprocess.Popen([sys.executable, *words], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for words in commands
    ]
    for process in started:
        assert process.stdout and process.stdout.readline() == "ready\n"
    begin = perf_counter()
    for process in started:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    status = [process.wait() for process in started]
    seconds = perf_counter() - begin
    said = [process.communicate()[0] for process in started]
    assert status == [0] * len(status), status
    return Took(seconds, max(float(text or 0) for text in said))
