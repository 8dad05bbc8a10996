"""What a reader of the ledger must know beside its figures."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connection

from billing.prices.reads import PriceHistory
from billing.prices.rules import GPU_HOUR, Tariff
from governance.access.actor import Actor
from governance.catalogue.models import UNASSIGNED_POOL
from governance.tenants.models import UNATTRIBUTED

from .facts import FINER, facts_of, is_summed
from .rules import Span
from .statement import Exceptions, UnpricedDay

if TYPE_CHECKING:
    from .reads import Query


def of_period(query: Query, actor: Actor) -> Exceptions:
    """Quarantine, unattributed use and over-allocation of the whole site for those who may see it;
    unassigned, unknown and unpriced use within what was asked for."""
    from . import reads

    names = {*query.dimensions, *query.filters}
    by_month, of_site = is_summed(query.span, names), reads.is_of_site(query, actor)
    where, given = reads.conditions(query, reads.FACT_COLUMNS, actor, "usage.view", by_day=not by_month)
    if of_site and "user" not in names:
        # By what the statement adds up is nothing to the exceptions of everybody.
        names = {*query.filters} if by_month else {*query.filters, "day"}
    asked = OF_FACTS.format(
        day="NULL::date" if by_month else "day", facts=facts_of(query.span, names, of_site=of_site), where=where
    )
    marks = list(given)
    if actor.may("usage.view"):
        asked += OF_THE_SITE.format(facts=facts_of(query.span, {"project"}, of_site=True))
        marks += [UNATTRIBUTED, *query.span]
    found, unpriced = Exceptions(), _Unpriced()
    keys: set[tuple[str, str, str, str]] = set()
    for what, day, pool, model, qos, band, quantity, unknown_runs in _rows(asked + IN_ORDER, marks):
        if what != "facts":
            setattr(found, what, int(quantity))
            continue
        found.unknown_gpu_runs += int(unknown_runs)
        if pool == UNASSIGNED_POOL:
            found.unassigned_milligpu_seconds += int(quantity)
        if not by_month:
            unpriced.look(day, pool, model, qos, band, int(quantity))
        elif quantity:
            keys.add((pool, model, qos, band))
    if lacking := {key: days for key in keys if (days := unpriced.days_without(query.span, key))}:
        # Which of these days have such use only the facts of the days tell.
        columns = [list(column) for column in zip(*lacking, strict=True)]
        days = sorted(set().union(*lacking.values()))
        asked = OF_FACTS.format(
            day="day", facts=facts_of(query.span, {*names, *FINER}, of_site=of_site), where=f"{where} AND {OF_KEYS}"
        )
        for _what, day, pool, model, qos, band, quantity, _unknown in _rows(asked + IN_ORDER, [*given, days, *columns]):
            unpriced.look(day, pool, model, qos, band, int(quantity))
    found.unpriced_days = unpriced.days()
    return found


def _rows(asked: str, given: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(asked, given)
        return list(cursor.fetchall())


#: One question for all: what it is, its key, a quantity, runs with an unknown number of cards.
OF_FACTS = """
    SELECT 'facts' AS what, {day}, pool, model, qos, band, sum(milligpu_seconds) AS quantity, sum(unknown_gpu_runs) AS unknown_runs
    FROM ({facts}) AS f WHERE {where} GROUP BY 2, 3, 4, 5, 6"""
OF_KEYS = "day = ANY(%s) AND (pool, model, qos, band) IN (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]))"
IN_ORDER = " ORDER BY 1, 2, 3, 4, 5, 6"
OF_THE_SITE = """
    UNION ALL SELECT 'quarantined', NULL, '', '', '', '', count(*), 0 FROM quarantined_record WHERE resolved_at IS NULL
    UNION ALL SELECT 'unattributed_milligpu_seconds', NULL, '', '', '', '', coalesce(sum(milligpu_seconds), 0), 0
        FROM ({facts}) AS f WHERE project = %s
    UNION ALL SELECT 'over_allocated_days', NULL, '', '', '', '', count(DISTINCT day), 0
        FROM capacity_day WHERE day BETWEEN %s AND %s AND over > 0"""


class _Unpriced:
    """Collects the days whose use no price covers."""

    def __init__(self) -> None:
        self._prices = PriceHistory()
        self._tariffs: dict[int, Tariff] = {}
        self._known: dict[tuple[Any, ...], bool] = {}
        self._found: dict[tuple[date, str, str, str], int] = {}

    def look(self, day: date, pool: str, model: str, qos: str, band: str, milligpu_seconds: int) -> None:
        """Look at the use of a key."""
        if not milligpu_seconds:
            return
        if self._is_unpriced(day, pool, model, qos, band):
            key = (day, pool, model, qos)
            self._found[key] = self._found.get(key, 0) + milligpu_seconds

    def days_without(self, span: Span, key: tuple[str, str, str, str]) -> list[date]:
        """The days of the span on which no price covers the use of a key: pool, model, QoS, band."""
        whole = (span.first_on + timedelta(days=n) for n in range((span.last_on - span.first_on).days + 1))
        return [day for day in whole if self._is_unpriced(day, *key)]

    def _is_unpriced(self, day: date, *key: str) -> bool:
        stretch = self._prices.stretch(day)
        if stretch not in self._tariffs:
            self._tariffs[stretch] = self._prices.on(day)
        known = (stretch, *key)
        if known not in self._known:
            self._known[known] = self._tariffs[stretch].unit_price(GPU_HOUR, *key) is None
        return self._known[known]

    def days(self) -> list[UnpricedDay]:
        """What was found, in the order it was seen."""
        return [UnpricedDay(*key, milli) for key, milli in self._found.items()]
