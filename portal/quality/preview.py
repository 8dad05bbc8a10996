"""What a change would move, worked out without making it: hours and money by month, department, project and pool.

A mapping decides by account, user and QoS, which day facts carry: their rows are laid out anew in temporary tables that
stand in for facts and journal lines, and rated by the ledger's own statement. A partition is no part of a day fact: there the
change is made and the days are metered for real, in a transaction that is rolled back. Either way nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connection, transaction

from billing.ledger.models import Period
from billing.ledger.posting import Rating
from billing.ledger.rules import month_of
from governance.access.actor import Actor
from governance.catalogue.history import holds
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.errors import N_, BadData, NotFound
from governance.tenants.models import UNATTRIBUTED, AccountMapping, Placement
from governance.tenants.rules import Mapping, Owners
from governance.usage import watermarks
from governance.usage.metering import Meter, submit_span
from governance.usage.models import DirtyDay, FactDay
from governance.usage.rules import day_bounds

from .changes import Change, ClaimPartition, MapAccount

#: Days that are metered for real while somebody waits.
METERED_DAYS = 62
NO_CLUSTER = N_("There is no cluster “%(code)s”.")
TOO_MANY_DAYS = N_(
    "The change touches %(days)s days; %(most)s can be worked out here. Choose a later day, or use the organisation file."
)

#: (day, project, pool) -> milligpu_seconds
Hours = dict[tuple[date, str, str], int]
#: (day, department, project, pool) -> amount that the journal lacks
Owed = dict[tuple[date, str, str, str], Decimal]


@dataclass
class Moved:
    """What changes for one month, department, project and pool. Amounts are differences; the department is the home for
    hours and the payer for amounts."""

    month: str
    department: str
    project: str
    pool: str
    milligpu_seconds: int = 0
    posted: Decimal = Decimal(0)  # days that posting has reached: new lines of the journal
    accrued: Decimal = Decimal(0)  # days that posting has yet to reach
    booked_in: str = ""  # the month that takes the new lines

    @property
    def gpu_hours(self) -> Decimal:
        """The change in hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


@dataclass
class Preview:
    """What a change would move."""

    rows: list[Moved] = field(default_factory=list)
    days_moved: int = 0
    days_marked: int = 0  # to be metered again
    days_waiting: int = 0  # marked already for another reason: what they bring comes on top
    closed_months: list[str] = field(default_factory=list)

    @property
    def milligpu_seconds(self) -> int:
        """What leaves one place for another."""
        return sum(row.milligpu_seconds for row in self.rows if row.milligpu_seconds > 0)

    @property
    def gpu_hours(self) -> Decimal:
        """The same in hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000

    @property
    def posted(self) -> Decimal:
        """The sum of the new journal lines: not zero where prices differ or were missing."""
        return sum((row.posted for row in self.rows), Decimal(0))


@dataclass
class _Standing:
    hours: Hours
    owed: Owed


def preview(change: Change) -> Preview:
    """What the change would move on the days metered so far. Raises BadData or NotFound for a change that cannot be made."""
    cluster = Cluster.objects.filter(code=change.cluster).first()
    if cluster is None:
        raise NotFound(NO_CLUSTER, code=change.cluster)
    change.rows()
    found = _of_mapping(cluster, change) if isinstance(change, MapAccount) else _of_claim(cluster, change)
    days = FactDay.objects.filter(cluster=cluster)
    found.days_marked = (days.filter(day__gte=change.from_on) if change.from_on else days).count()
    found.days_waiting = DirtyDay.objects.filter(cluster=cluster).values("day").distinct().count()
    return found


def _of_mapping(cluster: Cluster, change: MapAccount) -> Preview:
    with transaction.atomic():
        moved = _moved_keys(cluster, change)
        days = sorted({day for day, *_ in moved})
        _stand_in(cluster, days, sorted({user for _, _, user, *_ in moved}))

        def imagine() -> None:
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE usage_day AS u SET project = n.project"
                    " FROM unnest(%s::date[], %s::text[], %s::text[], %s::text[], %s::text[])"
                    ' AS n (day, account, "user", qos, project)'
                    ' WHERE (u.day, u.account, u."user", u.qos) = (n.day, n.account, n."user", n.qos)',
                    [[row[i] for row in moved] for i in range(5)],
                )

        found = _compared(cluster, days, imagine)
        transaction.set_rollback(True)
    return found


def _moved_keys(cluster: Cluster, change: MapAccount) -> list[tuple[date, str, str, str, str]]:
    """(day, account, user, QoS, new project) of the facts that the mapping would give to another project."""
    wheres, given = ["cluster = %s"], [cluster.code]
    for column, value in (("account", change.account), ('"user"', change.user), ("qos", change.qos)):
        if value != "*":
            wheres.append(f"{column} = %s")
            given.append(value)
    if change.from_on:
        wheres.append("day >= %s")
        given.append(change.from_on)  # type: ignore[arg-type]
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT DISTINCT day, account, "user", qos, project FROM usage_day WHERE {" AND ".join(wheres)}', given
        )
        facts = cursor.fetchall()
    rows = AccountMapping.objects.filter(cluster=cluster).values_list(
        "from_on", "to_on", "account", "user", "qos", "project__code"
    )
    spans = [((low, high), Mapping(*rest)) for low, high, *rest in rows if tuple(rest[:3]) != change.key[1:]]
    for intervals in change.rows().values():
        spans += [
            (one.span, Mapping(change.account, change.user, change.qos, one.values["project"])) for one in intervals
        ]
    owners = {day: Owners(m for span, m in spans if holds(span, day)) for day in {fact[0] for fact in facts}}
    return [
        (day, account, user, qos, project)
        for day, account, user, qos, now in facts
        if (project := owners[day].project(account, user, qos)) != now
    ]


def _stand_in(cluster: Cluster, days: list[date], users: list[str]) -> None:
    """Temporary tables of the same names with the rows that the change can touch: a posting key holds one user, so that the
    difference of these rows is the difference of the whole day."""
    given: list[Any] = [cluster.code, days, users]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pg_temp.usage_day, pg_temp.line")
        for table, day, more in (
            ("usage_day", "day", ""),
            ("line", "used_on", " AND account_kind = 'department' AND charge_kind = 'use'"),
        ):
            cursor.execute(
                f"CREATE TEMP TABLE stand_in ON COMMIT DROP AS SELECT * FROM {table}"
                f' WHERE cluster = %s AND {day} = ANY(%s) AND "user" = ANY(%s){more}',
                given,
            )
            cursor.execute(f"CREATE INDEX ON pg_temp.stand_in ({day})")
            cursor.execute(f"ALTER TABLE pg_temp.stand_in RENAME TO {table}")
            cursor.execute(f"ANALYZE pg_temp.{table}")


def _of_claim(cluster: Cluster, change: ClaimPartition) -> Preview:
    with transaction.atomic():
        days = _days_of_partition(cluster, change)
        if len(days) > METERED_DAYS:
            raise BadData(TOO_MANY_DAYS, days=len(days), most=METERED_DAYS)

        def imagine() -> None:
            change.write(Actor.machine("preview"))
            DirtyDay.objects.bulk_create(DirtyDay(cluster=cluster, day=day) for day in days)
            meter = Meter(cluster)
            for day in days:
                meter.run(day, day + timedelta(days=1), None)

        found = _compared(cluster, days, imagine)
        transaction.set_rollback(True)
    return found


def _days_of_partition(cluster: Cluster, change: ClaimPartition) -> list[date]:
    """The metered days on which a run of the partition used something."""
    zone = ZoneInfo(installation().time_zone)
    first = day_bounds(change.from_on, zone)[0] if change.from_on else datetime(1970, 1, 1, tzinfo=UTC)
    with connection.cursor() as cursor:
        low, high = submit_span(cursor, cluster.pk, first, datetime(2200, 1, 1, tzinfo=UTC))
        cursor.execute(
            "SELECT DISTINCT f.day FROM (SELECT DISTINCT (start_at AT TIME ZONE %s)::date AS low, (stop_at AT TIME ZONE %s)::date AS high"
            " FROM run WHERE cluster_id = %s AND submit_at >= %s AND submit_at < %s AND partition = %s AND start_at IS NOT NULL"
            " AND stop_at >= %s) AS r JOIN fact_day AS f ON f.cluster_id = %s AND f.day BETWEEN r.low AND r.high"
            " WHERE f.day >= %s ORDER BY 1",
            [
                zone.key,
                zone.key,
                cluster.pk,
                low,
                high,
                change.partition,
                first,
                cluster.pk,
                change.from_on or date.min,
            ],
        )
        return [day for (day,) in cursor.fetchall()]


def _compared(cluster: Cluster, days: list[date], imagine: Callable[[], None]) -> Preview:
    """The standing of the days before and after, laid beside each other."""
    rating = Rating()
    before = _Standing(_hours(cluster, days), _owed(cluster, _unsettled(cluster, days), rating))
    imagine()
    after = _Standing(_hours(cluster, days), _owed(cluster, days, rating))
    return _told(cluster, before, after)


def _hours(cluster: Cluster, days: list[date]) -> Hours:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT day, project, pool, sum(milligpu_seconds) FROM usage_day WHERE cluster = %s AND day = ANY(%s) GROUP BY 1, 2, 3",
            [cluster.code, days],
        )
        return {(day, project, pool): int(milli) for day, project, pool, milli in cursor.fetchall()}


def _owed(cluster: Cluster, days: list[date], rating: Rating) -> Owed:
    found: Owed = {}
    for day in days:
        for one in rating.differences(cluster.code, day):
            key = (day, one.department, one.project, one.pool)
            found[key] = found.get(key, Decimal(0)) + one.amount
    return found


def _unsettled(cluster: Cluster, days: list[date]) -> list[date]:
    """The days whose journal does not stand on their present facts and terms; of the others it lacks nothing."""
    with connection.cursor() as cursor:
        cursor.execute(SETTLED, [cluster.pk, days])
        settled = {day for (day,) in cursor.fetchall()}
    return [day for day in days if day not in settled]


SETTLED = (
    "SELECT p.day FROM posted_day AS p JOIN fact_day AS f USING (cluster_id, day)"
    " WHERE cluster_id = %s AND day = ANY(%s) AND NOT p.is_stale AND p.fact_revision = f.revision"
)


def _reached_by_posting(cluster: Cluster) -> date:
    """Days before this one are posted; later ones are accrued."""
    metered = watermarks.reached(cluster, "metered")
    if metered is None:
        return date.min
    grace = timedelta(seconds=settings.POSTING_GRACE_SECONDS)
    return (metered - grace).astimezone(ZoneInfo(installation().time_zone)).date()


def _told(cluster: Cluster, before: _Standing, after: _Standing) -> Preview:
    reached = _reached_by_posting(cluster)
    states = dict(Period.objects.values_list("code", "state"))
    rows: dict[tuple[str, str, str, str], Moved] = {}
    moved: set[date] = set()

    def row(day: date, department: str, project: str, pool: str) -> Moved:
        moved.add(day)
        key = (month_of(day), department, project, pool)
        return rows.setdefault(key, Moved(*key, booked_in=booked_in(key[0], states)))

    homes = _Homes()
    for day, project, pool in before.hours.keys() | after.hours.keys():
        where = (day, project, pool)
        if change := after.hours.get(where, 0) - before.hours.get(where, 0):
            row(day, homes.of(project, day), project, pool).milligpu_seconds += change
    for key in before.owed.keys() | after.owed.keys():
        if amount := after.owed.get(key, Decimal(0)) - before.owed.get(key, Decimal(0)):
            one = row(*key)
            if key[0] < reached:
                one.posted += amount
            else:
                one.accrued += amount
    months = {month_of(day) for day in moved if day < reached}
    kept = [one for one in rows.values() if one.milligpu_seconds or one.posted or one.accrued]
    kept.sort(key=lambda one: (one.month, one.department, one.project, one.pool))
    closed = sorted(month for month in months if booked_in(month, states) != month)
    return Preview(kept, days_moved=len(moved), closed_months=closed)


class _Homes:
    """The home department of a project on a day."""

    def __init__(self) -> None:
        self._spans: dict[str, list[Any]] = {}
        for project, low, high, home in Placement.objects.values_list(
            "project__code", "from_on", "to_on", "department__code"
        ):
            self._spans.setdefault(project, []).append(((low, high), home))

    def of(self, project: str, day: date) -> str:
        """Its code; *unattributed* where it has none."""
        return next((home for span, home in self._spans.get(project, []) if holds(span, day)), UNATTRIBUTED)


def booked_in(month: str, states: dict[str, str]) -> str:
    """The month that takes what is posted about `month`: itself while open, else the first open one after it, as posting has it."""
    if states.get(month, "open") == "open":
        return month
    later = sorted(code for code, state in states.items() if code > month and state == "open")
    if later:
        return later[0]
    last = max(states)
    year, number = int(last[:4]), int(last[5:])
    return f"{year + number // 12:04d}-{number % 12 + 1:02d}"
