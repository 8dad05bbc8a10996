"""Doors of what decides about asks: policies, acting grants, the site's own working days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors.door import NOTHING, ListDoor, OneDoor, WriteDoor
from governance.errors import BadData, NotFound

from . import acting, policies, policy, scoring
from .models import ActingGrant, ApprovalPolicy, CalendarDay


class PolicyRow(serializers.Serializer[Any]):
    """A version of the policy."""

    version = serializers.IntegerField()
    state = serializers.ChoiceField(choices=("draft", "active", "past"))
    document = serializers.JSONField(help_text=_("In the form of /api/v1/approval-policies/form."))
    note = serializers.CharField()
    made_by = serializers.CharField()
    made_at = serializers.DateTimeField()
    active_from_at = serializers.DateTimeField(allow_null=True)
    active_to_at = serializers.DateTimeField(allow_null=True)


class PolicyIn(serializers.Serializer[Any]):
    """A document."""

    document = serializers.JSONField()
    note = serializers.CharField(required=False, allow_blank=True, max_length=500)


class DocumentIn(serializers.Serializer[Any]):
    """A document to look at."""

    document = serializers.JSONField()


class SimulateIn(DocumentIn):
    """A document, and on how many of the newest asks."""

    most = serializers.IntegerField(required=False, min_value=1, max_value=policies.MOST_SIMULATED)


class ActivateIn(serializers.Serializer[Any]):
    """Why it is activated."""

    reason = serializers.CharField(required=False, allow_blank=True, max_length=500)


class FaultsOut(serializers.Serializer[Any]):
    """What is wrong with a document, and what wants a look though it is sound."""

    is_sound = serializers.BooleanField()
    faults = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())


class WayOut(serializers.Serializer[Any]):
    """An ask's way under the document, and the one it went."""

    ask = serializers.CharField()
    kind = serializers.CharField()
    project = serializers.CharField()
    gpus = serializers.IntegerField()
    rule = serializers.CharField()
    is_auto = serializers.BooleanField()
    stages = serializers.ListField(child=serializers.CharField())
    before = serializers.ListField(child=serializers.CharField())
    outcome = serializers.CharField()


class SimulationOut(serializers.Serializer[Any]):
    """A document on past asks."""

    ways = WayOut(many=True)
    by_rule = serializers.DictField(child=serializers.IntegerField())
    changed = serializers.IntegerField(help_text=_("Asks that would have gone another way than they did."))
    left_out = serializers.IntegerField(help_text=_("Older asks that were not looked at."))


class OutcomeOut(serializers.Serializer[Any]):
    """How the decisions under a version turned out."""

    asks = serializers.IntegerField()
    by_state = serializers.DictField(child=serializers.IntegerField())
    by_rule = serializers.DictField(child=serializers.IntegerField())
    scores = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()), help_text=_("Days after: verdict: decisions.")
    )
    median_hours = serializers.DecimalField(max_digits=12, decimal_places=1, allow_null=True)
    over_due = serializers.IntegerField(help_text=_("Asks of which a stage was escalated."))


class PolicySeen:
    """Who sees policies at all."""

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may look at them."""
        if not actor.may("policy.view"):
            raise NotFound(NOTHING)


class PoliciesDoor(PolicySeen, WriteDoor, ListDoor):
    """Versions of the policy, and adding one."""

    name = "api-approval-policies"
    title = _("Approval policies")
    says = _(
        "All versions, the newest first. Posting keeps a sound document as the next version, which counts once it is activated."
    )
    out, order = PolicyRow, ("-version",)
    takes, result, success, verb, capability = PolicyIn, PolicyRow, 201, "add", "policy.change"

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[ApprovalPolicy]:
        """All of them."""
        return ApprovalPolicy.objects.all()

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ApprovalPolicy:
        """By the action of the page."""
        return policies.add_version(given["document"], actor=actor, note=given.get("note", ""))


@dataclass(frozen=True)
class _Form:
    form: dict[str, Any]


class FormOut(serializers.Serializer[Any]):
    """The JSON Schema of a policy's document."""

    form = serializers.JSONField()


class PolicyFormDoor(PolicySeen, OneDoor):
    """The form of a document."""

    name = "api-approval-policy-form"
    title = _("The form of an approval policy")
    says = _("The JSON Schema that a policy's document has to keep to.")
    out = FormOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> _Form:
        """As it is published."""
        return _Form(policy.SCHEMA)


@dataclass(frozen=True)
class _Faults:
    is_sound: bool
    faults: list[str]
    warnings: list[str]


class PolicyValidateDoor(PolicySeen, WriteDoor):
    """Validating a document."""

    name = "api-approval-policy-validate"
    title = _("Validate an approval policy")
    says = _("Everything that is wrong with a document. Nothing is kept.")
    takes, result = DocumentIn, FaultsOut

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> _Faults:
        """By the checks that adding it makes."""
        found = policies.validate(given["document"])
        warned = [] if found else policies.warnings(given["document"])
        return _Faults(not found, [worded(one) for one in found], [worded(one) for one in warned])


def worded(fault: BadData) -> str:
    """A fault in the reader's language."""
    return gettext(fault.message) % fault.params if fault.params else gettext(fault.message)


class PolicySimulateDoor(PolicySeen, WriteDoor):
    """Simulating a document."""

    name = "api-approval-policy-simulate"
    title = _("Simulate an approval policy on past asks")
    says = _("By which rule and stages each past ask that you see would have gone. Nothing is kept.")
    takes, result = SimulateIn, SimulationOut

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> policies.Simulation:
        """By what their conditions were asked of then."""
        return policies.simulate(given["document"], actor=actor, most=given.get("most", 200))


class PolicyActivateDoor(PolicySeen, WriteDoor):
    """Activating a version."""

    name = "api-approval-policy-activate"
    title = _("Activate a version of the approval policy")
    says = _("It counts for what is submitted from now on; what is in review goes on as it began.")
    takes, result, capability = ActivateIn, PolicyRow, "policy.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """A version that is there."""
        super().see(actor, **where)
        policies.version_of(where["number"])

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ApprovalPolicy:
        """By the action of the page."""
        return policies.activate(where["number"], actor=actor, reason=given.get("reason", ""))


class PolicyOutcomeDoor(PolicySeen, OneDoor):
    """How a version turned out."""

    name = "api-approval-policy-outcome"
    title = _("How decisions under a policy turned out")
    says = _("Asks by outcome and rule, how long they took, and foreseen use against use after 14 and 30 days.")
    out = OutcomeOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> scoring.Outcome:
        """Of the asks that one sees."""
        return scoring.outcome(policies.version_of(where["number"]).version, actor=actor)


class ActingRow(serializers.Serializer[Any]):
    """An acting grant."""

    id = serializers.IntegerField()
    person = serializers.CharField(source="person.username")
    deputy = serializers.CharField(source="deputy.username")
    from_on = serializers.DateField()
    to_on = serializers.DateField(help_text=_("The first day on which it no longer holds."))
    reason = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)


class ActingIn(serializers.Serializer[Any]):
    """Who acts, on which days."""

    deputy = serializers.CharField(max_length=150)
    person = serializers.CharField(
        required=False, allow_blank=True, max_length=150, help_text=_("Yourself where nothing is said.")
    )
    from_on = serializers.DateField()
    to_on = serializers.DateField()
    reason = serializers.CharField(required=False, allow_blank=True, max_length=300)


class ActingGrantsDoor(WriteDoor, ListDoor):
    """Acting grants, and giving one."""

    name = "api-acting-grants"
    title = _("Acting approvers")
    says = _("Who decides for whom on which days: those that you gave or hold. Posting lets somebody decide for you.")
    out, order = ActingRow, ("-pk",)
    takes, result, success, verb = ActingIn, ActingRow, 201, "grant"

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[ActingGrant]:
        """One's own."""
        found: QuerySet[ActingGrant] = acting.visible(actor)
        return found

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ActingGrant:
        """By the action of the page."""
        return acting.grant(actor=actor, **given)


class ActingEndDoor(WriteDoor):
    """Ending a grant."""

    name = "api-acting-grant-end"
    title = _("End an acting grant")
    says = _("At once. 409 where it is over.")
    result = ActingRow

    def see(self, actor: Actor, **where: Any) -> None:
        """One's own."""
        if where["number"] >= 2**63 or not acting.visible(actor).filter(pk=where["number"]).exists():
            raise NotFound(NOTHING)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> ActingGrant:
        """By the action of the page."""
        return acting.end(where["number"], actor=actor)


class CalendarDayRow(serializers.Serializer[Any]):
    """A day on which the site works, or does not, other than the calendar says."""

    day = serializers.DateField()
    is_working = serializers.BooleanField(allow_null=True, help_text=_("Null: as the calendar says."))
    name = serializers.CharField(required=False, allow_blank=True, max_length=200)


@dataclass(frozen=True)
class _Day:
    day: date
    is_working: bool | None
    name: str


class CalendarDaysDoor(WriteDoor, ListDoor):
    """The site's own days."""

    name = "api-calendar-days"
    title = _("Working days of the site")
    says = _(
        "Days that differ from the calendar by which deadlines count. Posting sets one, or takes it back with null."
    )
    out, order = CalendarDayRow, ("day",)
    takes, result, verb, capability = CalendarDayRow, CalendarDayRow, "set", "policy.change"

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[CalendarDay]:
        """They are no secret: everybody's deadlines count by them."""
        return CalendarDay.objects.all()

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> _Day:
        """By the action of the page."""
        acting.set_calendar_day(given["day"], given["is_working"], actor=actor, name=given.get("name", ""))
        return _Day(given["day"], given["is_working"], given.get("name", ""))
