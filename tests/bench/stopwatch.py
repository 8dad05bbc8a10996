"""Where an import's time goes, seen from outside: its SQL statements by name, its COPY, and the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from django.db import connection

from governance.usage import ingest, sql

STAGES = (
    "resolve_unknown_submit", "adopt_unknown_submit", "weigh_candidates", "mark_dirty_days", "insert_new_runs",
    "update_changed_runs", "note_seen_runs", "widen_spans", "pass_known", "lay_out_seen",
)  # fmt: skip
COPY, OTHER_SQL, WAITING = "staging COPY", "other statements", "waiting for the parser, and the rest"


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Seconds by stage of what happens inside; the parser works beside in its thread, so its own time is not in them."""
    names = {sql.text(stage): stage for stage in STAGES}
    seconds: dict[str, float] = defaultdict(float)

    def statement(execute: Callable[..., Any], text: str, params: Any, many: bool, context: Any) -> Any:
        begin = perf_counter()
        try:
            return execute(text, params, many, context)
        finally:
            seconds[names.get(text, OTHER_SQL)] += perf_counter() - begin

    copy_rows, answer = ingest.copy_rows, ingest.answer

    def timed_copy(*given: Any) -> None:
        begin = perf_counter()
        copy_rows(*given)
        seconds[COPY] += perf_counter() - begin

    def timed_answer(cursor: Any, text: str, given: dict[str, Any]) -> tuple[Any, ...]:
        begin = perf_counter()
        try:
            return answer(cursor, text, given)
        finally:
            seconds[names.get(text, OTHER_SQL)] += perf_counter() - begin

    ingest.copy_rows, ingest.answer = timed_copy, timed_answer  # type: ignore[assignment]
    begin = perf_counter()
    try:
        with connection.execute_wrapper(statement):
            yield seconds
    finally:
        ingest.copy_rows, ingest.answer = copy_rows, answer
        seconds[WAITING] = perf_counter() - begin - sum(seconds.values())


def server_seconds() -> float | None:
    """CPU seconds so far of the process that serves this connection, where it runs on this host."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    process = Path("/proc") / str(pid)
    try:
        if "postgres" not in (process / "cmdline").read_text():
            return None
        spent = (process / "schedstat").read_text().split()[0]  # nanoseconds, precise however busy the machine is
    except OSError:
        return None
    return int(spent) / 1e9
