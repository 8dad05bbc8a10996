"""Pulling telemetry day by day: each group of nodes is a transaction, and the watermark moves with the last group of a day.

Telemetry never passes the records it belongs to: it is read up to the `ingested` watermark. The day of the last pull is read again, since
a stretch may have become idle after it. A pull that dies goes on with the groups of nodes that are not in yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.schedulers.telemetry.activity import IdleRules
from governance.schedulers.telemetry.client import Prometheus
from governance.schedulers.telemetry.collect import NODES_AT_ONCE, NodeReader, Span, node_label, shards
from governance.schedulers.telemetry.labels import LabelMap

from .. import watermarks
from ..rules import day_bounds, day_of
from ..telemetry_models import RunActivity, TelemetryIntake, TelemetryPiece
from .attempts import Attempts
from .merge import Merged, merge

STAGE = "telemetry"
#: How far back the first pull of a cluster reaches where nobody says.
FIRST_PULL = timedelta(days=8)
#: Scrapes of the last moments may not be in yet.
LAG = timedelta(minutes=2)

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class How:
    """How a cluster's telemetry is read."""

    by: LabelMap
    rules: IdleRules
    step: int = 60
    nodes_at_once: int = NODES_AT_ONCE


@dataclass
class Pulled:
    """What a pull did."""

    cluster: str
    since: str = ""
    until: str = ""
    days: int = 0
    days_without_series: int = 0
    days_dropped: int = 0  # of which the server no longer has all that is known: left as they are
    pieces: int = 0
    pieces_skipped: int = 0  # that an earlier pull had brought in before it died
    series: int = 0
    unassigned_points: int = 0
    unplaced_series: int = 0
    rows: Merged = field(default_factory=Merged)

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return asdict(self)


class Pull:
    """One pull of one cluster's telemetry."""

    def __init__(self, cluster: Cluster, client: Prometheus, how: How, by: str) -> None:
        self._cluster, self._client, self._how, self._by = cluster, client, how, by
        self._zone = ZoneInfo(installation().time_zone)
        self.done = Pulled(cluster.code)

    def run(self, since_at: datetime | None, until_at: datetime | None, progress: Progress | None) -> Pulled:
        """Read [since_at, until_at), by default from the watermark to the records' own; what an interrupted pull left is finished first."""
        limit = self._limit(until_at)
        if limit is None:
            return self.done
        for until in self._open(limit) if since_at is None and until_at is None else [limit]:
            self._pass(since_at, until, progress)
        TelemetryIntake.objects.create(
            cluster=self._cluster,
            source=f"prometheus {self.done.since}..{self.done.until}",
            format="prometheus",
            actor=self._by,
            observed_at=limit,
            counts=self.done.as_dict(),
        )
        return self.done

    def _limit(self, until_at: datetime | None) -> datetime | None:
        ingested = watermarks.reached(self._cluster, "ingested")
        if ingested is None:
            return None
        clock = datetime.fromtimestamp(self._client.clock(), UTC) - LAG
        limit = min(clock, ingested, until_at or clock)
        return datetime.fromtimestamp(int(limit.timestamp()) // self._how.step * self._how.step, UTC)

    def _open(self, limit: datetime) -> list[datetime]:
        """The end of a pull that died, if any, then the end of this one."""
        mark = watermarks.reached(self._cluster, STAGE)
        left = (
            TelemetryPiece.objects.filter(cluster=self._cluster, until_at__lt=limit)
            .order_by("-until_at")
            .values_list("until_at", flat=True)
        )
        open_end = left.first()
        return [open_end, limit] if open_end is not None and (mark is None or open_end > mark) else [limit]

    def _pass(self, since_at: datetime | None, until: datetime, progress: Progress | None) -> None:
        mark = watermarks.reached(self._cluster, STAGE)
        around = timedelta(seconds=self._how.rules.context_s)
        since = since_at or ((mark - around) if mark else until - FIRST_PULL)
        first, last = day_of(since, self._zone), day_of(until - timedelta(seconds=1), self._zone)
        days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        continues = mark is None or day_bounds(first, self._zone)[0] <= mark
        self.done.since, self.done.until = day_bounds(first, self._zone)[0].isoformat(), until.isoformat()
        for number, day in enumerate(days, start=1):
            self._day(day, until, continues)
            if progress:
                progress(number, len(days))
        TelemetryPiece.objects.filter(cluster=self._cluster, until_at__lte=until).delete()

    def _day(self, day: date, until: datetime, continues: bool) -> None:
        start, end = day_bounds(day, self._zone)
        span = Span(int(start.timestamp()), int(end.timestamp()), int(until.timestamp()))
        around = self._how.rules.context_s
        low, high = span.since - around, min(span.until + around, span.readable_to)
        label, nodes = node_label(self._client, self._how.by, low, high)
        self.done.days += 1
        if self._is_dropped(day, start):
            self.done.days_dropped += 1
            return
        if not nodes:
            # Nothing at all is rather a server without data than a day without cards: a later pull asks again.
            self.done.days_without_series += 1
            return
        attempts = Attempts(self._cluster, low, high)
        reader = NodeReader(self._client, self._how.by, label, self._how.rules, self._how.step, attempts)
        groups = shards(nodes, self._how.nodes_at_once)
        for number, group in enumerate(groups, start=1):
            reached = min(end, until) if number == len(groups) and continues else None
            self._piece(reader, group, day, span, until, reached)

    def _is_dropped(self, day: date, start: datetime) -> bool:
        """Whether the server has forgotten the beginning of a day that is known: what it has left must not replace more."""
        soon = start + timedelta(hours=1)
        if not RunActivity.objects.filter(cluster=self._cluster, day=day, first_at__lt=soon).exists():
            return False
        promql = " or ".join(f"count({m.name})" for m in self._how.by.metrics["activity"])
        return not self._client.query_range(promql, start.timestamp(), soon.timestamp(), 300)

    def _piece(
        self, reader: NodeReader, nodes: Sequence[str], day: date, span: Span, until: datetime, reached: datetime | None
    ) -> None:
        key: dict[str, Any] = {"cluster": self._cluster, "day": day, "until_at": until, "nodes": _digest(nodes)}
        if TelemetryPiece.objects.filter(**key).exists():
            self.done.pieces_skipped += 1
            if reached:
                watermarks.move(self._cluster, STAGE, reached)
            return
        found = reader.read(nodes, span)
        with transaction.atomic():
            self.done.rows.add(merge(self._cluster, [day], found.activities, found.hours, until))
            TelemetryPiece.objects.get_or_create(**key)
            if reached:
                watermarks.move(self._cluster, STAGE, reached)
        self.done.pieces += 1
        self.done.series += found.series
        self.done.unassigned_points += found.unassigned_points
        self.done.unplaced_series += found.unplaced_series


def _digest(nodes: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(nodes).encode(), digest_size=32).hexdigest()
