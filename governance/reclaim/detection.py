"""What a rule finds in the books on a day: lines that guarantee what is not used, runs whose GPUs idle. Reads only."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Q, Sum

from governance.approvals.models import ReclaimExemption
from governance.catalogue.history import CatalogueHistory
from governance.catalogue.models import Cluster, Pool
from governance.catalogue.reads import installation
from governance.catalogue.rules import parts
from governance.quotas.models import Offering, Quota
from governance.quotas.rules import NORMAL, Days
from governance.tenants.history import MappingHistory
from governance.usage.models import DirtyDay, FactDay, UsageDay, Watermark

from . import rules
from .models import ReclaimRule
from .rules import Finding, Held, Terms

METERED = "metered"  # the stage of the watermark behind which a day is whole
Place = tuple[int, int, int | None, str]  # project, pool, model, level


@dataclass(frozen=True)
class Found:
    """A line that a rule finds idle, and what it saw of it."""

    quota: Quota
    finding: Finding
    by_day: dict[date, Decimal]

    @property
    def evidence(self) -> dict[str, Any]:
        """The finding and each day's figure as plain values, with a digest over them."""
        first, last = self.finding.window
        told = {
            "window": [first.isoformat(), last.isoformat()],
            "held": self.finding.held,
            "p95": str(self.finding.p95.quantize(Decimal("0.001"))),
            "peak": str(self.finding.peak.quantize(Decimal("0.001"))),
            "days": {
                day.isoformat(): str(gpus.quantize(Decimal("0.001")))
                for day, gpus in sorted(self.by_day.items())
                if first <= day < last
            },
        }
        digest = sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        return {**told, "digest": digest}


class Books:
    """Lines, use by line and whole days, read once for all rules and all days of a preview."""

    def __init__(self, since: date, until: date) -> None:
        self.lines = list(
            Quota.objects.filter(is_void=False, guaranteed_gpus__gt=0, from_on__lt=until)
            .filter(Q(to_on__isnull=True) | Q(to_on__gt=since))
            .select_related("project", "pool", "pool__cluster", "model")
            .prefetch_related("pauses")
        )
        self._since = self._beginnings()
        self.use = self._use(since, until)
        self.metered = self._metered(since, until)
        self._exempt = self._exemptions()

    def _beginnings(self) -> dict[int, date]:
        """Since when each line's project guarantees at least something there without a break: a change does not start anew."""
        last: dict[Place, tuple[date | None, date]] = {}
        found = {}
        history = Quota.objects.filter(is_void=False, guaranteed_gpus__gt=0).order_by("from_on")
        for pk, project, pool, model, level, from_on, to_on in history.values_list(
            "pk", "project", "pool", "model", "level", "from_on", "to_on"
        ):
            place = (project, pool, model, level)
            end, began = last.get(place, (None, from_on))
            began = began if end == from_on else from_on
            last[place] = (to_on, began)
            found[pk] = began
        return found

    def _use(self, since: date, until: date) -> dict[Place, dict[date, Decimal]]:
        """Mean GPUs by day under each line's pool, model and level."""
        pools = {line.pool.code for line in self.lines}
        levels = {
            (pool, qos): level
            for pool, qos, level in Offering.objects.filter(pool__code__in=pools).values_list(
                "pool__code", "qos", "level"
            )
        }
        sums: dict[tuple[str, str, str, str], dict[date, int]] = defaultdict(lambda: defaultdict(int))
        rows = UsageDay.objects.filter(day__gte=since, day__lt=until, pool_id__in=pools).values_list(
            "project_id", "pool_id", "model_id", "qos", "day"
        )
        for project, pool, model, qos, day, total in rows.annotate(total=Sum("milligpu_seconds")):
            sums[project, pool, model, levels.get((pool, qos), NORMAL)][day] += total
        found: dict[Place, dict[date, Decimal]] = {}
        for line in self.lines:
            mine: dict[date, Decimal] = defaultdict(Decimal)
            for (project, pool, model, level), days in sums.items():
                if (project, pool, level) != (line.project.code, line.pool.code, line.level):
                    continue
                if line.model is None or line.model.code == model:
                    for day, total in days.items():
                        mine[day] += Decimal(total) / 86_400_000
            found[place_of(line)] = mine
        return found

    def _metered(self, since: date, until: date) -> dict[str, set[date]]:
        """By cluster the days whose facts are whole: counted, behind the watermark, and not marked to be counted again."""
        zone = ZoneInfo(installation().time_zone)
        found: dict[str, set[date]] = defaultdict(set)
        counted = FactDay.objects.filter(day__gte=since, day__lt=until).values_list("cluster__code", "day")
        for cluster, day in counted:
            found[cluster].add(day)
        dirty = DirtyDay.objects.filter(day__gte=since, day__lt=until).values_list("cluster__code", "day").distinct()
        for cluster, day in dirty:
            found[cluster].discard(day)
        for cluster, until_at in Watermark.objects.filter(stage=METERED).values_list("cluster__code", "until_at"):
            found[cluster] = {day for day in found[cluster] if _end_of(day, zone) <= until_at}
        return found

    def _exemptions(self) -> dict[Place, list[Days]]:
        found: dict[Place, list[Days]] = defaultdict(list)
        for one in ReclaimExemption.objects.all():
            if one.from_on is not None:
                found[one.project_id, one.pool_id, one.model_id, one.level].append(Days(one.from_on, one.to_on))
        return found

    def find(self, rule: ReclaimRule, day: date) -> Iterator[Found]:
        """The lines that the rule finds idle on the morning of `day`; suspended and exempted ones are passed over."""
        if rule.kind not in rules.QUOTA_KINDS:
            return
        for line in self.lines:
            if rule.pool_id not in (None, line.pool_id) or line.state_on(day) != "active":
                continue
            if any(days.has(day) for days in self._exempt.get(place_of(line), ())):
                continue
            use = self.use[place_of(line)]
            held = Held(line.guaranteed_gpus, self._since[line.pk])
            cluster = line.pool.cluster.code if line.pool.cluster else ""
            finding = rules.find(rule.terms, held, use, self.metered[cluster], day)
            if finding is not None:
                yield Found(line, finding, use)


def place_of(line: Quota) -> Place:
    """What a line is a line of."""
    return line.project_id, line.pool_id, line.model_id, line.level


def _end_of(day: date, zone: ZoneInfo) -> datetime:
    after = day + timedelta(days=1)
    return datetime(after.year, after.month, after.day, tzinfo=zone)


@dataclass(frozen=True)
class Previewed:
    """A case that a rule would have opened on a past day."""

    day: date
    quota: Quota
    finding: Finding


def preview(terms: Terms, *, pool: Pool | None, until: date, days: int = rules.PREVIEW_DAYS) -> list[Previewed]:
    """What a rule of these terms would have opened on each of the `days` mornings up to `until`, at most one case a line and window."""
    rule = ReclaimRule(code="preview", pool=pool, **asdict(terms))
    first = until - timedelta(days=days - 1)
    books = Books(first - timedelta(days=rule.window_days + 366), until)
    found: list[Previewed] = []
    last: dict[Place, date] = {}
    for n in range(days):
        day = first + timedelta(days=n)
        for one in books.find(rule, day):
            place = place_of(one.quota)
            if place in last and (day - last[place]).days < rule.window_days:
                continue
            last[place] = day
            found.append(Previewed(day, one.quota, one.finding))
    return found


@dataclass(frozen=True)
class IdleRun:
    """A running run whose GPUs idle."""

    run: str
    project: str
    pool: str
    user: str
    gpus: int
    idle_share: Decimal  # of what it held in the window
    window: tuple[date, date]


#: Runs that still ran when last seen and have held GPUs through the whole window, with active and idle GPU time from telemetry.
IDLE_RUNS = """
SELECT c.code || '/' || r.job_id || '/' || extract(epoch FROM r.submit_at)::bigint, r.account, r."user", r.partition, r.qos,
    r.gpu_type, r.node_list, r.gpu_milli, sum(a.active_milligpu_seconds)::bigint, sum(a.idle_milligpu_seconds)::bigint,
    r.gpu_milli * extract(epoch FROM %(until)s - %(since)s)::bigint
FROM run AS r
JOIN cluster AS c ON c.id = r.cluster_id
JOIN run_activity AS a ON a.cluster_id = r.cluster_id AND a.job_id = r.job_id AND a.submit_at = r.submit_at
    AND a.day >= %(first)s AND a.day < %(last)s
WHERE r.cluster_id = %(cluster)s AND r.end_at IS NULL AND r.start_at <= %(since)s AND r.stop_at >= %(until)s AND r.gpu_milli > 0
GROUP BY c.code, r.cluster_id, r.job_id, r.submit_at
"""


def idle_runs(rule: ReclaimRule, day: date) -> list[IdleRun]:
    """Running runs whose GPUs idled through the rule's window, the last `window_days` days before `day`."""
    found: list[IdleRun] = []
    if rule.kind != rules.IDLE_GPUS:
        return found
    clusters = (
        Cluster.objects.filter(pools__isnull=False) if rule.pool is None else Cluster.objects.filter(pools=rule.pool)
    )
    for cluster in clusters.distinct():
        found += _idle_of(cluster, rule, day)
    return found


def _idle_of(cluster: Cluster, rule: ReclaimRule, day: date) -> list[IdleRun]:
    zone = ZoneInfo(installation().time_zone)
    first, yesterday = day - timedelta(days=rule.window_days), day - timedelta(days=1)
    given: dict[str, Any] = {
        "cluster": cluster.pk,
        "first": first,
        "last": day,
        "since": _end_of(first - timedelta(days=1), zone),
        "until": _end_of(yesterday, zone),
    }
    with connection.cursor() as cursor:
        cursor.execute(IDLE_RUNS, given)
        rows = cursor.fetchall()
    owners, catalogue = MappingHistory(cluster).on(yesterday), CatalogueHistory(cluster).on(yesterday)
    found = []
    for run, account, user, partition, qos, gpu_type, nodes, gpu_milli, active, idle, held in rows:
        seen = rules.Idle(held, idle, max(0, held - active - idle))
        pool = parts(catalogue, partition, gpu_type, nodes, has_gpu=True, gpu_unknown=False)[0].pool
        if rules.find_idle(rule.terms, seen, gpu_milli // 1000) and (rule.pool is None or rule.pool.code == pool):
            project = owners.project(account, user, qos)
            found.append(IdleRun(run, project, pool, user, gpu_milli // 1000, Decimal(idle) / held, (first, day)))
    return found
