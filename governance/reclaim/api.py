"""Doors of reclaim: cases and their moves, the balance, rules with their preview."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor, require
from governance.catalogue.models import Pool
from governance.doors.door import ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged, Query, narrowed, text
from governance.errors import N_, NotFound
from governance.quotas.api import Managing
from governance.quotas.reach import NOTHING, holds, see_quotas
from governance.tenants.models import day_of_today

from . import actions, detection, reads, rules
from .models import ReclaimCase, ReclaimRule
from .rules import Terms


class ReclaimCaseRow(serializers.Serializer[Any]):
    """A case. Amounts are whole GPUs."""

    number = serializers.CharField()
    rule = serializers.SerializerMethodField()
    kind = serializers.ChoiceField(choices=rules.KINDS, source="rule.kind")
    project = serializers.CharField(source="project.code")
    pool = serializers.CharField(source="pool.code")
    quota = serializers.CharField(source="quota.number", default=None, allow_null=True)
    run = serializers.CharField(help_text=_("cluster/job/submit, where it is about a run's idle GPUs."))
    gpus = serializers.IntegerField(help_text=_("That could come back."))
    evidence = serializers.JSONField(help_text=_("What the rule saw: window, held, p95, peak, days, digest."))
    state = serializers.ChoiceField(choices=rules.STATES)
    detected_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    answer = serializers.CharField()
    answer_reason = serializers.CharField()
    keep_ask = serializers.CharField(help_text=_("The ask that decides about keeping it."))
    applied_at = serializers.DateTimeField(allow_null=True)
    made = serializers.CharField(source="made.number", default=None, allow_null=True, help_text=_("The lowered quota."))
    effect = serializers.JSONField(help_text=_("Measured seven days after."))
    outcome = serializers.CharField()
    outcome_reason = serializers.CharField()
    closed_at = serializers.DateTimeField(allow_null=True)

    def get_rule(self, row: ReclaimCase) -> str:
        """Code and version."""
        return f"{row.rule.code} v{row.rule.version}"


class CasesQuery(Paged):
    """Filters of cases."""

    state = serializers.ChoiceField(choices=rules.STATES, required=False, help_text=_("A state."))
    project = text(_("The code of a project."))
    pool = text(_("The code of a pool."))


class Seen:
    """Who sees quotas sees the cases about them."""

    def see(self, actor: Actor, **where: Any) -> None:
        """Raise NotFound otherwise."""
        see_quotas(actor)
        if "case" in where:
            reads.case_of(where["case"], actor)


class CasesDoor(Seen, ListDoor):
    """Cases."""

    name = "api-reclaim-cases"
    title = _("Reclaim cases")
    says = _("Cases of the projects and pools that you see, the newest first.")
    query, out, order = CasesQuery, ReclaimCaseRow, ("-pk",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[ReclaimCase]:
        """By state, project, pool."""
        rows = ReclaimCase.objects.visible_to(actor).select_related("rule", "project", "pool", "quota", "made")
        return narrowed(rows, asked, {"state": "state", "project": "project__code", "pool": "pool__code"})


class CaseDoor(Seen, OneDoor):
    """One case."""

    name = "api-reclaim-case"
    title = _("One reclaim case")
    says = _("With its evidence, the answer and what came of it.")
    out = ReclaimCaseRow

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> ReclaimCase:
        """As it stands."""
        return reads.case_of(where["case"], actor)


class CaseMoveDoor(Seen, WriteDoor):
    """A move on a case; it answers the case as it stands then."""

    result = ReclaimCaseRow
    verb = "move"

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ReclaimCase:
        """By the action of the page."""
        self.moved(where["case"], actor, given)
        return reads.case_of(where["case"], actor)

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """Do it."""
        raise NotImplementedError


class ReclaimReasonIn(serializers.Serializer[Any]):
    """Why."""

    reason = serializers.CharField(max_length=500)


class ReclaimAnswerIn(serializers.Serializer[Any]):
    """An answer while notice is given."""

    answer = serializers.ChoiceField(choices=rules.ANSWERS)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500)
    keep_until = serializers.DateField(required=False, allow_null=True, help_text=_("For “keep”: the day."))


class ReclaimJudgeIn(ReclaimReasonIn):
    """A judgement on a dispute."""

    was_right = serializers.BooleanField(help_text=_("Whether the dispute was right: the case closes as a false one."))


class CaseAnswerDoor(CaseMoveDoor):
    """Answering."""

    name = "api-reclaim-answer"
    title = _("Answer a reclaim case")
    says = _("Agree: due at once. Keep: an ask decides. Dispute: the pool's manager decides.")
    takes = ReclaimAnswerIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        actions.answer(number, given.pop("answer"), actor=actor, **given)


class CaseJudgeDoor(CaseMoveDoor):
    """Judging a dispute."""

    name = "api-reclaim-judge"
    title = _("Judge a dispute")
    says = _("By the pool's manager.")
    takes = ReclaimJudgeIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        actions.judge(number, actor=actor, **given)


class CaseUndoDoor(CaseMoveDoor):
    """Undoing."""

    name = "api-reclaim-undo"
    title = _("Give back what a case took")
    says = _("Within 72 hours; it counts as a false reclaim.")
    takes = ReclaimReasonIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        actions.undo(number, actor=actor, **given)


class CaseWithdrawDoor(CaseMoveDoor):
    """Letting a case go."""

    name = "api-reclaim-withdraw"
    title = _("Let a reclaim case go")
    says = _("By the pool's manager, while it is open.")
    takes = ReclaimReasonIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        actions.withdraw(number, actor=actor, **given)


class BalanceQuery(Query):
    """Since when."""

    days = serializers.IntegerField(
        required=False, min_value=1, max_value=3660, help_text=_("90 where nothing is said.")
    )


class ReclaimBalanceOut(serializers.Serializer[Any]):
    """What was gained beside what was wrong, of the cases that one sees."""

    opened = serializers.IntegerField()
    applied = serializers.IntegerField()
    taken_gpus = serializers.IntegerField()
    freed_gpus = serializers.DecimalField(max_digits=20, decimal_places=3)
    false = serializers.IntegerField()
    false_rate = serializers.DecimalField(max_digits=8, decimal_places=4, allow_null=True)


class BalanceDoor(Seen, OneDoor):
    """The balance."""

    name = "api-reclaim-balance"
    title = _("What reclaim brought")
    says = _("GPUs taken back and measured free beside false reclaims.")
    query, out = BalanceQuery, ReclaimBalanceOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> reads.Balance:
        """Of the cases opened since."""
        return reads.balance(actor, timezone.now() - timedelta(days=asked.get("days", 90)))


class ReclaimTermsIn(serializers.Serializer[Any]):
    """What a rule looks for. Days and hours are whole, percentages of what is guaranteed."""

    kind = serializers.ChoiceField(choices=rules.KINDS)
    window_days = serializers.IntegerField(required=False, min_value=1, max_value=366)
    below_percent = serializers.IntegerField(required=False, min_value=0, max_value=100)
    keep_percent = serializers.IntegerField(required=False, min_value=0, max_value=100)
    step_gpus = serializers.IntegerField(required=False, min_value=1, max_value=100_000)
    min_gpus = serializers.IntegerField(required=False, min_value=1, max_value=100_000)
    notice_hours = serializers.IntegerField(required=False, min_value=1, max_value=24 * 90)
    stops_interactive = serializers.BooleanField(required=False)
    pool = serializers.CharField(
        required=False, allow_blank=True, max_length=64, help_text=_("Every pool where nothing is said.")
    )


class ReclaimRuleIn(ReclaimTermsIn):
    """A rule's next version."""

    code = serializers.SlugField(max_length=48)
    name_zh = serializers.CharField(required=False, allow_blank=True, max_length=200)
    name_en = serializers.CharField(required=False, allow_blank=True, max_length=200)


class ReclaimRuleRow(serializers.Serializer[Any]):
    """A version of a rule."""

    code = serializers.CharField()
    version = serializers.IntegerField()
    name_zh = serializers.CharField()
    name_en = serializers.CharField()
    kind = serializers.ChoiceField(choices=rules.KINDS)
    pool = serializers.CharField(source="pool.code", default=None, allow_null=True)
    window_days = serializers.IntegerField()
    below_percent = serializers.IntegerField()
    keep_percent = serializers.IntegerField()
    step_gpus = serializers.IntegerField()
    min_gpus = serializers.IntegerField()
    notice_hours = serializers.IntegerField()
    stops_interactive = serializers.BooleanField()
    is_on = serializers.BooleanField()
    made_by = serializers.CharField()
    made_at = serializers.DateTimeField()


class RulesSeen:
    """Who manages reclaim of a pool, and those who see quotas of the site."""

    right = "reclaim.manage"

    def see(self, actor: Actor, **where: Any) -> None:
        """Raise NotFound otherwise."""
        if not holds(actor, "reclaim.manage") and not actor.may("quota.view"):
            raise NotFound(NOTHING)


def _terms(given: dict[str, Any]) -> Terms:
    known = asdict(Terms("held_unused"))
    return Terms(**{name: value for name, value in given.items() if name in known})


class RulesDoor(RulesSeen, Managing, ListDoor):
    """Rules, and writing one."""

    name = "api-reclaim-rules"
    title = _("Reclaim rules")
    says = _("All versions. Posting writes the next version of a rule, switched off.")
    out, order = ReclaimRuleRow, ("code", "-version")
    takes, result, success, verb = ReclaimRuleIn, ReclaimRuleRow, 201, "write"

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[ReclaimRule]:
        """All of them."""
        return ReclaimRule.objects.select_related("pool")

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ReclaimRule:
        """By the action of the page."""
        names = {name: given.get(name, "") for name in ("name_zh", "name_en", "pool")}
        return actions.write_rule(given["code"], _terms(given), actor=actor, **names)


class ReclaimSwitchIn(serializers.Serializer[Any]):
    """Which version is on."""

    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**31 - 1, help_text=_("Null switches the rule off.")
    )


class RuleSwitchDoor(RulesSeen, Managing):
    """Switching a rule."""

    name = "api-reclaim-switch"
    title = _("Switch a reclaim rule on or off")
    says = _("Open cases keep the version that opened them.")
    takes, result, verb = ReclaimSwitchIn, ReclaimRuleRow, "switch"

    def see(self, actor: Actor, **where: Any) -> None:
        """A rule that is there."""
        super().see(actor, **where)
        if not ReclaimRule.objects.filter(code=where["rule"]).exists():
            raise NotFound(actions.NO_RULE, code=where["rule"][:48])

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ReclaimRule:
        """By the action of the page; it answers the version that is on, or the last one."""
        actions.switch(where["rule"], given.get("version"), actor=actor)
        rows = ReclaimRule.objects.filter(code=where["rule"]).select_related("pool")
        return rows.order_by("-is_on", "-version")[0]


class ReclaimPreviewedRow(serializers.Serializer[Any]):
    """A case that the rule would have opened."""

    day = serializers.DateField()
    project = serializers.CharField(source="quota.project.code")
    pool = serializers.CharField(source="quota.pool.code")
    quota = serializers.CharField(source="quota.number")
    gpus = serializers.IntegerField(source="finding.gpus")
    held = serializers.IntegerField(source="finding.held")
    p95 = serializers.DecimalField(max_digits=20, decimal_places=3, source="finding.p95")


class ReclaimPreviewOut(serializers.Serializer[Any]):
    """What a rule would have opened."""

    days = serializers.IntegerField()
    cases = ReclaimPreviewedRow(many=True)


class RulePreviewDoor(RulesSeen, Managing):
    """Trying a rule out."""

    name = "api-reclaim-preview"
    title = _("Preview a reclaim rule")
    says = _("What it would have opened over the past 90 days. Nothing is kept.")
    takes, result, verb = ReclaimTermsIn, ReclaimPreviewOut, "preview"

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the reads of the page."""
        code = given.get("pool", "")
        pool = Pool.objects.filter(code=code, cluster__isnull=False).first() if code else None
        if code and pool is None:
            raise NotFound(N_("There is no pool “%(code)s”."), code=code)
        require(actor, "reclaim.manage", pool)
        found = detection.preview(_terms(given), pool=pool, until=day_of_today())
        return {"days": rules.PREVIEW_DAYS, "cases": found}
