"""Tables of quotas: what is offered, how a pool may be promised, and who holds what on which days."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, RangeOperators
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from governance.access.actor import Actor
from governance.access.named import Named
from governance.catalogue.models import AcceleratorModel, Dated, DayRange, Pool, days_in_order, never_overlap
from governance.tenants.models import DatedQuerySet, Department, Project, held_today

from . import rules
from .enforcement.models import (  # noqa: F401 - Django looks for tables here
    BudgetBase,
    EnforcedCluster,
    EnforcedLimit,
    LimitDrift,
    LimitOrder,
    SyncedMember,
)
from .rules import Days


def _one_of(field: str, values: tuple[str, ...]) -> Q:
    return Q(**{f"{field}__in": values})


class Offering(Named, Dated):
    """What teams can ask for: a pool at a level, with its QoS in the scheduler and its limits. No department: open to all.

    Its price is the price list's for the pool and the QoS; it is not repeated here.
    """

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="offerings")
    level = models.CharField(max_length=16, default=rules.NORMAL)
    qos = models.CharField(max_length=128)  # the name the scheduler's records carry
    service_level = models.DecimalField(max_digits=6, decimal_places=3, null=True, blank=True)  # percent of the month
    min_gpus = models.PositiveIntegerField(default=1)
    step_gpus = models.PositiveIntegerField(default=1)
    max_gpus = models.PositiveIntegerField(null=True, blank=True)  # of one ask
    max_days = models.PositiveIntegerField(null=True, blank=True)
    max_wall_s = models.PositiveIntegerField(null=True, blank=True)  # the longest a job may run
    min_run_s = models.PositiveIntegerField(null=True, blank=True)  # how long a job runs before it may be preempted
    departments = models.ManyToManyField(Department, blank=True, db_table="offering_department")

    objects: Any = DatedQuerySet.as_manager()

    class Meta:
        db_table = "offering"
        constraints = [
            never_overlap("offering_no_overlap", "pool", "level"),
            days_in_order("offering_days"),
            models.CheckConstraint(name="offering_level_known", condition=_one_of("level", rules.LEVELS)),
            models.CheckConstraint(name="offering_step_positive", condition=Q(step_gpus__gt=0, min_gpus__gt=0)),
        ]


class QueueRule(Dated):
    """How jobs of a level stand in a pool's queue: who goes first, who may displace whom, how much of the pool they may take."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="queue_rules")
    level = models.CharField(max_length=16)
    priority = models.PositiveIntegerField(default=0)  # higher goes first
    preempts = ArrayField(models.CharField(max_length=16), default=list, blank=True)  # levels it may displace
    preempted_jobs = models.CharField(max_length=16, default="requeue")  # what happens to a job it displaces
    pool_share_percent = models.PositiveSmallIntegerField(default=100)  # of the pool's GPUs, at most

    objects: Any = DatedQuerySet.as_manager()

    class Meta:
        db_table = "queue_rule"
        constraints = [
            never_overlap("queue_rule_no_overlap", "pool", "level"),
            days_in_order("queue_rule_days"),
            models.CheckConstraint(name="queue_rule_level_known", condition=_one_of("level", rules.LEVELS)),
            models.CheckConstraint(
                name="queue_rule_share", condition=Q(pool_share_percent__gte=1, pool_share_percent__lte=100)
            ),
            models.CheckConstraint(
                name="queue_rule_mode_known", condition=_one_of("preempted_jobs", ("requeue", "cancel"))
            ),
        ]


class PoolPolicy(Dated):
    """How far a pool may be promised. Reserve: Σ guaranteed ≤ healthy x factor. Pooled: each department within its share."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="policies")
    kind = models.CharField(max_length=16, default=rules.RESERVE)
    factor = models.DecimalField(max_digits=6, decimal_places=3, default=1)

    objects: Any = DatedQuerySet.as_manager()

    class Meta:
        db_table = "pool_policy"
        constraints = [
            never_overlap("pool_policy_no_overlap", "pool"),
            days_in_order("pool_policy_days"),
            models.CheckConstraint(name="pool_policy_kind_known", condition=_one_of("kind", rules.POLICIES)),
            models.CheckConstraint(name="pool_policy_factor_positive", condition=Q(factor__gt=0)),
        ]


class DepartmentShare(Dated):
    """How many GPUs of a pooled pool the projects of a department and of all below it may be guaranteed together."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="shares")
    department = models.ForeignKey(Department, on_delete=models.PROTECT, related_name="shares")
    gpus = models.PositiveIntegerField()

    objects: Any = DatedQuerySet.as_manager()

    class Meta:
        db_table = "department_share"
        constraints = [
            never_overlap("department_share_no_overlap", "pool", "department"),
            days_in_order("department_share_days"),
        ]


class QuotaQuerySet(models.QuerySet["Quota"]):
    """Lines of quota, and who may see them."""

    def visible_to(self, actor: Actor) -> QuotaQuerySet:
        """Lines of the projects that the actor may see quotas of, and of the pools the actor manages."""
        if actor.may("quota.view"):
            return self.all()
        pools = [held.node for held in held_today(actor) if held.gives("quota.view", "pool")]
        projects = Project.objects.visible_to(actor, "quota.view").values("pk")
        return self.filter(Q(project__in=projects) | Q(pool__in=pools))

    def held_on(self, day: date) -> QuotaQuerySet:
        """Lines whose days have `day`; those suspended then are among them."""
        return self.filter(Q(to_on__isnull=True) | Q(to_on__gt=day), from_on__lte=day, is_void=False)


class Quota(models.Model):
    """What a project may hold of a pool at a level on the days [from_on, to_on), and use of it in a period.

    A change is another line: the old one ends as *replaced* on the day the new one begins. A line that was replaced before its
    first day is void. Past days are never written over, so that what was held on any day stays a query.
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="quotas")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="quotas")
    model = models.ForeignKey(AcceleratorModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    level = models.CharField(max_length=16, default=rules.NORMAL)
    guaranteed_gpus = models.PositiveIntegerField(default=0)
    ceiling_gpus = models.PositiveIntegerField()
    gpu_hours = models.PositiveBigIntegerField(null=True, blank=True)  # whole GPU-hours of a period; None: no limit
    hours_period = models.CharField(max_length=8, default=rules.MONTH)
    from_on = models.DateField()
    to_on = models.DateField(null=True, blank=True)
    grace_days = models.PositiveSmallIntegerField(default=0)
    ended_as = models.CharField(max_length=16, blank=True)  # "" while it stands or after it simply ran out
    end_reason = models.CharField(max_length=300, blank=True)
    is_void = models.BooleanField(default=False)
    ask = models.CharField(max_length=32, blank=True)  # the number of the ask it came from
    override_reason = models.CharField(max_length=500, blank=True)  # why it was given beyond the room there was
    replaces = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="replaced_by")
    made_at = models.DateTimeField(auto_now_add=True)

    objects = QuotaQuerySet.as_manager()

    class Meta:
        db_table = "quota"
        ordering = ("project", "pool", "level", "from_on")
        constraints = [
            ExclusionConstraint(
                name="quota_no_overlap",
                expressions=[
                    ("project", RangeOperators.EQUAL),
                    ("pool", RangeOperators.EQUAL),
                    (Coalesce(F("model"), 0), RangeOperators.EQUAL),
                    ("level", RangeOperators.EQUAL),
                    (DayRange("from_on", "to_on"), RangeOperators.OVERLAPS),
                ],
                condition=Q(is_void=False),
            ),
            models.CheckConstraint(name="quota_days", condition=Q(to_on__isnull=True) | Q(from_on__lt=F("to_on"))),
            models.CheckConstraint(
                name="quota_guaranteed_within_ceiling", condition=Q(guaranteed_gpus__lte=F("ceiling_gpus"))
            ),
            models.CheckConstraint(
                name="quota_elastic_guarantees_nothing", condition=~Q(level=rules.ELASTIC) | Q(guaranteed_gpus=0)
            ),
            models.CheckConstraint(name="quota_level_known", condition=_one_of("level", rules.LEVELS)),
            models.CheckConstraint(name="quota_period_known", condition=_one_of("hours_period", rules.PERIODS)),
            models.CheckConstraint(name="quota_end_known", condition=_one_of("ended_as", ("", *rules.ENDS))),
        ]
        indexes = [models.Index(name="quota_by_pool", fields=["pool", "from_on"])]

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """What people call it by: Q-000123."""
        return f"Q-{self.pk:06}"

    @property
    def days(self) -> Days:
        """The days it is for."""
        return Days(self.from_on, self.to_on)

    def state_on(self, day: date) -> str:
        """Its state on a day; reads its pauses, so prefetch them for many."""
        pauses = [Days(pause.from_on, pause.to_on) for pause in self.pauses.all()]
        return rules.state_on(
            day,
            self.days,
            ended_as=self.ended_as,
            grace_days=self.grace_days,
            pauses=pauses,
            is_void=self.is_void,
        )


class QuotaPause(models.Model):
    """Days on which a line is suspended: it is held, and nothing may start on it."""

    quota = models.ForeignKey(Quota, on_delete=models.CASCADE, related_name="pauses")
    from_on = models.DateField()
    to_on = models.DateField(null=True, blank=True)
    reason = models.CharField(max_length=300)

    class Meta:
        db_table = "quota_pause"
        constraints = [never_overlap("quota_pause_no_overlap", "quota"), days_in_order("quota_pause_days")]
