"""Prices of days."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import NamedTuple

from governance.catalogue.history import holds
from governance.catalogue.models import CardFactor
from governance.usage.reads import DayUse

from .models import Price
from .rules import ANY, GPU_HOUR, PriceOfDay, Tariff


class PriceHistory:
    """All prices and card factors with their days, read once and asked for many days. A snapshot."""

    def __init__(self) -> None:
        fields = ("from_on", "to_on", *PriceOfDay._fields)
        self._prices = [((low, high), PriceOfDay(*rest)) for low, high, *rest in Price.objects.values_list(*fields)]
        factors = CardFactor.objects.filter(model__card__isnull=False).values_list(
            "from_on", "to_on", "model__code", "model__card__code", "factor"
        )
        self._factors: list[tuple[tuple[date | None, date | None], str, str, Decimal]] = [
            ((low, high), model, card, factor) for low, high, model, card, factor in factors
        ]

    def on(self, day: date) -> Tariff:
        """The prices of `day`."""
        cards = {model: (card, factor) for span, model, card, factor in self._factors if holds(span, day)}
        return Tariff((price for span, price in self._prices if holds(span, day)), cards)


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
