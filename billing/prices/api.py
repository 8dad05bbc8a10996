"""The door of prices."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.access.rules import CAPABILITIES, Role
from governance.doors.door import NOTHING, ListDoor
from governance.doors.query import Paged, narrowed, text
from governance.errors import NotFound
from governance.tenants.models import held_today

from .models import Price


class PriceRow(serializers.Serializer[Any]):
    """A price on some days; a measure that it does not price is null."""

    id = serializers.IntegerField()
    pool = serializers.CharField()
    accelerator = serializers.CharField()
    qos = serializers.CharField()
    band = serializers.CharField()
    gpu_hour = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
    cpu_core_hour = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
    memory_gib_hour = serializers.DecimalField(max_digits=18, decimal_places=6, allow_null=True)
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True, help_text=_("The first day on which it no longer holds."))


class PricesQuery(Paged):
    """Filters of prices."""

    pool = text(_("The code of a pool, or “*”."))
    accelerator = text(_("The code of a GPU model, or “*”."))
    qos = text(_("A QoS, or “*”."))
    on = serializers.DateField(required=False, help_text=_("Only what holds on this day."))


class PricesDoor(ListDoor):
    """Dated prices."""

    name = "api-prices"
    title = _("Prices")
    says = _("Prices by pool, model and QoS and the days on which they hold; “*” stands for any, and 0 is free.")
    query, out, order = PricesQuery, PriceRow, ("id",)

    def see(self, actor: Actor, **where: Any) -> None:
        """Whoever sees the money of something, and who writes the prices."""
        sees = any("money.view" in CAPABILITIES[Role(held.role)] for held in held_today(actor))
        if not (sees or actor.may("organisation.change")):
            raise NotFound(NOTHING)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Price]:
        """By pattern and day."""
        rows = Price.objects.all()
        if day := asked.get("on"):
            rows = rows.filter(Q(from_on__isnull=True) | Q(from_on__lte=day), Q(to_on__isnull=True) | Q(to_on__gt=day))
        return narrowed(rows, asked, {name: name for name in ("pool", "accelerator", "qos")})
