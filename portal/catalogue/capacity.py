"""The metered side of the catalogue: what pools and models had and gave on the days of a month, from capacity facts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from governance.catalogue.reads import installation

MILLI = 1000
HOUR = 3_600_000  # milligpu_seconds


@dataclass
class Supply:
    """Sums of capacity facts, in milligpu_seconds. installed + over = allocated + free + reserved + drained + down."""

    installed: int = 0
    allocated: int = 0
    free: int = 0
    reserved: int = 0
    drained: int = 0
    down: int = 0
    over: int = 0

    def add(self, other: Supply) -> None:
        """Take in other sums."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    @property
    def rate(self) -> Decimal | None:
        """Allocated ÷ available (metric `allocation_rate`); None where nothing was available."""
        available = self.installed - self.reserved - self.drained - self.down
        return Decimal(self.allocated) / available if available > 0 else None

    @property
    def hours(self) -> dict[str, Decimal]:
        """Each figure in GPU-hours."""
        return {one.name: Decimal(getattr(self, one.name)) / HOUR for one in fields(self)}


@dataclass
class Metered:
    """A pool and model: its month, and the mean of its last metered day in cards."""

    pool: str
    model: str
    cluster: str
    month: Supply
    day: date
    seconds: int  # of that day that are metered
    last: Supply

    @property
    def cards(self) -> dict[str, Decimal]:
        """The last day's figures as cards, the mean over its metered seconds."""
        span = self.seconds * MILLI
        return {one.name: Decimal(getattr(self.last, one.name)) / span for one in fields(self.last)} if span else {}


COLUMNS = tuple(one.name for one in fields(Supply))
BY_POOL = f"""
    WITH last AS (
        SELECT l.cluster, l.day, least(86400, extract(epoch FROM coalesce(w.until_at, 'infinity') - l.day::timestamp AT TIME ZONE %(zone)s))
            AS seconds
        FROM (SELECT cluster, max(day) AS day FROM capacity_day WHERE day BETWEEN %(first)s AND %(last)s GROUP BY cluster) AS l
        JOIN cluster AS k ON k.code = l.cluster
        LEFT JOIN watermark AS w ON w.cluster_id = k.id AND w.stage = 'metered'
    )
    SELECT c.pool, c.model, c.cluster, l.day, l.seconds, {", ".join(f"sum(c.{name})" for name in COLUMNS)},
        {", ".join(f"coalesce(sum(c.{name}) FILTER (WHERE c.day = l.day), 0)" for name in COLUMNS)}
    FROM capacity_day AS c JOIN last AS l USING (cluster)
    WHERE c.day BETWEEN %(first)s AND %(last)s GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2"""


def metered(first_on: date, last_on: date) -> list[Metered]:
    """Every pool and model that had or gave something in [first_on, last_on]."""
    given = {"first": first_on, "last": last_on, "zone": installation().time_zone}
    found = []
    for pool, model, cluster, day, seconds, *sums in _rows(BY_POOL, given):
        whole = [int(value) for value in sums]
        month, last = Supply(*whole[: len(COLUMNS)]), Supply(*whole[len(COLUMNS) :])
        found.append(Metered(pool, model, cluster, month, day, max(int(seconds), 0), last))
    return found


@dataclass(frozen=True)
class DayOf:
    """A day of a pool."""

    day: date
    supply: Supply
    causes: tuple[str, ...]

    @property
    def bar(self) -> int:
        """Its allocation rate in whole percent, for a bar."""
        return min(round((self.supply.rate or 0) * 100), 100)


def days(pool: str, first_on: date, last_on: date) -> list[DayOf]:
    """The pool's days in [first_on, last_on], all models together, the last first."""
    found = _rows(
        f"""SELECT day, array_agg(DISTINCT cause) FILTER (WHERE cause <> ''), {", ".join(f"sum({name})" for name in COLUMNS)}
        FROM capacity_day WHERE pool = %(pool)s AND day BETWEEN %(first)s AND %(last)s GROUP BY day ORDER BY day DESC""",
        {"pool": pool, "first": first_on, "last": last_on},
    )
    return [DayOf(day, Supply(*map(int, sums)), tuple(causes or ())) for day, causes, *sums in found]


def total(of: list[Metered]) -> Supply:
    """The sum of their months."""
    found = Supply()
    for one in of:
        found.add(one.month)
    return found


def _rows(statement: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())
