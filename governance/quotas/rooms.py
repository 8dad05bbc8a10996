"""What a pool could still guarantee: healthy capacity, promises and shares, read from the tables for the rules."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal

from django.db.models import Q

from governance.catalogue.models import NodeState, NodeTerm, Pool
from governance.catalogue.reads import installation, today
from governance.tenants.models import Department, Placement, department_tree

from . import rules
from .models import DepartmentShare, PoolPolicy, Quota
from .rules import Capacity, Days, Promise, Room


def healthy_capacity(pool: Pool) -> list[Capacity]:
    """GPUs in service by model and days. A node that is out of service now, and is not known to return, stays out."""
    now = datetime.now(UTC)
    out: dict[int, int | None] = {
        state.node_id: state.cards
        for state in NodeState.objects.filter(node__terms__pool=pool, from_at__lte=now)
        .filter(Q(to_at__isnull=True) | Q(to_at__gt=now))
        .exclude(state="in_service")
    }
    found = []
    terms = NodeTerm.objects.filter(pool=pool)
    for node, cards, model, from_on, to_on in terms.values_list(
        "node", "accelerators", "model__code", "from_on", "to_on"
    ):
        lost = 0 if node not in out else cards if out[node] is None else min(cards, out[node] or 0)
        found.append(Capacity(Days(from_on or date.min, to_on), cards - lost, model))
    return _together(found)


def _together(capacity: list[Capacity]) -> list[Capacity]:
    """Equal days and models as one: a pool of a thousand nodes has few different days."""
    sums: dict[tuple[Days, str], int] = defaultdict(int)
    for one in capacity:
        sums[one.days, one.model] += one.gpus
    return [Capacity(days, gpus, model) for (days, model), gpus in sums.items()]


def promises(pool: Pool, window: Days, *, without: tuple[int, ...] = ()) -> list[Promise]:
    """Guarantees of the pool that meet the window, with each project's home department of today and all above it."""
    day = today(installation())
    lines = Quota.objects.filter(pool=pool, is_void=False, guaranteed_gpus__gt=0).exclude(pk__in=without)
    lines = lines.filter(Q(to_on__isnull=True) | Q(to_on__gt=window.from_on))
    if window.to_on is not None:
        lines = lines.filter(from_on__lt=window.to_on)
    rows = list(lines.values_list("project", "from_on", "to_on", "guaranteed_gpus", "model__code"))
    homes = dict(
        Placement.objects.on(day).filter(project__in={row[0] for row in rows}).values_list("project", "department")
    )
    return [
        Promise(Days(from_on, to_on), gpus, model or "", frozenset(above(homes.get(project))))
        for project, from_on, to_on, gpus, model in rows
    ]


def above(department: int | None) -> list[str]:
    """The codes of a department and of all above it, from the lowest up; none of None."""
    tree: dict[int, Department] = department_tree()
    found = []
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
        promises=promises(pool, window, without=without),
        policy=kind,
        factor=factor,
        model=model,
        shares=shares_of(pool, above(home)) if kind == rules.POOLED else None,
    )
