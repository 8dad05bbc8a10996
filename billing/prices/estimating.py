"""What GPUs in full use on some days would cost: the answer of billing to governance/money.py. Budgets are not set yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from zoneinfo import ZoneInfo

from governance.catalogue.models import Installation, Pool
from governance.catalogue.reads import installation
from governance.money import NOT_SET, Estimate, NotSet, Wanted
from governance.usage.rules import band_slices

from .reads import PriceHistory
from .rules import ANY, GPU_HOUR, Tariff

HOUR = Decimal(3600)
CENT = Decimal("0.01")


class Prices:
    """Estimates by the price list. Registered as governance's money when Django starts."""

    def estimates(self, wanted: Sequence[Wanted]) -> list[Estimate] | NotSet:
        """One estimate for each, by three questions."""
        if not wanted:
            return []
        history, models, of = PriceHistory(), _models({one.pool for one in wanted if not one.model}), installation()
        return [_estimate(one, history, [one.model] if one.model else models.get(one.pool, []), of) for one in wanted]

    def budget_left(self, project: str, department: str, on: date) -> Decimal | NotSet:
        """Nobody has set a budget."""
        return NOT_SET


def _models(pools: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if not pools:
        return found
    rows = Pool.objects.filter(code__in=pools, accelerators__isnull=False)
    for pool, model in rows.values_list("code", "accelerators__code").order_by("code", "accelerators__code"):
        found.setdefault(pool, []).append(model)
    return found


def _estimate(one: Wanted, history: PriceHistory, models: list[str], of: Installation) -> Estimate:
    """Days between two changes of the list are priced together. Of several models the dearest counts: an estimate is no promise."""
    days = (one.to_on - one.from_on).days
    breaks = sorted({one.from_on, one.to_on, *(day for day in history.changes() if one.from_on < day < one.to_on)})
    amount, unpriced, first = Decimal(0), 0, None
    for low, high in zip(breaks, breaks[1:], strict=False):
        tariff, length = history.on(low), (high - low).days
        prices = [_of_a_day(tariff, one.pool, model, one.qos or ANY, low, of) for model in models or [ANY]]
        known = [price for price in prices if price is not None]
        price = max(known) if len(known) == len(prices) else None
        if low == one.from_on:
            first = price
        if price is None:
            unpriced += length
        else:
            amount += price * 24 * one.gpus * length
    return Estimate(
        gpu_hours=24 * one.gpus * days,
        amount=None if unpriced else amount.quantize(CENT),
        unpriced_days=unpriced,
        unit_price=first,
        currency=of.currency,
    )


def _of_a_day(tariff: Tariff, pool: str, model: str, qos: str, day: date, of: Installation) -> Decimal | None:
    """The price of a GPU-hour, of all bands of the day weighted by their length; None where a band has none."""
    total, seconds = Decimal(0), Decimal(0)
    for cut in band_slices(day, ZoneInfo(of.time_zone), of.bands):
        price = tariff.unit_price(GPU_HOUR, pool, model, qos, cut.band)
        if price is None:
            return None
        length = Decimal((cut.until_at - cut.from_at).total_seconds())
        total, seconds = total + price * length, seconds + length
    return total / seconds if seconds else None
