"""Tables of enforcement: whether a cluster follows its quotas, each object that carries one, what was told, what drifted."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from governance.catalogue.models import Cluster

IN_FORCE, WAITING, FAILED, DRAINING, DRIFTED, DRY = "in_force", "waiting", "failed", "draining", "drifted", "dry"
STATES = (IN_FORCE, WAITING, FAILED, DRAINING, DRIFTED, DRY)
ADOPTED, RESTORED, GONE = "adopted", "restored", "gone"


class EnforcedCluster(models.Model):
    """Whether the portal may set limits on a cluster, and how its last reading went. Without a row it may not."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True, related_name="enforcement")
    is_on = models.BooleanField(default=False)
    changed_at = models.DateTimeField(null=True)
    changed_by = models.CharField(max_length=200, blank=True)
    requires_type = models.BooleanField(default=True)  # a job must name its type of GPU where a quota is of one type
    keeps_qos = ArrayField(models.CharField(max_length=128), default=list, blank=True)
    syncs_members = models.BooleanField(default=False)
    findings: Any = models.JSONField(default=list)  # of the last preflight: [code, severity, detail]
    checked_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)  # when all that stands there was last read whole
    read_ms = models.PositiveIntegerField(default=0)
    limits = models.PositiveIntegerField(default=0)  # objects that carry limits of GPUs there
    foreign_limits = models.PositiveIntegerField(default=0)  # of these, not born here
    refused: Any = models.JSONField(default=dict)  # number of a quota -> [code, particulars]
    notes: Any = models.JSONField(default=dict)
    error = models.TextField(blank=True)  # msgid, of the last attempt, "" where it went well
    error_params: Any = models.JSONField(default=dict)
    error_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "enforced_cluster"


class EnforcedLimit(models.Model):
    """One object of a scheduler that carries quotas: what it should carry, what was told, what was seen, each with its time."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="enforced_limits")
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=300)
    project = models.CharField(max_length=64, blank=True)
    quotas = ArrayField(models.CharField(max_length=16), default=list, blank=True)  # numbers of the lines it carries
    wanted: Any = models.JSONField(default=dict)
    wanted_at = models.DateTimeField()
    told_at = models.DateTimeField(null=True)
    told = models.ForeignKey("LimitOrder", null=True, on_delete=models.SET_NULL, related_name="+")
    attempts = models.PositiveIntegerField(default=0)  # since what is wanted last changed
    held: Any = models.JSONField(null=True)  # what was wanted when it was last seen in force
    held_at = models.DateTimeField(null=True)
    seen: Any = models.JSONField(null=True)  # what the accounting had of the wanted keys
    seen_at = models.DateTimeField(null=True)
    used: Any = models.JSONField(default=dict)  # TRES -> GPUs
    used_minutes: Any = models.JSONField(default=dict)
    state = models.CharField(max_length=16, default=WAITING)
    words = models.TextField(blank=True)  # msgid
    words_params: Any = models.JSONField(default=dict)
    clear_at = models.DateTimeField(null=True)  # over and draining: when enough of what runs must have ended

    class Meta:
        db_table = "enforced_limit"
        ordering = ("kind", "name")
        constraints = [
            models.UniqueConstraint(name="enforced_limit_once", fields=["cluster", "kind", "name"]),
            models.CheckConstraint(name="enforced_limit_state", condition=Q(state__in=STATES)),
        ]
        indexes = [GinIndex(name="enforced_limit_quotas", fields=["quotas"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class LimitOrder(models.Model):
    """A command as it was run, and what came back. Only added to."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="limit_orders")
    at = models.DateTimeField(db_default=Now())
    command = models.TextField()
    exit_code = models.IntegerField(null=True)
    answer = models.TextField(blank=True)
    fault = models.CharField(max_length=64, blank=True)
    limits: Any = models.JSONField(default=list)  # [kind, name] of each object

    class Meta:
        db_table = "limit_order"
        ordering = ("-pk",)


class LimitDrift(models.Model):
    """A difference that somebody else made in the scheduler, until it is adopted, restored or gone by itself."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="limit_drifts")
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=300)
    drift = models.CharField(max_length=16)
    project = models.CharField(max_length=64, blank=True)
    quotas = ArrayField(models.CharField(max_length=16), default=list, blank=True)
    differs: Any = models.JSONField(default=dict)  # key -> [wanted, found]
    changed_by = models.CharField(max_length=200, blank=True)  # "" where the scheduler's trail does not tell
    changed_at = models.DateTimeField(null=True)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    resolved_as = models.CharField(max_length=16, blank=True)
    resolved_by = models.CharField(max_length=200, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        db_table = "limit_drift"
        ordering = ("-pk",)
        constraints = [
            models.UniqueConstraint(
                name="limit_drift_open_once", fields=["cluster", "kind", "name"], condition=Q(resolved_at__isnull=True)
            ),
            models.CheckConstraint(
                name="limit_drift_known", condition=Q(drift__in=("missing", "changed", "extra", "unmanaged"))
            ),
            models.CheckConstraint(
                name="limit_drift_resolved",
                condition=Q(resolved_at__isnull=True, resolved_as="")
                | Q(resolved_at__isnull=False, resolved_as__in=(ADOPTED, RESTORED, GONE)),
            ),
        ]


class BudgetBase(models.Model):
    """Where a QOS's count of minutes stood when the period of its budget began."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    qos = models.CharField(max_length=300)
    period = models.CharField(max_length=16)
    minutes = models.BigIntegerField()
    seen = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "budget_base"
        constraints = [models.UniqueConstraint(name="budget_base_once", fields=["cluster", "qos"])]


class SyncedMember(models.Model):
    """A person whom the portal put into an account of the scheduler; nobody else is ever touched."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    account = models.CharField(max_length=128)
    login = models.CharField(max_length=128)
    added_at = models.DateTimeField()
    barred_at = models.DateTimeField(null=True)  # may submit nothing since then: no member of the project any more

    class Meta:
        db_table = "synced_member"
        constraints = [models.UniqueConstraint(name="synced_member_once", fields=["cluster", "account", "login"])]
