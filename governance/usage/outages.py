"""A node's state entered by hand, and the days whose capacity it changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction

from governance.access.actor import Actor
from governance.catalogue import actions as catalogue
from governance.catalogue.models import NodeState
from governance.catalogue.reads import installation

from .actions import mark_dirty
from .rules import day_of


@transaction.atomic
def enter_state(
    cluster_code: str, node: str, state: str, from_at: datetime, to_at: datetime | None, reason: str, *, actor: Actor
) -> NodeState:
    """Enter that a node was in `state` during [from_at, to_at); its days are metered again. Refuses as the catalogue does."""
    row = catalogue.set_node_state(cluster_code, node, state, from_at, to_at, reason, actor=actor)
    zone = ZoneInfo(installation().time_zone)
    until_on = None if to_at is None else day_of(to_at, zone) + timedelta(days=1)
    mark_dirty(cluster_code, day_of(from_at, zone), until_on)
    return row
