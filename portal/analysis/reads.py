"""Use by day from the day facts; waits and starts from a sample of runs. Everything within the actor's own scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import OuterRef, Subquery

from billing.ledger import scope
from billing.ledger.facts import FINER, facts_of
from billing.ledger.reads import FACT_COLUMNS, Query, conditions, is_of_site
from billing.ledger.rules import Span
from governance.access.actor import Actor
from governance.access.named import in_language
from governance.catalogue.history import holds
from governance.catalogue.models import UNASSIGNED_POOL, Pool
from governance.catalogue.rules import Claim, best_claims
from governance.tenants.models import UNATTRIBUTED, AccountMapping, Placement
from governance.tenants.rules import Mapping, Owners
from governance.usage.rules import day_bounds

from .rules import Started

SERIES = 6  # drawn by name; the rest together
SAMPLE = 20_000
RUN_DAYS = 31  # waits and starts are of the last days of the window

HOURS = """
    WITH g AS MATERIALIZED (
        SELECT f.day, {by} AS key, f.outcome, sum(f.milligpu_seconds) AS milli, sum(f.runs_started) AS started, sum(f.runs_ended) AS ended
        FROM ({facts}) AS f WHERE {where} GROUP BY 1, 2, 3
    ), top AS (SELECT key FROM g GROUP BY key ORDER BY sum(milli) DESC, key LIMIT %s)
    SELECT 'day', g.day, coalesce(top.key, ''), sum(milli)::bigint, sum(started)::bigint, sum(ended)::bigint
    FROM g LEFT JOIN top USING (key) GROUP BY 1, 2, 3
    UNION ALL
    SELECT 'outcome', NULL::date, outcome, sum(milli)::bigint, sum(started)::bigint, sum(ended)::bigint FROM g GROUP BY 1, 2, 3
    ORDER BY 1, 2, 3"""

#: Runs that started in the days; where not everything is the reader's, those whose account, user and QoS have facts of that day
#: within reach. Of many runs those of one job in EVERY are read, by a digest of its id, so that asking again answers the same;
#: these have an index of their own.
RUNS = """
    WITH {within}picked AS MATERIALIZED (
        SELECT r.cluster_id, r.account, r."user", r.qos, r.partition, r.gpu_milli, r.start_at,
            extract(epoch FROM r.start_at - greatest(r.submit_at, coalesce(r.eligible_at, r.submit_at)))::float8 AS wait
        FROM run AS r
        WHERE r.start_at >= %s AND r.start_at < %s AND r.submit_at < %s
            AND r.submit_at >= coalesce((SELECT min(month) FROM run_span WHERE max_stop_at >= %s), 'infinity'::date) {picked}
    )
    SELECT c.code, r.partition, r.gpu_milli, r.start_at, r.wait FROM picked AS r JOIN cluster AS c ON c.id = r.cluster_id {kept}
    LIMIT %s"""
EVERY = 64
PICKED = "AND mod(abs(hashtext(r.job_id)::bigint), {every}) = 0"
#: Few runs are found by their users; of many the sampled ones are few enough.
NEAR = 'AND r."user" = ANY(ARRAY(SELECT DISTINCT "user" FROM k))'
WITHIN = """k AS MATERIALIZED (
        SELECT DISTINCT f.day, f.cluster, f.account, f."user", f.qos FROM ({facts}) AS f WHERE {where} AND f.runs_started > 0
    ), """
#: IS TRUE has the keys looked up in a hash: without statistics of them a planner would compare every run with every key.
KEPT = """
    WHERE ((c.code, r.account, r."user", r.qos, (r.start_at AT TIME ZONE %s)::date)
        IN (SELECT cluster, account, "user", qos, day FROM k)) IS TRUE"""

PENDING = """
    SELECT c.code, r.account, r."user", r.qos, count(*) FROM run AS r JOIN cluster AS c ON c.id = r.cluster_id
    WHERE r.outcome = 'pending' AND r.submit_at >= %s AND r.submit_at < %s GROUP BY 1, 2, 3, 4"""


@dataclass
class Day:
    """What one series used on a day."""

    day: date
    key: str  # "" for all that are not drawn by name
    milligpu_seconds: int
    runs_started: int

    @property
    def gpu_hours(self) -> Decimal:
        """Its hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


@dataclass
class Outcome:
    """What ended how."""

    code: str
    milligpu_seconds: int
    runs_ended: int

    @property
    def gpu_hours(self) -> Decimal:
        """Its hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


@dataclass
class Use:
    """Use of a window of days."""

    first_on: date
    last_on: date
    days: list[Day] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def milligpu_seconds(self) -> int:
        """All of it."""
        return sum(one.milligpu_seconds for one in self.outcomes)

    @property
    def gpu_hours(self) -> Decimal:
        """All of it in hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000

    @property
    def keys(self) -> list[str]:
        """The series by size, the rest last."""
        sums: dict[str, int] = {}
        for one in self.days:
            sums[one.key] = sums.get(one.key, 0) + one.milligpu_seconds
        return sorted(sums, key=lambda key: (key == "", -sums[key], key))


@dataclass
class Sample:
    """Runs that started: one job in `every`; `pending` had not started when last seen, so their waits are still growing."""

    first_on: date
    last_on: date
    runs: list[Started]
    every: int
    pending: int
    pool_names: dict[str, str]


def query_of(first_on: date, last_on: date, by: str, filters: dict[str, str], actor: Actor) -> Query:
    """What is asked. Raises NotFound for a department or project out of sight."""
    rest = dict(filters)
    department = rest.pop("department", None)
    if "project" in rest:
        scope.require_project(actor, rest["project"])
    if department == UNATTRIBUTED:
        below: list[str] | None = [UNATTRIBUTED]
    else:
        below = None if department is None else scope.subtree(actor, department)
    return Query(Span(first_on, last_on), (by,), below, rest)


def use(query: Query, *, actor: Actor, series: int = SERIES) -> Use:
    """Hours and starts by day and series, and by outcome, of what the actor may see; one question."""
    where, given = conditions(query, FACT_COLUMNS, actor, "usage.view", by_day=True)
    names = {*query.dimensions, *query.filters, *FINER}
    facts = facts_of(query.span, names, of_site=is_of_site(query, actor))
    statement = HOURS.format(by=FACT_COLUMNS[query.dimensions[0]], facts=facts, where=where)
    found = Use(*query.span)
    for what, day, key, milli, started, ended in _rows(statement, [*given, series]):
        if what == "day":
            found.days.append(Day(day, key, int(milli), int(started)))
        else:
            found.outcomes.append(Outcome(key, int(milli), int(ended)))
    found.outcomes.sort(key=lambda one: (-one.milligpu_seconds, one.code))
    return found


def sample(query: Query, started: int, zone: ZoneInfo, *, actor: Actor) -> Sample:
    """Runs that started in the last days of the window, all of them up to SAMPLE, else one in EVERY; `started` is how many there were."""
    last_on = query.span.last_on
    first_on = max(query.span.first_on, last_on - timedelta(days=RUN_DAYS - 1))
    narrowed = query._replace(span=Span(first_on, last_on))
    every = EVERY if started > SAMPLE else 1
    low, high = day_bounds(first_on, zone)[0], day_bounds(last_on, zone)[1]
    within, given = _within(narrowed, actor)
    picked = PICKED.format(every=every) if every > 1 else NEAR if within else ""
    asked = RUNS.format(within=within, picked=picked, kept=KEPT if within else "")
    rows = _rows(asked, [*given, low, high, high, low, *([zone.key] if within else []), 4 * SAMPLE])
    pools = _Pools(last_on)
    runs = []
    for cluster, partition, milli, start_at, wait in rows:
        pool = pools.of(cluster, partition)
        if query.filters.get("pool", pool) == pool:
            runs.append(Started(pool, None if milli is None else -(-milli // 1000), start_at, wait))
    return Sample(first_on, last_on, runs, every, _pending(narrowed, zone, actor), pools.names)


def _within(query: Query, actor: Actor) -> tuple[str, list[Any]]:
    """The keys of what the actor may see and has asked for; none where that is everything."""
    if actor.may("usage.view") and query.departments is None and not query.filters:
        return "", []
    where, given = conditions(query, FACT_COLUMNS, actor, "usage.view", by_day=True)
    return WITHIN.format(facts=facts_of(query.span, FINER), where=where), given


class _Pools:
    """The pool of a cluster's partition, and what pools are called, by one question; pools that share a partition are told together."""

    def __init__(self, day: date) -> None:
        self.names: dict[str, str] = {}
        self._claims: dict[str, list[Any]] = {}
        rows = Pool.objects.values_list(
            "code",
            "name_zh",
            "name_en",
            "cluster__code",
            "partitions__pattern",
            "partitions__from_on",
            "partitions__to_on",
        )
        for code, zh, en, cluster, pattern, low, high in rows:
            self.names[code] = in_language(zh, en) or code
            if pattern is not None and holds((low, high), day):
                self._claims.setdefault(cluster or "", []).append(Claim(pattern, code, frozenset()))
        self._known: dict[tuple[str, str], str] = {}

    def of(self, cluster: str, partition: str) -> str:
        """Its code, *unassigned* where no pool claims it."""
        key = (cluster, partition)
        if key not in self._known:
            best = best_claims(self._claims.get(cluster, []), partition)
            self._known[key] = " / ".join(claim.pool for claim in best) or UNASSIGNED_POOL
        return self._known[key]


def _pending(query: Query, zone: ZoneInfo, actor: Actor) -> int:
    """Runs submitted in the days that had not started when last seen, of projects within reach on the last day."""
    low, high = day_bounds(query.span.first_on, zone)[0], day_bounds(query.span.last_on, zone)[1]
    rows = _rows(PENDING, [low, high])
    reach = scope.reach(actor, "usage.view")
    if not rows or (reach.everything and query.departments is None and "project" not in query.filters):
        return sum(int(count) for *_, count in rows)
    day = query.span.last_on
    owners, homes = _owners(day)
    found = 0
    for cluster, account, user, qos, count in rows:
        project = owners[cluster].project(account, user, qos) if cluster in owners else UNATTRIBUTED
        home = homes.get(project, UNATTRIBUTED)
        is_seen = reach.everything or project in reach.projects or home in reach.departments
        is_asked = query.filters.get("project", project) == project
        if is_seen and is_asked and (query.departments is None or home in query.departments):
            found += int(count)
    return found


def _owners(day: date) -> tuple[dict[str, Owners], dict[str, str]]:
    """Whose the accounts of each cluster are on a day, and where those projects are at home, by one question."""
    home = Placement.objects.on(day).filter(project=OuterRef("project")).values("department__code")[:1]
    rows = AccountMapping.objects.on(day).annotate(home=Subquery(home))
    by_cluster: dict[str, list[Mapping]] = {}
    homes: dict[str, str] = {}
    for cluster, *rest, at_home in rows.values_list("cluster__code", "account", "user", "qos", "project__code", "home"):
        by_cluster.setdefault(cluster, []).append(Mapping(*rest))
        if at_home:
            homes[rest[3]] = at_home
    return {cluster: Owners(mappings) for cluster, mappings in by_cluster.items()}, homes


def _rows(statement: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())
