"""Use against quotas, from the day facts: by day, the percentile and the peak, the hours of a period, lent and borrowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from governance.access.memory import remembered
from governance.catalogue.models import Pool
from governance.catalogue.reads import installation
from governance.tenants.models import day_of_today
from governance.usage import watermarks

from . import rules
from .models import Quota
from .rules import Days, Lending

USE_BY_DAY = Path(__file__).with_name("sql").joinpath("use_by_day.sql").read_text(encoding="utf-8")
A_DAY = 86_400_000  # milligpu_seconds of a GPU
AN_HOUR = 3_600_000
WINDOW_DAYS = 30  # of the percentile and the peak


@dataclass(frozen=True)
class DayOfUse:
    """A day's use in GPUs, the mean of the day. Of it `active` computed and `idle` did not, as far as telemetry says."""

    day: date
    used: Decimal
    active: Decimal
    idle: Decimal

    @property
    def is_measured(self) -> bool:
        """Whether telemetry says anything of the day."""
        return bool(self.active or self.idle)

    @property
    def unknown(self) -> Decimal:
        """What telemetry says nothing of."""
        return max(self.used - self.active - self.idle, Decimal(0))


@dataclass(frozen=True)
class LineUse:
    """How a line is used: the last metered day (None before any), percentile and peak of its own days in the window, hours of its period.

    `day` is that last day, None where the pool's cluster is not metered; then nothing is known of its use.
    """

    day: date | None = None
    last: DayOfUse | None = None  # None on a metered day: nothing was used
    p95: Decimal | None = None
    peak: Decimal | None = None
    hours: Decimal | None = None
    days: list[DayOfUse] = field(default_factory=list)

    @property
    def used(self) -> Decimal | None:
        """GPUs in use on the last metered day; None where that is not known."""
        return None if self.day is None else self.last.used if self.last else Decimal(0)

    @property
    def idle(self) -> Decimal | None:
        """GPUs that were held and did not compute on that day; None where telemetry did not look."""
        if self.used is None or (self.last is not None and not self.last.is_measured):
            return None
        return self.last.idle if self.last else Decimal(0)


@remembered
def last_metered_days() -> dict[int, date]:
    """By cluster id: the last day that is wholly metered."""
    zone = ZoneInfo(installation().time_zone)
    return {cluster: _day_before(at, zone) for (cluster, stage), at in watermarks.marks().items() if stage == "metered"}


def _day_before(at: datetime, zone: ZoneInfo) -> date:
    return at.astimezone(zone).date() - timedelta(days=1)


def by_day(lines: Iterable[int], first_on: date, last_on: date) -> dict[int, list[DayOfUse]]:
    """By line (id): the days of [first_on, last_on] on which something was used, in order. One question."""
    given: dict[str, Any] = {
        "lines": list(lines),
        "first": first_on,
        "last": last_on,
        "levels_on": min(last_on, day_of_today()),
    }
    found: dict[int, list[DayOfUse]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(USE_BY_DAY, given)
        for line, day, *sums in cursor.fetchall():
            found[line].append(DayOfUse(day, *(Decimal(value) / A_DAY for value in sums)))
    return dict(found)


def use_of_lines(lines: Sequence[Quota], today: date, *, days: int = WINDOW_DAYS) -> dict[int, LineUse]:
    """By line (id): its use, and the `days` that end on the last metered one, at least those of the percentile. One or two questions."""
    metered = last_metered_days()
    ends = {line.pk: metered.get(line.pool.cluster_id or 0) for line in lines}
    known = [line for line in lines if ends[line.pk]]
    if not known:
        return {line.pk: LineUse() for line in lines}
    last_on = max(end for end in ends.values() if end)
    first_on = min(end for end in ends.values() if end) - timedelta(days=days - 1)
    first_on = min([first_on, *(_hours_from(line, today) for line in known if line.gpu_hours is not None)])
    found = by_day((line.pk for line in known), first_on, last_on)
    return {line.pk: _line_use(line, ends[line.pk], found.get(line.pk, []), today, days) for line in lines}


def _line_use(line: Quota, end: date | None, found: list[DayOfUse], today: date, days: int) -> LineUse:
    if end is None:
        return LineUse()
    first_on = end - timedelta(days=days - 1)
    window = [one for one in found if first_on <= one.day <= end]
    recent = end - timedelta(days=WINDOW_DAYS)
    own = [one.used for one in window if one.day > recent and line.days.has(one.day)]
    last = window[-1] if window and window[-1].day == end else None
    since = _hours_from(line, today)
    hours = sum((one.used for one in found if since <= one.day and line.days.has(one.day)), Decimal(0)) * 24
    return LineUse(end, last, rules.nearest_rank(own, 95), max(own, default=None), hours, window)


def _hours_from(line: Quota, today: date) -> date:
    """The first day of the line's present period."""
    return max(line.from_on, today.replace(day=1)) if line.hours_period == rules.MONTH else line.from_on


#: Guarantees of a pool with their days, and its use by project and day in milligpu_seconds.
GUARANTEED_AND_USED = """
    SELECT TRUE, j.code, q.from_on, q.to_on, q.guaranteed_gpus
    FROM quota AS q JOIN project AS j ON j.id = q.project_id
    WHERE q.pool_id = %(id)s AND NOT q.is_void AND q.guaranteed_gpus > 0
        AND q.from_on <= %(last)s AND (q.to_on IS NULL OR q.to_on > %(first)s)
    UNION ALL
    SELECT FALSE, u.project, u.day, NULL, sum(u.milligpu_seconds)
    FROM usage_day AS u WHERE u.pool = %(pool)s AND u.day BETWEEN %(first)s AND %(last)s AND u.milligpu_seconds > 0
    GROUP BY u.project, u.day"""


def lent_and_borrowed(pool: Pool, first_on: date, last_on: date) -> dict[str, Lending]:
    """By project: GPU-hours of the pool lent to others and borrowed on [first_on, last_on], each day by `rules.lending`. One question."""
    lines: list[tuple[str, Days, int]] = []
    used: dict[date, dict[str, Decimal]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(GUARANTEED_AND_USED, {"id": pool.pk, "pool": pool.code, "first": first_on, "last": last_on})
        for is_guarantee, project, day, to_on, amount in cursor.fetchall():
            if is_guarantee:
                lines.append((project, Days(day, to_on), int(amount)))
            else:
                used[day][project] = Decimal(amount) / A_DAY
    sums: dict[str, Lending] = {}
    for day in sorted(used):
        guaranteed: dict[str, int] = defaultdict(int)
        for project, days, gpus in lines:
            if days.has(day):
                guaranteed[project] += gpus
        for project, one in rules.lending(guaranteed, used[day]).items():
            before = sums.get(project, Lending(Decimal(0), Decimal(0)))
            sums[project] = Lending(before.lent + one.lent * 24, before.borrowed + one.borrowed * 24)
    return sums
