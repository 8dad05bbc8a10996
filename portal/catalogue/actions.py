"""States of nodes entered by hand, and the days to be metered again because of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction

from governance.access.actor import Actor
from governance.catalogue import actions as catalogue
from governance.catalogue.models import NodeState
from governance.catalogue.reads import installation
from governance.usage import actions as usage


@transaction.atomic
def enter_state(
    cluster: str, node: str, state: str, from_at: datetime, to_at: datetime | None, reason: str, *, actor: Actor
) -> NodeState:
    """Enter that a node was in `state` during [from_at, to_at); its days are metered again. Errors as `set_node_state`."""
    row = catalogue.set_node_state(cluster, node, state, from_at, to_at, reason, actor=actor)
    _mark(cluster, from_at, to_at)
    return row


@transaction.atomic
def end_state(cluster: str, node: str, to_at: datetime, *, actor: Actor) -> NodeState:
    """End the state that stands open; the days behind are metered again. Errors as `end_node_state`."""
    row = catalogue.end_node_state(cluster, node, to_at, actor=actor)
    _mark(cluster, to_at, None)
    return row


def _mark(cluster: str, from_at: datetime, to_at: datetime | None) -> None:
    zone = ZoneInfo(installation().time_zone)
    last = None if to_at is None else to_at.astimezone(zone).date() + timedelta(days=1)
    usage.mark_dirty(cluster, from_at.astimezone(zone).date(), last)
