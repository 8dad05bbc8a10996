"""What a reader of the ledger must know beside its figures."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from django.db import connection

from billing.prices.reads import PriceHistory
from billing.prices.rules import GPU_HOUR, Tariff
from governance.access.actor import Actor
from governance.catalogue.models import UNASSIGNED_POOL
from governance.tenants.models import UNATTRIBUTED

from .statement import Exceptions, UnpricedDay

if TYPE_CHECKING:
    from .reads import Query


def of_period(query: Query, actor: Actor) -> Exceptions:
    """Quarantine, unattributed use and over-allocation of the whole site for those who may see it;
    unassigned, unknown and unpriced use within what was asked for."""
    from . import reads

    where, given = reads.conditions(query, reads.FACT_COLUMNS, actor, "usage.view")
    within = f"FROM ({reads.FACTS}) AS f WHERE {where}"
    given = [*query.span, *given]
    asked, marks = OF_FACTS.format(within=within), list(given)
    if actor.may("usage.view"):
        asked += OF_THE_SITE
        marks += [*query.span, UNATTRIBUTED, *query.span]
    found, unpriced = Exceptions(), _Unpriced()
    with connection.cursor() as cursor:
        cursor.execute(f"{asked} ORDER BY 1, 2, 3, 4, 5, 6", marks)
        for what, day, pool, model, qos, band, quantity, unknown_runs in cursor.fetchall():
            if what != "facts":
                setattr(found, what, int(quantity))
                continue
            found.unknown_gpu_runs += int(unknown_runs)
            if pool == UNASSIGNED_POOL:
                found.unassigned_milligpu_seconds += int(quantity)
            unpriced.look(day, pool, model, qos, band, int(quantity))
    found.unpriced_days = unpriced.days()
    return found


#: One question for all: what it is, its key, a quantity, runs with an unknown number of cards.
OF_FACTS = """
    SELECT 'facts' AS what, day, pool, model, qos, band, sum(milligpu_seconds) AS quantity, sum(unknown_gpu_runs) AS unknown_runs
    {within} GROUP BY day, pool, model, qos, band"""
OF_THE_SITE = """
    UNION ALL SELECT 'quarantined', NULL, '', '', '', '', count(*), 0 FROM quarantined_record WHERE resolved_at IS NULL
    UNION ALL SELECT 'unattributed_milligpu_seconds', NULL, '', '', '', '', coalesce(sum(milligpu_seconds), 0), 0
        FROM usage_day WHERE day BETWEEN %s AND %s AND project = %s
    UNION ALL SELECT 'over_allocated_days', NULL, '', '', '', '', count(DISTINCT day), 0
        FROM capacity_day WHERE day BETWEEN %s AND %s AND over > 0"""


class _Unpriced:
    """Collects the days whose use no price covers."""

    def __init__(self) -> None:
        self._prices = PriceHistory()
        self._tariffs: dict[date, Tariff] = {}
        self._found: dict[tuple[date, str, str, str], int] = {}

    def look(self, day: date, pool: str, model: str, qos: str, band: str, milligpu_seconds: int) -> None:
        """Look at the use of a key."""
        if not milligpu_seconds:
            return
        if day not in self._tariffs:
            self._tariffs[day] = self._prices.on(day)
        if self._tariffs[day].unit_price(GPU_HOUR, pool, model, qos, band) is None:
            key = (day, pool, model, qos)
            self._found[key] = self._found.get(key, 0) + milligpu_seconds

    def days(self) -> list[UnpricedDay]:
        """What was found, in the order it was seen."""
        return [UnpricedDay(*key, milli) for key, milli in self._found.items()]
