"""Which months' use has prices: pool x model x month, by the same rules that rate it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from django.db import connection

from billing.prices.models import Price
from billing.prices.reads import PriceHistory
from billing.prices.rules import GPU_HOUR, Tariff
from governance.catalogue.models import CardFactor

MONTHS = 12
PRICED, PARTLY, UNPRICED, NO_USE = "priced", "partly", "unpriced", "no_use"

#: Between two cuts no price begins or ends, so the use between them is judged at once.
USED = """
    SELECT pool, model, qos, band, width_bucket(day, %(cuts)s::date[]), sum(milligpu_seconds)::bigint
    FROM usage_site_day WHERE day >= %(first)s AND day < %(end)s AND milligpu_seconds > 0 AND (%(pool)s = '' OR pool = %(pool)s)
    GROUP BY 1, 2, 3, 4, 5"""


@dataclass
class Month:
    """A pool and model's use in a month, in milligpu_seconds, and how much of it has no price."""

    month: date
    used: int = 0
    unpriced: int = 0

    @property
    def state(self) -> str:
        """priced, partly, unpriced or no_use."""
        if not self.used:
            return NO_USE
        return PRICED if not self.unpriced else UNPRICED if self.unpriced == self.used else PARTLY

    @property
    def unpriced_hours(self) -> float:
        """GPU-hours without a price."""
        return self.unpriced / 3_600_000


@dataclass
class Line:
    """A pool and model over the months."""

    pool: str
    model: str
    months: list[Month] = field(default_factory=list)


def months_until(last: date) -> list[date]:
    """The first days of the twelve months that end with the month of `last`."""
    number = last.year * 12 + last.month - 1
    return [date((number - back) // 12, (number - back) % 12 + 1, 1) for back in range(MONTHS - 1, -1, -1)]


def calendar(months: list[date], pool: str = "") -> list[Line]:
    """Every pool and model that used GPUs in these consecutive months; of one pool where it is named."""
    after = months_until(months[-1])[-1]
    end = date(after.year + after.month // 12, after.month % 12 + 1, 1)
    bounds = [*Price.objects.values_list("from_on", "to_on").union(CardFactor.objects.values_list("from_on", "to_on"))]
    cuts = sorted({*months, *(day for span in bounds for day in span if day is not None and months[0] < day < end)})
    with connection.cursor() as cursor:
        cursor.execute(USED, {"cuts": cuts, "first": months[0], "end": end, "pool": pool})
        rows = cursor.fetchall()
    history, tariffs = PriceHistory(), dict[date, Tariff]()
    lines: dict[tuple[str, str], Line] = {}
    for of_pool, model, qos, band, number, used in rows:
        day = cuts[number - 1]
        tariff = tariffs.setdefault(day, history.on(day)) if day not in tariffs else tariffs[day]
        line = lines.setdefault((of_pool, model), Line(of_pool, model, [Month(month) for month in months]))
        month = line.months[bisect_right(months, day) - 1]
        month.used += used
        if tariff.unit_price(GPU_HOUR, of_pool, model, qos, band) is None:
            month.unpriced += used
    return [lines[key] for key in sorted(lines)]


def has_gaps(lines: Iterable[Line]) -> bool:
    """Whether any use has no price."""
    return any(month.unpriced for line in lines for month in line.months)
