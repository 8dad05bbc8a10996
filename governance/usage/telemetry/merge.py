"""Writing what telemetry found: COPY into a temporary table, then one statement a table. Any order and repetition gives the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime

from django.db import connection

from governance.catalogue.models import Cluster
from governance.schedulers.telemetry.activity import RunActivity
from governance.schedulers.telemetry.collect import NodeHour

from .. import sql
from ..ingest import copy_rows

_ACTIVITY = (
    ("day", "date"),
    ("job_id", "text"),
    ("submit_at", "timestamptz"),
    ("node", "text"),
    ("cards", "int4"),
    ("active_milligpu_seconds", "int8"),
    ("idle_milligpu_seconds", "int8"),
    ("measured_milligpu_seconds", "int8"),
    ("busy_milligpu_seconds", "int8"),
    ("memory_max_mib", "int8"),
    ("energy_joules", "int8"),
    ("samples", "int8"),
    ("clamped", "int8"),
    ("first_at", "timestamptz"),
    ("last_at", "timestamptz"),
    ("observed_at", "timestamptz"),
)
_HOUR = (
    ("node", "text"),
    ("hour_at", "timestamptz"),
    ("power_watts_mean", "int4"),
    ("power_watts_max", "int4"),
    ("temperature_max", "int4"),
    ("samples", "int4"),
    ("observed_at", "timestamptz"),
)


@dataclass
class Merged:
    """What a merge did, in rows of a run on a node on a day, and in hours of nodes."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    node_hours: int = 0

    def add(self, other: Merged) -> None:
        """Add another merge's counts."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def merge(
    cluster: Cluster,
    days: Sequence[date],
    found: Iterable[RunActivity],
    hours: Iterable[NodeHour],
    observed_at: datetime | None,
) -> Merged:
    """Merge inside a transaction. `days` are what the rows' `day` counts in; `observed_at` None: each row's own last sample."""
    with connection.cursor() as cursor:
        cursor.execute(sql.text("staged_activity"))
        rows = [(days[row.day], *_activity(row, observed_at)) for row in found]
        copy_rows(cursor, "staged_activity", [name for name, _ in _ACTIVITY], [kind for _, kind in _ACTIVITY], rows)
        node_rows = [_hour(row, observed_at) for row in hours]
        copy_rows(cursor, "staged_hour", [name for name, _ in _HOUR], [kind for _, kind in _HOUR], node_rows)
        cursor.execute(sql.text("merge_activity"), {"cluster": cluster.pk})
        new, changed, unchanged = cursor.fetchone()
        cursor.execute(sql.text("merge_node_hours"), {"cluster": cluster.pk})
        return Merged(int(new), int(changed), int(unchanged), len(node_rows))


def _activity(row: RunActivity, observed_at: datetime | None) -> tuple[object, ...]:
    last_at = instant(row.last_at)
    figures = row[row._fields.index("cards") : row._fields.index("first_at")]
    return (
        row.job_id,
        instant(row.submit_at),
        row.node,
        *figures,
        instant(row.first_at),
        last_at,
        observed_at or last_at,
    )


def _hour(row: NodeHour, observed_at: datetime | None) -> tuple[object, ...]:
    at = instant(row.hour_at)
    return (
        row.node,
        at,
        row.power_watts_mean,
        row.power_watts_max,
        row.temperature_max,
        row.samples,
        observed_at or at,
    )


def instant(epoch: float) -> datetime:
    """Epoch seconds as an aware UTC instant."""
    return datetime.fromtimestamp(epoch, UTC)
