"""The map of racks: how much of each node was allocated on the last metered day, grouped by what fails together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils.safestring import SafeString

from governance.catalogue.reads import installation
from governance.schedulers.slurm.hostlist import expand
from governance.usage.rules import day_bounds

from . import drawing
from .estate import Unit, spots

#: Lower bounds of the steps q1 to q5, in percent.
STEPS = (5, 20, 50, 70, 90)
RACK_OF_NONE = 8  # nodes in a column where no place is given

#: A run holds its cards on all its nodes alike: what is spread unevenly is not in a scheduler's record.
OF_DAY = """
    SELECT r.node_list, sum(r.gpu_milli * extract(epoch FROM least(r.stop_at, %(end)s) - greatest(r.start_at, %(start)s)))::bigint,
        min(r.submit_at)
    FROM run AS r JOIN cluster AS c ON c.id = r.cluster_id
    WHERE c.code = %(cluster)s AND r.start_at < %(end)s AND r.stop_at > %(start)s AND r.gpu_milli > 0 AND r.node_list <> ''
        AND r.submit_at < %(end)s
        AND r.submit_at >= (SELECT min(s.month) FROM run_span AS s
            WHERE s.cluster_id = c.id AND s.min_start_at < %(end)s AND s.max_stop_at >= %(start)s)
    GROUP BY 1"""


class Held(NamedTuple):
    """A node list as runs recorded it: its nodes, what was held on them (milligpu_seconds), the first submit of those runs."""

    text: str
    names: tuple[str, ...]
    milligpu_seconds: int
    submit_at: datetime


def node_lists(cluster: str, start: datetime, end: datetime) -> list[Held]:
    """The node lists of the runs with cards in [start, end)."""
    with connection.cursor() as cursor:
        cursor.execute(OF_DAY, {"cluster": cluster, "start": start, "end": end})
        found = cursor.fetchall()
    return [Held(text, names, int(held), first) for text, held, first in found if (names := _names(text))]


def allocation(cluster: str, day: date, seconds: int) -> dict[str, int]:
    """Node -> milligpu_seconds allocated in the first `seconds` of the day."""
    start, end = day_bounds(day, ZoneInfo(installation().time_zone))
    found: dict[str, int] = defaultdict(int)
    for one in node_lists(cluster, start, end):
        for name in one.names:
            found[name] += one.milligpu_seconds // len(one.names)
    return dict(found)


@lru_cache(maxsize=20_000)
def _names(node_list: str) -> tuple[str, ...]:
    try:
        return tuple(expand(node_list))
    except ValueError:
        return ()  # a list that is none names no node


@dataclass(frozen=True)
class Cell:
    """A node in the map. `share` of its cards' time that was allocated, None where that is not known."""

    unit: Unit
    share: Decimal | None
    is_current: bool

    @cached_property
    def percent(self) -> int | None:
        """The share in whole percent."""
        return None if self.share is None else round(self.share * 100)

    @property
    def tone(self) -> str:
        """Its class: a state that wants a look comes before the figure."""
        if not self.unit.is_sound:
            return self.unit.tone.tone or "spare"
        return "" if self.percent is None else f"q{sum(self.percent >= step for step in STEPS)}"


@dataclass
class Rack:
    """A column of cells."""

    name: str
    cells: list[Cell] = field(default_factory=list)

    @property
    def drawn(self) -> SafeString:
        """The cells as HTML."""
        return drawing.cells(self.cells)


@dataclass
class Domain:
    """What fails together, with its racks."""

    code: str
    name: str
    above: str
    racks: list[Rack] = field(default_factory=list)


def domains(units: Iterable[Unit], held: dict[str, int] | None, seconds: int, current: str = "") -> list[Domain]:
    """The nodes by fault domain and rack. `held`: allocated by node on the day, None where no day is metered."""
    known = spots()
    by_domain: dict[str, Domain] = {}
    racks: dict[str, Rack] = {}
    for cell in _cells(units, held, seconds, current):
        spot = known[cell.unit.place]
        domain = by_domain.setdefault(
            spot.domain_code, Domain(spot.domain_code, spot.domain, spot.way[-3] if len(spot.way) > 2 else "")
        )
        rack = racks.get(spot.code)
        if rack is None or (not spot.code and len(rack.cells) >= RACK_OF_NONE):
            rack = racks[spot.code] = Rack(spot.name)
            domain.racks.append(rack)
        rack.cells.append(cell)
    for domain in by_domain.values():
        domain.racks.sort(key=lambda rack: rack.name)
    return [by_domain[code] for code in sorted(by_domain, key=lambda code: (not code, code))]


def _cells(units: Iterable[Unit], held: dict[str, int] | None, seconds: int, current: str) -> list[Cell]:
    by_node: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        by_node[unit.node].append(unit)
    found = []
    for name in sorted(by_node):
        of = by_node[name]
        span = sum(unit.cards for unit in of) * 1000 * seconds
        share = None if held is None or not span else Decimal(held.get(name, 0)) / span
        found.append(Cell(of[0], share, name == current))
    return found
