"""What a reader of the ledger must know beside its figures."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from django.db import connection

from billing.prices.reads import PriceHistory
from billing.prices.rules import GPU_HOUR, Tariff
from governance.access.actor import Actor
from governance.catalogue.models import UNASSIGNED_POOL
from governance.tenants.models import UNATTRIBUTED
from governance.usage.models import QuarantinedRecord

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
    found = Exceptions(
        unassigned_milligpu_seconds=_number(f"SELECT sum(milligpu_seconds) {within} AND pool = %s", [*given, UNASSIGNED_POOL]),
        unknown_gpu_runs=_number(f"SELECT sum(unknown_gpu_runs) {within}", given),
        unpriced_days=_unpriced(within, given),
    )
    if actor.may("usage.view"):
        found.quarantined = QuarantinedRecord.objects.filter(resolved_at__isnull=True).count()
        found.unattributed_milligpu_seconds = _number(
            "SELECT sum(milligpu_seconds) FROM usage_day WHERE day BETWEEN %s AND %s AND project = %s", [*query.span, UNATTRIBUTED]
        )
        found.over_allocated_days = _number(
            "SELECT count(DISTINCT day) FROM capacity_day WHERE day BETWEEN %s AND %s AND over > 0", [*query.span]
        )
    return found


def _unpriced(within: str, given: list[Any]) -> list[UnpricedDay]:
    prices = PriceHistory()
    days: dict[tuple[date, str, str, str], int] = {}
    statement = f"SELECT day, pool, model, qos, band, sum(milligpu_seconds) {within} AND milligpu_seconds > 0 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4"
    tariffs: dict[date, Tariff] = {}
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        for day, pool, model, qos, band, milli in cursor.fetchall():
            if day not in tariffs:
                tariffs[day] = prices.on(day)
            if tariffs[day].unit_price(GPU_HOUR, pool, model, qos, band) is None:
                key = (day, pool, model, qos)
                days[key] = days.get(key, 0) + int(milli)
    return [UnpricedDay(*key, milli) for key, milli in days.items()]


def _number(statement: str, given: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        row = cursor.fetchone()
    return int(row[0] or 0) if row else 0
