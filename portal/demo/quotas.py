"""What the demo company is offered and holds: terms of its pools, and quotas in every state, by the end of the records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from portal.demo import projects
from portal.demo.estate import Pool
from portal.demo.projects import Project

GUARANTEED_PART = Decimal("0.80")  # of a pool's cards: the rest is for elastic use and for repairs
QOS = {"urgent": "high", "normal": "normal", "elastic": "low"}
SMALL_HOLDERS = 3  # projects of a pool that hold a card of it where nobody's part would be one
HOUR, DAY = 3600, 86_400
SHARED_POOL = "dev-a800"  # promised by shares of departments

#: Whose quota shows what (project, pool), where the pool is there.
GENEROUS = ("compiler", "train-h800")  # holds three times what it needs
OVERSIZED = ("stress", "train-a800")  # holds half a node for short tests: most of it idles
NEVER_USED = ("cabin", "train-h800")  # was planned there and has not begun
ENDING = ("ocr", "train-a800")  # within a fortnight
IN_GRACE = ("risk", "train-a800")  # ran out yesterday
SUSPENDED = ("stress", "train-h800")
RAISED = ("pretrain", "train-h800")  # in the middle of the period
AWARDED, RAISED_WHY = "半年计划 · half-year plan", "复核后提高 · raised after the review"
SUSPENDED_WHY = "新节点验收 · acceptance of new nodes"
HALF_NODE = 4
METERED = {"eval", "synthesis", "recall", "autolabel"}  # have GPU-hours of a month


@dataclass(frozen=True)
class Offered:
    """An offering and the rule of its queue."""

    pool: str
    level: str
    zh: str
    en: str
    service_level: Decimal | None
    most: int
    wall_s: int
    min_run_s: int | None
    priority: int
    preempts: tuple[str, ...]
    share_percent: int

    @property
    def code(self) -> str:
        """Of the offering."""
        return f"{self.pool}-{self.level}"

    @property
    def qos(self) -> str:
        """Its name in the scheduler's records."""
        return QOS[self.level]


@dataclass(frozen=True)
class Held:
    """A quota. `raised_from`: what it began with, before the middle of the period; 0 where it was never changed."""

    project: str
    pool: str
    level: str
    guaranteed: int
    ceiling: int
    from_on: date
    to_on: date | None
    gpu_hours: int | None = None
    raised_from: int = 0
    suspended_on: date | None = None


def offered(pools: list[Pool]) -> list[Offered]:
    """Three levels of each pool: urgent displaces elastic, normal too; elastic takes half the pool at most."""
    found = []
    for pool in pools:
        plan, training = pool.plan, pool.plan.purpose == "training"
        wall = {"training": 7 * DAY, "inference": 30 * DAY, "development": 12 * HOUR}[plan.purpose]
        most = max(8, pool.total_cards // 2)
        over_elastic = ("elastic",)
        rows = (
            ("urgent", "加急", "urgent", Decimal("99.5"), min(most, 64), wall // 2, None, 30, over_elastic, 100),
            ("normal", "标准", "standard", Decimal(99), most, wall, HOUR, 20, over_elastic if training else (), 100),
            ("elastic", "弹性", "elastic", None, most, min(wall, 3 * DAY), HOUR // 2, 10, (), 50),
        )
        found += [
            Offered(plan.code, level, f"{plan.zh}{zh}", f"{plan.en}, {en}", *rest) for level, zh, en, *rest in rows
        ]
    return found


def policies(pools: list[Pool]) -> list[tuple[str, str, Decimal]]:
    """(pool, kind, factor): inference is promised a quarter more than it has, the development pool by shares."""
    return [
        (pool.code, "pooled", Decimal(1))
        if pool.code == SHARED_POOL
        else (pool.code, "reserve", Decimal("1.25") if pool.plan.purpose == "inference" else Decimal(1))
        for pool in pools
    ]


def shares(pools: list[Pool]) -> list[tuple[str, str, int]]:
    """(pool, department, GPUs) of the shared pool: by what the projects below submit, together a fifth more than it has."""
    found = []
    for pool in pools:
        if pool.code != SHARED_POOL:
            continue
        own = projects.in_pool(pool.code)
        whole = sum(project.weight for project in own)
        for department in projects.DEPARTMENTS:
            below = {one.code for one in projects.DEPARTMENTS if department.code in (one.code, one.parent)}
            weight = sum(project.weight for project in own if project.department in below)
            if weight:
                found.append((pool.code, department.code, max(1, pool.total_cards * weight * 6 // (whole * 5))))
    return found


def held(pools: list[Pool], first_on: date, end_on: date) -> list[Held]:
    """The quotas of all projects that are large enough in a pool to hold one. `end_on`: the day after the last record."""
    found: list[Held] = []
    for pool in pools:
        own = projects.in_pool(pool.code)
        whole = sum(project.weight for project in own)
        largest = sorted(own, key=lambda project: -project.weight)[:SMALL_HOLDERS]
        for project in own:
            gpus = _rounded(int(pool.total_cards * GUARANTEED_PART * project.weight / whole)) or project in largest
            if gpus:
                found.append(_standing(project, pool, int(gpus), first_on, end_on))
            if gpus and project.elastic >= 30:
                most = max(4, _rounded(pool.total_cards // 6))
                found.append(Held(project.code, pool.code, "elastic", 0, most, first_on, end_on + timedelta(days=90)))
        if pool.code == NEVER_USED[1]:
            until = end_on + timedelta(days=120)
            found.append(Held(NEVER_USED[0], pool.code, "normal", HALF_NODE, HALF_NODE, first_on, until))
        # The largest project of an inference pool serves at once when it must.
        if pool.plan.purpose == "inference" and pool.total_cards >= 32:
            lead = max(own, key=lambda project: project.weight)
            found.append(Held(lead.code, pool.code, "urgent", 2, 8, first_on, end_on + timedelta(days=200)))
    return found


def _standing(project: Project, pool: Pool, gpus: int, first_on: date, end_on: date) -> Held:
    """A project's normal quota of a pool, and what is particular about it."""
    hours = gpus * 24 * 30 if project.code in METERED else None
    made = Held(
        project.code, pool.code, "normal", gpus, _ceiling(gpus, pool), first_on, end_on + timedelta(days=120), hours
    )
    place = (project.code, pool.code)
    if place == GENEROUS:
        return replace(made, guaranteed=gpus * 3, ceiling=max(gpus * 3, made.ceiling))
    if place == OVERSIZED:
        return replace(made, guaranteed=HALF_NODE, ceiling=max(HALF_NODE, made.ceiling))
    if place == ENDING:
        return replace(made, to_on=end_on + timedelta(days=10))
    if place == IN_GRACE:
        return replace(made, to_on=end_on)
    if place == SUSPENDED:
        return replace(made, suspended_on=end_on - timedelta(days=3))
    if place == RAISED:
        return replace(made, raised_from=max(1, gpus // 2))
    return made


def _ceiling(gpus: int, pool: Pool) -> int:
    """What it may use where the pool has it free: the invented jobs know of no quota."""
    return max(gpus, min(max(8, gpus * 5), pool.total_cards // 2))


def _rounded(gpus: int) -> int:
    """To whole nodes where it is one, else to what divides a node."""
    step = 8 if gpus >= 16 else 4 if gpus >= 8 else 2 if gpus >= 4 else 1
    return gpus // step * step
