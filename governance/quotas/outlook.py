"""What a pool has, has promised and could still promise on the coming days, and how it is used now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_FLOOR, Decimal

from django.db.models import Sum

from governance.catalogue.models import Pool
from governance.tenants.models import Department
from governance.usage.models import CapacityDay

from . import rules
from .models import DepartmentShare
from .rooms import healthy_capacity, policy_of, promises
from .rules import Capacity, Days, Promise
from .using import A_DAY, last_metered_days

AHEAD_DAYS = 90


@dataclass(frozen=True)
class Stretch:
    """Days [from_on, to_on) on which nothing changes, in GPUs: healthy, what may be promised of it, promised, and the room left."""

    from_on: date
    to_on: date
    healthy: int
    limit: int
    promised: int

    @property
    def room(self) -> int:
        """What could still be guaranteed; negative where too much was promised."""
        return self.limit - self.promised


@dataclass(frozen=True)
class ShareRoom:
    """A department's share of a pooled pool on its tightest day ahead."""

    department: Department
    gpus: int
    promised: int
    on: date

    @property
    def room(self) -> int:
        """What its projects could still be guaranteed."""
        return self.gpus - self.promised


@dataclass(frozen=True)
class Outlook:
    """The coming days of a pool. `kind` and `factor` are the policy of the first day."""

    kind: str
    factor: Decimal
    stretches: list[Stretch]
    shares: list[ShareRoom]

    @property
    def now(self) -> Stretch:
        """The first day."""
        return self.stretches[0]

    @property
    def tightest(self) -> Stretch:
        """The earliest of the days with the least room."""
        return min(self.stretches, key=lambda one: (one.room, one.from_on))

    @property
    def promised_ahead(self) -> int:
        """How much more is promised on the fullest day ahead than today."""
        return max(one.promised for one in self.stretches) - self.now.promised

    @property
    def is_bound_by_shares(self) -> bool:
        """Whether shares of departments bind, not the pool."""
        return self.kind == rules.POOLED and bool(self.shares)


def outlook(pool: Pool, day: date, *, days: int = AHEAD_DAYS) -> Outlook:
    """The pool's room from `day` on, by the rules and the policy that an award is judged by. A handful of questions."""
    window = Days(day, day + timedelta(days=days))
    kind, factor = policy_of(pool, window)
    capacity, promised = healthy_capacity(pool), promises(pool, window, with_departments=kind == rules.POOLED)
    shares = DepartmentShare.objects.on(day).filter(pool=pool).select_related("department").order_by("department__code")
    return Outlook(
        kind,
        factor,
        stretches(window, capacity, promised, factor),
        [_share_room(one, window, promised) for one in shares] if kind == rules.POOLED else [],
    )


def stretches(
    window: Days, capacity: Sequence[Capacity], promised: Sequence[Promise], factor: Decimal = Decimal(1)
) -> list[Stretch]:
    """The window cut where capacity or promises change."""
    assert window.to_on is not None
    begins = rules.breakpoints(window, (one.days for one in capacity), (one.days for one in promised))
    found: list[Stretch] = []
    for day, until in zip(begins, [*begins[1:], window.to_on], strict=True):
        healthy = rules.healthy_on(day, capacity)
        limit = int((healthy * factor).to_integral_value(rounding=ROUND_FLOOR))
        found.append(Stretch(day, until, healthy, limit, rules.promised_on(day, promised)))
    return found


def _share_room(share: DepartmentShare, window: Days, promised: Sequence[Promise]) -> ShareRoom:
    code = share.department.code
    by_day = [
        (rules.promised_on(day, promised, department=code), day)
        for day in rules.breakpoints(window, (one.days for one in promised))
    ]
    most, on = max(by_day, key=lambda one: (one[0], -one[1].toordinal()))
    return ShareRoom(share.department, share.gpus, most, on)


@dataclass(frozen=True)
class InUse:
    """The pool on its last metered day, mean GPUs. `installed` + over = allocated + free + out."""

    day: date
    allocated: Decimal
    free: Decimal
    out: Decimal


def in_use(pool: Pool) -> InUse | None:
    """How the pool stood on the last metered day; None before any."""
    day = last_metered_days().get(pool.cluster_id or 0)
    if day is None:
        return None
    names = ("allocated", "free", "reserved", "drained", "down")
    sums = CapacityDay.objects.filter(pool_id=pool.code, day=day).aggregate(**{name: Sum(name) for name in names})
    allocated, free, *out = (Decimal(sums[name] or 0) / A_DAY for name in names)
    return InUse(day, allocated, free, sum(out, Decimal(0)))
