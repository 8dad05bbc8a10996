"""Doors of pools: their room, and what is offered of them."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors import paging
from governance.doors.door import ListDoor, OneDoor
from governance.doors.query import Paged, Sparse, text
from governance.errors import NotFound
from governance.tenants.models import day_of_today, held_departments

from . import actions, outlook, pool_terms, reads, rules
from .api import MOST, Managing
from .models import Offering
from .pool_terms import Offer
from .reach import NOTHING, pool_seen, see_offerings, sees_names


class StretchRow(serializers.Serializer[Any]):
    """Days on which nothing changes, in GPUs."""

    from_on = serializers.DateField()
    to_on = serializers.DateField()
    healthy = serializers.IntegerField()
    limit = serializers.IntegerField(help_text=_("What may be guaranteed by the policy."))
    promised = serializers.IntegerField()
    room = serializers.IntegerField(help_text=_("Negative where too much is promised."))


class ShareRoomRow(serializers.Serializer[Any]):
    """A department's share on its tightest day."""

    department = serializers.CharField(source="department.code")
    gpus = serializers.IntegerField()
    promised = serializers.IntegerField()
    room = serializers.IntegerField()
    on = serializers.DateField()


class InUseOut(serializers.Serializer[Any]):
    """The pool on its last metered day, mean GPUs."""

    day = serializers.DateField()
    allocated = serializers.DecimalField(max_digits=20, decimal_places=4)
    free = serializers.DecimalField(max_digits=20, decimal_places=4)
    out = serializers.DecimalField(max_digits=20, decimal_places=4)


class RoomOut(serializers.Serializer[Any]):
    """What a pool could still guarantee."""

    pool = serializers.CharField()
    policy = serializers.ChoiceField(choices=rules.POLICIES)
    factor = serializers.DecimalField(max_digits=6, decimal_places=3)
    bound_by_shares = serializers.BooleanField()
    tightest = StretchRow()
    stretches = StretchRow(many=True)
    shares = ShareRoomRow(many=True, help_text=_("Of the departments that you see."))
    in_use = InUseOut(allow_null=True)


class RoomQuery(Sparse):
    """How far ahead."""

    days = serializers.IntegerField(
        required=False, min_value=1, max_value=731, help_text=_("From today on; 90 where nothing is said.")
    )


class RoomDoor(OneDoor):
    """The room of a pool."""

    name = "api-pool-room"
    title = _("Room of a pool")
    says = _(
        "What is healthy, guaranteed and free on each of the coming days, and the tightest of them; without anybody's names."
    )
    query, out = RoomQuery, RoomOut

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees quotas of something."""
        pool_seen(where["pool"], actor)

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """As the page has it."""
        pool = pool_seen(where["pool"], actor)
        ahead = outlook.outlook(pool, day_of_today(), days=asked.get("days", outlook.AHEAD_DAYS))
        sees_all = sees_names(actor, pool)
        seen = set() if sees_all or not ahead.shares else set(held_departments(actor, "quota.view"))
        return {
            "pool": pool.code,
            "policy": ahead.kind,
            "factor": ahead.factor,
            "bound_by_shares": ahead.is_bound_by_shares,
            "tightest": ahead.tightest,
            "stretches": ahead.stretches,
            "shares": [one for one in ahead.shares if sees_all or one.department.pk in seen],
            "in_use": outlook.in_use(pool),
        }


class OnQuery(Paged):
    """A list as of a day."""

    pool = text(_("The code of a pool."))
    on = serializers.DateField(required=False, help_text=_("The day; today where nothing is said."))


class OfferFields(serializers.Serializer[Any]):
    """What an offering says."""

    qos = serializers.CharField(max_length=128, help_text=_("The name that the scheduler has for the level."))
    name_zh = serializers.CharField(max_length=200, required=False, allow_blank=True)
    name_en = serializers.CharField(max_length=200, required=False, allow_blank=True)
    service_level = serializers.DecimalField(
        max_digits=6,
        decimal_places=3,
        min_value=0,
        max_value=100,
        required=False,
        allow_null=True,
        help_text=_("Percent of the month."),
    )
    min_gpus = serializers.IntegerField(min_value=1, max_value=MOST, required=False)
    step_gpus = serializers.IntegerField(min_value=1, max_value=MOST, required=False)
    max_gpus = serializers.IntegerField(min_value=1, max_value=MOST, required=False, allow_null=True)
    max_days = serializers.IntegerField(min_value=1, max_value=MOST, required=False, allow_null=True)
    max_wall_s = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        allow_null=True,
        help_text=_("The longest a job may run, in seconds."),
    )
    min_run_s = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        allow_null=True,
        help_text=_("How long a job runs before it may be displaced, in seconds."),
    )


class OfferingRow(OfferFields):
    """An offering."""

    code = serializers.CharField()
    pool = serializers.CharField(source="pool.code")
    level = serializers.ChoiceField(choices=rules.LEVELS)
    name = serializers.CharField()
    departments = serializers.ListField(
        source="shown_bound",
        child=serializers.CharField(),
        help_text=_("To whom it is open, for who manages the pool; none for all."),
    )
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True)


class OfferingIn(OfferFields):
    """An offering to begin."""

    code = serializers.CharField(max_length=64)
    pool = serializers.CharField(max_length=64)
    level = serializers.ChoiceField(choices=rules.LEVELS, required=False)
    departments = serializers.ListField(
        child=serializers.CharField(max_length=64),
        required=False,
        max_length=200,
        help_text=_("To whom it is open; none for all."),
    )
    from_on = serializers.DateField(required=False, allow_null=True)
    to_on = serializers.DateField(required=False, allow_null=True)


class OfferingChangeIn(OfferFields):
    """Other values; what is left out stays."""

    on = serializers.DateField()
    qos = serializers.CharField(max_length=128, required=False)
    code = serializers.CharField(
        max_length=64,
        required=False,
        help_text=_("Of what follows; else a number behind the old one."),
    )
    departments = serializers.ListField(child=serializers.CharField(max_length=64), required=False, max_length=200)
    to_on = serializers.DateField(required=False, allow_null=True)


class EndOn(serializers.Serializer[Any]):
    """The end of something."""

    on = serializers.DateField(help_text=_("The first day without it."))


def _own(offering: Offering) -> Any:
    """An offering as its keeper reads it back."""
    shown: Any = offering
    shown.shown_bound = sorted(one.code for one in offering.departments.all())
    return shown


class OfferingsDoor(Managing, ListDoor):
    """What is offered."""

    name = "api-offerings"
    title = _("Offerings")
    says = _("What your projects may ask for on a day: pool, level, limits. A new one wants the right on the pool.")
    query, out = OnQuery, OfferingRow
    takes, result, success, verb, right = OfferingIn, OfferingRow, 201, "begin", "offering.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever may ask or sees quotas."""
        see_offerings(actor)

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """Of a day, by pool and level."""
        found = [
            one
            for one in reads.offerings_seen(actor, day_asked(asked))
            if asked.get("pool", one.pool.code) == one.pool.code
        ]
        for one in found:
            one.shown_bound = one.bound_to if one.is_kept else []
        return paging.of_list(found, lambda one: [one.pool.code, rules.LEVELS.index(one.level)], after, limit)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Any:
        """By the topic's action."""
        departments = tuple(given.pop("departments", ()))
        return _own(pool_terms.offer(Offer(**given, departments=departments), actor=actor))


class OneOffering(Managing):
    """A write to an offering that one keeps or may ask for."""

    result, right = OfferingRow, "offering.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Raise NotFound unless one keeps its pool, or sees it today."""
        see_offerings(actor)
        found = Offering.objects.select_related("pool").filter(code=where["offering"]).first()
        if found is not None and actor.may("offering.change", found.pool):
            return
        if found is None or found.code not in {one.code for one in reads.offerings_seen(actor, day_of_today())}:
            raise NotFound(NOTHING)


class OfferingChangeDoor(OneOffering):
    """Change an offering."""

    name = "api-offering-change"
    title = _("Change an offering")
    says = _("It ends on the day, and the next one begins with the values given.")
    takes = OfferingChangeIn

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Any:
        """By the topic's action."""
        on = given.pop("on")
        if "departments" in given:
            given["departments"] = tuple(given["departments"])
        return _own(pool_terms.change_offering(where["offering"], on=on, actor=actor, **given))


class OfferingEndDoor(OneOffering):
    """End an offering."""

    name = "api-offering-end"
    title = _("End an offering")
    says = _("It is offered no longer from the day on. Quotas that came from it stand as they are.")
    takes = EndOn

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Any:
        """By the topic's action; answers it as it was."""
        before = pool_terms.offering_of(where["offering"])
        row = _own(before)
        pool_terms.end_offering(where["offering"], on=given["on"], actor=actor)
        row.to_on = given["on"]
        return row


def day_asked(asked: dict[str, Any]) -> date:
    """The day of a list; today where nothing is said. Raises BadData for one that quotas do not know."""
    found: date = asked.get("on") or day_of_today()
    actions.want_days(found, None)
    return found
