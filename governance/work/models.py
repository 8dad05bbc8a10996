"""Tables of durable work. Their instants are the database's clock: hosts may disagree, leases may not."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"


class WorkItem(models.Model):
    """One piece of work, once for each (kind, key). Failed means: tried in vain and tried again at `due_at`."""

    pk = models.CompositePrimaryKey("kind", "key")
    kind = models.CharField(max_length=64)  # the name of the Celery task that does it
    key = models.CharField(max_length=200)  # what it is about: a cluster's code, or "all"
    state = models.CharField(max_length=8, default=WAITING)
    asked_at = models.DateTimeField(db_default=Now())
    asked_by = models.CharField(max_length=200)
    due_at = models.DateTimeField(null=True)  # not before
    enqueued_at = models.DateTimeField(null=True)  # when a message for the present wait was last sent
    owner = models.CharField(
        max_length=200, blank=True, default=""
    )  # host:pid:uuid of the claim that holds or last held it
    lease_until_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=0)  # claims since the last success
    asked_again = models.BooleanField(default=False)  # while running: run once more afterwards
    progress_done = models.PositiveBigIntegerField(default=0)
    progress_of = models.PositiveBigIntegerField(default=0)  # 0: not known
    last_error_code = models.CharField(max_length=64, blank=True, default="")
    last_error = models.TextField(blank=True, default="")  # English msgid; with its params it is worded when shown
    last_error_params = models.JSONField(default=dict)
    last_error_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    correlation_id = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        db_table = "work_item"
        indexes = [
            models.Index(name="work_item_due", fields=["due_at"], condition=Q(state__in=[WAITING, FAILED])),
            models.Index(name="work_item_leased", fields=["lease_until_at"], condition=Q(state=RUNNING)),
        ]
        constraints = [
            models.CheckConstraint(name="work_item_state", condition=Q(state__in=[WAITING, RUNNING, DONE, FAILED])),
            models.CheckConstraint(
                name="work_item_leased_iff_running",
                condition=(
                    Q(state=RUNNING, lease_until_at__isnull=False, heartbeat_at__isnull=False, started_at__isnull=False)
                    & ~Q(owner="")
                )
                | (~Q(state=RUNNING) & Q(lease_until_at__isnull=True, heartbeat_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="work_item_due_iff_to_come",
                condition=Q(state__in=[WAITING, FAILED], due_at__isnull=False, asked_again=False)
                | Q(state=RUNNING, due_at__isnull=False, asked_again=True)
                | Q(state=RUNNING, due_at__isnull=True, asked_again=False)
                | Q(state=DONE, due_at__isnull=True, asked_again=False, done_at__isnull=False),
            ),
            models.CheckConstraint(
                name="work_item_failed_says_why",
                condition=~Q(state=FAILED)
                | (~Q(last_error_code="") & ~Q(last_error="") & Q(last_error_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="work_item_progress", condition=Q(progress_of=0) | Q(progress_done__lte=F("progress_of"))
            ),
            models.CheckConstraint(name="work_item_named", condition=~Q(kind="") & ~Q(key="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class NamedLease(models.Model):
    """Who may do alone what only one may do, until when."""

    name = models.CharField(max_length=64, primary_key=True)
    owner = models.CharField(max_length=200)
    taken_at = models.DateTimeField()
    until_at = models.DateTimeField()

    class Meta:
        db_table = "work_lease"

    def __str__(self) -> str:
        return self.name


class ScheduleMark(models.Model):
    """When beat last sent an entry of the schedule, so that another beat goes on from there."""

    name = models.CharField(max_length=200, primary_key=True)
    sent_at = models.DateTimeField()

    class Meta:
        db_table = "work_schedule_mark"

    def __str__(self) -> str:
        return self.name


class ProcessSeen(models.Model):
    """A worker or beat process and when it last said that it lives."""

    name = models.CharField(max_length=200, primary_key=True)  # role@host:pid
    role = models.CharField(max_length=16)
    host = models.CharField(max_length=128)
    queues = models.CharField(max_length=500, blank=True)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "work_process"
        constraints = [models.CheckConstraint(name="work_process_role", condition=Q(role__in=["worker", "beat"]))]

    def __str__(self) -> str:
        return self.name
