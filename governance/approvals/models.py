"""Tables of asks: what is asked, in lines, revisions and files, and every move on it. Deciding is in deciding_models."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from governance.access.actor import Actor
from governance.catalogue.models import AcceleratorModel, Pool
from governance.quotas import rules as quotas
from governance.quotas.models import Offering, Quota
from governance.tenants.models import Project, held_today

from . import rules
from .deciding_models import (
    ActingGrant,
    ApprovalPolicy,
    CalendarDay,
    Decision,
    Named,
    ReclaimExemption,
    Score,
    Stage,
    represented,
)
from .rules import Amounts

__all__ = [
    "ActingGrant",
    "ApprovalPolicy",
    "Ask",
    "AskLine",
    "Attachment",
    "CalendarDay",
    "Decision",
    "Move",
    "Named",
    "ReclaimExemption",
    "Revision",
    "Score",
    "Stage",
]


class AskQuerySet(models.QuerySet["Ask"]):
    """Asks, and who may see them."""

    def visible_to(self, actor: Actor) -> AskQuerySet:
        """Asks of projects and pools that the actor sees asks of, also for whom they act; drafts are their author's alone.

        Who may find an approver for asks without one sees those.
        """
        if actor.is_machine:
            return self.all()
        if actor.person is None:
            return self.none()
        own = Q(state=rules.State.DRAFT, asked_by=actor.person) & _projects(actor)
        seen = Q()
        for one in (actor, *represented(actor)):
            if one.may("ask.view"):
                seen = Q()
                break
            pools = [held.node for held in held_today(one) if held.gives("ask.view", "pool")]
            seen |= _projects(one)
            if pools:
                seen |= Q(pk__in=AskLine.objects.filter(pool__in=pools).values("ask"))
        if actor.may("ask.assign") and seen:
            seen |= Q(pk__in=Stage.objects.filter(is_open=True, is_stuck=True).values("ask"))
        return self.filter(own | (~Q(state=rules.State.DRAFT) & seen))

    def open(self) -> AskQuerySet:
        """Asks that wait for a decision."""
        return self.filter(state__in=rules.OPEN)


def _projects(actor: Actor) -> Q:
    return Q(project__in=Project.objects.visible_to(actor, "ask.view").values("pk"))


class Ask(models.Model):
    """A request for quota, from its draft to its outcome. `version` rises with every move that changes where it stands."""

    kind = models.CharField(max_length=16)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="asks")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="asks")
    state = models.CharField(max_length=16, default=rules.State.DRAFT.value)
    version = models.PositiveIntegerField(default=1)
    goal = models.TextField(blank=True)  # the business goal and when it is due
    basis = models.TextField(blank=True)  # what the amounts are estimated from
    confirmed_by = models.CharField(max_length=300, blank=True)  # who of the business stands behind it, as a role
    accepts_less = models.BooleanField(default=False)
    policy = models.ForeignKey(ApprovalPolicy, null=True, blank=True, on_delete=models.PROTECT, related_name="asks")
    policy_rule = models.CharField(max_length=48, blank=True)  # the rule of the policy that decided its way
    round = models.PositiveSmallIntegerField(default=0)  # how often it was submitted
    cost = models.DecimalField(max_digits=20, decimal_places=2, null=True)  # estimated at submit; None: not known
    gpus = models.IntegerField(default=0)  # added to what is held, at submit
    facts = models.JSONField(
        default=dict
    )  # what the policy's conditions were asked of at submit; see submitting.facts_of
    override_reason = models.CharField(max_length=500, blank=True)  # why it may go beyond the room
    override_by = models.CharField(max_length=200, blank=True)
    copied_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="copies")
    made_at = models.DateTimeField(db_default=Now())
    saved_at = models.DateTimeField(db_default=Now())
    submitted_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)

    objects = AskQuerySet.as_manager()

    class Meta:
        db_table = "ask"
        constraints = [
            models.CheckConstraint(
                name="ask_kind_known", condition=Q(kind__in=sorted(one.value for one in rules.Kind))
            ),
            models.CheckConstraint(
                name="ask_state_known", condition=Q(state__in=sorted(one.value for one in rules.State))
            ),
            models.CheckConstraint(
                name="ask_submitted_has_a_policy",
                condition=Q(round=0) | Q(policy__isnull=False, submitted_at__isnull=False),
            ),
            models.CheckConstraint(
                name="ask_decided_iff_final",
                condition=Q(state__in=sorted(s.value for s in rules.FINAL), decided_at__isnull=False)
                | (~Q(state__in=sorted(s.value for s in rules.FINAL)) & Q(decided_at__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(name="ask_of_project", fields=["project", "-id"]),
            models.Index(name="ask_by_author", fields=["asked_by", "-id"]),
            models.Index(name="ask_open", fields=["expires_at"], condition=Q(decided_at__isnull=True, round__gt=0)),
        ]

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """What people call it by: A-000123."""
        return f"A-{self.pk:06}"


class AskLine(models.Model):
    """What is to be held of a pool, model and level on the days [from_on, to_on); beside it what was awarded.

    Amounts are what shall be held then, not what is added: with `base`, the quota as it stood at submit, the difference follows.
    """

    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="lines")
    position = models.PositiveSmallIntegerField()
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="ask_lines")
    model = models.ForeignKey(AcceleratorModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    level = models.CharField(max_length=16, default=quotas.NORMAL)
    offering = models.ForeignKey(Offering, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    guaranteed_gpus = models.PositiveIntegerField(default=0)
    ceiling_gpus = models.PositiveIntegerField(default=0)
    gpu_hours = models.PositiveBigIntegerField(null=True, blank=True)
    hours_period = models.CharField(max_length=8, default=quotas.MONTH)
    from_on = models.DateField(null=True, blank=True)
    to_on = models.DateField(null=True, blank=True)
    awarded_guaranteed_gpus = models.PositiveIntegerField(null=True, blank=True)
    awarded_ceiling_gpus = models.PositiveIntegerField(null=True, blank=True)
    awarded_gpu_hours = models.PositiveBigIntegerField(null=True, blank=True)
    awarded_to_on = models.DateField(null=True, blank=True)
    quota = models.ForeignKey(Quota, null=True, blank=True, on_delete=models.PROTECT, related_name="asked")
    base = models.JSONField(null=True, blank=True)  # the quota's amounts as they stood at submit
    made = models.ForeignKey(Quota, null=True, blank=True, on_delete=models.PROTECT, related_name="from_lines")

    class Meta:
        db_table = "ask_line"
        ordering = ("ask", "position")
        constraints = [
            models.UniqueConstraint(name="ask_line_once", fields=["ask", "position"]),
            models.CheckConstraint(name="ask_line_level_known", condition=Q(level__in=quotas.LEVELS)),
            models.CheckConstraint(name="ask_line_period_known", condition=Q(hours_period__in=quotas.PERIODS)),
            models.CheckConstraint(
                name="ask_line_guaranteed_within_ceiling", condition=Q(guaranteed_gpus__lte=F("ceiling_gpus"))
            ),
            models.CheckConstraint(
                name="ask_line_awarded_at_most_asked",
                condition=Q(awarded_guaranteed_gpus__isnull=True, awarded_ceiling_gpus__isnull=True)
                | Q(
                    awarded_guaranteed_gpus__isnull=False,
                    awarded_ceiling_gpus__isnull=False,
                    awarded_guaranteed_gpus__lte=F("guaranteed_gpus"),
                    awarded_ceiling_gpus__lte=F("ceiling_gpus"),
                ),
            ),
        ]

    @property
    def asked(self) -> Amounts:
        """What was asked."""
        return Amounts(self.guaranteed_gpus, self.ceiling_gpus, self.gpu_hours, self.from_on, self.to_on)

    @property
    def left(self) -> Amounts:
        """What the stages so far have left of it: what was asked where none has touched it."""
        if self.awarded_guaranteed_gpus is None:
            return self.asked
        return Amounts(
            self.awarded_guaranteed_gpus,
            self.awarded_ceiling_gpus or 0,
            self.awarded_gpu_hours,
            self.from_on,
            self.awarded_to_on,
        )

    @property
    def before(self) -> Amounts:
        """The quota that it changes as it stood at submit; nothing where it changes none."""
        return Amounts.from_dict(self.base) if self.base else rules.NOTHING


class Revision(models.Model):
    """The ask as it was submitted the n-th time."""

    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveSmallIntegerField()
    at = models.DateTimeField(db_default=Now())
    snapshot = models.JSONField()

    class Meta:
        db_table = "ask_revision"
        ordering = ("ask", "number")
        constraints = [models.UniqueConstraint(name="ask_revision_once", fields=["ask", "number"])]


class Attachment(models.Model):
    """A file with an ask; its content lies by its digest in the folder of files, once however often it is attached."""

    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField()  # bytes
    digest = models.CharField(max_length=64)  # SHA-256, hex
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "ask_attachment"
        ordering = ("ask", "id")
        constraints = [models.UniqueConstraint(name="ask_attachment_once", fields=["ask", "digest", "name"])]


class Move(models.Model):
    """One move on an ask, comments among them: who, for whom, what, when. Append-only; the timeline of the page."""

    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="moves")
    at = models.DateTimeField(db_default=Now())
    version = models.PositiveIntegerField()  # of the ask after it
    round = models.PositiveSmallIntegerField()
    what = models.CharField(max_length=16)
    stage = models.ForeignKey(Stage, null=True, on_delete=models.PROTECT, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    by_name = models.CharField(max_length=200)  # of a person or a part of the portal
    role = models.CharField(max_length=32, blank=True)  # in which it was made
    instead_of = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )  # to whom
    text = models.TextField(blank=True)
    facts = models.JSONField(default=dict)

    class Meta:
        db_table = "ask_move"
        ordering = ("ask", "id")
