"""From runs to day facts: each dirty day of a cluster rebuilt set-based, one transaction a day, writing differences only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection, transaction

from governance.catalogue.history import CatalogueHistory
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.catalogue.rules import CatalogueDay, parts
from governance.tenants.history import MappingHistory

from . import matching, rules, sql, watermarks
from .ingest import copy_rows
from .models import DirtyDay, FactDay

Progress = Callable[[int, int], None]


@dataclass
class Metered:
    """What a metering call did."""

    cluster: str
    days: int = 0
    rows_written: int = 0
    days_changed: int = 0
    through: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return asdict(self)


class Meter:
    """One metering call on one cluster. The catalogue and the mappings are read at its start, and again where they change meanwhile."""

    def __init__(self, cluster: Cluster, until_at: datetime | None = None) -> None:
        self.cluster = cluster
        ingested = watermarks.reached(cluster, "ingested")
        self.through = min(ingested, until_at) if ingested and until_at else ingested
        self._read_matching(matching.revision(cluster))

    def _read_matching(self, revision: int) -> None:
        """Read what decides where use is counted. Its revision was read before: what changes in between is read again then."""
        self._revision = revision
        self.cluster.refresh_from_db()
        of = installation()
        self.zone = ZoneInfo(of.time_zone)
        self._bands = of.bands
        self._history = CatalogueHistory(self.cluster)
        self._mappings = MappingHistory(self.cluster)

    def days(self, from_on: date | None, to_on: date | None) -> list[date]:
        """The days to rebuild: the marked ones, and those the watermark has yet to pass; all before `through`."""
        if self.through is None:
            return []
        last = rules.day_of(self.through, self.zone)  # an end at that very instant lies on this day
        marked = set(
            DirtyDay.objects.filter(cluster=self.cluster, day__lte=last).values_list("day", flat=True).distinct()
        )
        metered = watermarks.reached(self.cluster, "metered")
        behind = rules.day_of(metered, self.zone) if metered else last
        # Capacity begins with the earliest submit, however late that record came: days that were never metered are caught up with.
        first = min([*marked, self._first_day(last), behind])
        known = set(
            FactDay.objects.filter(cluster=self.cluster, day__range=(first, last)).values_list("day", flat=True)
        )
        span = [first + timedelta(days=n) for n in range((last - first).days + 1)]
        wanted = marked | {day for day in span if day >= behind or day not in known}
        return sorted(d for d in wanted if (from_on is None or d >= from_on) and (to_on is None or d < to_on))

    def _first_day(self, last: date) -> date:
        """The day of the cluster's earliest submit; `last` where it has no run. Only the first month's partition is read."""
        with connection.cursor() as cursor:
            cursor.execute(sql.text("first_submit"), {"cluster": self.cluster.pk})
            (first,) = cursor.fetchone()
        return rules.day_of(first, self.zone) if first else last

    def run(self, from_on: date | None, to_on: date | None, progress: Progress | None) -> Metered:
        """Rebuild the days in [from_on, to_on); moves the watermark when none is left before it."""
        done = Metered(self.cluster.code)
        days = self.days(from_on, to_on)
        whole = from_on is None and to_on is None
        refresh_statistics()
        for number, day in enumerate(days, start=1):
            with transaction.atomic():
                written = self._rebuild(day)
                if whole and number == len(days) and self.through:
                    watermarks.move(self.cluster, "metered", self.through)
            done.days += 1
            done.rows_written += written
            done.days_changed += written > 0
            if progress:
                progress(number, len(days))
        metered = watermarks.reached(self.cluster, "metered")
        done.through = metered.astimezone(UTC).isoformat() if metered else None
        return done

    def _rebuild(self, day: date) -> int:
        """Rebuild one day inside a transaction: lock, read the marks, sum, match, write the differences, delete the marks read."""
        assert self.through is not None
        watermarks.lock_day(self.cluster.pk, day)
        if (revision := matching.held_revision(self.cluster)) != self._revision:
            self._read_matching(revision)
        marks = list(DirtyDay.objects.filter(cluster=self.cluster, day=day).values_list("pk", flat=True))
        start_at, end_at = rules.day_bounds(day, self.zone)
        with connection.cursor() as cursor:
            given = self._given(cursor, day, start_at, end_at)
            cursor.execute("DROP TABLE IF EXISTS pg_temp.meter_sum, pg_temp.meter_place, pg_temp.meter_owner")
            cursor.execute(sql.text("day_activity"), given)
            cursor.execute(sql.text("day_sum"), given)
            cursor.execute(sql.text("resolution_tables"))
            self._resolve(cursor, day)
            cursor.execute(sql.text("rebuild_day"), given)
            written = cursor.fetchone()[0]
            if start_at < self.through:
                cursor.execute(sql.text("rebuild_capacity"), given)
                written += cursor.fetchone()[0]
            if written or not FactDay.objects.filter(cluster=self.cluster, day=day).exists():
                cursor.execute(
                    "INSERT INTO fact_day AS f (cluster_id, day, revision) VALUES (%s, %s, 1)"
                    " ON CONFLICT (cluster_id, day) DO UPDATE SET revision = f.revision + 1",
                    [self.cluster.pk, day],
                )
        DirtyDay.objects.filter(pk__in=marks).delete()
        return int(written)

    def _given(self, cursor: Any, day: date, start_at: datetime, end_at: datetime) -> dict[str, Any]:
        slices = rules.band_slices(day, self.zone, self._bands)
        low, high = submit_span(cursor, self.cluster.pk, start_at, end_at)
        return {
            "cluster": self.cluster.pk,
            "code": self.cluster.code,
            "tracks_gpus": self.cluster.tracks_gpus,
            "day": day,
            "start_at": start_at,
            "end_at": end_at,
            "until_at": min(end_at, self.through) if self.through else end_at,
            "through": self.through,
            "low": low,
            "high": high,
            "bands": [s.band for s in slices],
            "from_at": [s.from_at for s in slices],
            "until_at_of_band": [s.until_at for s in slices],
            "quota_reasons": _beginnings(rules.QUOTA_REASONS),
            "other_reasons": _beginnings(rules.OTHER_REASONS),
            "capacity_reasons": _beginnings(rules.CAPACITY_REASONS),
        }

    def _resolve(self, cursor: Any, day: date) -> None:
        catalogue = self._history.on(day)
        owners = self._mappings.on(day)
        cursor.execute("SELECT DISTINCT partition, gpu_type, node_list, has_gpu, gpu_unknown FROM meter_sum")
        places = list(_places(catalogue, cursor.fetchall()))
        columns = ("partition", "gpu_type", "node_list", "has_gpu", "gpu_unknown", "pool", "model", "milli", "is_first")
        copy_rows(
            cursor,
            "meter_place",
            columns,
            ("text", "text", "text", "bool", "bool", "text", "text", "int8", "bool"),
            places,
        )
        cursor.execute('SELECT DISTINCT account, "user", qos FROM meter_sum')
        found = [(*key, owners.project(*key)) for key in cursor.fetchall()]
        copy_rows(cursor, "meter_owner", ("account", "user", "qos", "project"), ("text",) * 4, found)


def _places(catalogue: CatalogueDay, shapes: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for shape in shapes:
        partition, gpu_type, node_list, has_gpu, gpu_unknown = shape
        found = parts(catalogue, partition, gpu_type, node_list, has_gpu=has_gpu, gpu_unknown=gpu_unknown)
        for number, part in enumerate(found):
            yield (*shape, part.pool, part.model, part.milli, number == 0)


def _beginnings(words: Sequence[str]) -> str:
    return "^(" + "|".join(re.escape(word) for word in words) + ")"


def refresh_statistics() -> None:
    """Have the planner look at what an import has just filled: the columns by which runs are found."""
    with connection.cursor() as cursor:
        cursor.execute(sql.text("outgrown_partitions"))
        for (name,) in cursor.fetchall():
            cursor.execute(f"ANALYZE {name} (cluster_id, job_id, submit_at, start_at, stop_at)")


def submit_span(cursor: Any, cluster_id: int, start_at: datetime, end_at: datetime) -> tuple[datetime, datetime]:
    """Bounds of submit of the partitions that can hold runs of [start_at, end_at), so that the others are not read."""
    cursor.execute(
        "SELECT min(month), max(month) FROM run_span WHERE cluster_id = %s AND min_start_at < %s AND max_stop_at >= %s",
        [cluster_id, end_at, start_at],
    )
    low, high = cursor.fetchone()
    return (start_at, start_at) if low is None else months_between(low, high)


def months_between(low: date, high: date) -> tuple[datetime, datetime]:
    """The instants at which the partitions of the months `low` to `high` (first days, inclusive) begin and end."""
    after = date(high.year + high.month // 12, high.month % 12 + 1, 1)
    return datetime(low.year, low.month, 1, tzinfo=UTC), datetime(after.year, after.month, 1, tzinfo=UTC)
