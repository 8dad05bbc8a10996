"""Doors of the catalogue: pools, accelerator models, nodes and their states."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors.door import ListDoor
from governance.doors.query import Paged, narrowed, text

from .models import AcceleratorModel, Node, NodeState, NodeTerm, Pool


def sees_all(actor: Actor) -> bool:
    """Whether the actor sees the whole catalogue, by seeing or by keeping it."""
    return actor.may("capacity.view") or actor.may("catalogue.change")


def visible_pools(actor: Actor) -> QuerySet[Pool]:
    """Pools whose capacity the actor may see."""
    if sees_all(actor):
        return Pool.objects.all()
    return Pool.objects.filter(pk__in=[pool.pk for pool in Pool.objects.all() if actor.may("capacity.view", pool)])


class PoolRow(serializers.Serializer[Any]):
    """A pool."""

    code = serializers.CharField()
    name = serializers.CharField()
    cluster = serializers.CharField(
        source="cluster.code", default=None, allow_null=True, help_text=_("Null for the pool of unassigned runs.")
    )
    purpose = serializers.CharField()
    accelerators = serializers.SerializerMethodField()

    def get_accelerators(self, pool: Pool) -> list[str]:
        """The codes of the models that it has."""
        return sorted(model.code for model in pool.accelerators.all())


class PoolsQuery(Paged):
    """Filters of pools."""

    code = text(_("The pool with this code."))
    cluster = text(_("The code of a cluster."))


class PoolsDoor(ListDoor):
    """Pools."""

    name = "api-pools"
    title = _("Pools")
    says = _("The parts of clusters that are governed as one, as far as your roles show their capacity.")
    query, out, order = PoolsQuery, PoolRow, ("code",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Pool]:
        """With their models."""
        rows = visible_pools(actor).select_related("cluster").prefetch_related("accelerators")
        return narrowed(rows, asked, {"code": "code", "cluster": "cluster__code"})


class ModelRow(serializers.Serializer[Any]):
    """An accelerator model."""

    code = serializers.CharField()
    vendor = serializers.CharField()
    name = serializers.CharField()
    memory_gib = serializers.IntegerField()
    power_watts = serializers.IntegerField()
    aliases = serializers.ListField(child=serializers.CharField())
    card = serializers.CharField(
        source="card.code", default=None, allow_null=True, help_text=_("For a slice, the model of its whole GPU.")
    )


class ModelsQuery(Paged):
    """Filters of models."""

    code = text(_("The model with this code."))


class ModelsDoor(ListDoor):
    """Accelerator models."""

    name = "api-models"
    title = _("GPU models")
    says = _("Models of the pools you see, with the names that schedulers use for them.")
    query, out, order = ModelsQuery, ModelRow, ("code",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[AcceleratorModel]:
        """All for who sees the whole catalogue, else those of the pools one sees."""
        rows = AcceleratorModel.objects.select_related("card")
        if not sees_all(actor):
            pools = visible_pools(actor)
            terms = NodeTerm.objects.filter(pool__in=pools).values("model")
            rows = (rows.filter(pk__in=terms) | rows.filter(pk__in=pools.values("accelerators"))).distinct()
        return narrowed(rows, asked, {"code": "code"})


class TermRow(serializers.Serializer[Any]):
    """What a node is on some days."""

    pool = serializers.CharField(source="pool.code")
    model = serializers.CharField(source="model.code")
    accelerators = serializers.IntegerField()
    cpus = serializers.IntegerField()
    memory_gib = serializers.IntegerField()
    place = serializers.CharField(source="place.code", default=None, allow_null=True)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True)


class NodeRow(serializers.Serializer[Any]):
    """A node."""

    cluster = serializers.CharField(source="cluster.code")
    name = serializers.CharField()
    state = serializers.SerializerMethodField()
    terms = TermRow(many=True, source="shown_terms")

    def get_state(self, node: Any) -> str:
        """The state that is open now; a node without one is in service."""
        return str(node.open_states[0].state) if node.open_states else "in_service"


class NodesQuery(Paged):
    """Filters of nodes."""

    cluster = text(_("The code of a cluster."))
    name = text(_("The name of a node."))
    pool = text(_("The code of a pool that it is or was in."))


class NodesDoor(ListDoor):
    """Nodes."""

    name = "api-nodes"
    title = _("Nodes")
    says = _("Machines under their scheduler's names, with what they were on which days and the state they are in.")
    query, out, order = NodesQuery, NodeRow, ("cluster__code", "name")

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Node]:
        """Those with a term in a pool that the actor sees, and of their terms those alone."""
        pools = visible_pools(actor)
        terms = NodeTerm.objects.filter(pool__in=pools).select_related("pool", "model", "place").order_by("pk")
        rows = Node.objects.select_related("cluster").prefetch_related(
            Prefetch("terms", terms, to_attr="shown_terms"),
            Prefetch("states", NodeState.objects.filter(to_at__isnull=True), to_attr="open_states"),
        )
        if not sees_all(actor):
            rows = rows.filter(pk__in=terms.order_by().values("node"))
        if "pool" in asked:
            rows = rows.filter(pk__in=terms.order_by().filter(pool__code=asked["pool"]).values("node"))
        return narrowed(rows, asked, {"cluster": "cluster__code", "name": "name"})


class NodeStateRow(serializers.Serializer[Any]):
    """A state of a node from an instant to an instant."""

    id = serializers.IntegerField()
    cluster = serializers.CharField(source="node.cluster.code")
    node = serializers.CharField(source="node.name")
    state = serializers.ChoiceField(choices=NodeState.STATES)
    reason = serializers.CharField()
    from_at = serializers.DateTimeField()
    to_at = serializers.DateTimeField(allow_null=True)
    cards = serializers.IntegerField(allow_null=True, help_text=_("How many of its GPUs; null for all."))
    source = serializers.ChoiceField(choices=("hand", "event", "snapshot"))


class NodeStatesQuery(Paged):
    """Filters of states."""

    cluster = text(_("The code of a cluster."))
    node = text(_("The name of a node."))
    state = serializers.ChoiceField(choices=NodeState.STATES, required=False, help_text=_("A state."))
    since = serializers.DateTimeField(required=False, help_text=_("Only what ended after this instant or is open."))
    until = serializers.DateTimeField(required=False, help_text=_("Only what began before this instant."))


class NodeStatesDoor(ListDoor):
    """States of nodes."""

    name = "api-node-states"
    title = _("States of nodes")
    says = _("When nodes were drained, down, in repair or reserved, and who says so; the latest first.")
    query, out, order = NodeStatesQuery, NodeStateRow, ("-from_at", "-id")

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[NodeState]:
        """Of the nodes that the actor sees."""
        rows = NodeState.objects.select_related("node__cluster")
        if not sees_all(actor):
            rows = rows.filter(node__in=NodeTerm.objects.filter(pool__in=visible_pools(actor)).values("node"))
        if "since" in asked:
            rows = rows.filter(to_at__isnull=True) | rows.filter(to_at__gt=asked["since"])
        columns = {"cluster": "node__cluster__code", "node": "node__name", "state": "state", "until": "from_at__lt"}
        return narrowed(rows, asked, columns)
