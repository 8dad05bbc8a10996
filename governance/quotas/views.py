"""Pages of quotas: what is held, one quota with its history and use, one pool with its room."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.doors import paging
from governance.errors import N_, BadData
from governance.tenants.models import Project, day_of_today, held_departments

from . import listing, outlook, reads, rules, shown, using, wording
from .enforcement.reads import standing_for
from .models import Quota
from .moves import moves_of
from .pool_kinds import terms_set
from .reach import holds, pool_seen, see_quotas, sees_names

LIST = "quotas"
LISTED = 50
CHART_DAYS = 90
LENT_DAYS = 7
STATES = (listing.STANDING, *rules.STATES, "all")
STATE_WORDS: dict[str, Any] = {listing.STANDING: gettext_lazy("Not ended"), "all": gettext_lazy("All")}
POOL_TABS: dict[str, Any] = {
    "room": gettext_lazy("Room"),
    "held": gettext_lazy("Who holds what"),
    "rules": gettext_lazy("Who goes first"),
}
DEEDS: dict[str, Any] = {
    "quota.award": gettext_lazy("Awarded"),
    "quota.end": gettext_lazy("Ended"),
    "quota.suspend": gettext_lazy("Suspended"),
    "quota.resume": gettext_lazy("Resumed"),
}


@login_required
@require_GET
def quotas(request: HttpRequest) -> HttpResponse:
    """What the projects that one sees hold, by project, with how it is used."""
    actor, day = reader(request)
    asked = {name: request.GET[name][:128] for name in listing.FILTERS if request.GET.get(name)}
    turn = paging.turned(request.GET.get("cursor", ""), LIST)
    page = paging.of_turn(listing.lines(actor, day, asked), listing.ORDER, turn, LISTED)
    rows = listing.rows_of(page.rows, day)
    is_whole = page.before is None and page.after is None
    context = {
        "crumbs": crumbs(),
        "day": day,
        "groups": [(project, list(of)) for project, of in groupby(rows, key=lambda row: row.line.project)],
        "figures": shown.figures(rows) if is_whole and rows else None,
        "metered_on": max((row.use.day for row in rows if row.use.day), default=None),
        "unmetered": sorted({row.line.pool.name for row in rows if row.use.day is None}),
        "asked": asked,
        "states": [(code, _state_word(code), asked.get("state", listing.STANDING) == code) for code in STATES],
        "levels": [(code, word, asked.get("level") == code) for code, word in wording.LEVELS.items()],
        "pools": [(pool, asked.get("pool") == pool.code) for pool in _pools(actor)],
        **paging.links(page, LIST, asked),
    }
    return render(request, "quotas/quotas.html", context)


def _state_word(code: str) -> Any:
    return STATE_WORDS.get(code) or wording.STATES[code].word


def _pools(actor: Actor) -> list[Pool]:
    """The pools of the lines one sees."""
    return list(Pool.objects.filter(pk__in=Quota.objects.visible_to(actor).values("pool")).order_by("code"))


@login_required
@require_GET
def quota(request: HttpRequest, number: str) -> HttpResponse:
    """One quota: what it holds, how it is used by day, every line before and after it, and what may be done."""
    actor, day = reader(request)
    return quota_page(request, reads.quota_of(number, actor), actor, day)


def quota_page(request: HttpRequest, line: Quota, actor: Actor, day: date) -> HttpResponse:
    """The page of a line."""
    lines = listing.place(line)
    line = next(one for one in lines if one.pk == line.pk)  # this one knows its pauses
    (row,) = listing.rows_of([line], day, days=CHART_DAYS)
    context: dict[str, Any] = {
        "crumbs": [*crumbs(linked=True), {"label": line.number}],
        "row": row,
        "line": line,
        "standing": standing_for(actor, line, day),
        "day": day,
        "pauses": [pause for pause in line.pauses.all() if pause.to_on is None or pause.to_on > day],
        "lines": [
            (one, wording.STATES[one.state_on(day)], wording.ENDS.get(_ended_as(one, day), "")) for one in lines[::-1]
        ],
        "deeds": [(deed, DEEDS.get(deed.action, deed.action), _ask_url(deed.ask)) for deed in listing.deeds(lines)],
        "moves": moves_of(line, row.state, actor),
        "ask_url": _ask_url(line.ask),
        "enforcement_url": _enforcement_url(line.pool, actor),
        "more_url": _more_url(line) if row.state != rules.ENDED and holds(actor, "ask.make") else "",
        "successor": next((one for one in lines if one.replaces_id == line.pk and not one.is_void), None),
    }
    if row.use.day is not None:
        first_on = row.use.day - timedelta(days=CHART_DAYS - 1)
        context["chart"] = shown.chart(shown.chart_days(lines, row.use.days, first_on, row.use.day))
    return render(request, "quotas/quota.html", context)


def _ended_as(line: Quota, day: date) -> str:
    if line.ended_as or line.state_on(day) != rules.ENDED:
        return line.ended_as
    return rules.EXPIRED


def _ask_url(number: str) -> str:
    """Where an ask is shown, "" where there is none or no such page."""
    try:
        return reverse("ask", args=[number]) if number else ""
    except NoReverseMatch:
        return ""


def _more_url(line: Quota) -> str:
    """Where more of it is asked for, "" while there is no such page."""
    try:
        return f"{reverse('ask-new')}?{urlencode({'kind': 'increase', 'quota': line.number})}"
    except NoReverseMatch:
        return ""


def _enforcement_url(of: Pool, actor: Actor) -> str:
    """Where it stands how the scheduler carries the pool's quotas, for those who see operations."""
    return reverse("enforcement", args=[of.cluster.code]) if of.cluster and actor.may("operations.view") else ""


@login_required
@require_GET
def pool(request: HttpRequest, code: str) -> HttpResponse:
    """One pool in three parts: its room on the coming days, who holds and lends what, how its queue goes."""
    actor, day = reader(request)
    found = pool_seen(code, actor)
    tab = request.GET.get("tab") or next(iter(POOL_TABS))
    if tab not in POOL_TABS:
        raise BadData(N_("“%(tab)s” is no part of this page."), tab=tab)
    parts = {"room": _room, "held": _held, "rules": _rules}
    context = {
        "crumbs": [*crumbs(linked=True), {"label": found.name}],
        "pool": found,
        "day": day,
        "tab": tab,
        "tabs": [(name, word, name == tab) for name, word in POOL_TABS.items()],
        "may_award": actor.may("quota.award", found),
        **parts[tab](request, found, actor, day),
    }
    return render(request, "quotas/pool.html", context)


def _room(request: HttpRequest, of: Pool, actor: Actor, day: date) -> dict[str, Any]:
    """How much is guaranteed, promised, in use and free, and the shares of the departments that one sees."""
    ahead = outlook.outlook(of, day)
    sees_all = sees_names(actor, of)
    seen = set() if sees_all or not ahead.shares else set(held_departments(actor, "quota.view"))
    return {
        "ahead": ahead,
        "policy": wording.policy_sentence(ahead.kind, _plain(ahead.factor), has_shares=bool(ahead.shares)),
        "policy_word": wording.POLICIES[ahead.kind],
        "in_use": outlook.in_use(of),
        "shares": [one for one in ahead.shares if sees_all or one.department.pk in seen],
        "room_chart": _room_chart(ahead),
    }


def _held(request: HttpRequest, of: Pool, actor: Actor, day: date) -> dict[str, Any]:
    """Who holds what, and who lends to whom."""
    name = f"{LIST} of {of.code}"
    turn = paging.turned(request.GET.get("cursor", ""), name)
    page = paging.of_turn(listing.lines(actor, day, {"pool": of.code}), listing.ORDER, turn, LISTED)
    return {
        "rows": listing.rows_of(page.rows, day),
        "lending": _lending(of, actor, sees_all=sees_names(actor, of)),
        "lent_days": LENT_DAYS,
        **paging.links(page, name, {"tab": "held"}),
    }


def _rules(request: HttpRequest, of: Pool, actor: Actor, day: date) -> dict[str, Any]:
    """Who goes first, in plain words, and for who may change it what is set from when."""
    kinds = terms_set(of, day) if actor.may("offering.change", of) else []
    # What was read to be changed is not read again to be said.
    known = [row for kind in kinds if kind["what"] == "offering" for row, _brief in kind["rows"]]
    held = [row for row in known if row.from_on is None or row.from_on <= day] if kinds else None
    terms = reads.queue_terms_of([of], day, offerings=held)[of.pk]
    return {
        "terms": [(one, wording.LEVELS[one.level], wording.sentences(one, terms)) for one in terms],
        "kinds": kinds,
    }


def _plain(factor: Decimal) -> str:
    return f"{factor.normalize():f}"


def _room_chart(ahead: outlook.Outlook) -> dict[str, Any]:
    """What may be promised against what is, day by day."""
    limits, promised = [], []
    for one in ahead.stretches:
        assert one.to_on is not None
        days = (one.to_on - one.from_on).days
        limits += [Decimal(one.limit)] * days
        promised += [Decimal(one.promised)] * days
    top = max([Decimal(1), *limits, *promised])
    return {
        "width": len(limits),
        "limit": shown.steps(limits, top),
        "promised": f"{shown.steps(promised, top)}V100H0Z",
        "ticks": (top, top / 2, Decimal(0)),
        "first_on": ahead.stretches[0].from_on,
        "last_on": ahead.stretches[-1].to_on - timedelta(days=1),
    }


def _lending(of: Pool, actor: Actor, *, sees_all: bool) -> dict[str, Any] | None:
    """Who lent and who borrowed; what projects that one does not see come to stands in one sum. None before any metered day."""
    last_on = using.last_metered_days().get(of.cluster_id or 0)
    if last_on is None:
        return None
    sums = using.lent_and_borrowed(of, last_on - timedelta(days=LENT_DAYS - 1), last_on)
    seen = Project.objects.filter(code__in=sums) if sees_all else Project.objects.visible_to(actor, "quota.view")
    named = {one.code: one for one in seen.filter(code__in=sums)}
    nothing = rules.Lending(Decimal(0), Decimal(0))
    rows = [(named[code], one) for code, one in sums.items() if code in named and one != nothing]
    rest = [one for code, one in sums.items() if code not in named]
    others = rules.Lending(sum((r.lent for r in rest), Decimal(0)), sum((r.borrowed for r in rest), Decimal(0)))
    total = rules.Lending(
        sum((r.lent for r in sums.values()), Decimal(0)), sum((r.borrowed for r in sums.values()), Decimal(0))
    )
    rows.sort(key=lambda row: (-row[1].borrowed, -row[1].lent, row[0].code))
    return {"rows": rows, "others": others if others != nothing else None, "total": total, "last_on": last_on}


def reader(request: HttpRequest) -> tuple[Actor, date]:
    """Who asks, where quotas are theirs to see, and today."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    see_quotas(actor)
    return actor, day_of_today()


def crumbs(*, linked: bool = False) -> list[dict[str, Any]]:
    """The way to a page of quotas."""
    return [{"label": _("Use compute")}, {"label": _("Quotas"), "url": reverse("quotas") if linked else ""}]
