"""How asks, stages, figures and policies look in the API."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.quotas import rules as quotas

from . import rules
from .figures import VERDICTS, Alternative, Check, Figure, Recommendation
from .models import AskLine

KINDS = [one.value for one in rules.Kind]
STATES = [one.value for one in rules.State]


class AmountsOut(serializers.Serializer[Any]):
    """Whole GPUs, whole GPU-hours of a period (null: no limit), days [from_on, to_on)."""

    guaranteed_gpus = serializers.IntegerField()
    ceiling_gpus = serializers.IntegerField()
    gpu_hours = serializers.IntegerField(allow_null=True)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True, help_text=_("The first day on which it no longer holds."))


class AskLineOut(serializers.Serializer[Any]):
    """A line: what was asked, what the stages so far have left of it, what stood before."""

    position = serializers.IntegerField()
    pool = serializers.CharField(source="pool.code")
    model = serializers.CharField(source="model.code", default="")
    level = serializers.ChoiceField(choices=quotas.LEVELS)
    hours_period = serializers.ChoiceField(choices=quotas.PERIODS)
    offering = serializers.CharField(source="offering.code", default="")
    quota = serializers.CharField(source="quota.number", default="", help_text=_("The quota that it changes."))
    asked = AmountsOut()
    awarded = serializers.SerializerMethodField()
    before = AmountsOut(help_text=_("The quota as it stood at submit; zeros where it changes none."))
    made = serializers.CharField(source="made.number", default="", help_text=_("The quota that came of it."))

    def get_awarded(self, row: AskLine) -> AmountsOut | None:
        """Null while no stage has decided."""
        return AmountsOut(row.left).data if row.awarded_guaranteed_gpus is not None else None


class AskRow(serializers.Serializer[Any]):
    """An ask, as a list has it."""

    number = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    project = serializers.CharField(source="project.code")
    state = serializers.ChoiceField(choices=STATES)
    version = serializers.IntegerField(help_text=_("Rises with every move; send the one you have looked at."))
    round = serializers.IntegerField(help_text=_("How often it was submitted."))
    asked_by = serializers.CharField(source="asked_by.username")
    gpus = serializers.IntegerField(help_text=_("Added to what is held; negative where it gives back."))
    cost = serializers.DecimalField(
        max_digits=20,
        decimal_places=2,
        allow_null=True,
        help_text=_("Estimated at submit; null where it is not known."),
    )
    policy = serializers.IntegerField(source="policy.version", default=None, allow_null=True)
    policy_rule = serializers.CharField()
    made_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)


class AskStageOut(serializers.Serializer[Any]):
    """A stage of the present round."""

    code = serializers.CharField(source="stage.code")
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=("open", "passed", "stopped", "waiting", "left"))
    who = serializers.SerializerMethodField(help_text=_("role@scope, as the policy has it."))
    asks = serializers.SerializerMethodField(help_text=_("The steps that it asks now, as role@scope."))
    rule = serializers.ChoiceField(source="stage.rule", choices=rules.STAGE_RULES)
    k = serializers.IntegerField(source="stage.k")
    pool = serializers.CharField(source="stage.pool.code", default="")
    people = serializers.SerializerMethodField(help_text=_("How many people it still waits for."))
    agreed = serializers.SerializerMethodField(help_text=_("How many have agreed."))
    is_stuck = serializers.BooleanField(
        source="stage.is_stuck", help_text=_("Nobody can decide it, or nobody has in time.")
    )
    escalated = serializers.IntegerField(source="stage.escalated")
    opened_at = serializers.DateTimeField(source="stage.opened_at", allow_null=True)
    due_at = serializers.DateTimeField(source="stage.due_at", allow_null=True)
    closed_at = serializers.DateTimeField(source="stage.closed_at", allow_null=True)

    def get_who(self, row: Any) -> str:
        """As the policy has it."""
        stage = row.stage
        return f"{stage.role}@{stage.scope}{':' + stage.scope_code if stage.scope_code else ''}"

    def get_asks(self, row: Any) -> list[str]:
        """From its own scope upwards."""
        return [f"{step.role}@{step.scope}" for step in row.deciders.steps] if row.stage.is_open else []

    def get_people(self, row: Any) -> int:
        """Of an open stage."""
        return len(row.deciders.waiting_for) if row.stage.is_open else 0

    def get_agreed(self, row: Any) -> int:
        """So far."""
        return len(row.deciders.standing.agreed)


class AskFileOut(serializers.Serializer[Any]):
    """A file with an ask."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    media_type = serializers.CharField()
    size = serializers.IntegerField(help_text=_("Bytes."))
    digest = serializers.CharField(help_text=_("SHA-256, in hexadecimal."))
    at = serializers.DateTimeField()


class AskMoveOut(serializers.Serializer[Any]):
    """A move on an ask."""

    at = serializers.DateTimeField()
    what = serializers.CharField()
    by = serializers.CharField(source="by_name")
    role = serializers.CharField()
    instead_of = serializers.CharField(source="instead_of.username", default="")
    person = serializers.CharField(
        source="person.username", default="", help_text=_("To whom, where it names somebody.")
    )
    stage = serializers.CharField(source="stage.code", default="")
    text = serializers.CharField()
    version = serializers.IntegerField()
    round = serializers.IntegerField()


class AskOut(serializers.Serializer[Any]):
    """An ask with all of its story."""

    ask = AskRow()
    goal = serializers.CharField(source="ask.goal")
    basis = serializers.CharField(source="ask.basis")
    confirmed_by = serializers.CharField(source="ask.confirmed_by")
    accepts_less = serializers.BooleanField(source="ask.accepts_less")
    override_reason = serializers.CharField(source="ask.override_reason")
    copied_from = serializers.CharField(source="ask.copied_from.number", default="")
    department = serializers.CharField(help_text=_("Its home department today."))
    due_at = serializers.DateTimeField(allow_null=True, help_text=_("When the open stage is due."))
    lines = AskLineOut(many=True)
    stages = AskStageOut(many=True)
    files = AskFileOut(many=True)
    moves = AskMoveOut(many=True)
    changed = serializers.SerializerMethodField(
        help_text=_("What changed since the revision before: [name, before, now].")
    )
    may = serializers.ListField(child=serializers.CharField(), help_text=_("The moves that are yours now."))
    is_acting = serializers.SerializerMethodField(help_text=_("Whether you would decide in place of another."))

    def get_changed(self, row: Any) -> list[list[str | None]]:
        """As text."""
        return [[name, *(None if value is None else str(value) for value in pair)] for name, *pair in row.changed]

    def get_is_acting(self, row: Any) -> bool:
        """By an acting grant."""
        return row.seat is not None and row.seat.is_acting


class ToDecideRow(serializers.Serializer[Any]):
    """An ask that waits for you."""

    ask = AskRow()
    department = serializers.CharField()
    stage = serializers.CharField(source="stage.code")
    role = serializers.CharField(source="seat.role")
    is_acting = serializers.BooleanField(source="seat.is_acting")
    due_at = serializers.DateTimeField(source="stage.due_at")
    escalated = serializers.IntegerField(source="stage.escalated")


class FigureOut(serializers.Serializer[Any]):
    """A figure, with its definition and freshness."""

    code = serializers.CharField()
    value = serializers.SerializerMethodField(help_text=_("As text; null where it is not known, which is not zero."))
    unit = serializers.CharField()
    metric = serializers.CharField(help_text=_("Its entry in the metric dictionary; empty for a plain count."))
    as_of = serializers.DateTimeField(allow_null=True, help_text=_("Up to when it knows."))

    def get_value(self, row: Figure) -> str | None:
        """As text."""
        return None if row.value is None else str(row.value)


class CheckOut(serializers.Serializer[Any]):
    """A check: what was found, and what to change."""

    code = serializers.CharField()
    title = serializers.SerializerMethodField()
    verdict = serializers.ChoiceField(choices=VERDICTS)
    says = serializers.SerializerMethodField()
    advice = serializers.SerializerMethodField()
    line = serializers.IntegerField(allow_null=True)
    figures = FigureOut(many=True)

    def get_title(self, row: Check) -> str:
        """In the reader's language."""
        return gettext(row.title)

    def get_says(self, row: Check) -> str:
        """In the reader's language."""
        return said(row.says, row.params)

    def get_advice(self, row: Check) -> str:
        """In the reader's language."""
        return said(row.advice, row.params)


class AlternativeOut(serializers.Serializer[Any]):
    """A faster way."""

    code = serializers.CharField()
    says = serializers.SerializerMethodField()
    gpus = serializers.IntegerField()
    pool = serializers.CharField()
    level = serializers.CharField()
    cost = serializers.DecimalField(max_digits=20, decimal_places=2, allow_null=True)

    def get_says(self, row: Alternative) -> str:
        """In the reader's language."""
        return said(row.says, row.params)


class RecommendationOut(serializers.Serializer[Any]):
    """What the figures speak for, and by which rule."""

    verdict = serializers.ChoiceField(choices=("approve", "less", "return"))
    rule = serializers.CharField()
    says = serializers.SerializerMethodField()
    awards = serializers.DictField(child=serializers.IntegerField(), help_text=_("Line: GPUs added, where it is less."))

    def get_says(self, row: Recommendation) -> str:
        """In the reader's language."""
        return said(row.says, row.params)


class EarlierOut(serializers.Serializer[Any]):
    """What became of an earlier award."""

    quota = serializers.CharField()
    ask = serializers.CharField()
    gpus = serializers.IntegerField(source="guaranteed")
    from_on = serializers.DateField()
    to_on = serializers.DateField(allow_null=True)
    used_percent = serializers.DecimalField(max_digits=8, decimal_places=1, allow_null=True)


class PrecedentOut(serializers.Serializer[Any]):
    """A similar ask that was decided."""

    number = serializers.CharField()
    kind = serializers.CharField()
    gpus = serializers.IntegerField()
    awarded = serializers.IntegerField()
    state = serializers.CharField()
    score = serializers.CharField(help_text=_("How its award turned out; empty where it is not scored yet."))


class WaitsOut(serializers.Serializer[Any]):
    """GPUs that a project waits for."""

    project = serializers.CharField(help_text=_("Empty for those that you do not see, together."))
    gpus = serializers.IntegerField()


class GroundsOut(serializers.Serializer[Any]):
    """The grounds of a decision."""

    checks = CheckOut(many=True)
    figures = FigureOut(many=True)
    waits_longer = serializers.SerializerMethodField()
    earlier = EarlierOut(many=True)
    precedents = PrecedentOut(many=True)
    recommendation = RecommendationOut(allow_null=True)
    alternatives = AlternativeOut(many=True)

    def get_waits_longer(self, row: Any) -> WaitsOut:
        """Those before whom the award would go."""
        rows = [{"project": project, "gpus": gpus} for project, gpus in row.waits_longer]
        return WaitsOut(rows, many=True).data


class ChecksOut(serializers.Serializer[Any]):
    """What a form shows while it is filled in."""

    cost = serializers.DecimalField(max_digits=20, decimal_places=2, allow_null=True)
    currency = serializers.CharField()
    budget_left = serializers.DecimalField(
        max_digits=20, decimal_places=2, allow_null=True, help_text=_("Null where no budget is set.")
    )
    checks = CheckOut(many=True)
    alternatives = AlternativeOut(many=True)


class AskLineIn(serializers.Serializer[Any]):
    """A line. With a quota its pool, model and level count; what is left out is as the quota has it."""

    pool = serializers.CharField(required=False, max_length=64)
    model = serializers.CharField(required=False, allow_blank=True, max_length=64)
    level = serializers.ChoiceField(choices=quotas.LEVELS, required=False)
    guaranteed_gpus = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    ceiling_gpus = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=2**31 - 1, help_text=_("As many as are guaranteed where nothing is said.")
    )  # fmt: skip
    gpu_hours = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=2**53 - 1)
    hours_period = serializers.ChoiceField(choices=quotas.PERIODS, required=False)
    from_on = serializers.DateField(required=False, allow_null=True)
    to_on = serializers.DateField(required=False, allow_null=True)
    quota = serializers.CharField(required=False, allow_blank=True, max_length=32)


class AskIn(serializers.Serializer[Any]):
    """An ask as it is written: what shall be held then, not what is added."""

    kind = serializers.ChoiceField(choices=KINDS)
    project = serializers.CharField(max_length=64)
    lines = AskLineIn(many=True, required=False)
    goal = serializers.CharField(required=False, allow_blank=True, max_length=4000)
    basis = serializers.CharField(required=False, allow_blank=True, max_length=4000)
    confirmed_by = serializers.CharField(required=False, allow_blank=True, max_length=300)
    accepts_less = serializers.BooleanField(required=False)
    version = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)


class VersionIn(serializers.Serializer[Any]):
    """The version that was looked at; where it is left out, whatever stands now is meant."""

    version = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)


class WordsIn(VersionIn):
    """A move with words."""

    comment = serializers.CharField(required=False, allow_blank=True, max_length=4000)


class AwardIn(serializers.Serializer[Any]):
    """What a line is awarded instead; what is left out stays. 0 GPUs refuse the line."""

    line = serializers.IntegerField(min_value=1, max_value=1000)
    guaranteed_gpus = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    ceiling_gpus = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    gpu_hours = serializers.IntegerField(required=False, min_value=0, max_value=2**53 - 1)
    to_on = serializers.DateField(required=False)


class ApproveIn(WordsIn):
    """An agreement, with less where it says so."""

    awards = AwardIn(many=True, required=False)
    override = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text=_("A reason to go beyond the room there is; needs the right.")
    )  # fmt: skip


class PersonIn(VersionIn):
    """Somebody by name, and why."""

    person = serializers.CharField(required=False, allow_blank=True, max_length=150, help_text=_("A username."))
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500)


def said(message: str, params: dict[str, Any]) -> str:
    """A msgid with its parameters, in the reader's language; "" of ""."""
    return gettext(message) % params if message else ""
