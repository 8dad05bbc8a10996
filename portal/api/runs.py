"""The door of one run: what was used (governance) beside what it comes to (billing)."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors.door import OneDoor
from governance.usage import reads
from portal.jobs import money_of


class AttemptOut(serializers.Serializer[Any]):
    """A run of the same job."""

    submit_at = serializers.DateTimeField()
    submit = serializers.SerializerMethodField()
    start_at = serializers.DateTimeField(allow_null=True)
    end_at = serializers.DateTimeField(allow_null=True)
    outcome = serializers.CharField()

    def get_submit(self, run: Any) -> int:
        """As its address spells it."""
        return int(run.submit_at.timestamp())


class RunDayOut(serializers.Serializer[Any]):
    """What it used on a day, and where that was counted."""

    day = serializers.DateField()
    pool = serializers.CharField()
    model = serializers.CharField()
    project = serializers.CharField()
    milligpu_seconds = serializers.IntegerField()
    wall_seconds = serializers.IntegerField()
    unit_price = serializers.DecimalField(
        max_digits=30, decimal_places=6, allow_null=True, help_text=_("Null where unpriced, or not yours to see.")
    )
    amount = serializers.DecimalField(max_digits=30, decimal_places=2, allow_null=True)


class RunOut(serializers.Serializer[Any]):
    """A run down to the scheduler's own record."""

    cluster = serializers.CharField(source="cluster.code")
    job_id = serializers.CharField(source="run.job_id")
    submit = serializers.IntegerField(source="submit_epoch")
    label = serializers.CharField(source="run.label")
    job_name = serializers.CharField(source="run.job_name")
    user = serializers.CharField(source="run.user")
    account = serializers.CharField(source="run.account")
    partition = serializers.CharField(source="run.partition")
    qos = serializers.CharField(source="run.qos")
    state = serializers.CharField(source="run.state")
    outcome = serializers.CharField(source="run.outcome")
    exit_code = serializers.CharField(source="run.exit_code")
    reason = serializers.CharField(source="run.reason")
    submit_at = serializers.DateTimeField(source="run.submit_at")
    eligible_at = serializers.DateTimeField(source="run.eligible_at", allow_null=True)
    start_at = serializers.DateTimeField(source="run.start_at", allow_null=True)
    end_at = serializers.DateTimeField(source="run.end_at", allow_null=True)
    observed_at = serializers.DateTimeField(source="run.observed_at")
    node_list = serializers.CharField(source="run.node_list")
    nodes = serializers.IntegerField(source="run.nodes")
    cpus = serializers.IntegerField(source="run.cpus")
    memory_mib = serializers.IntegerField(source="run.memory_mib")
    gpu_milli = serializers.IntegerField(source="run.gpu_milli", allow_null=True)
    asked_gpu_milli = serializers.IntegerField(source="run.asked_gpu_milli", allow_null=True)
    limit_seconds = serializers.IntegerField(source="run.limit_s", allow_null=True)
    suspended_seconds = serializers.IntegerField(source="run.suspended_s")
    flags = serializers.ListField(child=serializers.CharField(), help_text=_("What is odd about the record."))
    attempts = AttemptOut(many=True)
    days = RunDayOut(many=True)
    raw = serializers.CharField(source="run.raw")


class RunDoor(OneDoor):
    """One run."""

    name = "api-run"
    title = _("One run")
    says = _("A run from submit to end, its attempts, the days it was counted on, and the scheduler's own record.")
    out = RunOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """With the price of each day where the reader sees the project's money."""
        found = reads.run(where["cluster"], where["job"], where["submit"], actor=actor)
        days = [
            {
                **use._asdict(),
                "unit_price": None if price is None else price.unit_price,
                "amount": None if price is None else price.amount,
            }
            for use, price in zip(found.days, money_of(found, actor)["prices"], strict=True)
        ]
        return {
            "cluster": found.cluster,
            "run": found.run,
            "submit_epoch": found.submit_epoch,
            "flags": [flag for flag in found.run.flags.split(",") if flag],
            "attempts": found.attempts,
            "days": days,
        }
