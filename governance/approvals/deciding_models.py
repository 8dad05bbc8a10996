"""Tables of deciding: policies, stages, who was named, decisions, acting approvers, scores, exemptions, the site's own days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from governance.access.actor import Actor
from governance.access.memory import remembered
from governance.access.models import Person
from governance.catalogue.models import AcceleratorModel, Dated, Pool, days_in_order
from governance.quotas import rules as quotas
from governance.tenants.models import DatedQuerySet, Project, day_of_today

from . import rules

if TYPE_CHECKING:
    from .models import Ask


class ApprovalPolicy(models.Model):
    """A version of the policy. One is active; asks keep the version they were submitted under."""

    DRAFT, ACTIVE, PAST = "draft", "active", "past"
    version = models.PositiveIntegerField(unique=True)
    state = models.CharField(max_length=8, default=DRAFT)
    document = models.JSONField()
    note = models.CharField(max_length=500, blank=True)  # why it was made
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField(db_default=Now())
    active_from_at = models.DateTimeField(null=True)
    active_to_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "approval_policy"
        ordering = ("-version",)
        constraints = [
            models.UniqueConstraint(name="approval_policy_one_active", fields=["state"], condition=Q(state="active")),
            models.CheckConstraint(name="approval_policy_state", condition=Q(state__in=("draft", "active", "past"))),
        ]

    def __str__(self) -> str:
        return f"v{self.version}"


class Stage(models.Model):
    """A stage of a round of an ask, made from the policy at submit. Who may decide is asked when needed (`resolving`)."""

    ask: models.ForeignKey[Ask, Ask] = models.ForeignKey(
        "approvals.Ask", on_delete=models.CASCADE, related_name="stages"
    )
    round = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=48)
    name_zh = models.CharField(max_length=200, blank=True)
    name_en = models.CharField(max_length=200, blank=True)
    role = models.CharField(max_length=32)
    scope = models.CharField(max_length=32)
    scope_code = models.CharField(max_length=64, blank=True)  # of a department that the policy names
    pool = models.ForeignKey(Pool, null=True, on_delete=models.PROTECT, related_name="+")  # where the scope is a pool
    rule = models.CharField(max_length=8, default=rules.ANY)
    k = models.PositiveSmallIntegerField(default=1)
    hours = models.FloatField()  # working hours until it is escalated
    escalate = models.CharField(max_length=128, blank=True)  # role@scope; "" is the next scope above
    another_hand = models.BooleanField(default=False)
    is_open = models.BooleanField(default=False)
    is_stuck = models.BooleanField(default=False)  # nobody can decide it: it is on the administrators' list
    escalated = models.PositiveSmallIntegerField(default=0)  # how many scopes further it asks
    opened_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ask_stage"
        ordering = ("ask", "round", "position")
        constraints = [
            models.UniqueConstraint(name="ask_stage_once", fields=["ask", "round", "position"]),
            models.UniqueConstraint(name="ask_stage_one_open", fields=["ask"], condition=Q(is_open=True)),
            models.CheckConstraint(name="ask_stage_rule", condition=Q(rule__in=rules.STAGE_RULES)),
            models.CheckConstraint(
                name="ask_stage_open_is_due",
                condition=Q(is_open=False) | Q(opened_at__isnull=False, due_at__isnull=False),
            ),
        ]
        indexes = [models.Index(name="ask_stage_due", fields=["due_at"], condition=Q(is_open=True))]


class Named(models.Model):
    """Somebody who decides by name: handed over to (in place of one), added (has to agree as well), or assigned where nobody was."""

    HANDED, ADDED, ASSIGNED = "handed", "added", "assigned"
    stage = models.ForeignKey(Stage, on_delete=models.CASCADE, related_name="named")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="named_in")
    how = models.CharField(max_length=8)
    instead_of = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=300, blank=True)

    class Meta:
        db_table = "ask_named"
        constraints = [
            models.UniqueConstraint(
                name="ask_named_once", fields=["stage", "person"], condition=Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(name="ask_named_how", condition=Q(how__in=("handed", "added", "assigned"))),
        ]


class Decision(models.Model):
    """One person's decision on a stage, or the rule's that approved by itself. Append-only."""

    ask: models.ForeignKey[Ask, Ask] = models.ForeignKey(
        "approvals.Ask", on_delete=models.CASCADE, related_name="decisions"
    )
    stage = models.ForeignKey(Stage, null=True, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=8)  # approve, return, reject
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="decisions")
    counts_for = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    role = models.CharField(max_length=64, blank=True)  # role@scope by which it counts, or how they were named
    rule = models.CharField(max_length=64, blank=True)  # of the policy, where it decided by itself
    comment = models.TextField(blank=True)
    awarded = models.JSONField(default=list)  # [{position, guaranteed_gpus, …}] as the decision left the lines
    override_reason = models.CharField(max_length=500, blank=True)
    predicted = models.JSONField(default=dict)  # what was foreseen: use, wait, cost, each with its metric
    is_last = models.BooleanField(default=False)  # the one that settled the ask
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ask_decision"
        ordering = ("ask", "id")
        constraints = [
            models.UniqueConstraint(name="ask_decision_once_by", fields=["stage", "by"]),
            models.UniqueConstraint(name="ask_decision_once_for", fields=["stage", "counts_for"]),
            models.CheckConstraint(
                name="ask_decision_verdict", condition=Q(verdict__in=("approve", "return", "reject"))
            ),
            models.CheckConstraint(
                name="ask_decision_by_a_person_or_a_rule",
                condition=Q(by__isnull=False, stage__isnull=False, rule="")
                | (Q(by__isnull=True, stage__isnull=True) & ~Q(rule="")),
            ),
        ]


class ActingGrant(Dated):
    """That one decides for another (代理) on the days [from_on, to_on)."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="acting_for_me")
    deputy = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="acting_for")
    reason = models.CharField(max_length=300, blank=True)
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    objects: Any = DatedQuerySet.as_manager()

    class Meta:
        db_table = "acting_grant"
        constraints = [
            days_in_order("acting_grant_days"),
            models.CheckConstraint(name="acting_grant_dated", condition=Q(from_on__isnull=False, to_on__isnull=False)),
            models.CheckConstraint(name="acting_grant_of_another", condition=~Q(person=F("deputy"))),
        ]


class Score(models.Model):
    """What a decision foresaw beside what came, so many days after its award began."""

    decision = models.ForeignKey(Decision, on_delete=models.CASCADE, related_name="scores")
    after_days = models.PositiveSmallIntegerField()
    at = models.DateTimeField(db_default=Now())
    predicted = models.JSONField()
    actual = models.JSONField()  # a figure that cannot be had is null, with why
    verdict = models.CharField(max_length=16)  # as_foreseen, below, above, unknown

    class Meta:
        db_table = "ask_score"
        constraints = [models.UniqueConstraint(name="ask_score_once", fields=["decision", "after_days"])]


class ReclaimExemption(Dated):
    """That what a project holds of a pool and level is not to be reclaimed on the days [from_on, to_on); reclaim reads it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reclaim_exemptions")
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="+")
    model = models.ForeignKey(AcceleratorModel, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    level = models.CharField(max_length=16, default=quotas.NORMAL)
    ask: models.ForeignKey[Ask, Ask] = models.ForeignKey(
        "approvals.Ask", on_delete=models.PROTECT, related_name="exemptions"
    )
    reason = models.CharField(max_length=500)

    objects: Any = DatedQuerySet.as_manager()

    class Meta:
        db_table = "reclaim_exemption"
        constraints = [
            days_in_order("reclaim_exemption_days"),
            models.CheckConstraint(
                name="reclaim_exemption_dated", condition=Q(from_on__isnull=False, to_on__isnull=False)
            ),
        ]
        indexes = [models.Index(name="reclaim_exemption_place", fields=["project", "pool"])]


class CalendarDay(models.Model):
    """A day on which the site works, or does not, other than the calendar says."""

    day = models.DateField(primary_key=True)
    is_working = models.BooleanField()
    name = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "calendar_day"


def represented(actor: Actor) -> list[Actor]:
    """Those for whom the actor acts today, as actors with the same reach by token."""
    if actor.person is None:
        return []
    return [Actor.of(person, actor.address, scopes=actor.scopes) for person in _represented(actor.person.pk)]


@remembered
def _represented(deputy: int) -> list[Person]:
    grants = ActingGrant.objects.on(day_of_today()).filter(
        deputy=deputy, ended_at__isnull=True, person__is_active=True, deputy__is_active=True
    )
    return [one.person for one in grants.select_related("person").order_by("person_id").distinct("person_id")]
