"""What an unchanged re-pull costs the database against the first pull of the same records, window by window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from django.db import connection

from governance.usage import sql
from governance.usage.pulling import Pulled, pull_records
from governance.usage.queue import instant
from tests.bench.live_recorded import Recorded
from tests.bench.measures import OPTIONS
from tests.bench.records import write_records
from tests.bench.report import Figure
from tests.bench.stopwatch import WAITING, server_seconds, stopwatch

if TYPE_CHECKING:
    from tests.bench.measures import Bench

WINDOWS = 30
GOAL = "<= 0.33"


@dataclass
class Work:
    """What a pull took. `server` is the CPU time of the database's own process, None where it cannot be seen from here."""

    seconds: float
    statements: float  # wall clock seconds in statements and COPY
    server: float | None
    stages: dict[str, float]


def repull(bench: Bench) -> Iterator[Figure]:
    """Pull a fifth of the rows, then pull them again unchanged, twice."""
    rows = max(bench.rows // 5, 1)
    file = bench.folder / "live.txt"
    write_records(file, rows, WINDOWS, seed=3)
    bench.empty()
    scheduler = Recorded(file, rows, WINDOWS, OPTIONS)

    def pull() -> Pulled:
        span = {"since_at": instant(scheduler.since_at), "until_at": instant(scheduler.until_at)}
        return pull_records(bench.cluster, scheduler, by="bench", **span)

    first, done = _measured(pull)
    assert done.records.new == rows, done
    yield from _figures("first pull", first, rows)
    for what in ("re-pull, nothing changed", "once more"):
        again, done = _measured(pull)
        assert (done.records.unchanged, done.records.read) == (rows, rows), done
        yield from _figures(what, again, rows, first)
        for stage, spent in sorted(again.stages.items(), key=lambda pair: -pair[1])[:4]:
            yield Figure(
                "repull",
                f"  of it {stage}",
                spent,
                ratio=spent / first.statements,
                against="the first pull's statements",
            )
    yield _laid_out(bench, first, rows)
    file.unlink()


def _laid_out(bench: Bench, first: Work, rows: int) -> Figure:
    """What comes once in a million runs seen: the notes of both re-pulls laid out run by run."""
    before, begin = server_seconds(), perf_counter()
    with connection.cursor() as cursor:
        cursor.execute(sql.text("lay_out_seen"), {"cluster": bench.cluster.pk})
        assert cursor.rowcount == rows, cursor.rowcount
    seconds, after = perf_counter() - begin, server_seconds()
    figure = Figure("repull", "the notes of both laid out run by run, once in a million", seconds, rows)
    if before is not None and after is not None and first.server:
        figure.ratio, figure.against = (after - before) / first.server, "the first pull's CPU"
    return figure


def _figures(what: str, work: Work, rows: int, first: Work | None = None) -> Iterator[Figure]:
    yield Figure("repull", what, work.seconds, rows)
    seen = Figure("repull", f"{what}: statements as the client sees them", work.statements, rows)
    if first:
        seen.ratio, seen.against, seen.goal = work.statements / first.statements, "the first pull's", GOAL
    yield seen
    if work.server is not None:
        own = Figure("repull", f"{what}: CPU of the database's process", work.server, rows)
        if first and first.server:
            own.ratio, own.against, own.goal = work.server / first.server, "the first pull's", GOAL
        yield own


def _measured(pull: Callable[[], Pulled]) -> tuple[Work, Pulled]:
    before, begin = server_seconds(), perf_counter()
    with stopwatch() as stages:
        done = pull()
    seconds, after = perf_counter() - begin, server_seconds()
    stages.pop(WAITING, None)
    server = after - before if before is not None and after is not None else None
    return Work(seconds, sum(stages.values()), server, dict(stages)), done
