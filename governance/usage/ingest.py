"""From records to runs: COPY into a temporary staging table, then one merge by run key.

The truth about a run is chosen by rule (blueprint, section 4): the later observation, then ended over not ended, then the content
digest. That choice is a maximum, so any order, splitting and repetition of the same records leaves the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from hashlib import md5
from typing import Any, cast

import psycopg
from django.db import connection

from governance.schedulers.records import RunRecord

from . import sql
from .arrays import Int8s, Texts, Uuids, answer

#: Staged column, its type, and the record's field; instants are staged as epoch seconds, which COPY writes fastest.
STAGED: tuple[tuple[str, str], ...] = (
    ("job_id", "text"),
    ("label", "text"),
    ("submit_s", "int8"),
    ("eligible_s", "int8"),
    ("start_s", "int8"),
    ("end_s", "int8"),
    ("state", "text"),
    ("outcome", "text"),
    ("exit_code", "text"),
    ("reason", "text"),
    ("account", "text"),
    ("user", "text"),
    ("partition", "text"),
    ("qos", "text"),
    ("job_name", "text"),
    ("nodes", "int4"),
    ("node_list", "text"),
    ("cpus", "int4"),
    ("memory_mib", "int8"),
    ("gpu_milli", "int8"),
    ("gpu_type", "text"),
    ("asked_gpu_milli", "int8"),
    ("elapsed_s", "int8"),
    ("suspended_s", "int8"),
    ("limit_s", "int8"),
    ("restarts", "int4"),
    ("db_index", "int8"),
    ("sluid", "text"),
    ("flags", "text"),
    ("raw", "text"),
    ("observed_s", "int8"),
)
#: Notes of runs seen together that a cluster may have, in runs and in notes, before they are laid out run by run: some 20 MB.
MOST_TOGETHER, MOST_NOTES = 1_000_000, 2_000
#: Holds the temporary tables of a chunk of intake.CHUNK records of common width.
TEMP_BUFFERS = "32MB"
STAGED_TYPES = [kind for _, kind in STAGED]
assert [name.replace("_s", "_at") for name, _ in STAGED[2:6]] == list(RunRecord._fields[3:7])

# Positions in RunRecord, for what runs a million times.
_TIMES = slice(RunRecord._fields.index("submit_at"), RunRecord._fields.index("end_at") + 1)
_ELAPSED = RunRecord._fields.index("elapsed_s")
_STAGED_SUBMIT = STAGED.index(("submit_s", "int8"))
_STAGED_END, _STAGED_RAW = STAGED.index(("end_s", "int8")), STAGED.index(("raw", "text"))


@dataclass
class Counts:
    """What a call did, in records."""

    read: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    steps_skipped: int = 0
    quarantined: int = 0

    def add(self, other: Counts) -> None:
        """Add another call's counts."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def latest_instant(record: RunRecord) -> int:
    """The latest instant a record tells of, epoch seconds: its times, or start + elapsed. What a file's record was observed at."""
    submit_at, eligible_at, start_at, end_at = cast("tuple[int | None, ...]", record[_TIMES])
    latest = max(submit_at or 0, eligible_at or 0, start_at or 0, end_at or 0, 0)
    if start_at is None:
        return latest
    return max(latest, start_at + (cast("int | None", record[_ELAPSED]) or 0))


def staged_row(record: RunRecord, observed_s: int) -> tuple[Any, ...]:
    """The record as a row of the staging table: without its cluster name, with its observation."""
    return (*record[1:], observed_s)


class Merge:
    """Merges chunks of staged rows of one cluster into `run`. Use inside one transaction; the staging table goes with it.

    `reading` stands for all that decides what is read out of a record's text: where it is given, ended runs of which the very
    text came before are passed by their digests and neither staged nor weighed. That is tried when most of the last chunk was
    known, and from the first one on where `expects_known`.
    """

    def __init__(
        self, cluster_id: int, time_zone: str, source: int, *, reading: str = "", expects_known: bool = False
    ) -> None:
        self._given: dict[str, Any] = {"cluster": cluster_id, "zone": time_zone, "source": source, "reading": reading}
        self._reading = reading
        self._expects_known = expects_known
        self._has_tables = False
        self._cursor = connection.cursor()
        # One merge of a cluster at a time: a pull, a re-read and an import that meet the same runs would deadlock or collide.
        self._cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"ingest:{cluster_id}"])
        self._known_months: set[date] = set()

    def _empty_tables(self) -> None:
        """Staging and candidates, made for the first chunk that needs them: most pulls bring nothing but what is known."""
        if self._has_tables:
            self._cursor.execute("TRUNCATE staged, candidate")
            return
        self._keep_in_memory()
        columns = ", ".join(f'"{name}" {kind}' for name, kind in STAGED)
        self._cursor.execute("DROP TABLE IF EXISTS pg_temp.staged, pg_temp.candidate")
        self._cursor.execute(f"CREATE TEMP TABLE staged ({columns}, is_adopted boolean DEFAULT false) ON COMMIT DROP")
        self._cursor.execute(sql.text("candidate_table"))
        self._has_tables = True

    def _keep_in_memory(self) -> None:
        """Room for a chunk's temporary tables, which otherwise go through the disk.

        PostgreSQL allows it before the session's first one only; later ones live with what there is.
        """
        if self._count("SELECT (pg_my_temp_schema() = 0)::int"):
            self._cursor.execute(f"SET temp_buffers = '{TEMP_BUFFERS}'")

    def chunk(self, rows: Sequence[tuple[Any, ...]]) -> Counts:
        """Merge one chunk of staged rows; answers what became of them."""
        left = self._not_passed(rows) if self._expects_known and self._reading else rows
        found = self._weigh(left) if left else Counts()
        found.unchanged += len(rows) - len(left)
        self._expects_known = found.unchanged * 2 > len(rows)
        return found

    def _not_passed(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        """The rows that must be weighed; of the others it is noted that they were seen."""
        first: dict[tuple[str, int], int] = {}
        for n, row in enumerate(rows):
            if row[_STAGED_END] is not None and row[_STAGED_SUBMIT] is not None:
                first.setdefault((row[0], row[_STAGED_SUBMIT]), n)
        asked = list(first.values())
        if not asked:
            return rows
        submits = [rows[n][_STAGED_SUBMIT] for n in asked]
        seen = [rows[n][-1] for n in asked]
        texts = (self._reading + rows[n][_STAGED_RAW] for n in asked)
        given = {
            "cluster": self._given["cluster"],
            "jobs": Texts([rows[n][0] for n in asked]),
            "submits": Int8s(submits),
            "texts": Uuids(md5(text.encode(), usedforsecurity=False).digest() for text in texts),
            "observed": Int8s(seen if min(seen) < max(seen) else ()),
            "seen": seen[0],
            "low": min(submits),
            "high": max(submits),
            "asked": len(asked),
        }
        count, positions = answer(self._cursor, sql.text("pass_known"), given)
        passed = {asked[position - 1] for position in positions} if count < len(asked) and count else set(asked[:count])
        return [row for n, row in enumerate(rows) if n not in passed]

    def _lay_out_what_matters(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Lay out the notes of runs seen together where one of them may be later than a record that would change its run."""
        latest = self._latest_note()
        if latest is None or latest < min(row[-1] for row in rows):
            return False
        self._cursor.execute(sql.text("seen_later"), {**self._given, "latest": latest})
        if not self._cursor.fetchone()[0]:
            return False
        self._run("lay_out_seen")
        return True

    def _latest_note(self) -> int | None:
        self._cursor.execute(
            "SELECT extract(epoch FROM max(seen_at))::bigint FROM run_seen_together WHERE cluster_id = %(cluster)s",
            self._given,
        )
        found: int | None = self._cursor.fetchone()[0]
        return found

    def close(self) -> None:
        """Lay out the notes of runs seen together where they have become many: they are kept for each time a run was seen."""
        self._cursor.execute(
            "SELECT count(*), coalesce(sum(runs), 0) FROM run_seen_together WHERE cluster_id = %(cluster)s", self._given
        )
        notes, runs = self._cursor.fetchone()
        if notes > MOST_NOTES or runs > MOST_TOGETHER:
            self._run("lay_out_seen")

    def _weigh(self, rows: Sequence[tuple[Any, ...]]) -> Counts:
        cursor = self._cursor
        self._empty_tables()
        copy_rows(cursor, "staged", [name for name, _ in STAGED], STAGED_TYPES, rows)
        if any(row[_STAGED_SUBMIT] is None for row in rows):
            self._run("resolve_unknown_submit")
        has_strangers = self._strangers()
        if has_strangers:
            self._run("adopt_unknown_submit")
        self._run("weigh_candidates")
        if self._lay_out_what_matters(rows):
            cursor.execute("TRUNCATE candidate")
            self._run("weigh_candidates")
        if has_strangers:
            self._run("raise_submit_known")
        found = self._verdicts()
        # A statement over a chunk costs even where it finds nothing to do, and most chunks are all new or all known.
        if found["new"]:
            self._run("insert_new_runs")
        if found["changed"]:
            self._run("update_changed_runs")
        if found["seen"]:
            self._run("note_seen_runs")
        if found["new"] or found["changed"]:
            self._run("mark_dirty_days")
            self._run("widen_spans")
        return Counts(new=found["new"], changed=found["changed"], unchanged=len(rows) - found["new"] - found["changed"])

    def _run(self, name: str) -> None:
        self._cursor.execute(sql.text(name), self._given)

    def _strangers(self) -> bool:
        """Whether any run of the cluster stands under its start; an index of those few answers."""
        self._cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM run WHERE cluster_id = %(cluster)s AND NOT submit_known)", self._given
        )
        return bool(self._cursor.fetchone()[0])

    def _count(self, statement: str) -> int:
        self._cursor.execute(statement)
        row = self._cursor.fetchone()
        return int(row[0]) if row else 0

    def _verdicts(self) -> Counter[str]:
        """How many candidates have each verdict; makes the partitions that they need."""
        self._cursor.execute(
            "SELECT date_trunc('month', submit_at AT TIME ZONE 'UTC')::date, verdict, count(*) FROM candidate GROUP BY 1, 2"
        )
        found: Counter[str] = Counter()
        months = set()
        for month, verdict, count in self._cursor.fetchall():
            found[verdict] += count
            months.add(month)
        make_partitions(months - self._known_months)
        self._known_months |= months
        return found


def make_partitions(months: Iterable[date]) -> None:
    """Make the partitions of `run` for these months (first days, UTC) that do not exist yet.

    Attached rather than created in place: attaching does not keep readers and writers of other months out.
    """
    with connection.cursor() as cursor:
        for month in sorted(months):
            name = f"run_y{month:%Y}m{month:%m}"
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
            if cursor.fetchone()[0]:
                continue
            after = date(month.year + month.month // 12, month.month % 12 + 1, 1)
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('run_partition', 0))")
            cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
            if cursor.fetchone()[0]:
                continue
            cursor.execute(f"CREATE TABLE {name} (LIKE run INCLUDING ALL)")
            cursor.execute(
                f"ALTER TABLE run ATTACH PARTITION {name} FOR VALUES FROM ('{month:%Y-%m-%d} 00:00+00') TO ('{after:%Y-%m-%d} 00:00+00')"
            )


def copy_rows(
    cursor: Any, table: str, columns: Sequence[str], types: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """COPY rows in binary, five times as fast as text; `types` are the columns' PostgreSQL types."""
    names = ", ".join(f'"{name}"' for name in columns)
    raw: psycopg.Cursor[Any] = cursor.cursor
    with raw.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
