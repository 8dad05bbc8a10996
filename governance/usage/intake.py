"""Bringing a source's records in: read it in a thread, merge in chunks, all in one transaction, so that nothing is half done."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import md5
from typing import Any
from uuid import UUID

from django.db import transaction

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.schedulers.errors import UnreadableSource
from governance.schedulers.files import ReadOptions, open_source, read
from governance.schedulers.records import BadRecord, RunRecord

from . import watermarks
from .ahead import ahead
from .ingest import Counts, Merge, latest_instant, staged_row
from .models import Intake, QuarantinedRecord
from .wording import OTHER_CLUSTER, OUT_OF_RANGE, worded

#: Small enough for a chunk to stay in PostgreSQL's temp_buffers and in the caches, large enough for its statements not to count.
CHUNK = 20_000
#: Raised when the meaning of what the parsers answer changes, so that files already seen are read again.
READER_VERSION = 1
_INT4, _INT8 = 2**31 - 1, 2**63 - 1
_MOST_MEMORY, _MOST_CARDS = _INT8 // 10**10, _INT4 * 1000
_LATEST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())

BytesRead = Callable[[int], None]


@dataclass
class Chunk:
    """A stretch of a source: rows to stage, records to quarantine, and what was passed over."""

    rows: list[tuple[Any, ...]]
    bad: list[BadRecord]
    steps: int
    latest: int  # latest observation, epoch seconds


def take_in(
    cluster: Cluster,
    path: str,
    options: ReadOptions,
    *,
    observed_at: datetime | None,
    by: str,
    on_bytes: BytesRead | None,
    called: str = "",
) -> Counts:
    """Import one source inside a transaction; raises BadData where it cannot be read, and then nothing was written.

    `called` is what it is called where not by its path.
    A file that was read before, with the same content in the same way, can change nothing: it is recognised and not read again.
    """
    fingerprint = _fingerprint(cluster, path, options, observed_at)
    before = (
        Intake.objects.filter(cluster=cluster, fingerprint=fingerprint).order_by("-pk").first() if fingerprint else None
    )
    if before is not None:
        if on_bytes:
            on_bytes(os.path.getsize(path))
        return Counts(
            before.read, 0, 0, before.new + before.changed + before.unchanged, before.steps_skipped, before.quarantined
        )
    try:
        with transaction.atomic(), open_source(path, on_bytes=on_bytes) as source:
            reading = read(source, name=called or path, options=options)
            how = {
                **asdict(options),
                "format": reading.format,
                "fields": reading.fields,
                "delimiter": reading.delimiter,
            }
            intake = Intake.objects.create(
                cluster=cluster,
                source=(called or path)[-500:],
                format=reading.format,
                actor=by,
                observed_at=observed_at,
                fingerprint=fingerprint,
            )
            return absorb(intake, ahead(chunks_of(reading, names_of(cluster), observed_at)), how)
    except UnreadableSource as fault:
        raise worded(fault, called or path) from fault


def absorb(
    intake: Intake,
    chunks: Iterable[Chunk],
    how: dict[str, Any],
    *,
    reached_at: datetime | None = None,
    expects_known: bool = False,
) -> Counts:
    """Merge a source's chunks inside a transaction, move the ingest watermark and note the counts.

    `how` is the way in which they were read; `expects_known`: most of the records have probably been read before. The watermark
    moves to `reached_at`, else to the intake's observation, else to the latest instant in the records.
    """
    cluster, observed_at = intake.cluster, intake.observed_at
    counts, latest = Counts(), 0
    merge = Merge(cluster.pk, installation().time_zone, intake.pk, reading=_way(how), expects_known=expects_known)
    for chunk in chunks:
        found = merge.chunk(chunk.rows) if chunk.rows else Counts()
        found.read = len(chunk.rows) + len(chunk.bad) + chunk.steps
        found.steps_skipped, found.quarantined = chunk.steps, len(chunk.bad)
        _quarantine(cluster, intake, chunk.bad, how)
        counts.add(found)
        latest = max(latest, chunk.latest)
    merge.close()
    until = reached_at or observed_at or (datetime.fromtimestamp(latest, UTC) if latest else None)
    if until is not None:
        watermarks.move(cluster, "ingested", until)
    Intake.objects.filter(pk=intake.pk).update(**asdict(counts))
    return counts


def _way(how: dict[str, Any]) -> str:
    """A short name of the way in which records are read: equal text read in the same way says the same."""
    return hashlib.blake2b(repr((READER_VERSION, sorted(how.items()))).encode(), digest_size=8).hexdigest()


def names_of(cluster: Cluster) -> frozenset[str]:
    """Names under which the cluster's records may come; empty: any."""
    names = cluster.scheduler_names or [cluster.code]
    return frozenset() if "*" in names else frozenset(names)


def chunks_of(reading: Iterable[Any], names: frozenset[str], observed_at: datetime | None) -> Iterator[Chunk]:
    """The records in chunks that the memory holds, at least one; what cannot be taken in is apart. `names`: as of `names_of`."""
    observed_s = int(observed_at.timestamp()) if observed_at else None
    chunk = Chunk([], [], 0, 0)
    for record in reading:
        if isinstance(record, RunRecord):
            if names and record.cluster_name and record.cluster_name not in names:
                reason = f"the record is of cluster “{record.cluster_name}”"
                chunk.bad.append(BadRecord(record.raw, OTHER_CLUSTER, reason))
            elif not fits(record):
                chunk.bad.append(BadRecord(record.raw, OUT_OF_RANGE, "a number or time in it is out of range"))
            else:
                seen = observed_s if observed_s is not None else latest_instant(record)
                if seen > chunk.latest:
                    chunk.latest = seen
                chunk.rows.append(staged_row(record, seen))
        elif isinstance(record, BadRecord):
            chunk.bad.append(record)
        else:
            chunk.steps += 1
        if len(chunk.rows) + len(chunk.bad) >= CHUNK:
            yield chunk
            chunk = Chunk([], [], 0, 0)
    yield chunk


def fits(record: RunRecord) -> bool:
    """Whether the columns can hold the record's numbers, and its times lie in order. Spelt out, since it runs a million times."""
    start, end = record.start_at, record.end_at
    return (
        0 <= record.nodes <= _INT4
        and 0 <= record.cpus <= _INT4
        and 0 <= record.memory_mib <= _MOST_MEMORY
        and 0 <= (record.gpu_milli or 0) <= _MOST_CARDS
        and (start is None or end is None or end >= start)
        and 0 <= (start or 0) < _LATEST
        and 0 <= (end or 0) < _LATEST
        and 0 <= (record.submit_at or 0) < _LATEST
        and 0 <= (record.eligible_at or 0) < _LATEST
        and 0 <= (record.elapsed_s or 0) < _LATEST
        and 0 <= (record.limit_s or 0) < _LATEST
        and 0 <= record.suspended_s < _LATEST
    )


def _quarantine(cluster: Cluster, intake: Intake, bad: list[BadRecord], how: dict[str, Any]) -> None:
    rows = [
        QuarantinedRecord(
            cluster=cluster,
            intake=intake,
            digest=UUID(bytes=md5(record.raw.encode(), usedforsecurity=False).digest()),
            raw=record.raw.replace("\x00", "\ufffd"),
            code=record.code,
            reason=record.reason,
            options=how,
        )
        for record in bad
    ]
    QuarantinedRecord.objects.bulk_create(rows, ignore_conflicts=True, batch_size=2000)


def _fingerprint(cluster: Cluster, path: str, options: ReadOptions, observed_at: datetime | None) -> str:
    """A digest of a file's content and of all that decides how it is read; "" for standard input and what cannot be opened."""
    if path == "-" or not os.path.isfile(path):
        return ""
    how = (READER_VERSION, options, observed_at, cluster.code, sorted(names_of(cluster)))
    digest = hashlib.blake2b(repr(how).encode(), digest_size=32)
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def read_again(record: QuarantinedRecord) -> list[RunRecord | BadRecord]:
    """A quarantined record read the way it first was: what the parsers make of it now."""
    how = dict(record.options)
    fields, kind = how.get("fields"), how.get("format", "auto")
    raw = record.raw if kind in ("sacct", "clustercockpit") else f'{{"jobs": [{record.raw}]}}'
    options = ReadOptions(kind, tuple(fields) if fields else None, how.get("delimiter"), how.get("time_zone", "UTC"))
    source = io.BytesIO(raw.encode())
    return [r for r in read(source, name="quarantine", options=options) if isinstance(r, RunRecord | BadRecord)]
