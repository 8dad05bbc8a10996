"""What the quality pages list, each in a few questions. No rights here: the views ask for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from billing.ledger.rules import amount
from billing.prices.models import Price
from billing.prices.reads import PriceHistory
from billing.prices.rules import GPU_HOUR, Tariff
from governance.catalogue.history import holds
from governance.catalogue.models import UNASSIGNED_POOL, CardFactor, NodeTerm, Pool, PoolPartition
from governance.catalogue.reads import installation
from governance.catalogue.rules import Claim, best_claims
from governance.schedulers.slurm.hostlist import expand
from governance.tenants.models import UNATTRIBUTED
from governance.usage.models import Watermark
from governance.usage.rules import day_bounds, day_of

ACCOUNTS_A_PAGE = 50
USERS_SHOWN = 3
WINDOW_DAYS = 31


@dataclass
class Unclaimed:
    """Use that no mapping claims: of an account, or of one user and QoS in it."""

    cluster: str
    account: str
    user: str
    qos: str
    milligpu_seconds: int
    first_on: date
    last_on: date
    runs_started: int
    users: list[str]
    users_in_all: int
    amount: Decimal | None = None  # at the prices of its days; None where money is not the reader's to see
    is_unpriced: bool = False  # some of it has no price

    @property
    def gpu_hours(self) -> Decimal:
        """Its hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


class Total(NamedTuple):
    """Unclaimed use in all."""

    milligpu_seconds: int
    accounts: int

    @property
    def gpu_hours(self) -> Decimal:
        """Its hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


#: One row an account, largest first; the cursor is the last row shown.
ACCOUNTS = """
    SELECT cluster, account, sum(milligpu_seconds)::bigint AS milli, min(day), max(day), sum(runs_started)::bigint,
        count(DISTINCT "user"),
        (SELECT array_agg(l."user" ORDER BY l.last DESC, l."user") FROM (
            SELECT i."user", max(i.day) AS last FROM usage_day AS i
            WHERE i.project = %s AND i.cluster = u.cluster AND i.account = u.account GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %s) AS l)
    FROM usage_day AS u WHERE project = %s GROUP BY cluster, account
    HAVING %s::bigint IS NULL OR (-sum(milligpu_seconds), cluster, account) > (%s, %s, %s)
    ORDER BY milli DESC, cluster, account LIMIT %s"""

PARTS = """
    SELECT "user", qos, sum(milligpu_seconds)::bigint, min(day), max(day), sum(runs_started)::bigint
    FROM usage_day WHERE project = %s AND cluster = %s AND account = %s GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %s"""


def unclaimed_total() -> Total:
    """All unclaimed use."""
    rows = _rows(
        "SELECT coalesce(sum(milligpu_seconds), 0), count(DISTINCT (cluster, account)) FROM usage_day WHERE project = %s",
        [UNATTRIBUTED],
    )
    return Total(int(rows[0][0]), int(rows[0][1]))


def unclaimed(after: tuple[int, str, str] | None, *, with_money: bool) -> list[Unclaimed]:
    """A page of accounts and one row more where there are more; `after` is (milligpu_seconds, cluster, account)."""
    milli, cluster, account = after or (None, "", "")
    where = [UNATTRIBUTED, USERS_SHOWN, UNATTRIBUTED, milli, -(milli or 0), cluster, account, ACCOUNTS_A_PAGE + 1]
    found = [
        Unclaimed(cluster, account, "*", "*", int(milli), first, last, int(runs), users or [], int(count))
        for cluster, account, milli, first, last, runs, count, users in _rows(ACCOUNTS, where)
    ]
    if with_money and found:
        _price(found)
    return found


def parts_of(cluster: str, account: str, limit: int = 1000) -> list[Unclaimed]:
    """The unclaimed use of an account by user and QoS, largest first."""
    return [
        Unclaimed(cluster, account, user, qos, int(milli), first, last, int(runs), [user], 1)
        for user, qos, milli, first, last, runs in _rows(PARTS, [UNATTRIBUTED, cluster, account, limit])
    ]


def whole_of(parts: list[Unclaimed]) -> Unclaimed | None:
    """The parts of an account together; None where there are none."""
    if not parts:
        return None
    return replace(
        parts[0],
        user="*",
        qos="*",
        milligpu_seconds=sum(part.milligpu_seconds for part in parts),
        first_on=min(part.first_on for part in parts),
        last_on=max(part.last_on for part in parts),
        runs_started=sum(part.runs_started for part in parts),
    )


def _price(rows: list[Unclaimed]) -> None:
    """Put the amounts in: use by what its price depends on, each stretch of days between changes of prices at once."""
    cuts = _cuts()
    asked = """
        SELECT cluster, account, pool, model, qos, band, (SELECT count(*) FROM unnest(%s::date[]) AS c WHERE c <= day) AS stretch,
            min(day), sum(milligpu_seconds)::bigint
        FROM usage_day WHERE project = %s AND (cluster, account) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
        GROUP BY 1, 2, 3, 4, 5, 6, 7"""
    keys = [[row.cluster for row in rows], [row.account for row in rows]]
    history = PriceHistory()
    tariffs: dict[int, Tariff] = {}
    sums: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    unpriced: set[tuple[str, str]] = set()
    for cluster, account, pool, model, qos, band, stretch, first, milli in _rows(asked, [cuts, UNATTRIBUTED, *keys]):
        if stretch not in tariffs:
            tariffs[stretch] = history.on(first)
        price = tariffs[stretch].unit_price(GPU_HOUR, pool, model, qos, band)
        if price is not None:
            sums[cluster, account].append(amount(int(milli), price, GPU_HOUR))
        elif milli:
            unpriced.add((cluster, account))
    for row in rows:
        row.amount = sum(sums[row.cluster, row.account], Decimal(0))
        row.is_unpriced = (row.cluster, row.account) in unpriced


def _cuts() -> list[date]:
    """The days on which a price or a card factor begins or ends."""
    dated = Price.objects.values_list("from_on", "to_on").union(
        CardFactor.objects.values_list("from_on", "to_on"), all=True
    )
    return sorted({day for span in dated for day in span if day is not None})


@dataclass
class Unplaced:
    """Runs of a partition that no pool claims, within a window of days."""

    cluster: str
    partition: str
    gpu_type: str
    runs: int
    milligpu_seconds: int
    first_on: date
    last_on: date
    pools: list[Any] = field(default_factory=list)  # the pool that could claim it first
    is_sure: bool = False  # its nodes belong to the first one

    @property
    def gpu_hours(self) -> Decimal:
        """Its hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


@dataclass
class UnplacedPage:
    """What lies in no pool in a window; `rest`: in partitions that pools claim, but for other GPU models."""

    first_on: date
    last_on: date
    milligpu_seconds: int
    rows: list[Unplaced]

    @property
    def gpu_hours(self) -> Decimal:
        """All of it."""
        return Decimal(self.milligpu_seconds) / 3_600_000

    @property
    def rest_hours(self) -> Decimal:
        """What no row explains."""
        return max(self.gpu_hours - sum((row.gpu_hours for row in self.rows), Decimal(0)), Decimal(0))


#: Runs behind the facts that lie in no pool, by partition. The facts name accounts, users, QoS and outcomes; the stretches are
#: those in which no claim of a partition begins or ends.
PARTITIONS = """
    WITH kept AS (
        SELECT DISTINCT c.id, u.cluster, u.account, u."user", u.qos, u.outcome
        FROM usage_day AS u JOIN cluster AS c ON c.code = u.cluster WHERE u.pool = %s AND u.day BETWEEN %s AND %s
    )
    SELECT k.cluster, s.day, r.partition, r.gpu_type, count(*),
        sum(coalesce(r.gpu_milli, 0) * extract(epoch FROM least(r.stop_at, s.until_at) - greatest(r.start_at, s.from_at)))::bigint,
        min(greatest(r.start_at, s.from_at)), max(least(r.stop_at, s.until_at)), min(r.node_list)
    FROM kept AS k
    JOIN run AS r ON r.cluster_id = k.id AND (r.account, r."user", r.qos, r.outcome) = (k.account, k."user", k.qos, k.outcome)
    JOIN unnest(%s::date[], %s::timestamptz[], %s::timestamptz[]) AS s (day, from_at, until_at)
        ON r.start_at < s.until_at AND r.stop_at > s.from_at
    WHERE r.start_at < %s AND r.stop_at > %s AND r.submit_at >= %s AND r.submit_at < %s
    GROUP BY 1, 2, 3, 4"""


def unplaced_hours(first_on: date, last_on: date) -> Decimal:
    """GPU-hours in no pool in [first_on, last_on]."""
    asked = "SELECT coalesce(sum(milligpu_seconds), 0) FROM usage_day WHERE pool = %s AND day BETWEEN %s AND %s"
    return Decimal(_rows(asked, [UNASSIGNED_POOL, first_on, last_on])[0][0]) / 3_600_000


def unplaced(first_on: date, last_on: date) -> UnplacedPage:
    """The runs in no pool that used something in [first_on, last_on], by partition and printed GPU type."""
    total = _rows(
        "SELECT coalesce(sum(milligpu_seconds), 0), count(*) FROM usage_day WHERE pool = %s AND day BETWEEN %s AND %s",
        [UNASSIGNED_POOL, first_on, last_on],
    )[0]
    page = UnplacedPage(first_on, last_on, int(total[0]), [])
    if not total[1]:
        return page
    zone = ZoneInfo(installation().time_zone)
    claimed = claims()
    found: dict[tuple[str, str, str], Unplaced] = {}
    nodes: dict[tuple[str, str, str], str] = {}
    for cluster, day, partition, kind, runs, milli, from_at, to_at, node_list in _rows(
        PARTITIONS, _stretches(first_on, last_on, zone, claimed)
    ):
        held = [claim for span, of, claim in claimed if of == cluster and holds(span, day)]
        if best_claims(held, partition):
            continue
        key = (cluster, partition, kind)
        low, high = day_of(from_at, zone), day_of(to_at - timedelta(microseconds=1), zone)
        row = found.setdefault(key, Unplaced(cluster, partition, kind, 0, 0, low, high))
        row.runs += int(runs)
        row.milligpu_seconds += int(milli)
        row.first_on, row.last_on = min(row.first_on, low), max(row.last_on, high)
        nodes[key] = node_list
    page.rows = sorted(found.values(), key=lambda row: (-row.milligpu_seconds, row.cluster, row.partition))
    _suggest(page.rows, nodes)
    return page


def claims() -> list[tuple[tuple[date | None, date | None], str, Claim]]:
    """What pools claim which partitions on which days: (days, cluster, claim); the pools' GPU models are left out."""
    rows = PoolPartition.objects.values_list("from_on", "to_on", "pattern", "pool__code", "pool__cluster__code")
    return [
        ((low, high), cluster or "", Claim(pattern, pool, frozenset())) for low, high, pattern, pool, cluster in rows
    ]


def _stretches(first_on: date, last_on: date, zone: ZoneInfo, claimed: Sequence[Any]) -> list[Any]:
    cuts = {day for span, _, _ in claimed for day in span if day is not None and first_on < day <= last_on}
    starts = sorted({first_on, *cuts})
    ends = [*starts[1:], last_on + timedelta(days=1)]
    low = [day_bounds(day, zone)[0] for day in starts]
    high = [day_bounds(day, zone)[0] for day in ends]
    span = _rows(
        "SELECT min(month), (max(month) + interval '1 month')::date FROM run_span WHERE min_start_at < %s AND max_stop_at >= %s",
        [high[-1], low[0]],
    )[0]
    return [UNASSIGNED_POOL, first_on, last_on, starts, low, high, high[-1], low[0], span[0], span[1]]


def _suggest(rows: list[Unplaced], nodes: dict[tuple[str, str, str], str]) -> None:
    """Pools of the cluster, the one whose node a run used first."""
    pools: dict[str, list[Pool]] = defaultdict(list)
    for pool in Pool.objects.exclude(cluster=None).select_related("cluster").order_by("code"):
        assert pool.cluster is not None
        pools[pool.cluster.code].append(pool)
    first_nodes = {key: _first(node_list) for key, node_list in nodes.items()}
    terms = NodeTerm.objects.filter(node__name__in=set(first_nodes.values()))
    homes = dict.fromkeys(terms.values_list("node__cluster__code", "node__name", "pool__code").order_by("from_on"))
    of_node = {(cluster, name): pool for cluster, name, pool in homes}
    for row in rows:
        home = of_node.get((row.cluster, first_nodes[row.cluster, row.partition, row.gpu_type]))
        row.pools = sorted(pools[row.cluster], key=lambda pool: pool.code != home)
        row.is_sure = home is not None


def _first(node_list: str) -> str:
    try:
        return next(iter(expand(node_list)), "") if node_list else ""
    except ValueError:
        return ""


class Mark(NamedTuple):
    """How far a cluster's stage has come."""

    cluster: str
    name: str
    stage: str
    until_at: Any


def marks() -> list[Mark]:
    """The watermarks of every cluster."""
    rows = Watermark.objects.select_related("cluster").order_by("cluster__code", "stage")
    return [Mark(row.cluster.code, row.cluster.name, row.stage, row.until_at) for row in rows]


def _rows(statement: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())
