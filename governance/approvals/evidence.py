"""What is known of the pools of an ask at this moment, read by one question (sql/evidence.sql) and asked here in words.

Only the database is asked, never a scheduler: while one is away the figures are as old as `as_of` says, and deciding goes on.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection

from governance.access.named import in_language
from governance.catalogue.reads import installation
from governance.catalogue.rules import Claim, best_claims
from governance.quotas import rules as quotas
from governance.quotas.rooms import above
from governance.quotas.rules import Capacity, Days, Promise, Room
from governance.tenants.models import UNATTRIBUTED, with_descendants

SQL = Path(__file__).with_name("sql").joinpath("evidence.sql").read_text(encoding="utf-8")
WINDOW_DAYS = 30


class Line(NamedTuple):
    """A line of quota as evidence needs it."""

    pk: int
    pool: int
    project: int
    code: str
    home: int | None
    model: str
    level: str
    guaranteed: int
    ceiling: int
    days: Days
    ask: str


@dataclass(frozen=True)
class Use:
    """What a project used of a pool in the window: GPUs of days as milligpu_seconds, waits in seconds. All zero where it used nothing."""

    p95: int = 0
    peak: int = 0
    milli: int = 0
    active: int = 0
    idle: int = 0
    waited: int = 0
    started: int = 0
    lost: int = 0
    judged: int = 0


class Payer(NamedTuple):
    """A project, with its home department today."""

    code: str
    project: int
    home: int | None


NOBODY = Payer(UNATTRIBUTED, 0, None)


@dataclass
class Waiting:
    """What waits in a pool now: jobs and GPUs x 1000 by what for, and by project what waits for capacity."""

    as_of: datetime | None = None
    jobs: int = 0
    milli: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    by_project: dict[Payer, int] = field(default_factory=lambda: defaultdict(int))


class Offered(NamedTuple):
    """Something that is offered today."""

    pool: int
    pool_code: str
    pool_name: str
    level: str
    code: str
    name: str
    qos: str
    departments: frozenset[str]


class Evidence:
    """The figures of some pools, for a project at home in a department. A snapshot of one statement."""

    def __init__(self, pools: list[int], project: int, home: int | None, today: date) -> None:
        self.project, self.home, self.today = project, home, today
        self.departments = above(home)
        below = sorted(with_descendants({home})) if home is not None else []
        given: dict[str, Any] = {
            "pools": pools,
            "project": project,
            "home": home,
            "below": below,
            "today": today,
            "days": WINDOW_DAYS,
            "zone": installation().time_zone,
        }
        with connection.cursor() as cursor:
            cursor.execute(SQL, given)
            found = cursor.fetchone()[0]
        self._raw: dict[str, Any] = found if isinstance(found, dict) else json.loads(found)
        self.lines = [_line(row) for row in self._raw["quotas"]]
        self._used = {(row[0], row[1]): Use(*(int(value or 0) for value in row[2:])) for row in self._raw["used"]}

    def as_of(self, pool: int) -> datetime | None:
        """Up to when use of the pool is metered; None where it is not."""
        found = (self._raw["metered"] or {}).get(str(pool))
        return datetime.fromisoformat(found[0]) if found and found[0] else None

    def held(self, pool: int, project: int | None = None) -> list[Line]:
        """Lines of the pool in force today, of a project or of all."""
        return [
            line
            for line in self.lines
            if line.pool == pool and line.days.has(self.today) and project in (None, line.project)
        ]

    def guaranteed(self, pool: int, project: int) -> int:
        """GPUs that a project is guaranteed in the pool today."""
        return sum(line.guaranteed for line in self.held(pool, project))

    def use(self, pool: int, project: int) -> Use:
        """What a project of the department used of the pool in the window."""
        return self._used.get((pool, project), Use())

    def idle(self, pool: int, project: int) -> Decimal | None:
        """Guaranteed GPUs beyond the 95th percentile of the project's days; None where the pool is not metered."""
        if self.as_of(pool) is None:
            return None
        used = Decimal(self.use(pool, project).p95) / 86_400_000
        return max(Decimal(0), self.guaranteed(pool, project) - used)

    def idle_of_department(self, pool: int) -> Decimal | None:
        """The same, of every project at home in the department or below it."""
        if self.as_of(pool) is None or self.home is None:
            return None
        near = with_descendants({self.home})
        projects = {line.project for line in self.held(pool) if line.home in near} | {self.project}
        return sum((self.idle(pool, project) or Decimal(0) for project in projects), Decimal(0))

    def capacity(self, pool: int) -> list[Capacity]:
        """Healthy GPUs of the pool, as quotas count them."""
        return [
            Capacity(_days(low, high), gpus, model)
            for of, low, high, gpus, model in self._raw["capacity"]
            if of == pool
        ]

    def room(self, pool: int, window: Days, *, model: str = "", without: tuple[int, ...] = ()) -> Room:
        """What the pool could still guarantee the project, by the rule that the award itself is held to (quotas.rooms.room)."""
        promises = [
            Promise(line.days, line.guaranteed, line.model, frozenset(above(line.home)))
            for line in self.lines
            if line.pool == pool and line.guaranteed and line.pk not in without and line.days.meets(window)
        ]
        kind, factor = self._policy(pool, window.from_on)
        shares: dict[str, list[tuple[Days, int]]] = defaultdict(list)
        if kind == quotas.POOLED:
            for of, code, low, high, gpus in self._raw["shares"]:
                if of == pool and code in self.departments:
                    shares[code].append((_days(low, high), gpus))
        return quotas.room(
            window,
            capacity=self.capacity(pool),
            promises=promises,
            policy=kind,
            factor=factor,
            model=model,
            shares=shares or None,
        )

    def _policy(self, pool: int, day: date) -> tuple[str, Decimal]:
        for of, low, high, kind, factor in self._raw["policies"]:
            if of == pool and _days(low, high).has(day):
                return kind, Decimal(str(factor))
        return quotas.RESERVE, Decimal(1)

    def waiting(self, pool: int) -> Waiting:
        """What waits in the pool by the latest look at the queue; `as_of` None where nobody has looked."""
        claims: dict[int, list[Claim]] = defaultdict(list)
        for cluster, code, pattern, models in self._raw["partitions"]:
            claims[cluster].append(Claim(pattern, code, frozenset(models)))
        accounts = {(cluster, account): Payer(*rest) for cluster, account, *rest in self._raw["accounts"]}
        found = Waiting()
        code, own = self._pool_codes().get(pool, ("", None))
        found.as_of = next(
            (datetime.fromisoformat(at) for cluster, at in self._raw["sampled"] if at and cluster == own), None
        )
        for cluster, _at, partition, account, waits_for, jobs, milli in self._raw["queue"]:
            if cluster == own and any(claim.pool == code for claim in best_claims(claims[cluster], partition)):
                found.jobs += jobs
                found.milli[waits_for] += milli
                if waits_for == "capacity":
                    found.by_project[accounts.get((cluster, account), NOBODY)] += milli
        return found

    def _pool_codes(self) -> dict[int, tuple[str, int]]:
        """Pool -> (code, cluster)."""
        return {pk: (code, cluster) for pk, code, cluster in self._raw["pools"]}

    def models(self, pool: str) -> list[str]:
        """The models that a pool is declared to have, by its code."""
        return next((models for _, code, _, models in self._raw["partitions"] if code == pool), [])

    def offers_anything(self, pool: int) -> bool:
        """Whether the pool has an offering today, to whomever."""
        return any(row[0] == pool for row in self._raw["others"])

    def offered(self) -> list[Offered]:
        """What is offered today and open to the department."""
        found = []
        for pool, code, zh, en, level, offering, ozh, oen, qos, departments in self._raw["others"]:
            if not departments or set(departments) & set(self.departments):
                name, own = in_language(zh, en) or code, in_language(ozh, oen) or offering
                found.append(Offered(pool, code, name, level, offering, own, qos, frozenset(departments)))
        return found

    def own_days(self, pool: int) -> list[tuple[date, int, int]]:
        """The project's days in the pool: (day, milligpu_seconds, of them active)."""
        return [
            (date.fromisoformat(day), milli, active) for of, day, milli, active in self._raw["own_days"] if of == pool
        ]


def _line(row: list[Any]) -> Line:
    pk, pool, project, code, home, model, level, guaranteed, ceiling, low, high, ask = row
    return Line(pk, pool, project, code, home, model, level, guaranteed, ceiling, _days(low, high), ask)


def _days(low: str | None, high: str | None) -> Days:
    return Days(date.fromisoformat(low) if low else date.min, date.fromisoformat(high) if high else None)
