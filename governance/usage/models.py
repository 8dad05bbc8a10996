"""Tables of usage. Facts are keyed by natural keys and codes, so that equal content is equal rows.

`run` is partitioned by month of submit and made by SQL in the migrations; Django sees it through `Run`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from governance.catalogue.models import AcceleratorModel, Cluster, Pool
from governance.tenants.models import Project

from .live_models import MatchingRevision, NodeSeen, PullFinding, QueueSample, RefusedSubmission, WaitSample  # noqa: F401 - Django looks for tables here
from .telemetry_models import NodeHour, RunActivity, TelemetryIntake, TelemetryPiece, TelemetrySource  # noqa: F401 - Django looks for tables here


class Run(models.Model):
    """One attempt of one job. The row holds the winning record; times are UTC, `stop_at` is the end or the last observation."""

    pk = models.CompositePrimaryKey("cluster_id", "job_id", "submit_at")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    job_id = models.TextField(db_collation="C")
    submit_at = models.DateTimeField()
    submit_known = models.BooleanField(default=True)
    label = models.TextField()
    eligible_at = models.DateTimeField(null=True)
    start_at = models.DateTimeField(null=True)
    end_at = models.DateTimeField(null=True)
    stop_at = models.DateTimeField(null=True)
    state = models.TextField()
    outcome = models.TextField()
    exit_code = models.TextField()
    reason = models.TextField()
    account = models.TextField()
    user = models.TextField()
    partition = models.TextField()
    qos = models.TextField()
    job_name = models.TextField()
    nodes = models.IntegerField()
    node_list = models.TextField()
    cpus = models.IntegerField()
    memory_mib = models.BigIntegerField()
    gpu_milli = models.BigIntegerField(null=True)
    gpu_type = models.TextField()
    asked_gpu_milli = models.BigIntegerField(null=True)
    elapsed_s = models.BigIntegerField(null=True)
    suspended_s = models.BigIntegerField()
    limit_s = models.BigIntegerField(null=True)
    restarts = models.IntegerField(null=True)
    db_index = models.BigIntegerField(null=True)
    sluid = models.TextField()
    flags = models.TextField()
    observed_at = models.DateTimeField()
    digest = models.UUIDField()
    raw = models.TextField()
    source = models.BigIntegerField()
    text_digest = models.UUIDField(null=True)  # of `raw` and how it was read

    class Meta:
        db_table = "run"
        managed = False

    def __str__(self) -> str:
        return f"{self.cluster_id}/{self.job_id}/{self.submit_at:%Y-%m-%dT%H:%M:%SZ}"


class Intake(models.Model):
    """One call that brought records in: a file now, a pull later. Counts are of that call."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="intakes")
    source = models.CharField(max_length=500)
    format = models.CharField(max_length=32)
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(db_default=models.functions.Now())
    observed_at = models.DateTimeField(null=True)
    fingerprint = models.CharField(max_length=64, blank=True, db_index=True)  # of a file's content and how it was read
    read = models.PositiveBigIntegerField(default=0)
    new = models.PositiveBigIntegerField(default=0)
    changed = models.PositiveBigIntegerField(default=0)
    unchanged = models.PositiveBigIntegerField(default=0)
    steps_skipped = models.PositiveBigIntegerField(default=0)
    quarantined = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "intake"


class QuarantinedRecord(models.Model):
    """A record that could not be read, with its text and why; kept until a retry reads it."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="quarantined")
    intake = models.ForeignKey(Intake, on_delete=models.PROTECT, related_name="quarantined_records")
    digest = models.UUIDField()
    raw = models.TextField()
    code = models.CharField(max_length=64)
    reason = models.TextField()
    options = models.JSONField(
        default=dict
    )  # how it was read: format, fields, delimiter, time zone; a retry reads it the same way
    first_at = models.DateTimeField(db_default=models.functions.Now())
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "quarantined_record"
        constraints = [models.UniqueConstraint(name="quarantined_once", fields=["cluster", "digest"])]
        indexes = [models.Index(name="quarantine_open", fields=["cluster"], condition=Q(resolved_at__isnull=True))]


class DirtyDay(models.Model):
    """A mark that a day's facts must be rebuilt. Append-only; metering deletes the ids it read before it read the runs."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()

    class Meta:
        db_table = "dirty_day"
        indexes = [models.Index(name="dirty_day_key", fields=["cluster", "day"])]


class UsageDay(models.Model):
    """What was used on a day: whole integers, keyed by what it was used for. Sums of days make months and years."""

    pk = models.CompositePrimaryKey(
        "day", "band", "cluster_id", "pool_id", "model_id", "account", "user", "project_id", "qos", "outcome"
    )
    day = models.DateField()
    band = models.TextField()
    cluster = models.ForeignKey(
        Cluster, to_field="code", db_column="cluster", on_delete=models.PROTECT, related_name="+"
    )
    pool = models.ForeignKey(Pool, to_field="code", db_column="pool", on_delete=models.PROTECT, related_name="+")
    model = models.ForeignKey(
        AcceleratorModel, to_field="code", db_column="model", on_delete=models.PROTECT, related_name="+"
    )
    account = models.TextField()
    user = models.TextField()
    project = models.ForeignKey(
        Project, to_field="code", db_column="project", on_delete=models.PROTECT, related_name="+"
    )
    qos = models.TextField()
    outcome = models.TextField()
    milligpu_seconds = models.BigIntegerField()
    cpu_seconds = models.BigIntegerField()
    cpu_only_cpu_seconds = models.BigIntegerField()  # of runs with a known count of zero GPUs: what CPU prices apply to
    cpu_only_memory_mib_seconds = models.BigIntegerField()
    node_seconds = models.BigIntegerField()
    wall_seconds = models.BigIntegerField()
    memory_mib_seconds = models.BigIntegerField()
    runs_started = models.BigIntegerField()
    runs_ended = models.BigIntegerField()
    unknown_gpu_runs = models.BigIntegerField()  # started on the day with cards that were asked for but not counted
    wait_quota_seconds = models.BigIntegerField()
    wait_capacity_seconds = models.BigIntegerField()
    wait_other_seconds = models.BigIntegerField()
    wait_unknown_seconds = models.BigIntegerField()  # the record does not say what it waited for
    # From telemetry. Unknown card time is milligpu_seconds - active - idle; mean activity is busy / measured.
    active_milligpu_seconds = models.BigIntegerField(db_default=0)
    idle_milligpu_seconds = models.BigIntegerField(db_default=0)
    measured_milligpu_seconds = models.BigIntegerField(db_default=0)
    busy_milligpu_seconds = models.BigIntegerField(db_default=0)
    energy_joules = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "usage_day"
        constraints = [
            models.CheckConstraint(
                name="usage_day_not_negative",
                condition=Q(milligpu_seconds__gte=0, cpu_seconds__gte=0, wall_seconds__gte=0),
            ),
            models.CheckConstraint(
                name="usage_day_known_within_allocated",
                condition=Q(
                    active_milligpu_seconds__gte=0,
                    idle_milligpu_seconds__gte=0,
                    busy_milligpu_seconds__gte=0,
                    energy_joules__gte=0,
                    measured_milligpu_seconds__gte=F("busy_milligpu_seconds"),
                    milligpu_seconds__gte=F("active_milligpu_seconds") + F("idle_milligpu_seconds"),
                )
                & Q(milligpu_seconds__gte=F("measured_milligpu_seconds")),
            ),
        ]
        indexes = [models.Index(name="usage_day_project", fields=["project", "day"])]


class CapacityDay(models.Model):
    """installed + over = allocated + free + reserved + drained + down, in milligpu_seconds, none negative."""

    pk = models.CompositePrimaryKey("day", "cluster_id", "pool_id", "model_id")
    day = models.DateField()
    cluster = models.ForeignKey(
        Cluster, to_field="code", db_column="cluster", on_delete=models.PROTECT, related_name="+"
    )
    pool = models.ForeignKey(Pool, to_field="code", db_column="pool", on_delete=models.PROTECT, related_name="+")
    model = models.ForeignKey(
        AcceleratorModel, to_field="code", db_column="model", on_delete=models.PROTECT, related_name="+"
    )
    installed = models.BigIntegerField()
    allocated = models.BigIntegerField()
    free = models.BigIntegerField()
    reserved = models.BigIntegerField()
    drained = models.BigIntegerField()
    down = models.BigIntegerField()
    over = models.BigIntegerField()
    cause = models.TextField(
        blank=True
    )  # of `over`: "no_nodes", "down_while_allocated" or "more_allocated_than_installed"

    class Meta:
        db_table = "capacity_day"
        constraints = [
            models.CheckConstraint(
                name="capacity_day_closes",
                condition=Q(
                    installed=F("allocated") + F("free") + F("reserved") + F("drained") + F("down") - F("over")
                ),
            ),
            models.CheckConstraint(
                name="capacity_day_not_negative",
                condition=Q(
                    installed__gte=0,
                    allocated__gte=0,
                    free__gte=0,
                    reserved__gte=0,
                    drained__gte=0,
                    down__gte=0,
                    over__gte=0,
                ),
            ),
            models.CheckConstraint(
                name="capacity_day_over_has_a_cause",
                condition=(Q(over=0) & Q(cause="")) | (Q(over__gt=0) & ~Q(cause="")),
            ),
        ]


class FactDay(models.Model):
    """How often a day's facts have changed: what stands on the facts compares its own revision with this one."""

    pk = models.CompositePrimaryKey("cluster_id", "day")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    revision = models.PositiveBigIntegerField(default=1)

    class Meta:
        db_table = "fact_day"


class Watermark(models.Model):
    """How far a stage has come on a cluster: everything before `until_at` is in. It moves forward only, with the work."""

    STAGES = ("ingested", "metered", "posted", "telemetry")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="watermarks")
    stage = models.CharField(max_length=16)
    until_at = models.DateTimeField()

    class Meta:
        db_table = "watermark"
        constraints = [
            models.UniqueConstraint(name="watermark_once", fields=["cluster", "stage"]),
            models.CheckConstraint(
                name="watermark_stage_known", condition=Q(stage__in=("ingested", "metered", "posted", "telemetry"))
            ),
        ]


class MetricDefinition(models.Model):
    """One version of one entry of the metric dictionary: the definition behind a figure. Never changed once added."""

    code = models.CharField(max_length=64)
    version = models.PositiveIntegerField()
    name_zh = models.CharField(max_length=200)
    name_en = models.CharField(max_length=200)
    formula_zh = models.TextField()
    formula_en = models.TextField()
    unit = models.CharField(max_length=64, blank=True)
    window = models.CharField(max_length=64, blank=True)
    denominator = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=200, blank=True)
    option_zh = models.TextField(blank=True)  # what an installation may set otherwise
    option_en = models.TextField(blank=True)
    signed_by = models.JSONField(default=list)  # roles that signed: platform, finance, algorithm side
    from_on = models.DateField(null=True)

    class Meta:
        db_table = "metric_definition"
        constraints = [models.UniqueConstraint(name="metric_version_once", fields=["code", "version"])]
