"""What a pool could still guarantee: healthy capacity, promises and shares, read from the tables for the rules."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal

from django.db import connection
from django.db.models import IntegerField, OuterRef, Q, Subquery, Value

from governance.catalogue.models import Pool
from governance.catalogue.reads import installation, today
from governance.tenants.models import Department, Placement, department_tree

from . import rules
from .models import DepartmentShare, PoolPolicy, Quota
from .rules import Capacity, Days, Promise, Room


def healthy_capacity(pool: Pool) -> list[Capacity]:
    """GPUs in service by model and days. A node that is out of service now, and is not known to return, stays out."""
    return _healthy([pool.pk]).get(pool.pk, [])


def healthy_gpus(pools: list[int], day: date) -> dict[int, int]:
    """By pool (id): GPUs in service on a day. One question for any number."""
    return {pool: rules.healthy_on(day, capacity) for pool, capacity in _healthy(pools).items()}


#: Terms of nodes with the state that holds now and takes them out; a node may be in one state at a time.
TERMS_WITH_STATES = """
    SELECT t.pool_id, t.accelerators, m.code, t.from_on, t.to_on, s.id IS NOT NULL, s.cards
    FROM node_term AS t
    JOIN accelerator_model AS m ON m.id = t.model_id
    LEFT JOIN node_state AS s ON s.node_id = t.node_id AND s.state <> 'in_service'
        AND s.from_at <= %(now)s AND (s.to_at IS NULL OR s.to_at > %(now)s)
    WHERE t.pool_id = ANY(%(pools)s)"""


def _healthy(pools: list[int]) -> dict[int, list[Capacity]]:
    found: dict[int, list[Capacity]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(TERMS_WITH_STATES, {"pools": pools, "now": datetime.now(UTC)})
        for pool, cards, model, from_on, to_on, is_out, limited in cursor.fetchall():
            lost = 0 if not is_out else cards if limited is None else min(cards, limited)
            found[pool].append(Capacity(Days(from_on or date.min, to_on), cards - lost, model))
    return {pool: _together(capacity) for pool, capacity in found.items()}


def _together(capacity: list[Capacity]) -> list[Capacity]:
    """Equal days and models as one: a pool of a thousand nodes has few different days."""
    sums: dict[tuple[Days, str], int] = defaultdict(int)
    for one in capacity:
        sums[one.days, one.model] += one.gpus
    return [Capacity(days, gpus, model) for (days, model), gpus in sums.items()]


def promises(
    pool: Pool, window: Days, *, without: tuple[int, ...] = (), with_departments: bool = True
) -> list[Promise]:
    """Guarantees of the pool that meet the window, with each project's home department of today and all above it where asked."""
    day = today(installation())
    home = Placement.objects.on(day).filter(project=OuterRef("project")).values("department")[:1]
    lines = Quota.objects.filter(pool=pool, is_void=False, guaranteed_gpus__gt=0).exclude(pk__in=without)
    lines = lines.filter(Q(to_on__isnull=True) | Q(to_on__gt=window.from_on))
    if window.to_on is not None:
        lines = lines.filter(from_on__lt=window.to_on)
    of_home = Subquery(home) if with_departments else Value(None, output_field=IntegerField())
    rows = lines.annotate(home=of_home).values_list("from_on", "to_on", "guaranteed_gpus", "model__code", "home")
    return [
        Promise(Days(from_on, to_on), gpus, model or "", frozenset(above(home)))
        for from_on, to_on, gpus, model, home in rows
    ]


def above(department: int | None) -> list[str]:
    """The codes of a department and of all above it, from the lowest up; none of None."""
    found: list[str] = []
    if department is None:
        return found
    tree: dict[int, Department] = department_tree()
    while department is not None:
        found.append(tree[department].code)
        department = tree[department].parent_id
    return found


def policy_of(pool: Pool, window: Days) -> tuple[str, Decimal]:
    """(kind, factor) on the window's first day; where none was set a pool reserves at factor 1."""
    found = PoolPolicy.objects.on(window.from_on).filter(pool=pool).first()
    return (found.kind, found.factor) if found else (rules.RESERVE, Decimal(1))


def shares_of(pool: Pool, departments: list[str]) -> dict[str, list[tuple[Days, int]]]:
    """The dated shares of the pool that these departments have."""
    found: dict[str, list[tuple[Days, int]]] = defaultdict(list)
    for code, from_on, to_on, gpus in DepartmentShare.objects.filter(
        pool=pool, department__code__in=departments
    ).values_list("department__code", "from_on", "to_on", "gpus"):
        # An open beginning is earlier than any window: the least day there is stands for it.
        found[code].append((Days(from_on or date.min, to_on), gpus))
    return dict(found)


def room(pool: Pool, window: Days, *, model: str = "", home: int | None = None, without: tuple[int, ...] = ()) -> Room:
    """What the pool could still guarantee on the tightest day of the window to a project at home in department `home`.

    `without`: lines that would be replaced, by id. `model` "" asks for any of the pool's.
    """
    kind, factor = policy_of(pool, window)
    return rules.room(
        window,
        capacity=healthy_capacity(pool),
        promises=promises(pool, window, without=without, with_departments=kind == rules.POOLED),
        policy=kind,
        factor=factor,
        model=model,
        shares=shares_of(pool, above(home)) if kind == rules.POOLED else None,
    )
