"""Telemetry from files: samples into a temporary table, from there in the order of time to the judge, who holds cards and not samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from django.db import connection

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.schedulers import clustercockpit
from governance.schedulers.clustercockpit import JobMean, Unmeasured
from governance.schedulers.errors import UnreadableSource
from governance.schedulers.files import open_source
from governance.schedulers.records import BadRecord
from governance.schedulers.telemetry.activity import IdleRules, Judge, RunActivity
from governance.schedulers.telemetry.collect import HOUR, NodeHour
from governance.schedulers.telemetry.labels import KINDS, LabelMap, Owner
from governance.schedulers.telemetry.parse import Blank, Sample, csv_samples, samples_of, series_in

from .. import sql
from ..ingest import copy_rows
from ..rules import day_bounds, day_of
from .attempts import Attempts
from .merge import Merged, instant, merge

FORMATS = ("auto", "prometheus-json", "csv", "clustercockpit")
CHUNK = 100_000
MOST_FAULTS = 100
MOST_DAYS = 1000


@dataclass
class Imported:
    """What a call read and did."""

    samples: int = 0
    blank: int = 0  # sentinels of the exporter, not numbers, negative
    unassigned: int = 0  # of cards that no job had
    unmeasured_jobs: int = 0  # ClusterCockpit: without cards or without monitoring
    bad: int = 0
    jobs: int = 0
    jobs_without_run: int = 0
    step_seconds: int = 0
    rows: Merged = field(default_factory=Merged)
    faults: list[dict[str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return asdict(self)

    def note_bad(self, record: BadRecord, name: str) -> None:
        """Count a record that cannot be read; the first are kept with their reason."""
        self.bad += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(
                {
                    "file": name[-200:],
                    "code": record.code,
                    "reason": record.reason,
                    "raw": record.raw[:1000].replace("\x00", ""),
                }
            )


def format_of(first: bytes) -> str:
    """The format of a file from its beginning; raises UnreadableSource."""
    begun = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not begun:
        raise UnreadableSource("empty")
    if clustercockpit.looks_like(begun.partition(b"\n")[0]):
        return "clustercockpit"
    return "prometheus-json" if begun[:1] in b"{[" else "csv"


class _Begun:
    """A source with a beginning that was read before."""

    def __init__(self, first: bytes, source: BinaryIO) -> None:
        self._first, self._source = first, source

    def read(self, size: int = -1) -> bytes:
        """As a file's read."""
        if not self._first:
            return self._source.read(size)
        held, self._first = (self._first, b"") if size < 0 else (self._first[:size], self._first[size:])
        return held + self._source.read() if size < 0 else held


class Intake:
    """One call, inside one transaction: every file in, then the judgement of all of them together."""

    def __init__(
        self, cluster: Cluster, by: LabelMap, rules: IdleRules, step: int | None, observed_at: datetime | None
    ) -> None:
        self._cluster, self._by, self._rules, self._step, self._observed_at = cluster, by, rules, step, observed_at
        self._zone = ZoneInfo(installation().time_zone)
        self.done = Imported()
        self._rows: list[tuple[Any, ...]] = []
        with connection.cursor() as cursor:
            cursor.execute(sql.text("telemetry_sample"))

    def file(self, path: str, kind: str, on_bytes: Callable[[int], None] | None = None) -> str:
        """Take a file in; answers its format. Raises UnreadableSource."""
        with open_source(path, on_bytes=on_bytes) as source:
            first = source.read(65536)
            kind = format_of(first) if kind == "auto" else kind
            begun: Any = _Begun(first, source)
            if kind == "clustercockpit":
                self._job_means(begun, path)
            else:
                self._samples(
                    self._csv(first, source, begun) if kind == "csv" else samples_of(series_in(begun), self._by), path
                )
        return kind

    def _csv(self, first: bytes, source: BinaryIO, begun: Any) -> Iterator[Sample | Blank | BadRecord]:
        import io

        class Raw(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                data = begun.read(len(buffer))
                buffer[: len(data)] = data
                return len(data)

        return csv_samples(io.BufferedReader(Raw()))

    def _samples(self, found: Iterator[Sample | Blank | BadRecord], name: str) -> None:
        for sample in found:
            if isinstance(sample, Sample):
                self.done.samples += 1
                owner = sample.owner
                self._rows.append(
                    (owner.node, owner.card, owner.job, KINDS.index(sample.kind), sample.rank, sample.at, sample.value)
                )
                if len(self._rows) >= CHUNK:
                    self._flush()
            elif isinstance(sample, Blank):
                self.done.blank += 1
            else:
                self.done.note_bad(sample, name)
        self._flush()

    def _flush(self) -> None:
        columns, types = (
            ("node", "card", "job", "kind", "rank", "at", "value"),
            ("text", "text", "text", "int2", "int2", "float8", "float8"),
        )
        with connection.cursor() as cursor:
            copy_rows(cursor, "telemetry_sample", columns, types, self._rows)
        self._rows = []

    def judge(self) -> Imported:
        """Judge what the files brought, and write it."""
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE telemetry_sample")
            cursor.execute(
                "SELECT min(at), max(at), count(*) FILTER (WHERE kind = 0 AND job = '') FROM telemetry_sample"
            )
            low, high, self.done.unassigned = cursor.fetchone()
        if low is None:
            return self.done
        step = self._step or self._usual_step()
        self.done.step_seconds = step
        days = self._days(low - step, high)
        bounds = [int(day_bounds(day, self._zone)[0].timestamp()) for day in days]
        bounds.append(int(day_bounds(days[-1], self._zone)[1].timestamp()))
        attempts = Attempts(self._cluster, low - step, high)
        found = self._activities(bounds, attempts, step)
        hours = self._hours(bounds, step)
        self.done.rows.add(merge(self._cluster, days, found, hours, self._observed_at))
        return self.done

    def _days(self, low: float, high: float) -> list[date]:
        first, last = day_of(instant(low), self._zone), day_of(instant(high), self._zone)
        count = (last - first).days + 1
        if count > MOST_DAYS:
            raise UnreadableSource("too_many_days", days=count, most=MOST_DAYS)
        return [first + timedelta(days=n) for n in range(count)]

    def _usual_step(self) -> int:
        """The usual distance of a card's samples, at most an hour; a minute where there is only one of each."""
        with connection.cursor() as cursor:
            cursor.execute(sql.text("usual_step"))
            (found,) = cursor.fetchone()
        return max(1, min(round(found), HOUR)) if found else 60

    def _activities(self, bounds: list[int], attempts: Attempts, step: int) -> list[RunActivity]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT DISTINCT job FROM telemetry_sample WHERE kind = 0 AND job <> ''")
            jobs = [job for (job,) in cursor.fetchall()]
        known = attempts(jobs)
        self.done.jobs += len(jobs)
        self.done.jobs_without_run += len(jobs) - len(known)
        judge = Judge(bounds, known, self._rules, step)
        for owner, points in _by_owner(sql.text("activity_samples")):
            judge.feed(owner, points)
        given: dict[str, Any] = {"bounds": bounds, "step": step}
        for kind, name in (("memory", "memory_samples"), ("energy", "energy_samples")):
            with connection.cursor() as cursor:
                cursor.execute(sql.text(name), given)
                for node, card, job, day, hour, value in cursor.fetchall():
                    since = bounds[day] + HOUR * hour
                    judge.note(Owner(node, card, job), kind, since, since + HOUR, value)
        return judge.close()

    def _hours(self, bounds: list[int], step: int) -> list[NodeHour]:
        with connection.cursor() as cursor:
            cursor.execute(sql.text("node_hour_samples"), {"bounds": bounds, "step": max(step, 60)})
            return [
                NodeHour(node, bounds[day] + HOUR * int(hour), _rounded(mean), _rounded(most), _rounded(heat), samples)
                for node, day, hour, mean, most, heat, samples in cursor.fetchall()
            ]

    def _job_means(self, source: Any, name: str) -> None:
        held: list[JobMean] = []
        for item in clustercockpit.means(source):
            if isinstance(item, JobMean):
                self.done.samples += 1
                held.append(item)
            elif isinstance(item, Unmeasured):
                self.done.unmeasured_jobs += 1
            else:
                self.done.note_bad(item, name)
            if len(held) >= CHUNK:
                self._merge_means(held)
                held = []
        if held:
            self._merge_means(held)

    def _merge_means(self, held: list[JobMean]) -> None:
        low, high = min(m.start_at for m in held), max(m.end_at for m in held)
        days = self._days(low, high)
        number = {day: n for n, day in enumerate(days)}
        known = Attempts(self._cluster, low, high)({m.job_id for m in held})
        rows: list[RunActivity] = []
        for found in held:
            attempts = [
                a for a in known.get(found.job_id, ()) if a.start_at == found.start_at or a.submit_at == found.submit_at
            ]
            self.done.jobs += 1
            self.done.jobs_without_run += not attempts
            submit_at = attempts[0].submit_at if attempts else found.submit_at or found.start_at
            rows += self._mean_rows(found, submit_at, bool(attempts), number)
        self.done.rows.add(merge(self._cluster, days, rows, (), self._observed_at))

    def _mean_rows(
        self, found: JobMean, submit_at: int, is_known: bool, number: dict[date, int]
    ) -> Iterator[RunActivity]:
        """A mean tells how much of the cards was used, not when: active and idle stay unknown."""
        first, last = day_of(instant(found.start_at), self._zone), day_of(instant(found.end_at), self._zone)
        for ahead in range((last - first).days + 1):
            day = first + timedelta(days=ahead)
            start, end = day_bounds(day, self._zone)
            low, high = max(found.start_at, int(start.timestamp())), min(found.end_at, int(end.timestamp()))
            for node, cards in found.cards if high > low else ():
                measured = cards * 1000 * (high - low)
                busy = round(measured * found.activity)
                yield RunActivity(
                    found.job_id,
                    submit_at,
                    is_known,
                    number[day],
                    node,
                    cards,
                    0,
                    0,
                    measured,
                    busy,
                    None,
                    None,
                    1,
                    0,
                    low,
                    high,
                )


def _by_owner(statement: str) -> Iterator[tuple[Owner, list[tuple[float, float]]]]:
    """Points by owner in the order of time, streamed from the database in pieces."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement)
        while rows := cursor.fetchmany(20_000):
            for (node, card, job), points in groupby(rows, key=lambda row: row[:3]):
                yield Owner(node, card, job), [(at, value) for _, _, _, at, value in points]


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
