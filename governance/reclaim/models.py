"""Tables of reclaim: rules by version, and cases from notice to effect."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.quotas.models import Quota
from governance.tenants.models import Project, held_today

from . import rules


class ReclaimRule(models.Model):
    """One version of a rule. A change is the next version; cases keep the one that opened them."""

    code = models.SlugField(max_length=48)
    version = models.PositiveIntegerField(default=1)
    name_zh = models.CharField(max_length=200, blank=True)
    name_en = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=16)
    pool = models.ForeignKey(
        Pool, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )  # None: every pool
    window_days = models.PositiveSmallIntegerField(default=14)
    below_percent = models.PositiveSmallIntegerField(default=30)
    keep_percent = models.PositiveSmallIntegerField(default=20)
    step_gpus = models.PositiveIntegerField(default=1)
    min_gpus = models.PositiveIntegerField(default=1)
    notice_hours = models.PositiveSmallIntegerField(default=24)
    stops_interactive = models.BooleanField(default=False)
    is_on = models.BooleanField(default=False)
    made_at = models.DateTimeField(db_default=Now())
    made_by = models.CharField(max_length=200)

    class Meta:
        db_table = "reclaim_rule"
        ordering = ("code", "version")
        constraints = [
            models.UniqueConstraint(name="reclaim_rule_version_once", fields=["code", "version"]),
            models.UniqueConstraint(name="reclaim_rule_one_on", fields=["code"], condition=Q(is_on=True)),
            models.CheckConstraint(name="reclaim_rule_kind_known", condition=Q(kind__in=rules.KINDS)),
            models.CheckConstraint(
                name="reclaim_rule_window", condition=Q(window_days__gte=1, window_days__lte=366, step_gpus__gte=1)
            ),
            models.CheckConstraint(
                name="reclaim_rule_share", condition=Q(below_percent__lte=100, keep_percent__lte=100)
            ),
        ]

    @property
    def terms(self) -> rules.Terms:
        """What it looks for."""
        names = rules.Terms.__dataclass_fields__
        return rules.Terms(**{name: getattr(self, name) for name in names})


class CaseQuerySet(models.QuerySet["ReclaimCase"]):
    """Cases, and who may see them."""

    def visible_to(self, actor: Actor) -> CaseQuerySet:
        """Cases of the projects and pools that the actor may see quotas of."""
        if actor.may("quota.view"):
            return self.all()
        pools = [held.node for held in held_today(actor) if held.gives("quota.view", "pool")]
        projects = Project.objects.visible_to(actor, "quota.view").values("pk")
        return self.filter(Q(project__in=projects) | Q(pool__in=pools))


class ReclaimCase(models.Model):
    """Idle quota of a project, or the idle GPUs of one of its runs, from notice to effect."""

    rule = models.ForeignKey(ReclaimRule, on_delete=models.PROTECT, related_name="cases")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="reclaim_cases")
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="reclaim_cases")
    quota = models.ForeignKey(Quota, null=True, blank=True, on_delete=models.PROTECT, related_name="reclaim_cases")
    run = models.CharField(max_length=200, blank=True)  # cluster/job/submit in epoch seconds, where it is about a run
    gpus = models.PositiveIntegerField()  # that could come back
    evidence: Any = (
        models.JSONField()
    )  # what the rule saw: window, held, p95, peak, the days' figures, watermark, digest
    state = models.CharField(max_length=16, default=rules.NOTIFIED)
    detected_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    answer = models.CharField(max_length=16, blank=True)
    answer_reason = models.CharField(max_length=500, blank=True)
    answered_by = models.CharField(max_length=200, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    keep_ask = models.CharField(max_length=32, blank=True)  # the ask to keep it, which decides the case
    applied_at = models.DateTimeField(null=True, blank=True)
    made = models.ForeignKey(
        Quota, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )  # the lowered line
    effect: Any = models.JSONField(null=True, blank=True)  # measured 7 days after: freed, used since, waits since
    measured_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=16, blank=True)
    outcome_reason = models.CharField(max_length=500, blank=True)
    outcome_by = models.CharField(max_length=200, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = CaseQuerySet.as_manager()

    class Meta:
        db_table = "reclaim_case"
        ordering = ("-id",)
        constraints = [
            # One line or run is the matter of one open case, whichever rules find it.
            models.UniqueConstraint(
                name="reclaim_case_one_open_a_quota",
                fields=["quota"],
                condition=Q(state__in=rules.OPEN, quota__isnull=False),
            ),
            models.UniqueConstraint(
                name="reclaim_case_one_open_a_run", fields=["run"], condition=Q(state__in=rules.OPEN) & ~Q(run="")
            ),
            models.CheckConstraint(name="reclaim_case_state_known", condition=Q(state__in=rules.STATES)),
            models.CheckConstraint(name="reclaim_case_about_one", condition=Q(quota__isnull=False) | ~Q(run="")),
            models.CheckConstraint(
                name="reclaim_case_closed_with_outcome",
                condition=Q(state=rules.CLOSED, closed_at__isnull=False, outcome__in=rules.OUTCOMES)
                | (~Q(state=rules.CLOSED) & Q(closed_at__isnull=True, outcome="")),
            ),
        ]
        indexes = [models.Index(name="reclaim_case_due", fields=["due_at"], condition=Q(state__in=rules.OPEN))]

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """What people call it by: R-000123."""
        return f"R-{self.pk:06}"
