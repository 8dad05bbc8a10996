"""Opening a figure down to the runs it is made of, and a run down to the scheduler's own record."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Q

from governance.access.actor import Actor
from governance.catalogue.history import CatalogueHistory
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.catalogue.rules import Part, parts
from governance.errors import N_, NotFound
from governance.tenants.history import MappingHistory
from governance.tenants.models import (
    UNATTRIBUTED,
    Login,
    Placement,
    Project,
    ProjectGrant,
    codes_below,
    held_departments,
    held_nodes,
)

from . import rules
from .metering import submit_span
from .models import QuarantinedRecord, Run

NO_RUN = N_("There is no run %(job)s of that submit time on “%(cluster)s” that you may see.")


class DayUse(NamedTuple):
    """What a run used on a day, and where it was counted."""

    day: date
    pool: str
    model: str
    project: str
    milligpu_seconds: int
    wall_seconds: int


@dataclass
class RunUse:
    """A run within a window of days: who it is, and what it used there."""

    run: Run
    cluster: str
    milligpu_seconds: int
    wall_seconds: int

    @property
    def submit_epoch(self) -> int:
        """The submit time as its address spells it."""
        return int(self.run.submit_at.timestamp())


@dataclass
class RunsOfFigure:
    """The runs behind a figure, largest first, and what is left when the list is cut."""

    shown: list[RunUse]
    more: int  # runs not shown
    is_cut: bool


@dataclass
class RunDetail:
    """A run with everything that leads to and from it."""

    run: Run
    cluster: Cluster
    attempts: list[Run]  # all runs of the same job id, this one among them, by submit
    days: list[DayUse] = field(default_factory=list)

    @property
    def submit_epoch(self) -> int:
        """The submit time as its address spells it."""
        return int(self.run.submit_at.timestamp())


class Counting:
    """Where a cluster's runs are counted, by day: the same rules that metering uses, asked for single runs."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._zone = ZoneInfo(installation().time_zone)
        self._catalogue = CatalogueHistory(cluster)
        self._on = cache(self._catalogue.on)
        self._owners = cache(MappingHistory(cluster).on)

    def days(self, run: Run, first_on: date | None = None, last_on: date | None = None) -> list[DayUse]:
        """What the run used on each of its days in [first_on, last_on], a row a day and part."""
        if run.start_at is None or run.stop_at is None:
            return []
        low, high = rules.day_of(run.start_at, self._zone), rules.day_of(run.stop_at, self._zone)
        low, high = max(low, first_on or low), min(high, last_on or high)
        return [use for n in range((high - low).days + 1) for use in self._day(run, low + timedelta(days=n))]

    def project(self, run: Run) -> str:
        """The project of the run on the day it started, or was submitted."""
        day = rules.day_of(run.start_at or run.submit_at, self._zone)
        return self._owners(day).project(run.account, run.user, run.qos)

    def _day(self, run: Run, day: date) -> list[DayUse]:
        start, end = rules.day_bounds(day, self._zone)
        assert run.start_at is not None and run.stop_at is not None
        seconds = max(int((min(run.stop_at, end) - max(run.start_at, start)).total_seconds()), 0)
        project = self._owners(day).project(run.account, run.user, run.qos)
        return [
            DayUse(
                day,
                part.pool,
                part.model,
                project,
                seconds * (run.gpu_milli or 0 if part.milli is None else part.milli),
                seconds,
            )
            for part in self._parts(run, day)
        ]

    def _parts(self, run: Run, day: date) -> list[Part]:
        unknown = run.gpu_milli is None or (run.gpu_milli == 0 and not self.cluster.tracks_gpus)
        shape = {"has_gpu": (run.gpu_milli or 0) > 0, "gpu_unknown": unknown}
        return parts(self._on(day), run.partition, run.gpu_type, run.node_list, **shape)


def runs(
    first_on: date, last_on: date, *, actor: Actor, limit: int = 200, department: str | None = None, **filters: str
) -> RunsOfFigure:
    """The runs behind a figure: those that used something in [first_on, last_on] and whose use was counted under `filters`
    (project, pool, model, account, user, qos, outcome, cluster), as far as the actor may see them. `department`: at home in it or below."""
    shown: list[RunUse] = []
    counted = 0
    for cluster in Cluster.objects.filter(**({"code": filters["cluster"]} if "cluster" in filters else {})).order_by(
        "code"
    ):
        visible = Visible(actor, department)
        counting = Counting(cluster)
        for run in _candidates(cluster, first_on, last_on, filters):
            uses = [u for u in counting.days(run, first_on, last_on) if matches(u, filters) and visible(run, u)]
            if uses:
                counted += 1
                wall = sum({u.day: u.wall_seconds for u in uses}.values())
                shown.append(RunUse(run, cluster.code, sum(u.milligpu_seconds for u in uses), wall))
    shown.sort(
        key=lambda use: (-use.milligpu_seconds, -use.wall_seconds, use.cluster, use.run.job_id, use.run.submit_at)
    )
    return RunsOfFigure(shown[:limit], max(counted - limit, 0), counted > limit)


def run(cluster: str, job_id: str, submit: int, *, actor: Actor) -> RunDetail:
    """One run by its key (`submit` in epoch seconds). Raises NotFound where it is not there or not the actor's to see."""
    of = Cluster.objects.filter(code=cluster).first()
    try:
        at = datetime.fromtimestamp(submit, UTC)
    except (OverflowError, ValueError, OSError):
        at = None
    found = Run.objects.filter(cluster=of, job_id=job_id, submit_at=at).first() if of and at else None
    if found is None or of is None:
        raise NotFound(NO_RUN, job=job_id, cluster=cluster)
    counting, visible = Counting(of), Visible(actor)
    days = counting.days(found)
    projects = {use.project for use in days} or {counting.project(found)}
    if not any(visible.project(found, project) for project in projects):
        raise NotFound(NO_RUN, job=job_id, cluster=cluster)
    attempts = [
        other
        for other in Run.objects.filter(cluster=of, job_id=job_id).order_by("submit_at")
        if other.account == found.account and other.user == found.user
    ]
    return RunDetail(found, of, attempts, days)


class Visible:
    """Whether an actor may see a run: its project's runs, or their own."""

    def __init__(self, actor: Actor, department: str | None = None) -> None:
        self._departments = (
            None if department is None else {UNATTRIBUTED} if department == UNATTRIBUTED else codes_below(department)
        )
        self._everything = actor.may("run.view")
        self._own = (
            set(Login.objects.filter(person=actor.person).values_list("cluster_id", "login")) if actor.person else set()
        )
        departments = [] if self._everything else held_departments(actor, "run.view")
        held = Q(pk__in=held_nodes(ProjectGrant, actor, "run.view", "project")) | Q(
            placements__department__in=departments
        )
        self._projects = set() if self._everything else set(Project.objects.filter(held).values_list("code", flat=True))
        self._homes = cache(_homes)

    def project(self, run: Run, project: str) -> bool:
        """Whether a run of this project may be seen."""
        return self._everything or project in self._projects or (run.cluster_id, run.user) in self._own

    def __call__(self, run: Run, use: DayUse) -> bool:
        if (
            self._departments is not None
            and self._homes(use.day).get(use.project, UNATTRIBUTED) not in self._departments
        ):
            return False
        return self.project(run, use.project)


def _homes(day: date) -> dict[str, str]:
    return dict(Placement.objects.on(day).values_list("project__code", "department__code"))


def matches(use: DayUse, filters: dict[str, str]) -> bool:
    """Whether the use was counted under the filters' project, pool and model."""
    return all(getattr(use, name) == filters[name] for name in ("project", "pool", "model") if name in filters)


def _candidates(cluster: Cluster, first_on: date, last_on: date, filters: dict[str, str]) -> list[Run]:
    """Runs of the cluster in the window, narrowed by the keys of the facts that the filters name."""
    zone = ZoneInfo(installation().time_zone)
    start, end = rules.day_bounds(first_on, zone)[0], rules.day_bounds(last_on, zone)[1]
    keys = _fact_keys(cluster, first_on, last_on, filters)
    if not keys:
        return []
    with connection.cursor() as cursor:
        low, high = submit_span(cursor, cluster.pk, start, end)
        cursor.execute(
            "SELECT r.job_id, r.submit_at FROM run r JOIN unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
            ' AS k (account, "user", qos, outcome)'
            ' USING (account, "user", qos, outcome) WHERE r.cluster_id = %s AND r.submit_at >= %s AND r.submit_at < %s'
            " AND r.start_at < %s AND r.stop_at >= %s",
            [*(list(column) for column in zip(*keys, strict=True)), cluster.pk, low, high, end, start],
        )
        found = cursor.fetchall()
    submits = [at for _, at in found]
    if not found:
        return []
    wanted = set(found)
    rows = Run.objects.filter(
        cluster=cluster, job_id__in={job for job, _ in found}, submit_at__gte=min(submits), submit_at__lte=max(submits)
    )
    return [row for row in rows.defer("raw") if (row.job_id, row.submit_at) in wanted]


def _fact_keys(cluster: Cluster, first_on: date, last_on: date, filters: dict[str, str]) -> list[tuple[Any, ...]]:
    names = [name for name in ("project", "pool", "model", "account", "user", "qos", "outcome") if name in filters]
    narrowed = "".join(f' AND "{name}" = %s' for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT DISTINCT account, "user", qos, outcome FROM usage_day WHERE day BETWEEN %s AND %s AND cluster = %s{narrowed}',
            [first_on, last_on, cluster.code, *(filters[name] for name in names)],
        )
        return list(cursor.fetchall())


def quarantined_count() -> int:
    """Records in quarantine that no retry has read."""
    return QuarantinedRecord.objects.filter(resolved_at__isnull=True).count()
