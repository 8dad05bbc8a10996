"""Tables of telemetry: what runs' cards did, what nodes drew, where it is read from and how far reading has come."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from governance.catalogue.models import Cluster


class RunActivity(models.Model):
    """What a run's cards on one node did on one day of the billing zone. Card time is in thousandths of a card x seconds.

    Where the run is not in the books yet, the first sample stands in for its submit time; metering gives the row its run when it comes.
    """

    pk = models.CompositePrimaryKey("cluster_id", "day", "job_id", "submit_at", "node")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    job_id = models.TextField(db_collation="C")
    submit_at = models.DateTimeField()
    node = models.TextField()
    cards = models.IntegerField()
    active_milligpu_seconds = models.BigIntegerField()
    idle_milligpu_seconds = models.BigIntegerField()
    measured_milligpu_seconds = models.BigIntegerField()  # of which the mean activity is known
    busy_milligpu_seconds = models.BigIntegerField()  # measured, weighted by activity: busy / measured is the mean
    memory_max_mib = models.BigIntegerField(null=True)
    energy_joules = models.BigIntegerField(null=True)
    samples = models.BigIntegerField()
    clamped = models.BigIntegerField()  # samples above fully busy (MIG), taken as fully busy
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    observed_at = models.DateTimeField()

    class Meta:
        db_table = "run_activity"
        constraints = [
            models.CheckConstraint(
                name="run_activity_in_range",
                condition=Q(
                    active_milligpu_seconds__gte=0,
                    idle_milligpu_seconds__gte=0,
                    busy_milligpu_seconds__gte=0,
                    busy_milligpu_seconds__lte=F("measured_milligpu_seconds"),
                    measured_milligpu_seconds__gte=F("active_milligpu_seconds") + F("idle_milligpu_seconds"),
                ),
            )
        ]
        indexes = [models.Index(name="run_activity_run", fields=["cluster", "job_id"])]

    @property
    def mean_activity_milli(self) -> int | None:
        """Mean activity in thousandths; None where none is known."""
        return (
            self.busy_milligpu_seconds * 1000 // self.measured_milligpu_seconds
            if self.measured_milligpu_seconds
            else None
        )


class NodeHour(models.Model):
    """A node's power and heat over one hour. NULL: nobody said."""

    pk = models.CompositePrimaryKey("cluster_id", "node", "hour_at")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    node = models.TextField()
    hour_at = models.DateTimeField()
    power_watts_mean = models.IntegerField(null=True)
    power_watts_max = models.IntegerField(null=True)
    temperature_max = models.IntegerField(null=True)
    samples = models.IntegerField()
    observed_at = models.DateTimeField()

    class Meta:
        db_table = "node_hour"


class TelemetrySource(models.Model):
    """The Prometheus of a cluster. Secrets are references (env:NAME, file:/path), never the secrets."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="telemetry_source")
    url = models.URLField(max_length=500)
    bearer = models.CharField(max_length=300, blank=True)
    user = models.CharField(max_length=100, blank=True)
    password = models.CharField(max_length=300, blank=True)
    verify = models.BooleanField(default=True)
    ca_file = models.CharField(max_length=300, blank=True)
    headers = models.JSONField(default=dict, blank=True)
    label_map = models.CharField(max_length=64, default="dcgm-slurm")
    own_map = models.JSONField(null=True, blank=True)  # a map of the installation's own, in the form of maps.yaml
    step_seconds = models.PositiveIntegerField(default=60)
    idle_rules = models.JSONField(
        default=dict, blank=True
    )  # options of the idle card: below, idle_after_s, grace_s, bridge_s

    class Meta:
        db_table = "telemetry_source"
        constraints = [
            models.CheckConstraint(
                name="telemetry_step_known", condition=Q(step_seconds__gte=1, step_seconds__lte=3600)
            )
        ]


class TelemetryPiece(models.Model):
    """A group of nodes whose day is read, while the day as a whole is not: where a pull that died goes on."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    until_at = models.DateTimeField()
    nodes = models.CharField(max_length=64)  # a digest of their names

    class Meta:
        db_table = "telemetry_piece"
        constraints = [
            models.UniqueConstraint(name="telemetry_piece_once", fields=["cluster", "day", "until_at", "nodes"])
        ]


class TelemetryIntake(models.Model):
    """One call that brought telemetry in: its counts, and the first of what could not be read, with why."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=500)
    format = models.CharField(max_length=32)
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=models.functions.Now())
    observed_at = models.DateTimeField(null=True)
    counts = models.JSONField(default=dict)
    faults = models.JSONField(default=list)  # [{"code", "reason", "raw"}], at most 100

    class Meta:
        db_table = "telemetry_intake"
