"""Doors of the terms of pools: queue rules, how a pool may be promised, shares of departments."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.doors import paging
from governance.doors.door import ListDoor, WriteDoor
from governance.doors.query import Paged, narrowed, text
from governance.tenants.models import held_departments, held_today

from . import pool_terms, reads, rules
from .api import MOST, Managing
from .models import DepartmentShare, PoolPolicy
from .pool_api import EndOn, OnQuery, day_asked
from .pool_terms import PREEMPTED
from .reach import see_offerings, see_quotas


class QueueRow(serializers.Serializer[Any]):
    """How a level stands in a pool's queue."""

    pool = serializers.CharField()
    level = serializers.ChoiceField(choices=rules.LEVELS)
    qos = serializers.CharField(help_text=_("Empty where the level is not offered."))
    priority = serializers.IntegerField(help_text=_("The higher goes first."))
    preempts = serializers.ListField(child=serializers.CharField(), help_text=_("Levels whose jobs it may displace."))
    preempted_jobs = serializers.ChoiceField(choices=PREEMPTED)
    min_run_s = serializers.IntegerField(allow_null=True)
    max_wall_s = serializers.IntegerField(allow_null=True)
    pool_share_percent = serializers.IntegerField()
    pool_share_gpus = serializers.IntegerField()


class QueueIn(serializers.Serializer[Any]):
    """A rule to set."""

    pool = serializers.CharField(max_length=64)
    level = serializers.ChoiceField(choices=rules.LEVELS)
    priority = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    preempts = serializers.ListField(child=serializers.ChoiceField(choices=rules.LEVELS), required=False, max_length=8)
    preempted_jobs = serializers.ChoiceField(choices=PREEMPTED, required=False)
    pool_share_percent = serializers.IntegerField(min_value=1, max_value=100, required=False)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(required=False, allow_null=True)


class Done(serializers.Serializer[Any]):
    """From which day on."""

    on = serializers.DateField(allow_null=True)


class QueueRulesDoor(Managing, ListDoor):
    """Queue rules."""

    name = "api-queue-rules"
    title = _("Queue rules")
    says = _(
        "Who goes first in each pool on a day, who may displace whom, and for how long jobs run. Setting one ends what held."
    )
    query, out = OnQuery, QueueRow
    takes, result, verb, right = QueueIn, Done, "set", "offering.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever may ask or sees quotas."""
        see_offerings(actor)

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """Of a day, by pool, the first to go first."""
        pools = list(narrowed(Pool.objects.exclude(cluster=None), asked, {"pool": "code"}).order_by("code"))
        terms = reads.queue_terms_of(pools, day_asked(asked))
        rows = [one for pool in pools for one in terms[pool.pk]]
        return paging.of_list(rows, lambda one: [one.pool, -one.priority, rules.LEVELS.index(one.level)], after, limit)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the topic's action."""
        pool, level = given.pop("pool"), given.pop("level")
        pool_terms.set_queue_rule(pool, level, actor=actor, **given)
        return {"on": given["from_on"]}


class TermsWrite(Managing):
    """A write to the terms of a pool, which the body names."""

    result, right = Done, "offering.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees quotas of something."""
        see_quotas(actor)


class QueueEndIn(EndOn):
    """A rule to end."""

    pool = serializers.CharField(max_length=64)
    level = serializers.ChoiceField(choices=rules.LEVELS)


class QueueRuleEndDoor(TermsWrite, WriteDoor):
    """End a queue rule."""

    name = "api-queue-rule-end"
    title = _("End a queue rule")
    says = _("From the day on the level stands in the queue without a rule of its own.")
    takes = QueueEndIn

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the topic's action."""
        pool_terms.end_queue_rule(**given, actor=actor)
        return {"on": given["on"]}


class PoliciesQuery(Paged):
    """Filters of policies and shares."""

    pool = text(_("The code of a pool."))


class PolicyRow(serializers.Serializer[Any]):
    """How a pool may be promised on some days."""

    pool = serializers.CharField(source="pool.code")
    kind = serializers.ChoiceField(choices=rules.POLICIES)
    factor = serializers.DecimalField(max_digits=6, decimal_places=3)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True)


class PolicyIn(serializers.Serializer[Any]):
    """A policy to set."""

    pool = serializers.CharField(max_length=64)
    kind = serializers.ChoiceField(choices=rules.POLICIES)
    factor = serializers.DecimalField(max_digits=6, decimal_places=3, min_value=0, required=False)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(required=False, allow_null=True)


class PoliciesDoor(Managing, ListDoor):
    """How pools may be promised."""

    name = "api-pool-policies"
    title = _("Policies of pools")
    says = _("How far each pool may be promised, by day: reserved (healthy GPUs × factor) or shared by departments.")
    query, out, order = PoliciesQuery, PolicyRow, ("pool__code", "id")
    takes, result, verb, right = PolicyIn, PolicyRow, "set", "offering.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees quotas of something."""
        see_quotas(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[PoolPolicy]:
        """Of all pools: they name nobody."""
        return narrowed(PoolPolicy.objects.select_related("pool"), asked, {"pool": "pool__code"})

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> PoolPolicy:
        """By the topic's action."""
        return pool_terms.set_policy(given.pop("pool"), given.pop("kind"), actor=actor, **given)


class PolicyEndIn(EndOn):
    """A policy to end."""

    pool = serializers.CharField(max_length=64)


class PolicyEndDoor(TermsWrite, WriteDoor):
    """End a policy."""

    name = "api-pool-policy-end"
    title = _("End a policy of a pool")
    says = _("From the day on the pool is reserved at factor 1.")
    takes = PolicyEndIn

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the topic's action."""
        pool_terms.end_policy(**given, actor=actor)
        return {"on": given["on"]}


class ShareRow(serializers.Serializer[Any]):
    """A department's share of a pool on some days."""

    pool = serializers.CharField(source="pool.code")
    department = serializers.CharField(source="department.code")
    gpus = serializers.IntegerField()
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True)


class ShareIn(serializers.Serializer[Any]):
    """A share to set."""

    pool = serializers.CharField(max_length=64)
    department = serializers.CharField(max_length=64)
    gpus = serializers.IntegerField(min_value=0, max_value=MOST)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(required=False, allow_null=True)


class SharesDoor(Managing, ListDoor):
    """Shares of departments."""

    name = "api-department-shares"
    title = _("Shares of departments")
    says = _(
        "How many GPUs of a shared pool the projects of a department and of all below it may be guaranteed together."
    )
    query, out, order = PoliciesQuery, ShareRow, ("pool__code", "department__code", "id")
    takes, result, verb, right = ShareIn, ShareRow, "set", "offering.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees quotas of something."""
        see_quotas(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[DepartmentShare]:
        """Of the departments that the actor sees quotas of, and of the pools that the actor keeps."""
        rows = DepartmentShare.objects.select_related("pool", "department")
        if not actor.may("quota.view"):
            kept = [held.node for held in held_today(actor) if held.gives("quota.view", "pool")]
            rows = rows.filter(department__in=held_departments(actor, "quota.view")) | rows.filter(pool__in=kept)
        return narrowed(rows, asked, {"pool": "pool__code"})

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> DepartmentShare:
        """By the topic's action."""
        names = given.pop("pool"), given.pop("department"), given.pop("gpus")
        return pool_terms.set_share(*names, actor=actor, **given)


class ShareEndIn(EndOn):
    """A share to end."""

    pool = serializers.CharField(max_length=64)
    department = serializers.CharField(max_length=64)


class ShareEndDoor(TermsWrite, WriteDoor):
    """End a share."""

    name = "api-department-share-end"
    title = _("End a share of a department")
    says = _("From the day on the department is bound by the shares above it alone.")
    takes = ShareEndIn

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the topic's action."""
        pool_terms.end_share(**given, actor=actor)
        return {"on": given["on"]}
