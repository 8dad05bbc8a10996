"""Reading quotas: what is held on a day, by whom, and what the scheduler should be told of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, Value

from governance.access.actor import Actor
from governance.access.memory import remembered
from governance.catalogue.models import Cluster, Pool, PoolPartition
from governance.errors import N_, NotFound
from governance.tenants.models import AccountMapping, Placement, Project, day_of_today, department_tree, held_today

from . import rules, using
from .models import Offering, QueueRule, Quota
from .rooms import above, healthy_gpus
from .rules import Days

ANY = "*"
LONGEST_GRACE = timedelta(days=366)  # no setting allows more


@dataclass(frozen=True)
class Holding:
    """What a project holds of a pool and level on a day, in the scheduler's words too. GPUs are whole; "" is no model in particular."""

    quota: str
    project: str
    pool: str
    level: str
    model: str
    model_names: tuple[str, ...]  # the names a scheduler may have for the model
    partitions: tuple[str, ...]  # patterns of the pool on the day
    qos: str  # the offering's, "" where none is offered
    accounts: tuple[str, ...]  # that belong to the project alone, whoever uses them and at whatever QoS
    shared_accounts: tuple[str, ...]  # of which other projects have a part: they cannot carry this quota
    guaranteed_gpus: int
    ceiling_gpus: int
    gpu_hours: int | None
    hours_period: str
    from_on: date
    to_on: date | None
    state: str  # active, suspended, grace


def quota_of(number: str, actor: Actor) -> Quota:
    """The line with this number. Raises NotFound where there is none, or none that the actor may see."""
    digits = number.removeprefix("Q-")
    found = None
    if digits.isdecimal() and len(digits) < 18:
        lines = Quota.objects.visible_to(actor).select_related("project", "pool__cluster", "model")
        found = lines.filter(pk=int(digits)).first()
    if found is None:
        raise NotFound(N_("There is no quota “%(number)s”."), number=number)
    return found


def holdings(cluster: Cluster, day: date) -> list[Holding]:
    """What each project holds on the cluster's pools on a day, suspended and in grace included: what should be in force there."""
    lines = (
        Quota.objects.filter(pool__cluster=cluster, is_void=False, from_on__lte=day)
        .filter(Q(to_on__isnull=True) | Q(to_on__gt=day) | Q(to_on__gt=day - LONGEST_GRACE, ended_as=""))
        .select_related("project", "pool", "model")
        .prefetch_related("pauses")
        .order_by("project__code", "pool__code", "level", "model__code", "from_on")
    )
    standing = [(line, line.state_on(day)) for line in lines]
    standing = [(line, state) for line, state in standing if state in (rules.ACTIVE, rules.SUSPENDED, rules.GRACE)]
    in_force = {_place(line) for line, state in standing if state != rules.GRACE}
    own, shared = _accounts(cluster, day)
    patterns = _partitions(cluster, day)
    qos = {
        (pool, level): name
        for pool, level, name in Offering.objects.on(day)
        .filter(pool__cluster=cluster)
        .values_list("pool__code", "level", "qos")
    }
    return [
        Holding(
            quota=line.number,
            project=line.project.code,
            pool=line.pool.code,
            level=line.level,
            model=line.model.code if line.model else "",
            model_names=(line.model.code, *line.model.aliases) if line.model else (),
            partitions=patterns.get(line.pool.code, ()),
            qos=qos.get((line.pool.code, line.level), ""),
            accounts=own.get(line.project.code, ()),
            shared_accounts=shared.get(line.project.code, ()),
            guaranteed_gpus=line.guaranteed_gpus,
            ceiling_gpus=line.ceiling_gpus,
            gpu_hours=line.gpu_hours,
            hours_period=line.hours_period,
            from_on=line.from_on,
            to_on=line.to_on,
            state=state,
        )
        for line, state in standing
        if state != rules.GRACE or _place(line) not in in_force  # a successor ends the grace
    ]


def _place(line: Quota) -> tuple[int, int, int | None, str]:
    return line.project_id, line.pool_id, line.model_id, line.level


def _accounts(cluster: Cluster, day: date) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """By project: accounts that are its alone on the day, and accounts that it shares with another project."""
    whole: dict[str, str] = {}
    parts: dict[str, set[str]] = defaultdict(set)
    for account, user, qos, project in (
        AccountMapping.objects.on(day).filter(cluster=cluster).values_list("account", "user", "qos", "project__code")
    ):
        if account == ANY:
            continue
        parts[account].add(project)
        if user == ANY and qos == ANY:
            whole[account] = project
    own: dict[str, list[str]] = defaultdict(list)
    shared: dict[str, list[str]] = defaultdict(list)
    for account, projects in sorted(parts.items()):
        if len(projects) == 1 and account in whole:
            own[whole[account]].append(account)
        else:
            for project in projects:
                shared[project].append(account)
    return {p: tuple(a) for p, a in own.items()}, {p: tuple(a) for p, a in shared.items()}


def _partitions(cluster: Cluster, day: date) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    rows = PoolPartition.objects.filter(
        Q(from_on__isnull=True) | Q(from_on__lte=day), Q(to_on__isnull=True) | Q(to_on__gt=day), pool__cluster=cluster
    )
    for pool, pattern in rows.order_by("pattern").values_list("pool__code", "pattern"):
        found[pool].append(pattern)
    return {pool: tuple(patterns) for pool, patterns in found.items()}


@dataclass(frozen=True)
class Use:
    """Use against a line: mean GPUs of each day that has facts, the 95th percentile by nearest rank and the peak of those days."""

    by_day: list[tuple[date, Decimal]]
    p95: Decimal | None
    peak: Decimal | None


def use_of(quota: Quota, days: Days) -> Use:
    """Use of the line's project, pool and model on `days` within the line's own, from the day facts. A day without facts used nothing.

    Where the pool offers levels apart, a line counts the use under its own level's QoS; normal takes all that no other level claims.
    """
    last = min(end for end in (days.to_on, quota.to_on, date.max) if end is not None) - timedelta(days=1)
    found = using.by_day([quota.pk], max(days.from_on, quota.from_on), last).get(quota.pk, [])
    by_day = [(one.day, one.used) for one in found]
    values = [gpus for _, gpus in by_day]
    return Use(by_day, rules.nearest_rank(values, 95), max(values, default=None))


def expiring(day: date) -> list[tuple[Quota, int]]:
    """Lines of which the holders are to be told that they end, with the warning (30, 14, 7, 1 days); not those with a successor."""
    last = day + timedelta(days=rules.WARNING_DAYS[0])
    lines = Quota.objects.held_on(day).filter(to_on__lte=last, ended_as="").select_related("project", "pool", "model")
    after = {
        (*key, from_on)
        for *key, from_on in Quota.objects.filter(is_void=False, from_on__gt=day).values_list(
            "project", "pool", "model", "level", "from_on"
        )
    }
    found = []
    for line in lines:
        due = rules.warning_due(day, line.to_on)
        if due is not None and (*_place(line), line.to_on) not in after:
            found.append((line, due))
    return found


def offered_to(project: Project, day: date) -> list[Offering]:
    """What the project may ask for on a day: offerings open to all, and those open to its home department or one above it."""
    home = Placement.objects.on(day).filter(project=project).values_list("department", flat=True).first()
    return offered_to_departments(set(above(home)), day)


def offered_to_departments(departments: set[str], day: date) -> list[Any]:
    """Offerings of a day that are open to all or to one of the departments (codes), as `offerings_of` has them."""
    return [one for one in offerings_of(day) if _is_open(one, departments)]


@remembered
def offerings_of(day: date) -> list[Any]:
    """Every offering of a day by pool and level, with pool, cluster, models; `bound_to`: the codes of departments, none for all."""
    bound = ArrayAgg("departments__code", filter=Q(departments__isnull=False), default=Value([]))
    rows = Offering.objects.on(day).select_related("pool__cluster").prefetch_related("pool__accelerators")
    return sorted(rows.annotate(bound_to=bound), key=lambda one: (one.pool.code, rules.LEVELS.index(one.level)))


def _is_open(offering: Any, departments: set[str]) -> bool:
    return not offering.bound_to or not departments.isdisjoint(offering.bound_to)


@dataclass(frozen=True)
class QueueTerms:
    """How jobs of a level stand in a pool's queue on a day; where no rule was set: last, displacing nobody, the whole pool."""

    pool: str
    level: str
    partitions: tuple[str, ...]  # patterns of the pool on the day
    qos: str  # the offering's, "" where none is offered
    priority: int  # higher goes first
    preempts: tuple[str, ...]  # levels whose jobs it may displace
    preempted_qos: tuple[str, ...]  # their QoS, as far as they are offered
    preempted_jobs: str  # what happens to a job that it displaces: requeue or cancel
    min_run_s: int | None  # how long a job of this level runs before it may be displaced itself
    max_wall_s: int | None  # the longest a job of this level may run
    pool_share_percent: int
    pool_share_gpus: int  # of the pool's healthy GPUs on the day, rounded down


def queue_rules(cluster: Cluster, day: date) -> list[QueueTerms]:
    """How every level that is offered or ruled on a day stands in the queues of the cluster's pools, the first to go first."""
    pools = list(cluster.pools.order_by("code"))
    terms = queue_terms_of(pools, day, partitions=_partitions(cluster, day))
    return [one for pool in pools for one in terms[pool.pk]]


def queue_terms(pool: Pool, day: date, *, partitions: tuple[str, ...] = ()) -> list[QueueTerms]:
    """The same of one pool, in three questions."""
    return queue_terms_of([pool], day, partitions={pool.code: partitions})[pool.pk]


def queue_terms_of(
    pools: Sequence[Pool],
    day: date,
    *,
    partitions: Mapping[str, tuple[str, ...]] | None = None,
    offerings: Sequence[Offering] | None = None,
) -> dict[int, list[QueueTerms]]:
    """The same of many pools (by id), in three questions. `offerings`: all of the day, where they are known already."""
    own = {pool.pk: pool for pool in pools}
    rows = Offering.objects.on(day).filter(pool__in=own) if offerings is None else offerings
    offered = {(one.pool_id, one.level): one for one in rows}
    ruled = {(one.pool_id, one.level): one for one in QueueRule.objects.on(day).filter(pool__in=own)}
    healthy = healthy_gpus(list(own), day) if offered or ruled else {}
    found: dict[int, list[QueueTerms]] = {pk: [] for pk in own}
    for pk, pool in own.items():
        qos = {level: one.qos for (of, level), one in offered.items() if of == pk}
        for level in rules.LEVELS:
            offering, rule = offered.get((pk, level)), ruled.get((pk, level))
            if offering or rule:
                terms = (partitions or {}).get(pool.code, ())
                found[pk].append(_terms(pool, offering, rule or QueueRule(level=level), qos, healthy.get(pk, 0), terms))
        found[pk].sort(key=lambda one: -one.priority)
    return found


def _terms(
    pool: Pool,
    offering: Offering | None,
    rule: QueueRule,
    qos: Mapping[str, str],
    healthy: int,
    partitions: tuple[str, ...],
) -> QueueTerms:
    return QueueTerms(
        pool=pool.code,
        level=rule.level,
        partitions=partitions,
        qos=qos.get(rule.level, ""),
        priority=rule.priority,
        preempts=tuple(rule.preempts),
        preempted_qos=tuple(qos[one] for one in rule.preempts if one in qos),
        preempted_jobs=rule.preempted_jobs,
        min_run_s=offering.min_run_s if offering else None,
        max_wall_s=offering.max_wall_s if offering else None,
        pool_share_percent=rule.pool_share_percent,
        pool_share_gpus=healthy * rule.pool_share_percent // 100,
    )


def offerings_seen(actor: Actor, day: date) -> list[Any]:
    """Offerings of a day that the actor may know of, by pool and level: those open to projects they may ask or see quotas for, all of
    the pools they keep, all where they see the whole site. `is_kept`, and
    `shown_departments`, the names of those it is bound to: for its keepers.
    """
    keeps_all = actor.may("quota.view") or actor.may("offering.change")
    kept = {held.node for held in held_today(actor) if held.gives("offering.change", "pool")}
    departments = set() if keeps_all else _departments_asked_for(actor)
    found = []
    for one in offerings_of(day):
        one.is_kept = keeps = keeps_all or one.pool_id in kept
        named = keeps and one.bound_to
        one.shown_departments = (
            [of.name for of in department_tree().values() if of.code in one.bound_to] if named else []
        )
        if keeps or _is_open(one, departments):
            found.append(one)
    return found


def _departments_asked_for(actor: Actor) -> set[str]:
    """The home departments, with all above them, of the projects that the actor may ask or see quotas for."""
    projects = Project.objects.visible_to(actor, "quota.view").values("pk")
    homes = (
        Placement.objects.on(day_of_today())
        .filter(project__in=projects)
        .values_list("department", flat=True)
        .distinct()
    )
    return {code for home in homes for code in above(home)}
