"""The journal. Entries and lines are added once and never changed; triggers in the migrations refuse anything else."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from governance.catalogue.models import Cluster


class Period(models.Model):
    """A month of the books: "2026-06". A closed one takes no new entries."""

    code = models.CharField(max_length=7, primary_key=True)
    state = models.CharField(max_length=16, default="open")

    class Meta:
        db_table = "period"
        constraints = [
            models.CheckConstraint(name="period_state_known", condition=Q(state__in=("open", "closing", "closed"))),
            models.CheckConstraint(name="period_code_is_a_month", condition=Q(code__regex=r"^\d{4}-(0[1-9]|1[0-2])$")),
        ]

    def __str__(self) -> str:
        return self.code


class Entry(models.Model):
    """What was written at once, about one cluster's day. `period` is where it is booked, `used_on` when it was used."""

    KINDS = ("use", "correction")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+")
    used_on = models.DateField()
    revision = models.PositiveIntegerField()  # 1 is the first posting of the day
    kind = models.CharField(max_length=16)
    period = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="entries")
    reason = models.TextField(blank=True)
    corrects = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="corrections")
    posted_at = models.DateTimeField(db_default=models.functions.Now())
    posted_by = models.CharField(max_length=200)

    class Meta:
        db_table = "entry"
        constraints = [
            models.UniqueConstraint(name="entry_revision_once", fields=["cluster", "used_on", "revision"]),
            models.CheckConstraint(name="entry_kind_known", condition=Q(kind__in=("use", "correction"))),
            models.CheckConstraint(
                name="entry_correction_says_why",
                condition=Q(kind="use", revision=1, corrects__isnull=True)
                | (Q(kind="correction", corrects__isnull=False) & ~Q(reason="")),
            ),
        ]
        indexes = [models.Index(name="entry_period", fields=["period", "used_on"])]


class Line(models.Model):
    """One leg of an entry: a department owes (+) or a pool recovers (-). Quantities are the whole use of the key, in the measure's unit."""

    id = models.BigAutoField(primary_key=True)
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="lines")
    account_kind = models.CharField(max_length=16)  # "department" (owes) or "pool" (recovers)
    used_on = models.DateField()
    band = models.TextField(blank=True)
    cluster = models.TextField()
    project = models.TextField(blank=True)
    department = models.TextField(blank=True)  # who pays, on that day
    user = models.TextField(blank=True)
    pool = models.TextField()
    model = models.TextField(blank=True)
    qos = models.TextField(blank=True)
    charge_kind = models.TextField(blank=True)
    measure = models.TextField(blank=True)
    quantity = models.DecimalField(max_digits=30, decimal_places=0)
    share_percent = models.DecimalField(max_digits=7, decimal_places=4, null=True)
    unit_price = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    amount = models.DecimalField(max_digits=24, decimal_places=6)

    class Meta:
        db_table = "line"
        constraints = [
            models.CheckConstraint(
                name="line_account_complete",
                condition=(
                    Q(account_kind="department")
                    & ~Q(department="")
                    & ~Q(project="")
                    & ~Q(measure="")
                    & Q(share_percent__isnull=False, unit_price__isnull=False)
                )
                | Q(account_kind="pool", department="", project=""),
            ),
        ]
        indexes = [
            models.Index(name="line_department_day", fields=["department", "used_on"]),
            models.Index(name="line_cluster_day", fields=["cluster", "used_on"]),
            models.Index(name="line_in_order", fields=["used_on", "id"], condition=Q(account_kind="department")),
            models.Index(name="line_project_day", fields=["project", "used_on"]),
        ]


class PostedDay(models.Model):
    """Up to which revision of a day's facts the journal stands; `is_stale` when prices or payers of the day changed since."""

    pk = models.CompositePrimaryKey("cluster_id", "day")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    fact_revision = models.PositiveBigIntegerField()
    is_stale = models.BooleanField(default=False)

    class Meta:
        db_table = "posted_day"


class Terms(models.Model):
    """The one row that counts how often prices, payers or factors have changed."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    revision = models.PositiveBigIntegerField(default=0)

    class Meta:
        db_table = "terms"
        constraints = [models.CheckConstraint(name="terms_is_one_row", condition=Q(id=1))]


class AccruedDay(models.Model):
    """Up to which revision of a day's facts its accrual was worked out; a day whose facts or terms changed since is worked out anew."""

    pk = models.CompositePrimaryKey("cluster_id", "day")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    fact_revision = models.PositiveBigIntegerField()
    is_stale = models.BooleanField(default=False)

    class Meta:
        db_table = "accrued_day"


class AccruedLine(models.Model):
    """What a day that is not posted as it stands would add to the journal now: no entry, replaced whenever the day changes."""

    id = models.BigAutoField(primary_key=True)
    used_on = models.DateField()
    cluster = models.TextField()
    band = models.TextField()
    project = models.TextField()
    department = models.TextField()
    user = models.TextField()
    pool = models.TextField()
    model = models.TextField()
    qos = models.TextField()
    measure = models.TextField()
    amount = models.DecimalField(max_digits=24, decimal_places=6)

    class Meta:
        db_table = "accrued_line"
        indexes = [models.Index(name="accrued_line_day", fields=["cluster", "used_on"])]
