"""Node states as dated intervals, from what a scheduler shows: snapshots and events. A hand-entered state is never touched.

Rank: by hand over event over snapshot; where two of lower rank would overlap, the lower one gives way.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from django.db.models import Q

from governance.schedulers.live import NodeEvent, NodeRecord

from .models import Cluster, Node, NodeState
from .rules import out_of_service

BY_HAND, EVENT, SNAPSHOT = "hand", "event", "snapshot"


class Touched(NamedTuple):
    """What a change of states touches: [from_at, to_at); an open end is None."""

    from_at: datetime
    to_at: datetime | None


def note_nodes(cluster: Cluster, at: datetime, seen: Iterable[NodeRecord]) -> list[Touched]:
    """Take in a snapshot inside a transaction: states that ended are closed at `at`, new ones opened. Answers what was touched."""
    touched: list[Touched] = []
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    open_now = {
        state.node_id: state
        for state in NodeState.objects.select_for_update().filter(node__cluster=cluster, to_at__isnull=True)
    }
    for record in seen:
        node = nodes.get(record.name)
        if node is None:
            continue  # discovery proposes it
        now = out_of_service(record)
        standing = open_now.get(node.pk)
        if standing is not None and standing.source == BY_HAND:
            continue
        if standing is not None and now is not None and (standing.state, standing.cards) == now:
            continue
        if standing is not None:
            if standing.from_at >= at:
                continue  # a snapshot older than what is known
            NodeState.objects.filter(pk=standing.pk).update(to_at=at)
            touched.append(Touched(at, None))
        if (
            now is not None
            and not NodeState.objects.filter(node=node).filter(Q(to_at__gt=at) | Q(from_at__gte=at)).exists()
        ):
            state, cards = now
            NodeState.objects.create(
                node=node, state=state, cards=cards, reason=record.reason[:300], from_at=at, source=SNAPSHOT
            )
            touched.append(Touched(at, None))
    return touched


def note_events(cluster: Cluster, events: Iterable[NodeEvent]) -> list[Touched]:
    """Take in events inside a transaction: their exact times replace what snapshots guessed. Answers what was touched."""
    touched: list[Touched] = []
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    for event in sorted(events, key=lambda e: (e.name, e.from_at)):
        node = nodes.get(event.name)
        now = out_of_service(event)
        if node is None or now is None:
            continue
        from_at = datetime.fromtimestamp(event.from_at, UTC)
        to_at = datetime.fromtimestamp(event.to_at, UTC) if event.to_at is not None else None
        if to_at is not None and to_at <= from_at:
            continue
        touched += _put_event(node, now[0], from_at, to_at, event.reason)
    return touched


def _put_event(node: Node, state: str, from_at: datetime, to_at: datetime | None, reason: str) -> list[Touched]:
    overlapping = (
        NodeState.objects.select_for_update().filter(node=node).filter(Q(to_at__isnull=True) | Q(to_at__gt=from_at))
    )
    if to_at is not None:
        overlapping = overlapping.filter(from_at__lt=to_at)
    standing = list(overlapping)
    if any(s.source == BY_HAND for s in standing):
        return []
    same = [s for s in standing if s.source == EVENT and s.from_at == from_at]
    if same and len(standing) == 1 and (same[0].state, same[0].to_at) == (state, to_at):
        return []
    cards = next((s.cards for s in standing if s.source == SNAPSHOT and s.to_at is None and s.state == state), None)
    kept = [s for s in standing if s.source == EVENT and s.from_at != from_at]
    if kept:
        return []  # two events that overlap: the scheduler's history contradicts itself, what is there stands
    NodeState.objects.filter(pk__in=[s.pk for s in standing]).delete()
    NodeState.objects.create(
        node=node,
        state=state,
        cards=cards if to_at is None else None,
        reason=reason[:300],
        from_at=from_at,
        to_at=to_at,
        source=EVENT,
    )
    return [Touched(min([from_at, *(s.from_at for s in standing)]), None)]
