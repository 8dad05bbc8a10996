"""Everything that stands today: pools, their nodes with cards and place, and the state each is in. One question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db import connection
from django.utils import timezone

from governance.access.memory import remembered
from governance.access.named import in_language
from governance.catalogue.models import UNASSIGNED_POOL, Place
from governance.tenants.models import day_of_today
from governance.usage.ops.words import NODE_STATES, SOURCES, Tone

IN_SERVICE = "in_service"
#: Which states take cards out, and as what; the same grouping as metering's (rebuild_capacity.sql).
OUT = {
    "down": "down",
    "repair": "down",
    "drained": "drained",
    "burn_in": "drained",
    "spare": "drained",
    "reserved": "reserved",
}
#: A snapshot older than this says nothing about now.
FRESH = timedelta(hours=1)

UNITS = """
    SELECT p.code, p.name_zh, p.name_en, p.purpose, c.code, c.name_zh, c.name_en, n.name, m.code, m.name, t.accelerators,
        t.place_id, s.state, s.reason, s.from_at, s.cards, s.source, e.gpus_used, e.seen_at
    FROM pool AS p
    LEFT JOIN cluster AS c ON c.id = p.cluster_id
    LEFT JOIN node_term AS t ON t.pool_id = p.id
        AND (t.from_on IS NULL OR t.from_on <= %(today)s) AND (t.to_on IS NULL OR t.to_on > %(today)s)
    LEFT JOIN node AS n ON n.id = t.node_id
    LEFT JOIN accelerator_model AS m ON m.id = t.model_id
    LEFT JOIN node_state AS s ON s.node_id = n.id AND s.from_at <= %(now)s AND (s.to_at IS NULL OR s.to_at > %(now)s)
    LEFT JOIN node_seen AS e ON e.cluster_id = n.cluster_id AND e.name = n.name AND e.seen_at > %(fresh)s
    WHERE p.code <> %(unassigned)s ORDER BY p.code, n.name, m.code"""


@dataclass(frozen=True)
class Unit:
    """A node's devices of one model, today. `used` are the cards in use by the last snapshot, None where none is fresh."""

    pool: str
    cluster: str
    node: str
    model: str
    model_name: str
    cards: int
    place: int | None
    state: str
    reason: str
    since: datetime | None
    out: int  # cards that the state takes out
    source: str
    used: int | None

    @property
    def is_sound(self) -> bool:
        """Whether the whole node is in service."""
        return self.state == IN_SERVICE

    @property
    def tone(self) -> Tone:
        """The state in colour, icon and word."""
        return NODE_STATES[self.state]

    @property
    def source_word(self) -> Any:
        """Who said that it is in this state."""
        return SOURCES.get(self.source, "")

    @property
    def left(self) -> int:
        """Cards that are in service."""
        return self.cards - self.out


@dataclass
class Holding:
    """What a pool, a model or everything has today, in cards; out of service by class. Its figures are worked out once all units are in."""

    units: list[Unit] = field(default_factory=list)

    @cached_property
    def nodes(self) -> int:
        """Machines, each once whatever slices it has."""
        return len({(unit.cluster, unit.node) for unit in self.units})

    @cached_property
    def installed(self) -> int:
        """Cards in the catalogue today."""
        return sum(unit.cards for unit in self.units)

    @cached_property
    def out(self) -> Counter[str]:
        """Cards out of service, as down, drained or reserved."""
        found: Counter[str] = Counter()
        for unit in self.units:
            if unit.out:
                found[OUT[unit.state]] += unit.out
        return found

    @cached_property
    def out_cards(self) -> int:
        """All of them."""
        return sum(unit.out for unit in self.units)

    @cached_property
    def in_service(self) -> int:
        """Cards that could be allocated."""
        return sum(unit.left for unit in self.units)

    @cached_property
    def used(self) -> int | None:
        """Cards in use by fresh snapshots; None unless every node was seen."""
        if not self.units or any(unit.used is None for unit in self.units):
            return None
        return sum(unit.used or 0 for unit in self.units)

    @cached_property
    def unsound(self) -> list[Unit]:
        """What is not wholly in service, the longest first."""
        found = [unit for unit in self.units if not unit.is_sound]
        return sorted(found, key=lambda unit: (unit.since or timezone.now(), unit.node))

    @cached_property
    def models(self) -> list[str]:
        """The models of its cards by name, most cards first."""
        counted: Counter[str] = Counter()
        for unit in self.units:
            counted[unit.model_name] += unit.cards
        return [name for name, cards in counted.most_common() if cards]


@dataclass
class PoolNow:
    """A pool with what it holds."""

    code: str
    name: str
    purpose: str
    cluster: str
    cluster_name: str
    holding: Holding = field(default_factory=Holding)


@dataclass
class Estate:
    """All pools by code; the clusters and models follow from them."""

    pools: dict[str, PoolNow]

    @cached_property
    def everything(self) -> Holding:
        """All units."""
        return Holding([unit for pool in self.pools.values() for unit in pool.holding.units])

    def of(self, **wanted: str) -> Holding:
        """The units that agree with `wanted` (cluster, model, node)."""
        return Holding(
            [u for u in self.everything.units if all(getattr(u, name) == value for name, value in wanted.items())]
        )


@remembered
def estate() -> Estate:
    """Everything as it stands now."""
    now = timezone.now()
    given: dict[str, Any] = {"today": day_of_today(), "now": now, "fresh": now - FRESH, "unassigned": UNASSIGNED_POOL}
    pools: dict[str, PoolNow] = {}
    with connection.cursor() as cursor:
        cursor.execute(UNITS, given)
        rows = cursor.fetchall()
    devices = Counter((row[4], row[7]) for row in rows if row[10])
    for code, zh, en, purpose, cluster, cluster_zh, cluster_en, *rest in rows:
        pool = pools.get(code)
        if pool is None:
            names = (
                in_language(zh, en) or code,
                purpose,
                cluster or "",
                in_language(cluster_zh, cluster_en) or cluster,
            )
            pool = pools[code] = PoolNow(code, *names)
        if rest[0] is not None:
            pool.holding.units.append(_unit(code, cluster, rest, is_alone=devices[cluster, rest[0]] == 1))
    return Estate(pools)


def _unit(pool: str, cluster: str, row: list[Any], *, is_alone: bool) -> Unit:
    node, model, name, cards, place, state, reason, since, limited, source, used, _ = row
    out = 0 if state in (None, IN_SERVICE) else min(cards if limited is None else limited, cards)
    # A snapshot counts a node's cards, not a model's: with slices it cannot be told whose are in use.
    seen = 0 if cards == 0 else used if is_alone else None
    return Unit(
        pool, cluster, node, model, name or model, cards, place, state or IN_SERVICE, reason or "", since, out,
        source or "", seen,
    )  # fmt: skip


@dataclass(frozen=True)
class Spot:
    """Where something stands: the place itself, what fails with it (the place above), and the whole way down."""

    code: str
    name: str
    domain: str
    domain_code: str
    way: tuple[str, ...]

    @property
    def path(self) -> str:
        """From the region down."""
        return " › ".join(self.way)


NOWHERE = Spot("", "", "", "", ())


@remembered
def spots() -> dict[int | None, Spot]:
    """Every place by its id; None stands nowhere that is known."""
    rows = Place.objects.values_list("pk", "code", "name_zh", "name_en", "parent_id")
    places = {pk: (code, in_language(zh, en) or code, parent) for pk, code, zh, en, parent in rows}
    found: dict[int | None, Spot] = {None: NOWHERE}
    for pk, (code, name, _) in places.items():
        line = [places[pk]]
        while line[-1][2] in places and len(line) <= len(places):
            line.append(places[line[-1][2]])
        above = line[1] if len(line) > 1 else line[0]
        found[pk] = Spot(code, name, above[1], above[0], tuple(one[1] for one in reversed(line)))
    return found


def domains_of(units: Iterable[Unit]) -> list[tuple[str, str]]:
    """The fault domains (code, name) that the units stand in, in order."""
    known = spots()
    found = {(known[unit.place].domain_code, known[unit.place].domain) for unit in units}
    return sorted(one for one in found if one[0])
