"""What telemetry says of runs and clusters, and what is odd about it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

from django.db import connection
from django.db.models import Max, Sum
from django.utils import timezone

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation

from .. import findings, sql
from ..models import Run, UsageDay
from ..telemetry_models import RunActivity

#: Findings look back this far from the latest telemetry.
LOOK_BACK = timedelta(days=8)
MOST_FINDINGS = 200


class CardTime(NamedTuple):
    """Card time in milligpu_seconds. `unknown` is what was allocated and not judged; mean activity is busy / measured."""

    allocated: int
    active: int
    idle: int
    unknown: int
    measured: int
    busy: int
    energy_joules: int

    @property
    def not_active(self) -> int:
        """Card time x (1 - mean activity), of what was measured."""
        return self.measured - self.busy


def card_time(cluster: Cluster, from_on: date, to_on: date) -> CardTime:
    """The cluster's card time over [from_on, to_on), from day facts."""
    names = (
        "milligpu_seconds",
        "active_milligpu_seconds",
        "idle_milligpu_seconds",
        "measured_milligpu_seconds",
        "busy_milligpu_seconds",
    )
    rows = UsageDay.objects.filter(cluster__code=cluster.code, day__gte=from_on, day__lt=to_on)
    sums = rows.aggregate(**{name: Sum(name, default=0) for name in (*names, "energy_joules")})
    allocated, active, idle, measured, busy = (int(sums[name]) for name in names)
    return CardTime(allocated, active, idle, allocated - active - idle, measured, busy, int(sums["energy_joules"]))


def run_days(run: Run) -> list[RunActivity]:
    """What the run's cards did, by day and node."""
    rows = RunActivity.objects.filter(cluster_id=run.cluster_id, job_id=run.job_id, submit_at=run.submit_at)
    return list(rows.order_by("day", "node"))


def runs_without_activity(cluster: Cluster) -> int:
    """Runs whose cards were measured and never did anything."""
    rows = RunActivity.objects.filter(cluster=cluster).values("job_id", "submit_at")
    totals = rows.annotate(busy=Sum("busy_milligpu_seconds"), measured=Sum("measured_milligpu_seconds"))
    return totals.filter(busy=0, measured__gt=0).count()


def note_findings(cluster: Cluster) -> None:
    """Make the excesses and the jobs without a run, as they stand now, the open findings."""
    latest = RunActivity.objects.filter(cluster=cluster).aggregate(day=Max("day"))["day"]
    subjects: dict[str, dict[str, dict[str, int]]] = {"telemetry_excess": {}, "telemetry_without_run": {}}
    if latest is not None:
        given = {
            "cluster": cluster.pk,
            "since": latest - LOOK_BACK,
            "zone": installation().time_zone,
            "most": MOST_FINDINGS,
        }
        with connection.cursor() as cursor:
            cursor.execute(sql.text("telemetry_findings"), given)
            for code, job_id, day, known, held, cards in cursor.fetchall():
                detail = {"known_milligpu_seconds": known, "held_milligpu_seconds": held, "cards": cards}
                subjects[code][f"{job_id} {day:%Y-%m-%d}"[:200]] = detail
    for code, found in subjects.items():
        findings.replace(cluster, code, found, at=timezone.now())
