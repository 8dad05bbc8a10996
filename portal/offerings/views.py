"""The page of the service catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from billing.prices.reads import PriceHistory
from billing.prices.rules import ANY, GPU_HOUR, Tariff
from governance.access.actor import Actor
from governance.catalogue.reads import installation
from governance.quotas import reads, wording
from governance.quotas.models import Offering
from governance.quotas.reach import see_offerings
from governance.quotas.reads import QueueTerms
from governance.tenants.models import day_of_today
from portal.context import standing_of


@dataclass(frozen=True)
class Shown:
    """An offering with its words and prices by model; `prices` is None for who may not see them, None in it is no price."""

    offering: Offering
    level: Any
    sentences: list[str]
    prices: list[tuple[str, Decimal | None]] | None
    ask_url: str

    @property
    def service_level(self) -> str:
        """The percentage without zeros at its end, "" for none."""
        level = self.offering.service_level
        return "" if level is None else f"{level.normalize():f}%"


@login_required
@require_GET
def offerings(request: HttpRequest) -> HttpResponse:
    """What the reader's projects may ask for today, by pool; those who keep offerings and the whole site see all."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    see_offerings(actor)
    day = day_of_today()
    tariff = PriceHistory().on(day) if standing_of(request, actor).holds("money.view") else None
    found = reads.offerings_seen(actor, day)
    terms = reads.queue_terms_of([one.pool for one in found], day, offerings=reads.offerings_of(day))
    groups = [
        (pool, [_shown(one, terms[pool.pk], tariff) for one in of])
        for pool, of in groupby(found, key=lambda one: one.pool)
    ]
    context = {
        "crumbs": [
            {"label": _("Use compute")},
            {"label": _("Quotas"), "url": reverse("quotas")},
            {"label": _("What is offered")},
        ],
        "groups": groups,
        "day": day,
        "has_prices": tariff is not None,
        "currency": installation().currency,
    }
    return render(request, "offerings/offerings.html", context)


def _shown(offering: Offering, terms: list[QueueTerms], tariff: Tariff | None) -> Shown:
    own = next(one for one in terms if one.level == offering.level)
    return Shown(
        offering,
        wording.LEVELS[offering.level],
        wording.sentences(own, terms),
        None if tariff is None else _prices(offering, tariff),
        _ask_url(offering),
    )


def _prices(offering: Offering, tariff: Tariff) -> list[tuple[str, Decimal | None]]:
    """By model of the pool, once where all cost the same."""
    models = sorted(offering.pool.accelerators.all(), key=lambda one: one.code)
    found = [
        (one.name or one.code, tariff.unit_price(GPU_HOUR, offering.pool.code, one.code, offering.qos, ANY))
        for one in models
    ]
    return [("", found[0][1])] if len({price for _name, price in found}) == 1 else found


def _ask_url(offering: Offering) -> str:
    """Where it is asked for, "" while there is no such page."""
    try:
        return f"{reverse('ask-new')}?offering={offering.code}"
    except NoReverseMatch:
        return ""
