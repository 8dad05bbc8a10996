"""Two workers against one on metering the dirty days of many clusters, and what two processes gain here at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

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


def two_workers(bench: Bench) -> Iterator[Figure]:
    """One worker, two, one again, over the same days of eight clusters, every fact to be written; and the same of mere counting."""
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
    spun = [_seconds([["-c", SPIN, str(2 * steps)]]), _seconds([["-c", SPIN, str(steps)]] * 2)]
    command = ["-m", "tests.bench.live_worker", *codes]
    took = []
    for processes in (1, 2, 1):
        _make_dirty(bench, codes)
        took.append(_seconds([command] * processes))
        assert set(WorkItem.objects.filter(kind="usage.meter").values_list("state", flat=True)) == {"done"}
    one, two = (took[0] + took[2]) / 2, took[1]
    yield Figure(
        "two_workers",
        "counting in two processes",
        spun[1],
        ratio=spun[0] / spun[1],
        against="one process: what this machine gives now",
    )
    yield Figure("two_workers", f"one worker, {CLUSTERS} clusters of {days} days, mean of two", one)
    yield Figure("two_workers", "two workers", two, ratio=one / two, against="speed of one", goal=">= 1.7")


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


def _seconds(commands: list[list[str]]) -> float:
    """Seconds from the go to the end of the last of these processes; their start does not count."""
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
    for process in started:
        process.communicate()
    assert status == [0] * len(status), status
    return seconds
