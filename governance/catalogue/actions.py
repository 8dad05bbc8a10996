"""Writes of the catalogue: what stands where, under which names, on which days.

Rows are spoken of by codes. Facts stand on most of them: whoever calls also marks the days to be metered again
(`usage.actions.mark_dirty`), which lies above this topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from governance.access.actor import Actor, require
from governance.audit import actions as audit
from governance.errors import N_, BadData, NotFound, NotTheMoment

from .intervals import Interval
from .models import (
    AcceleratorModel,
    CardFactor,
    Cluster,
    Installation,
    Node,
    NodeState,
    NodeTerm,
    Place,
    Pool,
    PoolPartition,
)
from .writing import Key, Table, Values, put, replace

NAMES = {"name_zh": "name_zh", "name_en": "name_en"}
PLACES = Table("place", Place, ("code",), {**NAMES, "kind": "kind", "parent": "parent__code"})
MODELS = Table(
    "accelerator",
    AcceleratorModel,
    ("code",),
    {
        "vendor": "vendor",
        "name": "name",
        "memory_gib": "memory_gib",
        "power_watts": "power_watts",
        "aliases": "aliases",
        "card": "card__code",
    },
)
CARD_FACTORS = Table("card factor", CardFactor, ("model__code",), {"factor": "factor"})
CLUSTERS = Table(
    "cluster",
    Cluster,
    ("code",),
    {
        **NAMES,
        "kind": "scheduler_kind",
        "cluster_name": "scheduler_names",
        "time_zone": "time_zone",
        "tracks_gpus": "tracks_gpus",
        "connection": "connection",
    },
)
POOLS = Table(
    "pool",
    Pool,
    ("code",),
    {**NAMES, "cluster": "cluster__code", "purpose": "purpose"},
    {"accelerators": "accelerators"},
)
PARTITIONS = Table("partition", PoolPartition, ("pool__code", "pattern"))
NODE_TERMS = Table(
    "node",
    NodeTerm,
    ("node__cluster__code", "node__name", "model__code"),
    {
        "pool": "pool__code",
        "accelerators": "accelerators",
        "cpus": "cpus",
        "memory_gib": "memory_gib",
        "place": "place__code",
    },
)


@transaction.atomic
def set_installation(values: Values, *, actor: Actor) -> bool:
    """Set time zone, currency, bands or profile of the installation; answers whether anything changed."""
    require(actor, "organisation.change")
    Installation.objects.get_or_create(pk=1)
    row = Installation.objects.select_for_update().get(pk=1)
    before = {word: getattr(row, word) for word in ("time_zone", "currency", "bands", "profile")}
    after = {**before, **values}
    if after == before:
        return False
    for word, value in after.items():
        setattr(row, word, value)
    row.save(update_fields=list(after))
    audit.record(actor, "installation.changed", "installation", "installation", before=before, after=after)
    return True


def put_places(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change places by code."""
    require(actor, "catalogue.change")
    return put(PLACES, rows, actor=actor)


def put_models(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change accelerator models by code."""
    require(actor, "catalogue.change")
    return put(MODELS, rows, actor=actor)


def set_card_factors(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace the dated card factors of each slice model."""
    require(actor, "catalogue.change")
    return replace(CARD_FACTORS, rows, actor=actor)


def put_clusters(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change clusters by code."""
    require(actor, "catalogue.change")
    return put(CLUSTERS, rows, actor=actor)


def put_pools(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change pools by code."""
    require(actor, "catalogue.change")
    return put(POOLS, rows, actor=actor)


def set_partitions(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace the days on which a pool claims a partition pattern, by (pool, pattern)."""
    require(actor, "catalogue.change")
    return replace(PARTITIONS, rows, actor=actor)


@transaction.atomic
def set_node_terms(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace what nodes were on which days, by (cluster, node, model); nodes that are new are added."""
    require(actor, "catalogue.change")
    clusters = dict(Cluster.objects.values_list("code", "pk"))
    known = set(Node.objects.values_list("cluster__code", "name"))
    new = dict.fromkeys((cluster, name) for cluster, name, _ in rows if (cluster, name) not in known)
    for cluster, _ in new:
        if cluster not in clusters:
            raise NotFound(N_("There is no %(kind)s “%(code)s”."), kind="cluster", code=cluster)
    Node.objects.bulk_create(Node(cluster_id=clusters[cluster], name=name) for cluster, name in new)
    return replace(NODE_TERMS, rows, actor=actor)


@transaction.atomic
def set_node_state(
    cluster_code: str,
    node_name: str,
    state: str,
    from_at: datetime,
    to_at: datetime | None,
    reason: str = "",
    *,
    actor: Actor,
) -> NodeState:
    """Enter by hand that a node was in `state` during [from_at, to_at), aware instants; a missing end is open.

    It replaces nothing: an interval that overlaps one already entered is refused, and so is an unknown state.
    """
    require(actor, "catalogue.change")
    node = Node.objects.select_for_update().filter(cluster__code=cluster_code, name=node_name).first()
    if node is None:
        raise NotFound(N_("There is no %(kind)s “%(code)s”."), kind="node", code=f"{cluster_code}/{node_name}")
    if state not in NodeState.STATES:
        raise BadData(
            N_("“%(state)s” is not a state of a node; the states are %(states)s."),
            state=state,
            states=", ".join(NodeState.STATES),
        )
    if from_at.tzinfo is None or (to_at is not None and to_at.tzinfo is None):
        raise BadData(N_("Times of a node's state need a time zone."))
    if to_at is not None and to_at <= from_at:
        raise BadData(N_("The state would end before it begins."))
    standing = node.states.filter(Q(to_at__isnull=True) | Q(to_at__gt=from_at))
    if to_at is not None:
        standing = standing.filter(from_at__lt=to_at)
    other = standing.order_by("from_at").first()
    if other is not None:
        raise BadData(
            N_("Node %(node)s is already %(state)s from %(from_at)s to %(to_at)s; end that state first."),
            node=node_name,
            state=other.state,
            from_at=other.from_at.isoformat(),
            to_at=other.to_at.isoformat() if other.to_at else "…",
        )
    row = NodeState.objects.create(node=node, state=state, reason=reason, from_at=from_at, to_at=to_at)
    after: dict[str, Any] = {"state": state, "from": from_at, "to": to_at, "reason": reason}
    audit.record(actor, "node_state.added", "node", f"{cluster_code}/{node_name}", after=after)
    return row


@transaction.atomic
def end_node_state(cluster_code: str, node_name: str, to_at: datetime, *, actor: Actor) -> NodeState:
    """End at `to_at`, an aware instant, the state that was entered by hand and stands without an end.

    What a scheduler says is ended by the scheduler: it would be there again with the next pull.
    """
    require(actor, "catalogue.change")
    node = Node.objects.select_for_update().filter(cluster__code=cluster_code, name=node_name).first()
    if node is None:
        raise NotFound(N_("There is no %(kind)s “%(code)s”."), kind="node", code=f"{cluster_code}/{node_name}")
    row = node.states.filter(to_at__isnull=True).first()
    if row is None:
        raise NotTheMoment(N_("Node %(node)s is in no state that could be ended."), node=node_name)
    if row.source != "hand":
        raise NotTheMoment(
            N_(
                "The scheduler says that node %(node)s is %(state)s; it ends when the scheduler shows it in service again."
            ),
            node=node_name,
            state=row.state,
        )
    if to_at <= row.from_at:
        raise BadData(N_("The state would end before it begins."))
    row.to_at = to_at
    row.save(update_fields=["to_at"])
    audit.record(
        actor, "node_state.ended", "node", f"{cluster_code}/{node_name}", after={"state": row.state, "to": to_at}
    )
    return row
