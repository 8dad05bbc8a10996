"""The yardstick of the import: a binary COPY of the same tuples, ready made, into a table like `run`.

It has the same columns, keys, checks and partitions. Nothing is parsed, compared or marked: what remains is what
PostgreSQL and the driver need to take the rows in at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from hashlib import md5
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from django.db import connection, transaction

from governance.schedulers.files import ReadOptions, open_source, read
from governance.schedulers.records import RunRecord
from governance.usage.ingest import copy_rows, latest_instant
from tests.bench.records import DAYS, FIRST_ON

TABLE = "bench_run"
CHUNK = 50_000
EPOCH_2000 = 946_684_800
#: Instants travel as the microseconds that a binary timestamptz is, digests as the bytes of a uuid: the driver has least to do so.
WIRE = {
    "timestamp with time zone": "int8",
    "uuid": "bytea",
    "integer": "int4",
    "bigint": "int8",
    "boolean": "bool",
    "text": "text",
}


def seconds_of_plain_copy(path: Path, options: ReadOptions) -> tuple[float, int]:
    """COPY the file's runs in one transaction: (seconds of COPY alone, rows). The table is dropped again."""
    _make_table()
    seconds, rows = 0.0, 0
    try:
        with open_source(str(path)) as source, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position",
                [TABLE],
            )
            columns = dict(cursor.fetchall())
            tuples = map(_tuple, (r for r in read(source, name=str(path), options=options) if isinstance(r, RunRecord)))
            while chunk := list(islice(tuples, CHUNK)):
                begin = perf_counter()
                copy_rows(cursor, TABLE, list(columns), [WIRE[kind] for kind in columns.values()], chunk)
                seconds += perf_counter() - begin
                rows += len(chunk)
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {TABLE}")
    return seconds, rows


def _make_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {TABLE} (LIKE run INCLUDING ALL) PARTITION BY RANGE (submit_at)")
        for month in _months():
            after = date(month.year + month.month // 12, month.month % 12 + 1, 1)
            cursor.execute(
                f"CREATE TABLE {TABLE}_{month:%Y%m} PARTITION OF {TABLE}"
                f" FOR VALUES FROM ('{month:%Y-%m-%d} 00:00+00') TO ('{after:%Y-%m-%d} 00:00+00')"
            )


def _months() -> Iterator[date]:
    """The months of the records' submit times in UTC, the one before for the hours in which the zones differ."""
    month = date(FIRST_ON.year - 1, 12, 1)
    while month <= FIRST_ON + timedelta(days=DAYS):
        yield month
        month = date(month.year + month.month // 12, month.month % 12 + 1, 1)


def _tuple(record: RunRecord) -> tuple[Any, ...]:
    """The record as the row of `run` that the import makes of it."""
    r = record
    seen = latest_instant(record)
    stop_at = None if r.start_at is None else r.end_at or seen
    instants = (_wire(at) for at in (r.eligible_at, r.start_at, r.end_at, stop_at))
    digest = md5(r.raw.encode(), usedforsecurity=False).digest()
    return (1, r.job_id, _wire(r.submit_at), True, r.label, *instants, *r[7:30], _wire(seen), digest, r.raw, 1, digest)


def _wire(at: int | None) -> int | None:
    return None if at is None else (at - EPOCH_2000) * 1_000_000
