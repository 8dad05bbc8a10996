"""What the catalogue's pages show: figures of pools and models from what stands now and what was metered, with their links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from billing.prices.reads import PriceHistory
from billing.prices.rules import ANY, GPU_HOUR, Tariff

from . import capacity
from .capacity import Metered, Supply
from .estate import Estate, Holding, PoolNow, Unit, spots

NODES_A_PAGE = 100


@dataclass(frozen=True)
class Figures:
    """Cards now. `allocated` is of a fresh snapshot where every node was seen, else the mean of `day`; None where neither is."""

    holding: Holding
    allocated: Decimal | None
    day: date | None  # None where allocated is of now
    month: Supply

    @property
    def free(self) -> Decimal | None:
        """Cards in service and not allocated."""
        return None if self.allocated is None else max(self.holding.in_service - self.allocated, Decimal(0))

    @property
    def share(self) -> Decimal | None:
        """Allocated of what is in service."""
        return (
            self.allocated / self.holding.in_service if self.allocated is not None and self.holding.in_service else None
        )

    @property
    def in_service_share(self) -> Decimal | None:
        """In service of what is in the catalogue."""
        held = self.holding
        return Decimal(held.in_service) / held.installed if held.installed else None

    @property
    def bar(self) -> int:
        """The share in whole percent, for a bar."""
        return min(round((self.share or 0) * 100), 100)


def figures(holding: Holding, of: list[Metered]) -> Figures:
    """What a pool, a model or everything has and gave; `of` are its own metered rows."""
    used = holding.used
    day = max((one.day for one in of), default=None)
    mean = sum((one.cards.get("allocated", Decimal(0)) for one in of), Decimal(0)) if of else None
    month = capacity.total(of)
    if used is not None:
        return Figures(holding, Decimal(used), None, month)
    return Figures(holding, mean, day, month)


@dataclass(frozen=True)
class PoolRow:
    """A pool in the table."""

    pool: PoolNow
    figures: Figures
    prices: list[Decimal]  # of today, without QoS; more than one where its models differ
    is_priced: bool
    url: str
    heat_url: str


def pool_rows(of: Estate, rows: list[Metered], tariff: Tariff | None) -> list[PoolRow]:
    """Every pool, the largest first. `tariff` is None for who may not see prices."""
    found = []
    for pool in of.pools.values():
        models = sorted({unit.model for unit in pool.holding.units if unit.cards})
        prices = [] if tariff is None else [tariff.unit_price(GPU_HOUR, pool.code, model, ANY, ANY) for model in models]
        found.append(
            PoolRow(
                pool,
                figures(pool.holding, [one for one in rows if one.pool == pool.code]),
                sorted({price for price in prices if price is not None}),
                None not in prices,
                reverse("catalog-pool", args=[pool.code]),
                f"{reverse('catalog')}?{urlencode({'pool': pool.code})}#h-heat",
            )
        )
    return sorted(found, key=lambda row: (-row.figures.holding.installed, row.pool.code))


def tariff_of(day: date) -> Tariff:
    """The prices of a day."""
    return PriceHistory().on(day)


@dataclass(frozen=True)
class NodeRow:
    """A node's devices in a list, with where they stand."""

    unit: Unit
    place: str
    domain: str
    path: str
    url: str
    seconds: float | None  # for which it is out of service


def node_row(unit: Unit) -> NodeRow:
    """The row of a unit."""
    spot = spots()[unit.place]
    lasting = None if unit.is_sound or unit.since is None else (timezone.now() - unit.since).total_seconds()
    url = reverse("catalog-node", args=[unit.cluster, unit.node])
    return NodeRow(unit, spot.name, spot.domain, spot.path, url, lasting)


@dataclass
class NodeList:
    """A page of nodes; `after` leads to the next one."""

    rows: list[NodeRow]
    count: int
    after: str


def node_list(units: Iterable[Unit], asked: dict[str, str], after: str) -> NodeList:
    """The units that agree with the filters (pool, cluster, model, state, domain, q), by cluster and name, behind `after`."""
    kept = units_of(units, asked)
    behind = [unit for unit in kept if _cursor(unit) > after]
    page = behind[:NODES_A_PAGE]
    return NodeList([node_row(u) for u in page], len(kept), _cursor(page[-1]) if len(behind) > NODES_A_PAGE else "")


def units_of(units: Iterable[Unit], asked: dict[str, str]) -> list[Unit]:
    """All units that agree with the filters, by cluster and name."""
    known = spots()
    return sorted((unit for unit in units if _agrees(unit, asked, known)), key=_cursor)


def _cursor(unit: Unit) -> str:
    return f"{unit.cluster}/{unit.node}/{unit.model}"


def _agrees(unit: Unit, asked: dict[str, str], known: dict[int | None, Any]) -> bool:
    plain = all(getattr(unit, name) == asked[name] for name in ("pool", "cluster", "model") if asked.get(name))
    state = asked.get("state", "")
    in_state = not state or (not unit.is_sound if state == "unsound" else unit.state == state)
    in_domain = not asked.get("domain") or known[unit.place].domain_code == asked["domain"]
    return plain and in_state and in_domain and asked.get("q", "").lower() in unit.node.lower()
