"""Pages of runs: the runs behind a figure, and one run down to the scheduler's own record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.access.actor import Actor
from governance.catalogue.models import NO_MODEL, UNASSIGNED_POOL, UNKNOWN_MODEL
from governance.catalogue.reads import installation
from governance.doors import paging
from governance.errors import N_, BadData
from governance.schedulers.records import Flag, Outcome
from governance.tenants.models import UNATTRIBUTED

from . import listing, reads, watermarks
from .models import Run
from .tables import Cell, csv_file

FILTERS = ("department", "project", "pool", "model", "qos", "user", "account", "outcome", "cluster")
LIST = "jobs"
LISTED = 50
LINES_OF_A_FILE = 10_000
RECENT_DAYS = 7
LONGEST_DAYS = 366


@dataclass(frozen=True)
class Tone:
    """How a state is shown: colour, icon and word."""

    tone: str
    icon: str
    word: str | Promise


OUTCOMES: dict[str, Tone] = {
    Outcome.COMPLETED: Tone("ok", "ok", gettext_lazy("Completed")),
    Outcome.RUNNING: Tone("info", "run", gettext_lazy("Running")),
    Outcome.PENDING: Tone("", "clock", gettext_lazy("Waiting")),
    Outcome.FAILED: Tone("bad", "bad", gettext_lazy("Failed")),
    Outcome.OUT_OF_MEMORY: Tone("bad", "bad", gettext_lazy("Out of memory")),
    Outcome.NODE_FAILURE: Tone("bad", "warn", gettext_lazy("Node failure")),
    Outcome.TIMEOUT: Tone("warn", "clock", gettext_lazy("Time limit reached")),
    Outcome.PREEMPTED: Tone("warn", "warn", gettext_lazy("Preempted")),
    Outcome.CANCELLED: Tone("", "ban", gettext_lazy("Cancelled")),
}
FLAGS: dict[str, Promise] = {
    Flag.ELAPSED_MISMATCH: gettext_lazy("End minus start differs from the scheduler's elapsed time."),
    Flag.FOLDED_HOUR: gettext_lazy("A local time that exists twice; the earlier one was taken."),
    Flag.TYPES_CONTRADICT: gettext_lazy("Typed GPUs add up to more than the total; the total was kept."),
    Flag.END_BEFORE_START: gettext_lazy("The end lay before the start and was moved to it."),
    Flag.START_BEFORE_SUBMIT: gettext_lazy("The start lies before the submit; the wait counts as zero."),
    Flag.END_MISSING: gettext_lazy("The state is over but no end is printed; counted to the last observation."),
}
WORDS: dict[str, Promise] = {
    "department": gettext_lazy("Department"),
    "project": gettext_lazy("Project"),
    "pool": gettext_lazy("Pool"),
    "model": gettext_lazy("GPU model"),
    "qos": gettext_lazy("QoS"),
    "user": gettext_lazy("User"),
    "account": gettext_lazy("Account"),
    "outcome": gettext_lazy("Outcome"),
    "cluster": gettext_lazy("Cluster"),
}
UNKNOWN_OUTCOME = Tone("", "warn", gettext_lazy("Unknown"))


@login_required
def jobs(request: HttpRequest) -> HttpResponse:
    """The runs that used something in some days, newest first, a page at a time, narrowed by the query string."""
    zone = ZoneInfo(installation().time_zone)
    first_on, last_on = days_of(request, zone)
    filters = {name: request.GET[name] for name in FILTERS if name in request.GET}
    turn = paging.turned(request.GET.get("cursor", ""), LIST)
    as_file = request.GET.get("format") == "csv"
    limit = LINES_OF_A_FILE if as_file else LISTED
    found = listing.runs(first_on, last_on, actor=_actor(request), limit=limit, turn=turn, **filters)
    if as_file:
        return _csv(first_on, last_on, found.rows)
    days = {"from": first_on.isoformat(), "to": last_on.isoformat()}
    context: dict[str, Any] = {
        "crumbs": [{"label": _("Jobs")}],
        "shown": [
            {"use": use, "run": use.run, "tone": _tone(use.run), "gpu_hours": _gpu_hours(use.milligpu_seconds)}
            for use in found.rows
        ],
        **paging.links(found, LIST, {**days, **filters}),
        "days": days,
        "filters": filters,
        "chips": [_chip(name, days, filters) for name in filters],
        "outcomes": [
            (code, tone.word, filters.get("outcome") == code)
            for code, tone in OUTCOMES.items()
            if code != Outcome.PENDING
        ],
        "csv_url": f"{reverse('jobs')}?{urlencode({**days, **filters, 'format': 'csv'})}",
    }
    return render(request, "usage/jobs.html", context)


def job_context(found: reads.RunDetail) -> dict[str, Any]:
    """What a run's page shows: its way through time, what it asked for and was given, where it was counted."""
    run = found.run
    return {
        "crumbs": [{"label": _("Jobs"), "url": reverse("jobs")}, {"label": found.cluster.code}, {"label": run.label}],
        "found": found,
        "run": run,
        "tone": _tone(run),
        "way": way(run),
        "wait_seconds": wait_seconds(run),
        "ran_seconds": int((run.stop_at - run.start_at).total_seconds()) if run.start_at and run.stop_at else None,
        "flags": [FLAGS.get(flag, flag) for flag in run.flags.split(",") if flag],
        "attempts": [
            {
                "run": other,
                "tone": _tone(other),
                "submit": int(other.submit_at.timestamp()),
                "here": other.pk == run.pk,
            }
            for other in found.attempts
        ],
        "days": [_counted(use, run) for use in found.days],
        "total_gpu_hours": _gpu_hours(sum(use.milligpu_seconds for use in found.days)),
    }


def _counted(use: reads.DayUse, run: Run) -> dict[str, Any]:
    """A day fact the run is part of, in words, with the way to its journal lines ("~": whoever pays)."""
    key = {"day": use.day.isoformat(), "project": use.project, "pool": use.pool, "model": use.model, "qos": run.qos}
    lines = reverse("ledger-lines", args=["~", f"{use.day:%Y-%m}"])
    return {
        "use": use,
        "project": _("Unattributed") if use.project == UNATTRIBUTED else use.project,
        "pool": _("Unassigned") if use.pool == UNASSIGNED_POOL else use.pool,
        "model": {NO_MODEL: _("Without GPUs"), UNKNOWN_MODEL: _("Unknown GPU model")}.get(use.model, use.model),
        "gpu_hours": _gpu_hours(use.milligpu_seconds),
        "lines_url": f"{lines}?{urlencode({**key, 'user': run.user})}",
    }


def _tone(run: Run) -> Tone:
    return OUTCOMES.get(run.outcome, UNKNOWN_OUTCOME)


def _gpu_hours(milligpu_seconds: int) -> Decimal:
    return Decimal(milligpu_seconds) / 3_600_000


def way(run: Run) -> list[dict[str, Any]]:
    """Submitted, eligible, started, ended: each with its instant and whether it has come."""
    over = run.end_at is not None
    lost = run.outcome in {Outcome.FAILED, Outcome.OUT_OF_MEMORY, Outcome.NODE_FAILURE}
    steps = [
        (_("Submitted"), run.submit_at if run.submit_known else None, ""),
        (_("Eligible"), run.eligible_at, ""),
        (_("Started"), run.start_at, "" if run.start_at or not over else _("never started")),
        (_("Ended"), run.end_at, "" if over else _("seen running until the last observation")),
    ]
    found = [{"word": word, "at": at, "note": note, "state": "done" if at else ""} for word, at, note in steps]
    if over and lost:
        found[3]["state"] = "bad"
    elif run.start_at and not over:
        found[3]["state"] = "now"
    return found


def wait_seconds(run: Run) -> int | None:
    """From the later of submit and eligible to the start; None where it never started."""
    if run.start_at is None:
        return None
    since = max(run.submit_at, run.eligible_at or run.submit_at)
    return max(int((run.start_at - since).total_seconds()), 0)


def days_of(request: HttpRequest, zone: ZoneInfo) -> tuple[date, date]:
    """The days asked for, both inclusive; without any, the last week that is metered. Raises BadData."""
    last_on = _day(request.GET.get("to")) or latest_day(zone)
    first_on = _day(request.GET.get("from")) or last_on - timedelta(days=RECENT_DAYS - 1)
    if first_on > last_on:
        raise BadData(N_("The last day lies before the first."))
    if (last_on - first_on).days >= LONGEST_DAYS:
        raise BadData(N_("At most %(days)s days can be listed at once."), days=LONGEST_DAYS)
    return first_on, last_on


def latest_day(zone: ZoneInfo) -> date:
    """The last day that something is metered of; today where nothing is."""
    reached = max((at for (_, stage), at in watermarks.marks().items() if stage == "metered"), default=None)
    instant = reached - timedelta(microseconds=1) if reached else timezone.now()
    return instant.astimezone(zone).date()


def _day(text: str | None) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadData(N_("“%(text)s” is no day. Write 2026-06-30."), text=text) from None


def _actor(request: HttpRequest) -> Actor:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def _chip(name: str, days: dict[str, str], filters: dict[str, str]) -> dict[str, Any]:
    rest = {key: value for key, value in filters.items() if key != name}
    value: str | Promise = filters[name]
    if name == "outcome":
        value = OUTCOMES.get(filters[name], UNKNOWN_OUTCOME).word
    return {
        "word": WORDS[name],
        "name": value or _("none given"),
        "url": f"{reverse('jobs')}?{urlencode({**days, **rest})}",
    }


HEADER = (
    "cluster",
    "job_id",
    "label",
    "submit_at",
    "job_name",
    "user",
    "account",
    "partition",
    "start_at",
    "end_at",
    "outcome",
    "gpus",
    "gpu_hours",
)


def _csv(first_on: date, last_on: date, shown: list[reads.RunUse]) -> HttpResponse:
    return csv_file(f"jobs-{first_on}-{last_on}", HEADER, [_csv_row(use) for use in shown])


def _csv_row(use: reads.RunUse) -> list[Cell]:
    run = use.run
    who: list[Cell] = [run.job_name, run.user, run.account, run.partition]
    gpus = None if run.gpu_milli is None else f"{run.gpu_milli / 1000:g}"
    times = [_stamp(run.start_at), _stamp(run.end_at)]
    used = _gpu_hours(use.milligpu_seconds).quantize(Decimal("0.0001"))
    return [use.cluster, run.job_id, run.label, _stamp(run.submit_at), *who, *times, run.outcome, gpus, used]


def _stamp(instant: datetime | None) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ") if instant else ""
