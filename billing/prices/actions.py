"""Writes of prices. Money stands on them: whoever calls also marks the days (`ledger.actions.mark_stale`)."""

from __future__ import annotations

from collections.abc import Mapping

from governance.access.actor import Actor, require
from governance.catalogue.intervals import Interval
from governance.catalogue.writing import Key, Table, replace

from .models import Price

MEASURES = ("gpu_hour", "cpu_core_hour", "memory_gib_hour")
PRICES = Table("price", Price, ("pool", "accelerator", "qos", "band"), {measure: measure for measure in MEASURES})


def set_prices(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace the dated prices of each pattern (pool, accelerator, qos, band); `*` stands for any."""
    require(actor, "organisation.change")
    return replace(PRICES, rows, actor=actor)
