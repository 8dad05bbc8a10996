"""Doors of enforcement: a cluster's desired state, its limits, what drifted, and the verbs of the page."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.doors.door import ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged
from governance.errors import N_, NotFound
from governance.tenants.models import day_of_today
from governance.usage.ops.words import Said
from governance.work.api import WorkRow, see_operations
from governance.work.models import WorkItem

from ..reads import quota_of
from . import actions, reads, words
from .models import EnforcedLimit, LimitDrift, LimitOrder


class _OfCluster:
    """What is seen by those who see operations, where the cluster is there."""

    def see(self, actor: Actor, **where: Any) -> None:
        """Raise NotFound otherwise."""
        see_operations(actor)
        actions.cluster_of(where["code"])
        if (
            "number" in where
            and not LimitDrift.objects.filter(cluster__code=where["code"], pk=where["number"]).exists()
        ):
            raise NotFound(N_("There is no such difference."))


def _cluster(where: dict[str, Any]) -> Cluster:
    return actions.cluster_of(where["code"])


class DesiredLimit(serializers.Serializer[Any]):
    """One object of the scheduler and what it should carry."""

    kind = serializers.CharField(help_text=_("“account”, “qos” or “user”."))
    name = serializers.CharField(help_text=_("Of a user: account/login."))
    project = serializers.CharField()
    quotas = serializers.ListField(child=serializers.CharField())
    values = serializers.JSONField(help_text=_("Keys as “GrpTRES:gres/gpu”, with counts or names with commas."))
    since = serializers.DateTimeField(allow_null=True)


class RefusedRow(serializers.Serializer[Any]):
    """A quota that nothing can carry there."""

    quota = serializers.CharField()
    code = serializers.CharField()
    words = serializers.CharField()


class DesiredOut(serializers.Serializer[Any]):
    """What a cluster should carry."""

    steelyard = serializers.IntegerField(help_text=_("The version of this form."))
    cluster = serializers.CharField()
    as_of = serializers.DateTimeField(
        allow_null=True, help_text=_("When the scheduler was last read; null: never, types are named by the catalogue.")
    )
    is_enforced = serializers.BooleanField(help_text=_("Whether the portal sets it by itself."))
    limits = DesiredLimit(many=True)
    refused = RefusedRow(many=True)


class DesiredDoor(_OfCluster, OneDoor):
    """The desired state."""

    name = "api-cluster-desired"
    title = _("Desired limits of a cluster")
    says = _("What the scheduler should carry by the quotas in force, for a site that applies it by itself.")
    out = DesiredOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """As of the last round."""
        return reads.desired_document(_cluster(where))


class StandingOut(serializers.Serializer[Any]):
    """How a quota stands in its scheduler."""

    state = serializers.ChoiceField(choices=list(words.STATES))
    says = serializers.CharField()
    note = serializers.CharField()
    cluster = serializers.CharField()
    wanted_at = serializers.DateTimeField(allow_null=True)
    told_at = serializers.DateTimeField(allow_null=True)
    command = serializers.CharField(help_text=_("For those who see operations."))
    answer = serializers.CharField(help_text=_("For those who see operations."))
    held_at = serializers.DateTimeField(allow_null=True, help_text=_("Since when it holds."))
    seen_at = serializers.DateTimeField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True)
    clear_at = serializers.DateTimeField(
        allow_null=True, help_text=_("Over and draining: when it is clear at the latest; null where nobody can tell.")
    )


class StandingDoor(OneDoor):
    """How one quota stands."""

    name = "api-quota-enforcement"
    title = _("A quota in its scheduler")
    says = _(
        "Whether it holds there: wanted, told and seen, each with its time. 404 while it is not in force,"
        " or where there is no scheduler."
    )
    out = StandingOut

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees the quota."""
        quota_of(where["quota"], actor)

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> reads.Standing:
        """As on its page."""
        found = reads.standing_for(actor, quota_of(where["quota"], actor), day_of_today())
        if found is None:
            raise NotFound(N_("The quota “%(number)s” stands in no scheduler today."), number=where["quota"])
        return found


class LimitRow(serializers.Serializer[Any]):
    """An object that carries quotas, and how it stands."""

    kind = serializers.CharField()
    name = serializers.CharField()
    project = serializers.CharField()
    quotas = serializers.ListField(child=serializers.CharField())
    state = serializers.CharField()
    says = serializers.SerializerMethodField()
    wanted = serializers.JSONField()
    wanted_at = serializers.DateTimeField()
    seen = serializers.JSONField(allow_null=True)
    seen_at = serializers.DateTimeField(allow_null=True)
    told_at = serializers.DateTimeField(allow_null=True)
    command = serializers.CharField(source="told.command", default="")
    answer = serializers.CharField(source="told.answer", default="")
    held_at = serializers.DateTimeField(allow_null=True)
    clear_at = serializers.DateTimeField(allow_null=True)
    used = serializers.JSONField()
    used_minutes = serializers.JSONField()

    def get_says(self, row: EnforcedLimit) -> str:
        """In the reader's language."""
        return words.said(row.words, row.words_params)


class LimitsDoor(_OfCluster, ListDoor):
    """The limits of a cluster."""

    name = "api-cluster-limits"
    title = _("Limits of a cluster")
    says = _(
        "Each object of the scheduler that carries quotas: what is wanted, what was told, what was seen, with times."
    )
    query, out, order = Paged, LimitRow, ("kind", "name")

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[EnforcedLimit]:
        """All of them."""
        return reads.limits_of(_cluster(where))


class DriftRow(serializers.Serializer[Any]):
    """A difference that somebody made in the scheduler."""

    id = serializers.IntegerField()
    kind = serializers.CharField()
    name = serializers.CharField()
    drift = serializers.CharField(help_text=_("“missing”, “changed”, “extra” or “unmanaged”."))
    project = serializers.CharField()
    quotas = serializers.ListField(child=serializers.CharField())
    differs = serializers.JSONField(help_text=_("key: [wanted, found]"))
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField(allow_null=True)
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    resolved_as = serializers.CharField()
    resolved_by = serializers.CharField()
    reason = serializers.CharField()


class DriftsDoor(_OfCluster, ListDoor):
    """What drifted."""

    name = "api-cluster-drifts"
    title = _("Differences on a cluster")
    says = _("What was changed in the scheduler and by whom, the latest first; settled differences are kept.")
    query, out, order = Paged, DriftRow, ("-id",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[LimitDrift]:
        """Of the cluster."""
        return LimitDrift.objects.filter(cluster=_cluster(where))


class OrderRow(serializers.Serializer[Any]):
    """A command and its answer."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    command = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    answer = serializers.CharField()
    fault = serializers.CharField()


class OrdersDoor(_OfCluster, ListDoor):
    """What was told the scheduler."""

    name = "api-cluster-limit-orders"
    title = _("Commands told a cluster")
    says = _("Every command by which limits were set, with its answer; the latest first.")
    query, out, order = Paged, OrderRow, ("-id",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[LimitOrder]:
        """Of the cluster."""
        return LimitOrder.objects.filter(cluster=_cluster(where))


class SaidRow(serializers.Serializer[Any]):
    """A finding."""

    code = serializers.CharField()
    severity = serializers.CharField()
    means = serializers.CharField()
    todo = serializers.CharField()


class CheckOut(serializers.Serializer[Any]):
    """Whether limits would hold there."""

    findings = SaidRow(many=True)


class CheckDoor(_OfCluster, WriteDoor):
    """The preflight."""

    name = "api-cluster-enforcement-check"
    title = _("Test whether limits would hold")
    says = _("Asks the scheduler what must be put right before the cluster is opted in.")
    result, capability = CheckOut, "enforcement.change"

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the action of the page."""
        found = actions.check(where["code"], actor=actor)
        rows = []
        for one in found:
            said: Said = words.finding(one.code, one.severity, one.detail)
            rows.append({"code": one.code, "severity": one.severity, "means": said.means, "todo": said.todo})
        return {"findings": rows}


class SwitchIn(serializers.Serializer[Any]):
    """Whether the portal sets limits there, and how. What is left out stays as it is."""

    is_on = serializers.BooleanField(required=False)
    requires_type = serializers.BooleanField(required=False)
    keeps_qos = serializers.ListField(child=serializers.CharField(max_length=128), required=False)
    syncs_members = serializers.BooleanField(required=False)


class EnforcementOut(serializers.Serializer[Any]):
    """How enforcement stands on a cluster."""

    is_on = serializers.BooleanField(source="setup.is_on")
    changed_at = serializers.DateTimeField(source="setup.changed_at", allow_null=True)
    changed_by = serializers.CharField(source="setup.changed_by")
    requires_type = serializers.BooleanField(source="setup.requires_type", help_text=_("Jobs name their type of GPU"))
    keeps_qos = serializers.ListField(source="setup.keeps_qos", child=serializers.CharField())
    syncs_members = serializers.BooleanField(source="setup.syncs_members", help_text=_("Add members to accounts"))
    read_at = serializers.DateTimeField(source="setup.read_at", allow_null=True)
    limits = serializers.IntegerField(source="setup.limits", help_text=_("In force there."))
    foreign_limits = serializers.IntegerField(source="setup.foreign_limits", help_text=_("Of these, not born here."))
    states = serializers.JSONField(source="counts", help_text=_("Limits that carry quotas, by state."))
    error = serializers.CharField()


class EnforcementDoor(_OfCluster, WriteDoor, OneDoor):
    """How enforcement stands, opting in and out, and its settings."""

    name = "api-cluster-enforcement"
    title = _("Enforcement on a cluster")
    says = _("409 while a finding blocks opting in. Opting out takes nothing back: what is in force stays in force.")
    out = EnforcementOut
    takes, result, capability, verb = SwitchIn, EnforcementOut, "enforcement.change", "change"

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> reads.ClusterState:
        """As its page."""
        return reads.cluster_state(_cluster(where))

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> reads.ClusterState:
        """By the actions of the page."""
        code = where["code"]
        if given.keys() - {"is_on"}:
            setup = reads.cluster_state(_cluster(where)).setup
            names = ("requires_type", "keeps_qos", "syncs_members")
            actions.configure(code, actor=actor, **{name: given.get(name, getattr(setup, name)) for name in names})
        if "is_on" in given:
            (actions.opt_in if given["is_on"] else actions.opt_out)(code, actor=actor)
        return reads.cluster_state(_cluster(where))


class RoundDoor(_OfCluster, WriteDoor):
    """A round, asked for."""

    name = "api-cluster-enforcement-round"
    title = _("Read and compare now")
    says = _("Asks for a round: read, compare, tell, read back. 409 for a cluster without a scheduler.")
    result, success, capability = WorkRow, 202, "enforcement.change"

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> WorkItem:
        """By the action of the page."""
        actions.ask(where["code"], actor=actor)
        return WorkItem.objects.get(kind=actions.ENFORCE, key=where["code"])


class SettleIn(serializers.Serializer[Any]):
    """Why, and of a limit that no quota says yet in which pool."""

    reason = serializers.CharField(required=False, max_length=500, default="", allow_blank=True)
    pool = serializers.CharField(required=False, default="", allow_blank=True)


class RestoreDoor(_OfCluster, WriteDoor):
    """Setting what the quotas say once more."""

    name = "api-cluster-drift-restore"
    title = _("Restore a limit")
    says = _("Sets what the quotas say once more, in the next round.")
    takes, result, capability = SettleIn, DriftRow, "enforcement.change"

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> LimitDrift:
        """By the action of the page."""
        return actions.restore(where["number"], reason=given["reason"], actor=actor)


class AdoptDoor(_OfCluster, WriteDoor):
    """Letting the quota say what was set."""

    name = "api-cluster-drift-adopt"
    title = _("Adopt a limit")
    says = _(
        "The quota changes to what was set in the scheduler, with its reason; wants the right to award on the pool."
    )
    takes, result = SettleIn, DriftRow

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> LimitDrift:
        """By the action of the page."""
        return actions.adopt(where["number"], reason=given["reason"], pool=given["pool"], actor=actor)
