"""Doors of usage: runs behind a figure, day facts of use and capacity, the metric dictionary, states of nodes by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.catalogue.api import NodeStateRow, sees_all, visible_pools
from governance.catalogue.models import Node, NodeState
from governance.doors import paging
from governance.doors.door import NOTHING, ListDoor, WriteDoor
from governance.doors.query import Paged, narrowed, text
from governance.errors import N_, BadData, NotFound
from governance.schedulers.records import Outcome
from governance.tenants.models import Login
from governance.tenants.reach import rows_within

from . import listing
from .models import CapacityDay, MetricDefinition, UsageDay
from .outages import enter_state
from .views import LONGEST_DAYS

OUTCOMES = Outcome.ALL
FIRST, LAST = date(1970, 1, 2), date(2199, 12, 31)
TOO_LONG = N_("At most %(days)s days can be listed at once.")
DAYS_TURNED = N_("The first day lies after the last.")
OUT_OF_RANGE = N_("Days lie between %(first)s and %(last)s.")


class DaysQuery(Paged):
    """A window of days, both inclusive."""

    from_on = serializers.DateField(help_text=_("The first day, in the billing time zone."))
    to_on = serializers.DateField(help_text=_("The last day."))

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """In order, and no more than a year."""
        low, high = given["from_on"], given["to_on"]
        if not FIRST <= low <= LAST or not FIRST <= high <= LAST:
            raise BadData(OUT_OF_RANGE, first=FIRST, last=LAST)
        if low > high:
            raise BadData(DAYS_TURNED)
        if (high - low).days >= LONGEST_DAYS:
            raise BadData(TOO_LONG, days=LONGEST_DAYS)
        return given


class RunRow(serializers.Serializer[Any]):
    """A run, and what it used within the window."""

    cluster = serializers.CharField()
    job_id = serializers.CharField(source="run.job_id")
    submit = serializers.IntegerField(source="submit_epoch", help_text=_("Seconds since 1970; part of its address."))
    label = serializers.CharField(source="run.label", help_text=_("The job id as people write it."))
    job_name = serializers.CharField(source="run.job_name")
    user = serializers.CharField(source="run.user")
    account = serializers.CharField(source="run.account")
    partition = serializers.CharField(source="run.partition")
    qos = serializers.CharField(source="run.qos")
    outcome = serializers.ChoiceField(source="run.outcome", choices=OUTCOMES)
    submit_at = serializers.DateTimeField(source="run.submit_at")
    start_at = serializers.DateTimeField(source="run.start_at", allow_null=True)
    end_at = serializers.DateTimeField(source="run.end_at", allow_null=True)
    gpu_milli = serializers.IntegerField(source="run.gpu_milli", allow_null=True)
    milligpu_seconds = serializers.IntegerField()
    wall_seconds = serializers.IntegerField()


class RunsQuery(DaysQuery):
    """The figure whose runs are asked for."""

    department = text(_("At home in this department or below it, on the day of use."))
    project = text(_("The code of a project."))
    pool = text(_("The code of a pool."))
    model = text(_("The code of a GPU model."))
    qos = text(_("A QoS; empty for runs without."))
    user = text(_("A name on the cluster."))
    account = text(_("An account as the scheduler has it."))
    outcome = serializers.ChoiceField(choices=OUTCOMES, required=False, help_text=_("An outcome."))
    cluster = text(_("The code of a cluster."))


class RunsDoor(ListDoor):
    """The runs behind a figure."""

    name = "api-runs"
    title = _("Runs behind a figure")
    says = _(
        "The runs that used something in some days, newest submit first; their sums are the figure."
        " A page that is not the last may be short."
    )
    query, out = RunsQuery, RunRow

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """As on the page of jobs: newest submit first."""
        low, high = asked.pop("from_on"), asked.pop("to_on")
        asked.pop("fields", None)
        return listing.runs(low, high, actor=actor, limit=limit, turn=paging.Turn(after), **asked)


class UsageRow(serializers.Serializer[Any]):
    """A day fact: what was used on a day, for what, with what outcome."""

    day = serializers.DateField()
    band = serializers.CharField()
    cluster = serializers.CharField(source="cluster_id")
    pool = serializers.CharField(source="pool_id")
    model = serializers.CharField(source="model_id")
    account = serializers.CharField()
    user = serializers.CharField()
    project = serializers.CharField(source="project_id")
    qos = serializers.CharField()
    outcome = serializers.CharField()
    milligpu_seconds = serializers.IntegerField()
    active_milligpu_seconds = serializers.IntegerField(help_text=_("As telemetry shows."))
    idle_milligpu_seconds = serializers.IntegerField(help_text=_("As telemetry shows; the rest is unknown."))
    cpu_seconds = serializers.IntegerField()
    node_seconds = serializers.IntegerField()
    wall_seconds = serializers.IntegerField()
    memory_mib_seconds = serializers.IntegerField()
    runs_started = serializers.IntegerField()
    runs_ended = serializers.IntegerField()
    wait_quota_seconds = serializers.IntegerField()
    wait_capacity_seconds = serializers.IntegerField()
    wait_other_seconds = serializers.IntegerField()
    wait_unknown_seconds = serializers.IntegerField()


class UsageQuery(DaysQuery):
    """Filters of day facts."""

    cluster = text(_("The code of a cluster."))
    pool = text(_("The code of a pool."))
    model = text(_("The code of a GPU model."))
    project = text(_("The code of a project."))
    account = text(_("An account as the scheduler has it."))
    user = text(_("A name on the cluster."))
    qos = text(_("A QoS; empty for runs without."))
    outcome = text(_("An outcome."))


class UsageDaysDoor(ListDoor):
    """Day facts of use."""

    name = "api-usage-days"
    title = _("Use by day")
    says = _("The day facts that every figure of use is a sum of: your own, and those of projects whose runs you see.")
    query, out = UsageQuery, UsageRow
    order = ("day", "band", "cluster_id", "pool_id", "model_id", "account", "user", "project_id", "qos", "outcome")

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[UsageDay]:
        """A row names a user, so another person's wants more than membership."""
        rows = UsageDay.objects.filter(day__range=(asked["from_on"], asked["to_on"]))
        if not actor.may("run.view"):
            seen = rows_within(actor, "run.view", project="project_id", day="day")
            for cluster, login in Login.objects.filter(person=actor.person).values_list("cluster__code", "login"):
                seen |= Q(cluster_id=cluster, user=login)
            rows = rows.filter(seen)
        columns = {name: f"{name}_id" for name in ("cluster", "pool", "model", "project")}
        own = {name: name for name in ("account", "user", "qos", "outcome")}
        return narrowed(rows, asked, {**columns, **own})


class CapacityRow(serializers.Serializer[Any]):
    """What was there on a day, in thousandths of a card × seconds: installed + over = allocated + free + reserved + drained + down."""

    day = serializers.DateField()
    cluster = serializers.CharField(source="cluster_id")
    pool = serializers.CharField(source="pool_id")
    model = serializers.CharField(source="model_id")
    installed = serializers.IntegerField()
    allocated = serializers.IntegerField()
    free = serializers.IntegerField()
    reserved = serializers.IntegerField()
    drained = serializers.IntegerField()
    down = serializers.IntegerField()
    over = serializers.IntegerField()
    cause = serializers.CharField(help_text=_("Of “over”; empty where there is none."))


class CapacityQuery(DaysQuery):
    """Filters of capacity."""

    cluster = text(_("The code of a cluster."))
    pool = text(_("The code of a pool."))
    model = text(_("The code of a GPU model."))


class CapacityDaysDoor(ListDoor):
    """Day facts of capacity."""

    name = "api-capacity-days"
    title = _("Capacity by day")
    says = _("Installed, allocated, free, reserved, drained and down GPU time of each pool and model, which add up.")
    query, out = CapacityQuery, CapacityRow
    order = ("day", "cluster_id", "pool_id", "model_id")

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[CapacityDay]:
        """Of the pools that the actor sees."""
        rows = CapacityDay.objects.filter(day__range=(asked["from_on"], asked["to_on"]))
        if not sees_all(actor):
            rows = rows.filter(pool__in=visible_pools(actor).values("code"))
        return narrowed(rows, asked, {name: f"{name}_id" for name in ("cluster", "pool", "model")})


class MetricRow(serializers.Serializer[Any]):
    """A version of a definition."""

    code = serializers.CharField()
    version = serializers.IntegerField()
    name_zh = serializers.CharField()
    name_en = serializers.CharField()
    formula_zh = serializers.CharField()
    formula_en = serializers.CharField()
    unit = serializers.CharField()
    window = serializers.CharField()
    denominator = serializers.CharField()
    source = serializers.CharField()
    option_zh = serializers.CharField()
    option_en = serializers.CharField()
    signed_by = serializers.ListField(child=serializers.CharField())
    from_on = serializers.DateField(allow_null=True)


class MetricsQuery(Paged):
    """Filters of definitions."""

    code = text(_("The definition with this code."))


class MetricsDoor(ListDoor):
    """The metric dictionary."""

    name = "api-metric-definitions"
    title = _("Metric dictionary")
    says = _("The signed, versioned definition behind every figure.")
    query, out, order = MetricsQuery, MetricRow, ("code", "version")

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[MetricDefinition]:
        """For everybody."""
        return narrowed(MetricDefinition.objects.all(), asked, {"code": "code"})


class NodeStateIn(serializers.Serializer[Any]):
    """A state to enter."""

    state = serializers.ChoiceField(choices=NodeState.STATES)
    from_at = serializers.DateTimeField(help_text=_("With an offset."))
    to_at = serializers.DateTimeField(required=False, allow_null=True, help_text=_("Missing while it lasts."))
    reason = serializers.CharField(required=False, allow_blank=True, max_length=300)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        """Within the days that there are."""
        for at in (given["from_at"], given.get("to_at")):
            if at is not None and not FIRST <= at.astimezone(UTC).date() <= LAST:
                raise BadData(OUT_OF_RANGE, first=FIRST, last=LAST)
        return given


class NodeStateDoor(WriteDoor):
    """A state of a node, entered by hand."""

    name = "api-node-state"
    title = _("Enter a node's state")
    says = _("That a node was out of service from an instant to an instant; the days it touches are metered again.")
    takes, result, capability, success = NodeStateIn, NodeStateRow, "catalogue.change", 201

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see nodes, where it is there."""
        nodes = Node.objects.filter(cluster__code=where["code"], name=where["node"])
        if not sees_all(actor):
            nodes = nodes.filter(terms__pool__in=visible_pools(actor))
        if not nodes.exists():
            raise NotFound(NOTHING)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> NodeState:
        """By the action of the catalogue."""
        to_at: datetime | None = given.get("to_at")
        reason = given.get("reason", "")
        row = enter_state(where["code"], where["node"], given["state"], given["from_at"], to_at, reason, actor=actor)
        return NodeState.objects.select_related("node__cluster").get(pk=row.pk)
