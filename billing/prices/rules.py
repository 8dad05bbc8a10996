"""Which price of a day applies: QoS over model over `*`, each measure on its own. Plain Python.

A slice model without a price of its own takes its card's price x its factor (blueprint, section 4, matching rules).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from governance.quotas.enforcement.rules import level_of

ANY = "*"
GPU_HOUR, CPU_CORE_HOUR, MEMORY_GIB_HOUR = "gpu_hour", "cpu_core_hour", "memory_gib_hour"
MEASURES = (GPU_HOUR, CPU_CORE_HOUR, MEMORY_GIB_HOUR)


class PriceOfDay(NamedTuple):
    """A price that holds on the day in question; a measure it does not price is None."""

    pool: str
    accelerator: str
    qos: str
    band: str
    gpu_hour: Decimal | None
    cpu_core_hour: Decimal | None
    memory_gib_hour: Decimal | None


class Tariff:
    """The prices of one day, ready to be asked."""

    def __init__(
        self,
        prices: Iterable[PriceOfDay],
        cards: Mapping[str, tuple[str, Decimal]],
        offered: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        """`cards`: slice model -> (its card's model, the factor of the day). `offered`: (pool, level) -> its QoS on the day."""
        self._prices = list(prices)
        self._cards = cards
        self._offered = offered or {}

    def unit_price(self, measure: str, pool: str, model: str, qos: str, band: str) -> Decimal | None:
        """The price of one unit of `measure`, None where the day has none (unpriced, which is not free).

        Use under a QOS that carries a quota costs what the pool's offering of its level does.
        """
        level = level_of(qos)
        if level is not None:
            qos = self._offered.get((pool, level), qos)
        if model in self._cards:
            own = self._best(measure, pool, model, qos, band, exact_model=True)
            if own is not None:
                return own
            card, factor = self._cards[model]
            of_card = self._best(measure, pool, card, qos, band, exact_model=False)
            return None if of_card is None else of_card * factor
        return self._best(measure, pool, model, qos, band, exact_model=False)

    def _best(self, measure: str, pool: str, model: str, qos: str, band: str, *, exact_model: bool) -> Decimal | None:
        position = PriceOfDay._fields.index(measure)
        best: tuple[tuple[bool, ...], Decimal] | None = None
        for price in self._prices:
            amount: Decimal | None = price[position]  # type: ignore[assignment]
            if amount is None or not _fits(price, pool, model, qos, band) or (exact_model and price.accelerator == ANY):
                continue
            # The pool first, then QoS over model, then the band: no two different patterns rank equal.
            rank = (price.pool != ANY, price.qos != ANY, price.accelerator != ANY, price.band != ANY)
            if best is None or rank > best[0]:
                best = (rank, amount)
        return best[1] if best else None


def _fits(price: PriceOfDay, pool: str, model: str, qos: str, band: str) -> bool:
    return (
        price.pool in (ANY, pool)
        and price.accelerator in (ANY, model)
        and price.qos in (ANY, qos)
        and price.band in (ANY, band)
    )
