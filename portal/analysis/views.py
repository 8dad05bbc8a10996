"""The usage page: hours by day, outcomes, waits, the week by hours; each with its table and its definition."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from billing.ledger.pages import SPECIAL, WORDS
from governance.access.actor import Actor
from governance.catalogue.reads import installation
from governance.errors import N_, BadData
from governance.tenants.models import Project
from governance.usage.tables import csv_file
from governance.usage.views import OUTCOMES, UNKNOWN_OUTCOME, days_of
from portal import formats
from portal.context import standing_of

from . import reads, rules

BY = ("pool", "project", "outcome", "model")
FILTERS = ("department", "project", "pool", "model", "outcome", "cluster")
WINDOW_DAYS = 31
TINTS = 5
WAIT_TICKS = [1, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400]  # seconds; shorter waits stand on the first
WEEKDAYS: tuple[Promise, ...] = (
    gettext_lazy("Monday"),
    gettext_lazy("Tuesday"),
    gettext_lazy("Wednesday"),
    gettext_lazy("Thursday"),
    gettext_lazy("Friday"),
    gettext_lazy("Saturday"),
    gettext_lazy("Sunday"),
)
SIZE_WORDS: dict[str, Promise] = {
    "0": gettext_lazy("no GPU"),
    "1": gettext_lazy("1 GPU"),
    "?": gettext_lazy("unknown number"),
}


@login_required
@require_GET
def usage(request: HttpRequest) -> HttpResponse:
    """Use of a window of days within what the reader may see, as charts with their tables."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    by = request.GET.get("by") or "pool"
    if by not in BY:
        raise BadData(N_("“%(by)s” is nothing to add up by."), by=by)
    zone = ZoneInfo(installation().time_zone)
    first_on, last_on = _window(request, zone)
    filters = {name: request.GET[name] for name in FILTERS if name in request.GET}
    query = reads.query_of(first_on, last_on, by, filters, actor)
    if request.GET.get("format") == "csv":
        return _csv(reads.use(query, actor=actor, series=100_000), by)
    context: dict[str, Any] = {
        "crumbs": [{"label": _("Use compute")}, {"label": _("Usage analysis")}],
        "days": {"from": first_on.isoformat(), "to": last_on.isoformat()},
        "filters": filters,
        "by": by,
        "chips": [_chip(name, request) for name in filters],
        "switch": [(WORDS[name], _url(request, by=name), name == by) for name in BY],
        "csv_url": _url(request, format="csv"),
        "standing": standing_of(request, actor),
    }
    found = reads.use(query, actor=actor)
    if found.outcomes:
        sample = reads.sample(query, sum(one.runs_started for one in found.days), zone, actor=actor)
        pools = sample.pool_names
        names = _names(by, found.keys, pools)
        context |= (
            _hours(found, names, by) | _waits(sample, pools) | _week(sample, zone) | {"definitions": _definitions()}
        )
    return render(request, "analysis/usage.html", context)


def _hours(found: reads.Use, names: dict[str, str], by: str) -> dict[str, Any]:
    """Use by day and series for the chart and its table, and outcomes with their shares."""
    keys = found.keys
    at = {(one.day, one.key): one.gpu_hours for one in found.days}
    span = [found.first_on + timedelta(days=n) for n in range((found.last_on - found.first_on).days + 1)]
    rows = [(day, [at.get((day, key), Decimal(0)) for key in keys]) for day in span]
    busiest = max(rows, key=lambda row: sum(row[1]))
    whole = found.milligpu_seconds
    return {
        "found": found,
        "series": [names[key] for key in keys],
        "rows": [(day, cells, sum(cells, Decimal(0))) for day, cells in rows],
        "busiest": (busiest[0], sum(busiest[1], Decimal(0))),
        "by_word": WORDS[by],
        "outcomes": [_outcome(one, whole) for one in found.outcomes],
        "days_chart": {
            "x": [day.isoformat() for day in span],
            "unit": _("GPU-hours"),
            "series": [
                {"name": names[key], "y": [round(float(cells[i]), 2) for _day, cells in rows]}
                for i, key in enumerate(keys)
            ],
        },
    }


def _outcome(one: reads.Outcome, whole: int) -> dict[str, Any]:
    share = Decimal(one.milligpu_seconds) / whole if whole else None
    return {
        "one": one,
        "tone": OUTCOMES.get(one.code, UNKNOWN_OUTCOME),
        "share": share,
        "bar": one.milligpu_seconds * 100 // whole if whole else 0,
    }


def _waits(sample: reads.Sample, pools: dict[str, str]) -> dict[str, Any]:
    found = rules.waits(sample.runs)
    longest = max(found, key=lambda one: one.p90, default=None)

    def named(one: rules.Wait) -> str:
        size = SIZE_WORDS.get(one.size) or _("%(size)s GPUs") % {"size": one.size}
        return f"{_pool(one.pool, pools)} · {size}"

    rows = [(one, _pool(one.pool, pools), SIZE_WORDS.get(one.size, one.size)) for one in found]
    return {
        "sample": sample,
        "waits": rows,
        "longest": (named(longest), longest) if longest else None,
        "waits_chart": {
            "y": [named(one) for one in found],
            "p50": [max(one.p50, 1) for one in found],
            "p90": [max(one.p90, 1) for one in found],
            "text50": [formats.dur(one.p50) for one in found],
            "text90": [formats.dur(one.p90) for one in found],
            "tickvals": WAIT_TICKS,
            "ticktext": [f"≤{formats.dur(1)}", *(formats.dur(value) for value in WAIT_TICKS[1:])],
        },
    }


def _week(sample: reads.Sample, zone: ZoneInfo) -> dict[str, Any]:
    """Starts by weekday and hour: counts scaled to all runs, tints against the fullest hour."""
    counts = rules.week(sample.runs, zone)
    most = max(max(row) for row in counts)
    rows = [
        (WEEKDAYS[n], [(count * sample.every, -(-count * TINTS // most) if most else 0) for count in row])
        for n, row in enumerate(counts)
    ]
    fullest = max(
        ((count, n, hour) for n, row in enumerate(counts) for hour, count in enumerate(row)), default=(0, 0, 0)
    )
    return {"week": rows, "hours": range(24), "fullest": (WEEKDAYS[fullest[1]], fullest[2]) if fullest[0] else None}


def _names(by: str, keys: list[str], pools: dict[str, str]) -> dict[str, str]:
    """What each series is called."""
    if by == "outcome":
        named = {key: str(OUTCOMES.get(key, UNKNOWN_OUTCOME).word) for key in keys}
    elif by == "project":
        named = {one.code: one.name for one in Project.objects.filter(code__in=keys)}
    else:
        named = pools if by == "pool" else {}
    found = {key: str(SPECIAL.get((by, key)) or named.get(key, key)) for key in keys}
    return found | ({"": _("All others")} if "" in keys else {})


def _pool(code: str, names: dict[str, str]) -> str:
    return str(SPECIAL.get(("pool", code)) or " / ".join(names.get(part, part) for part in code.split(" / ")))


def _definitions() -> dict[str, str]:
    """Where each figure is defined."""
    found = {}
    for name in ("gpu_hours", "runs_ended", "wait_capacity", "runs_started"):
        try:
            found[name] = reverse("reference-metric", args=[name])
        except NoReverseMatch:
            continue
    return found


def _window(request: HttpRequest, zone: ZoneInfo) -> tuple[date, date]:
    first_on, last_on = days_of(request, zone)
    if request.GET.get("from") or request.GET.get("to"):
        return first_on, last_on
    return last_on - timedelta(days=WINDOW_DAYS - 1), last_on


def _url(request: HttpRequest, **changes: str) -> str:
    kept = {name: request.GET[name] for name in ("from", "to", "by", *FILTERS) if name in request.GET}
    return f"?{urlencode({**kept, **changes})}"


def _chip(name: str, request: HttpRequest) -> dict[str, Any]:
    kept = {key: request.GET[key] for key in ("from", "to", "by", *FILTERS) if key in request.GET and key != name}
    value = request.GET[name]
    shown = OUTCOMES.get(value, UNKNOWN_OUTCOME).word if name == "outcome" else SPECIAL.get((name, value)) or value
    return {"word": WORDS[name], "name": shown, "url": f"?{urlencode(kept)}"}


def _csv(found: reads.Use, by: str) -> HttpResponse:
    rows = [(one.day, one.key, one.gpu_hours.quantize(Decimal("0.0001")), one.runs_started) for one in found.days]
    return csv_file(f"usage-{found.first_on}-{found.last_on}-{by}", ("day", by, "gpu_hours", "runs_started"), rows)
