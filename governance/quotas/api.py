"""Doors of quotas: what is held, its history and use, and what may be done to it, by the actions of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from governance.access.actor import Actor
from governance.doors import etags, paging
from governance.doors.door import Door, ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged, Sparse, text
from governance.errors import N_, BadData, NotAllowed
from governance.tenants.models import day_of_today

from . import actions, listing, reads, rules, using
from .actions import Terms
from .models import Quota
from .moves import MOVES
from .reach import holds, see_quotas

MOST = 2**31 - 1
MOST_HOURS = 2**53 - 1
LONGEST_DAYS = 366
NOT_YOURS = N_(
    "This needs the right “%(capability)s”, which your roles do not include. Ask the security administrator for it."
)
OTHER = N_("The quota has changed since you read it. Read it again and decide again.")


class Managing(WriteDoor):
    """A write for whoever holds its right on anything; on what exactly, the action asks."""

    right: str = "quota.award"

    def post(self, request: Request, **where: Any) -> Response:
        """403 before the body is looked at."""
        if not holds(self.actor, self.right):
            raise NotAllowed(NOT_YOURS, capability=self.right)
        return super().post(request, **where)


class QuotaRow(serializers.Serializer[Any]):
    """A line of quota."""

    number = serializers.CharField()
    project = serializers.CharField(source="project.code")
    pool = serializers.CharField(source="pool.code")
    model = serializers.CharField(
        source="model.code", default=None, allow_null=True, help_text=_("Null for any model of the pool.")
    )
    level = serializers.ChoiceField(choices=rules.LEVELS)
    state = serializers.SerializerMethodField(help_text=_("Today: scheduled, active, suspended, grace or ended."))
    guaranteed_gpus = serializers.IntegerField()
    ceiling_gpus = serializers.IntegerField()
    gpu_hours = serializers.IntegerField(allow_null=True, help_text=_("Of a period; null for no limit."))
    hours_period = serializers.ChoiceField(choices=rules.PERIODS)
    from_on = serializers.DateField()
    to_on = serializers.DateField(allow_null=True, help_text=_("The first day without it; null for no end."))
    grace_days = serializers.IntegerField()
    ended_as = serializers.CharField(help_text=_("Empty while it stands, and after it simply ran out."))
    end_reason = serializers.CharField()
    ask = serializers.CharField(help_text=_("The number of the ask it came from; empty for none."))
    override_reason = serializers.CharField()
    replaces = serializers.CharField(source="replaces.number", default=None, allow_null=True)

    def get_state(self, line: Quota) -> str:
        """By the days and how it was ended."""
        return line.state_on(day_of_today())


class QuotasQuery(Paged):
    """Filters of quotas."""

    project = text(_("The code of a project."))
    pool = text(_("The code of a pool."))
    level = serializers.ChoiceField(choices=rules.LEVELS, required=False, help_text=_("A level."))
    state = serializers.ChoiceField(
        choices=(listing.STANDING, *rules.STATES, "all"),
        required=False,
        help_text=_("The state of today; those that have not ended where nothing is said."),
    )


class Amounts(serializers.Serializer[Any]):
    """What is to be held."""

    guaranteed_gpus = serializers.IntegerField(min_value=0, max_value=MOST)
    ceiling_gpus = serializers.IntegerField(min_value=0, max_value=MOST)
    gpu_hours = serializers.IntegerField(min_value=0, max_value=MOST_HOURS, required=False, allow_null=True)
    hours_period = serializers.ChoiceField(choices=rules.PERIODS, required=False)
    to_on = serializers.DateField(required=False, allow_null=True)
    note = serializers.CharField(max_length=300, required=False, allow_blank=True)
    override = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text=_("The reason to go beyond the room there is.")
    )


class AwardIn(Amounts):
    """A quota to award."""

    project = serializers.CharField(max_length=64)
    pool = serializers.CharField(max_length=64)
    model = serializers.CharField(max_length=64, required=False, allow_blank=True)
    level = serializers.ChoiceField(choices=rules.LEVELS, required=False)
    from_on = serializers.DateField()


class QuotasDoor(Managing, ListDoor):
    """Quotas."""

    name = "api-quotas"
    title = _("Quotas")
    says = _(
        "What projects hold, as far as your roles show it. A new one wants the right to award on the pool; it is refused"
        " where the project holds one already on these days, or where the pool has no room."
    )
    query, out, order = QuotasQuery, QuotaRow, listing.ORDER
    takes, result, success, verb = AwardIn, QuotaRow, 201, "award"

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees quotas of something."""
        see_quotas(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Quota]:
        """By project, pool, level and state."""
        return listing.lines(actor, day_of_today(), asked).select_related("replaces")

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Quota:
        """By the action of the page."""
        note, override = given.pop("note", ""), given.pop("override", "")
        return actions.award(Terms(**given), actor=actor, note=note, override=override)


class OfQuota(Door):
    """What is there for whoever sees the quota."""

    def see(self, actor: Actor, **where: Any) -> None:
        """Raise NotFound where it is not."""
        reads.quota_of(where["quota"], actor)


def etag_of(line: Quota) -> str:
    """Changes with everything that is shown of the line, the days of its suspensions included."""
    row = {
        **QuotaRow(line).data,
        "pauses": [(one.from_on, one.to_on, one.reason) for one in line.pauses.order_by("pk")],
    }
    return etags.etag(repr(sorted(row.items())))


class QuotaDoor(OfQuota, OneDoor):
    """One quota."""

    name = "api-quota"
    title = _("One quota")
    says = _("A line of quota. Its ETag is what the writes to it compare with If-Match.")
    out = QuotaRow

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> Quota:
        """As it stands."""
        return reads.quota_of(where["quota"], actor)

    def get(self, request: Request, **where: Any) -> Response:
        """With the digest that writes compare."""
        response = super().get(request, **where)
        response["ETag"] = etag_of(reads.quota_of(where["quota"], self.actor))
        return response


class DeedRow(serializers.Serializer[Any]):
    """Something that was done."""

    at = serializers.DateTimeField()
    who = serializers.CharField()
    is_machine = serializers.BooleanField()
    action = serializers.CharField()
    number = serializers.CharField(help_text=_("Of the line it was done to."))
    before = serializers.JSONField(help_text=_("Amounts and days; empty where nothing was held."))
    after = serializers.JSONField()
    why = serializers.CharField()
    ask = serializers.CharField()


class HistoryDoor(OfQuota, ListDoor):
    """How it came to be so."""

    name = "api-quota-history"
    title = _("History of a quota")
    says = _("All that was done to the lines of the same project, pool, model and level, the first deed first.")
    query, out = Paged, DeedRow

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """From the trail."""
        deeds = listing.deeds(listing.place(reads.quota_of(where["quota"], actor)))[::-1]
        return paging.of_list(deeds, lambda deed: [deed.id], after, limit)


class UseDay(serializers.Serializer[Any]):
    """A day with use, in GPUs, the mean of the day."""

    day = serializers.DateField()
    used = serializers.DecimalField(max_digits=20, decimal_places=4)
    active = serializers.DecimalField(max_digits=20, decimal_places=4)
    idle = serializers.DecimalField(max_digits=20, decimal_places=4)
    unknown = serializers.DecimalField(
        max_digits=20, decimal_places=4, help_text=_("Of the GPUs in use, those that telemetry says nothing of.")
    )


class UseOut(serializers.Serializer[Any]):
    """Use against a line."""

    number = serializers.CharField()
    from_on = serializers.DateField()
    to_on = serializers.DateField(help_text=_("The day after the last one."))
    metered_on = serializers.DateField(allow_null=True, help_text=_("The last metered day; null before any."))
    p95 = serializers.DecimalField(max_digits=20, decimal_places=4, allow_null=True)
    peak = serializers.DecimalField(max_digits=20, decimal_places=4, allow_null=True)
    days = UseDay(many=True)


class UseQuery(Sparse):
    """Which days."""

    from_on = serializers.DateField(required=False, help_text=_("The first day; 90 days back where nothing is said."))
    to_on = serializers.DateField(
        required=False, help_text=_("The day after the last one; tomorrow where nothing is said.")
    )


class UseDoor(OfQuota, OneDoor):
    """Use against a quota."""

    name = "api-quota-use"
    title = _("Use of a quota")
    says = _(
        "Use by day on the line's own days, with the 95th percentile by nearest rank and the peak; days without use are not there."
    )
    query, out = UseQuery, UseOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """From the day facts."""
        line = reads.quota_of(where["quota"], actor)
        to_on = asked.get("to_on") or day_of_today() + timedelta(days=1)
        actions.want_days(None, to_on)
        from_on = asked.get("from_on") or to_on - timedelta(days=90)
        actions.want_days(from_on, to_on)
        if (to_on - from_on).days > LONGEST_DAYS:
            raise BadData(N_("At most %(days)s days can be listed at once."), days=LONGEST_DAYS)
        found = using.by_day([line.pk], from_on, to_on - timedelta(days=1)).get(line.pk, [])
        days = [one for one in found if line.days.has(one.day)]
        return {"number": line.number, "from_on": from_on, "to_on": to_on, **_figures(line, days)}


def _figures(line: Quota, days: Sequence[using.DayOfUse]) -> dict[str, Any]:
    used = [one.used for one in days]
    return {
        "metered_on": using.last_metered_days().get(line.pool.cluster_id or 0),
        "p95": rules.nearest_rank(used, 95),
        "peak": max(used, default=None),
        "days": days,
    }


class ChangeIn(Amounts):
    """Other amounts; what is left out stays."""

    on = serializers.DateField(help_text=_("From this day on."))
    guaranteed_gpus = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    ceiling_gpus = serializers.IntegerField(min_value=0, max_value=MOST, required=False)


class EndIn(serializers.Serializer[Any]):
    """The end of a line."""

    on = serializers.DateField(help_text=_("The first day without it."))
    reason = serializers.CharField(max_length=300)


class SuspendIn(serializers.Serializer[Any]):
    """Days on which nothing starts."""

    from_on = serializers.DateField()
    to_on = serializers.DateField(required=False, allow_null=True)
    reason = serializers.CharField(max_length=300)


class ResumeIn(serializers.Serializer[Any]):
    """The end of a suspension."""

    on = serializers.DateField()


class MoveDoor(OfQuota, Managing):
    """Something that may be done to a line, by the move of the page with the same verb."""

    result, takes_etag = QuotaRow, True
    move = ""

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Quota:
        """To the line that was read, where If-Match says so. Answers the line as it stands afterwards; of a change, the new one."""
        line = reads.quota_of(where["quota"], actor)
        etags.want(self.request, lambda: etag_of(line), OTHER)
        made = MOVES[self.move].act(line.number, {**self.defaults(), **given}, actor)
        return reads.quota_of(made.number if isinstance(made, Quota) else line.number, actor)

    def defaults(self) -> dict[str, date | str | None]:
        """What the action wants to be told although the caller may leave it out."""
        return {}


class ChangeDoor(MoveDoor):
    """Change a line."""

    name = "api-quota-change"
    title = _("Change a quota")
    says = _(
        "Other amounts or another end from a day on: a new line begins and this one ends as replaced. The answer is the new one."
    )
    takes, move = ChangeIn, "change"


class ReturnDoor(MoveDoor):
    """Give a line back."""

    name = "api-quota-return"
    title = _("Return a quota")
    says = _("The project gives it back; for leads and heads of departments. What runs goes on.")
    takes, move, right = EndIn, "return", "quota.return"


class RevokeDoor(MoveDoor):
    """Take a line away."""

    name = "api-quota-revoke"
    title = _("Revoke a quota")
    says = _("It ends by the decision of who manages the pool. What runs goes on.")
    takes, move = EndIn, "revoke"


class SuspendDoor(MoveDoor):
    """Suspend a line."""

    name = "api-quota-suspend"
    title = _("Suspend a quota")
    says = _("It stays held, and nothing may start on it on these days. What runs goes on.")
    takes, move = SuspendIn, "suspend"

    def defaults(self) -> dict[str, date | str | None]:
        """Until it is resumed."""
        return {"to_on": None}


class ResumeDoor(MoveDoor):
    """Resume a line."""

    name = "api-quota-resume"
    title = _("Resume a quota")
    says = _("Jobs may start on it again from a day on.")
    takes, move = ResumeIn, "resume"
