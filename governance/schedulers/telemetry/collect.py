"""One day of some nodes, read from Prometheus in pieces and judged; memory is that of the nodes' cards and one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from . import queries
from .activity import Attempt, IdleRules, Judge, Point, RunActivity
from .client import Prometheus
from .labels import LabelMap, Owner
from .parse import Series

HOUR = 3600
PIECE_S = 6 * HOUR  # of minute samples asked for at once
NODE_STEP_S = 300  # power and temperature of a node
NODES_AT_ONCE = 64

FindAttempts = Callable[[Iterable[str]], dict[str, list[Attempt]]]


class NodeHour(NamedTuple):
    """A node's power and heat over one hour from `hour_at` (epoch seconds). None: nobody said."""

    node: str
    hour_at: int
    power_watts_mean: int | None
    power_watts_max: int | None
    temperature_max: int | None
    samples: int


class Span(NamedTuple):
    """A day of the billing zone and how far data may be read, epoch seconds."""

    since: int
    until: int
    readable_to: int


@dataclass
class Reading:
    """What some nodes did on one day."""

    activities: list[RunActivity] = field(default_factory=list)
    hours: list[NodeHour] = field(default_factory=list)
    series: int = 0
    unassigned_points: int = 0  # of cards that no job had
    unplaced_series: int = 0  # whose labels name no node or no card


class NodeReader:
    """Reads shards of nodes. `label` is the label that names them; `find_attempts` answers the known runs of jobs."""

    def __init__(
        self, client: Prometheus, by: LabelMap, label: str, rules: IdleRules, step: int, find_attempts: FindAttempts
    ) -> None:
        self._client, self._by, self._label, self._rules, self._step = client, by, label, rules, step
        self._find_attempts = find_attempts

    def read(self, nodes: Sequence[str], span: Span) -> Reading:
        """The nodes' day. Raises SourceFault; nothing is kept of a day that was half read."""
        done = Reading()
        selector = queries.of_nodes(self._label, nodes)
        attempts: dict[str, list[Attempt]] = {}
        judge = Judge((span.since, span.until), attempts, self._rules, self._step)
        for piece in self._activity(selector, span):
            done.series += len(piece)
            found = self._owned(piece, done)
            new = {owner.job for owner in found} - attempts.keys()
            attempts.update({job: [] for job in new} | self._find_attempts(new))
            for owner, points in found.items():
                judge.feed(owner, points)
        self._note(judge, "memory", queries.memory(self._by, selector, HOUR, 60), span)
        self._note(judge, "energy", queries.energy(self._by, selector, HOUR, 60), span)
        done.activities = judge.close()
        done.hours = list(self._hours(selector, span))
        return done

    def _activity(self, selector: str, span: Span) -> Iterator[list[Series]]:
        step = self._step
        around = -(-self._rules.context_s // step) * step
        at, end = span.since - around + step, min(span.until + around, span.readable_to)
        promql = queries.activity(self._by, selector, step)
        while at <= end:
            to = min(at + PIECE_S - step, end)
            yield self._client.query_range(promql, at, to, step)
            at += PIECE_S

    def _owned(self, piece: list[Series], done: Reading) -> dict[Owner, list[Point]]:
        """Points by owner; a card that several series tell of at one instant counts as busy as the busiest."""
        found: dict[Owner, list[Point]] = {}
        for labels, points in piece:
            owner = self._by.owner(labels)
            if owner is None:
                done.unplaced_series += 1
            elif not owner.job:
                done.unassigned_points += len(points)
            else:
                found[owner] = merged(found[owner], points) if owner in found else points
        return found

    def _note(self, judge: Judge, kind: str, promql: str, span: Span) -> None:
        last = min(span.until, span.readable_to)
        if not promql or last < span.since + HOUR:
            return
        best: dict[tuple[Owner, float], float] = {}
        for labels, points in self._client.query_range(promql, span.since + HOUR, last, HOUR):
            owner = self._by.owner(labels)
            if owner is None or not owner.job:
                continue
            for at, value in points:
                best[owner, at] = max(value, best.get((owner, at), 0.0))
        for (owner, at), value in best.items():
            judge.note(owner, kind, at - HOUR, at, value)

    def _hours(self, selector: str, span: Span) -> Iterator[NodeHour]:
        power = self._by_hour(queries.node_power(self._by, self._label, selector, NODE_STEP_S), span)
        heat = self._by_hour(queries.node_temperature(self._by, self._label, selector, NODE_STEP_S), span)
        for node, hour in sorted(power.keys() | heat.keys()):
            watts, degrees = power.get((node, hour), []), heat.get((node, hour), [])
            yield NodeHour(
                node,
                hour,
                round(sum(watts) / len(watts)) if watts else None,
                round(max(watts)) if watts else None,
                round(max(degrees)) if degrees else None,
                max(len(watts), len(degrees)),
            )

    def _by_hour(self, promql: str, span: Span) -> dict[tuple[str, int], list[float]]:
        found: dict[tuple[str, int], list[float]] = {}
        last = min(span.until, span.readable_to)
        if not promql or last < span.since + NODE_STEP_S:
            return found
        for labels, points in self._client.query_range(promql, span.since + NODE_STEP_S, last, NODE_STEP_S):
            node = labels.get(self._label, "")
            for at, value in points if node else ():
                hour = span.since + int(at - NODE_STEP_S - span.since) // HOUR * HOUR
                found.setdefault((node, hour), []).append(value)
        return found


def merged(some: list[Point], others: list[Point]) -> list[Point]:
    """Two series of one card as one, in the order of time, the larger value where both speak at one instant."""
    best = dict(some)
    for at, value in others:
        if at not in best or best[at] < value:
            best[at] = value
    return sorted(best.items())


def node_label(client: Prometheus, by: LabelMap, since: float, until: float) -> tuple[str, list[str]]:
    """The label that names nodes on this server, and the nodes in the window: the first of the map's that any series carries.

    Series that lack it stand under the name "". Answers ("", []) where no series of the map is there.
    """
    matching = '{__name__=~"' + "|".join(m.name for m in by.metrics["activity"]) + '"}'
    for label in by.node:
        nodes = client.label_values(label, matching, since, until)
        if nodes:
            return label, [*nodes, ""] if label != "instance" else nodes
    return "", []


def shards(nodes: Sequence[str], size: int = NODES_AT_ONCE) -> list[list[str]]:
    """The nodes in groups that are read at once, always the same for the same nodes."""
    ordered = sorted(nodes)
    return [ordered[n : n + size] for n in range(0, len(ordered), size)]
