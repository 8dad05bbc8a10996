"""Prices of days."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db import connection

from governance.catalogue.history import holds
from governance.usage.reads import DayUse

from .rules import ANY, GPU_HOUR, PriceOfDay, Tariff

PRICE, FACTOR, OFFERED = 1, 2, 3
#: One question for all: a page that lists what has no price asks for them each time.
PRICES_AND_FACTORS = """
    SELECT 1, from_on, to_on, pool, accelerator, qos, band, gpu_hour, cpu_core_hour, memory_gib_hour FROM price
    UNION ALL
    SELECT 2, f.from_on, f.to_on, m.code, c.code, '', '', f.factor, NULL, NULL
    FROM card_factor AS f JOIN accelerator_model AS m ON m.id = f.model_id JOIN accelerator_model AS c ON c.id = m.card_id
    UNION ALL
    SELECT 3, o.from_on, o.to_on, p.code, o.level, o.qos, '', NULL, NULL, NULL FROM offering AS o JOIN pool AS p ON p.id = o.pool_id"""


class PriceHistory:
    """All prices, card factors and offerings' QoS with their days, read once and asked for many days. A snapshot."""

    def __init__(self) -> None:
        self._prices: list[tuple[tuple[date | None, date | None], PriceOfDay]] = []
        self._factors: list[tuple[tuple[date | None, date | None], str, str, Decimal]] = []
        self._offered: list[tuple[tuple[date | None, date | None], str, str, str]] = []
        with connection.cursor() as cursor:
            cursor.execute(PRICES_AND_FACTORS)
            for kind, low, high, *rest in cursor.fetchall():
                if kind == PRICE:
                    self._prices.append(((low, high), PriceOfDay(*rest)))
                elif kind == FACTOR:
                    model, card, _, _, factor, *_ = rest
                    self._factors.append(((low, high), model, card, factor))
                else:
                    self._offered.append(((low, high), *rest[:3]))
        self._cuts = sorted(self.changes())

    def stretch(self, day: date) -> int:
        """A number that days share between which no price and no factor begins or ends."""
        return bisect_right(self._cuts, day)

    def on(self, day: date) -> Tariff:
        """The prices of `day`."""
        cards = {model: (card, factor) for span, model, card, factor in self._factors if holds(span, day)}
        offered = {(pool, level): qos for span, pool, level, qos in self._offered if holds(span, day)}
        return Tariff((price for span, price in self._prices if holds(span, day)), cards, offered)

    def changes(self) -> set[date]:
        """The days on which some price, factor or offering begins or ends."""
        spans = [span for found in (self._prices, self._factors, self._offered) for span, *_ in found]
        return {day for span in spans for day in span if day is not None}


class RatedDay(NamedTuple):
    """A run's day with the price of its day: what it comes to before shares and rounding by key."""

    use: DayUse
    unit_price: Decimal | None
    amount: Decimal | None


def rated(uses: list[DayUse], qos: str) -> list[RatedDay]:
    """A run's days at the GPU price of each day, in the band that covers the whole day; None where the day is unpriced."""
    history = PriceHistory()
    found = []
    for use in uses:
        price = history.on(use.day).unit_price(GPU_HOUR, use.pool, use.model, qos, ANY)
        amount = None if price is None else (price * use.milligpu_seconds / 3_600_000).quantize(Decimal("0.01"))
        found.append(RatedDay(use, price, amount))
    return found
