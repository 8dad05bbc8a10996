"""What pages show of a line of quota: its state, how it is used against what it holds, what of it ends soon; bars and charts as figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from governance.catalogue.models import Pool

from . import rules
from .models import Quota
from .using import DayOfUse, LineUse
from .wording import LEVELS, PERIODS, STATES, Tone

SOON_DAYS = 14
NOTHING = Decimal(0)


@dataclass(frozen=True)
class Bar:
    """In use solid, idle hatched, the rest empty; a mark where the guarantee ends. Percent of the bar, as SVG takes it."""

    busy: str
    idle: str
    idle_from: str
    mark: str  # "" where nothing or all is guaranteed


def bar(guaranteed: int, ceiling: int, used: Decimal, idle: Decimal) -> Bar:
    """The bar of a line; what is used beyond the ceiling stretches it."""
    whole = max(Decimal(ceiling), used)
    if not whole:
        return Bar("0", "0", "0", "")
    busy = max(used - idle, NOTHING) / whole * 100
    mark = f"{Decimal(guaranteed) / whole * 100:.2f}" if 0 < guaranteed < whole else ""
    return Bar(f"{busy:.2f}", f"{min(idle, used) / whole * 100:.2f}", f"{busy:.2f}", mark)


@dataclass(frozen=True)
class Row:
    """A line of quota in a list, on a day."""

    line: Quota
    day: date
    state: str
    use: LineUse

    @property
    def tone(self) -> Tone:
        """The state in colour, icon and word."""
        return STATES[self.state]

    @property
    def level(self) -> object:
        """The level in words."""
        return LEVELS[self.line.level]

    @property
    def period(self) -> object:
        """Of what its GPU-hours are."""
        return PERIODS[self.line.hours_period]

    @property
    def bar(self) -> Bar | None:
        """How it is used; None where that is not known."""
        if self.use.used is None:
            return None
        return bar(self.line.guaranteed_gpus, self.line.ceiling_gpus, self.use.used, self.use.idle or NOTHING)

    @property
    def free(self) -> Decimal | None:
        """GPUs that could still be started on it."""
        return None if self.use.used is None else max(self.line.ceiling_gpus - self.use.used, NOTHING)

    @property
    def is_over(self) -> bool:
        """Whether more was in use than it allows: it drains."""
        return self.use.used is not None and self.use.used > self.line.ceiling_gpus

    @property
    def hours_left(self) -> Decimal | None:
        """GPU-hours of the period that are left, may be negative; None where there is no limit or nothing is known."""
        if self.line.gpu_hours is None or self.use.hours is None:
            return None
        return Decimal(self.line.gpu_hours) - self.use.hours

    @property
    def days_left(self) -> int | None:
        """Days until it ends; None for one without an end, or one that has ended."""
        left = None if self.line.to_on is None else (self.line.to_on - self.day).days
        return left if left is not None and left > 0 else None

    @property
    def ends_soon(self) -> bool:
        """Whether it stands and runs out within two weeks."""
        return (
            self.state in (rules.ACTIVE, rules.SUSPENDED) and self.days_left is not None and self.days_left <= SOON_DAYS
        )

    @property
    def grace_until(self) -> date | None:
        """The day on which its grace is over."""
        return (
            self.line.to_on + timedelta(days=self.line.grace_days)
            if self.state == rules.GRACE and self.line.to_on
            else None
        )


@dataclass(frozen=True)
class Figures:
    """What many rows come to, in GPUs, of those that are held on the day."""

    guaranteed: int
    ceiling: int
    used: Decimal | None
    idle: Decimal | None
    idle_unknown: int  # lines in use on which telemetry did not look
    ending: int
    lines: int


def figures(rows: Iterable[Row]) -> Figures:
    """The sum; use that is not known of a single line is not known of the sum."""
    held = [row for row in rows if row.state in (rules.ACTIVE, rules.SUSPENDED, rules.GRACE)]
    used = [row.use.used for row in held]
    idle = [row.use.idle for row in held]
    return Figures(
        guaranteed=sum(row.line.guaranteed_gpus for row in held),
        ceiling=sum(row.line.ceiling_gpus for row in held),
        used=None if None in used else sum((one for one in used if one is not None), NOTHING),
        idle=None if all(one is None for one in idle) else sum((one for one in idle if one is not None), NOTHING),
        idle_unknown=sum(one is None for one in idle),
        ending=sum(row.ends_soon or row.state == rules.GRACE for row in held),
        lines=len(held),
    )


@dataclass(frozen=True)
class ChartDay:
    """A day of the chart: what was used, and what the lines of that day held, in GPUs."""

    day: date
    used: Decimal
    idle: Decimal | None
    guaranteed: int
    ceiling: int


@dataclass(frozen=True)
class Chart:
    """Paths of a step chart in a box of `width` x 100, y downward; `ticks` are the values at the top, the middle, the bottom."""

    width: int
    used: str
    idle: str
    guaranteed: str
    ceiling: str
    ticks: tuple[Decimal, Decimal, Decimal]
    days: list[ChartDay]


def chart_days(lines: Sequence[Quota], use: Sequence[DayOfUse], first_on: date, last_on: date) -> list[ChartDay]:
    """Every day of [first_on, last_on] with its use and what the lines (of one place) held on it."""
    by_day = {one.day: one for one in use}
    found = []
    for n in range((last_on - first_on).days + 1):
        day = first_on + timedelta(days=n)
        held = next((line for line in lines if not line.is_void and line.days.has(day)), None)
        one = by_day.get(day)
        found.append(
            ChartDay(
                day,
                one.used if one else NOTHING,
                (one.idle if one.is_measured else None) if one else NOTHING,
                held.guaranteed_gpus if held else 0,
                held.ceiling_gpus if held else 0,
            )
        )
    return found


def chart(days: list[ChartDay]) -> Chart:
    """The chart of the days."""
    top = max([Decimal(1), *(max(one.used, Decimal(one.ceiling)) for one in days)])
    return Chart(
        width=len(days),
        used=_area([one.used for one in days], top),
        idle=_band([(max(one.used - (one.idle or NOTHING), NOTHING), one.used) for one in days], top),
        guaranteed=steps([Decimal(one.guaranteed) for one in days], top),
        ceiling=steps([Decimal(one.ceiling) for one in days], top),
        ticks=(top, top / 2, NOTHING),
        days=days,
    )


def steps(values: Sequence[Decimal], top: Decimal) -> str:
    """A line that is level for each value."""
    if not values:
        return ""
    parts = [f"M0 {_y(values[0], top)}H1"]
    parts += [f"V{_y(value, top)}H{n}" for n, value in enumerate(values[1:], 2)]
    return "".join(parts)


def _area(values: Sequence[Decimal], top: Decimal) -> str:
    return f"{steps(values, top)}V100H0Z" if values else ""


def _band(values: Sequence[tuple[Decimal, Decimal]], top: Decimal) -> str:
    """Boxes between two values, for the days on which they differ."""
    boxes = [f"M{n} {_y(high, top)}H{n + 1}V{_y(low, top)}H{n}Z" for n, (low, high) in enumerate(values) if high > low]
    return "".join(boxes)


def _y(value: Decimal, top: Decimal) -> str:
    return f"{100 - value / top * 100:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class PoolHeld:
    """What many lines hold of one pool together, in GPUs. None where that is not known."""

    pool: Pool
    guaranteed: int
    ceiling: int
    used: Decimal | None
    idle: Decimal | None

    @property
    def bar(self) -> Bar | None:
        """How it is used."""
        return None if self.used is None else bar(self.guaranteed, self.ceiling, self.used, self.idle or NOTHING)

    @property
    def free(self) -> Decimal | None:
        """GPUs that could still be started on them."""
        return None if self.used is None else max(self.ceiling - self.used, NOTHING)

    @property
    def is_full(self) -> bool:
        """Whether they are used up."""
        return self.used is not None and self.used >= self.ceiling


def by_pool(rows: Iterable[tuple[Quota, LineUse]]) -> list[PoolHeld]:
    """The lines together by pool, the most guaranteed first."""
    groups: dict[int, list[tuple[Quota, LineUse]]] = {}
    for line, use in rows:
        groups.setdefault(line.pool_id, []).append((line, use))
    found = []
    for own in groups.values():
        used = [use.used for _line, use in own]
        idle = [use.idle for _line, use in own]
        found.append(
            PoolHeld(
                own[0][0].pool,
                sum(line.guaranteed_gpus for line, _use in own),
                sum(line.ceiling_gpus for line, _use in own),
                None if None in used else sum((one for one in used if one is not None), NOTHING),
                None if all(one is None for one in idle) else sum((one for one in idle if one is not None), NOTHING),
            )
        )
    return sorted(found, key=lambda one: (-one.guaranteed, -one.ceiling, one.pool.code))
