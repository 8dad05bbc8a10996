"""Tables of what live schedulers tell beside runs: findings, waits as sampled, the queue over time, refused submissions."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from governance.catalogue.models import Cluster


class MatchingRevision(models.Model):
    """How often what decides where a cluster's use is counted (mappings, pools, nodes, aliases, bands) has changed."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True, related_name="+")
    revision = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "matching_revision"


class PullFinding(models.Model):
    """Something about a cluster's records that wants a look: vanished and runaway runs, a clock that is off, a source that failed."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="findings")
    code = models.CharField(max_length=64)
    subject = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "pull_finding"
        constraints = [
            models.UniqueConstraint(
                name="pull_finding_open_once",
                fields=["cluster", "code", "subject"],
                condition=Q(resolved_at__isnull=True),
            )
        ]


class WaitSample(models.Model):
    """How long a job was seen to wait for what, from queue snapshots; joined to its run when it starts."""

    pk = models.CompositePrimaryKey("cluster_id", "job_id", "submit_at")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    job_id = models.TextField(db_collation="C")
    submit_at = models.DateTimeField()
    quota_seconds = models.BigIntegerField(default=0)
    capacity_seconds = models.BigIntegerField(default=0)
    other_seconds = models.BigIntegerField(default=0)
    last_reason = models.TextField()
    last_at = models.DateTimeField()

    class Meta:
        db_table = "wait_sample"
        constraints = [
            models.CheckConstraint(
                name="wait_sample_not_negative",
                condition=Q(quota_seconds__gte=0, capacity_seconds__gte=0, other_seconds__gte=0),
            )
        ]


class QueueSample(models.Model):
    """The queue at an instant, summed: jobs and cards that wait, by what for."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="queue_samples")
    at = models.DateTimeField()
    partition = models.TextField()
    qos = models.TextField()
    account = models.TextField()
    reason = models.TextField()
    waits_for = models.CharField(max_length=16)  # quota, capacity or other
    jobs = models.PositiveIntegerField()
    asked_gpu_milli = models.BigIntegerField()

    class Meta:
        db_table = "queue_sample"
        constraints = [
            models.UniqueConstraint(
                name="queue_sample_once", fields=["cluster", "at", "partition", "qos", "account", "reason"]
            )
        ]


class RefusedSubmission(models.Model):
    """A submission the scheduler refused, as its log or submit hook reports it: demand that never became a job."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="refused_submissions")
    key = models.CharField(max_length=128)  # the reporter's own id of the event: a report twice is one row
    at = models.DateTimeField()
    account = models.CharField(max_length=128, blank=True)
    user = models.CharField(max_length=128, blank=True)
    partition = models.CharField(max_length=128, blank=True)
    qos = models.CharField(max_length=128, blank=True)
    asked_gpu_milli = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=300)

    class Meta:
        db_table = "refused_submission"
        constraints = [models.UniqueConstraint(name="refused_submission_once", fields=["cluster", "key"])]


class NodeSeen(models.Model):
    """The last snapshot of a node, as the scheduler shows it: what discovery compares the catalogue with."""

    pk = models.CompositePrimaryKey("cluster_id", "name")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=128)
    state = models.CharField(max_length=32)
    flags = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    gpus = models.JSONField(default=list)  # [[type, count], …]
    gpus_used = models.IntegerField(null=True)
    cpus = models.IntegerField()
    memory_mib = models.BigIntegerField()
    partitions = models.JSONField(default=list)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "node_seen"
