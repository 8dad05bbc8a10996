"""Opening a figure down to the runs it is made of, and a run down to the scheduler's own record."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from typing import NamedTuple
from zoneinfo import ZoneInfo

from governance.access.actor import Actor
from governance.catalogue.history import CatalogueHistory, CatalogueRows, Span, holds
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.catalogue.rules import Part, parts
from governance.errors import N_, NotFound
from governance.tenants.history import MappingHistory, MappingRows
from governance.tenants.models import (
    UNATTRIBUTED,
    Placement,
    codes_below,
    department_tree,
    held_departments,
    held_today,
    logins_of,
)

from . import rules
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


class Shared:
    """The catalogue and the mappings of some clusters, each read when first asked for; mappings of `accounts` alone where set."""

    def __init__(self, clusters: Collection[Cluster]) -> None:
        self.accounts: Collection[str] | None = None
        self.catalogue = cache(lambda: CatalogueRows(clusters))
        self.mappings = cache(lambda: MappingRows(clusters, self.accounts))


class Counting:
    """Where a cluster's runs are counted, by day: the same rules that metering uses, asked for single runs.

    `shared`: for who asks for the runs of several clusters.
    """

    def __init__(self, cluster: Cluster, shared: Shared | None = None) -> None:
        self.cluster = cluster
        self._zone = ZoneInfo(installation().time_zone)
        shared = shared or Shared([cluster])
        catalogue = cache(lambda: CatalogueHistory(cluster, shared.catalogue()))
        mappings = cache(lambda: MappingHistory(cluster, shared.mappings()))
        self._on = cache(lambda day: catalogue().on(day))
        self._owners = cache(lambda day: mappings().on(day))

    def spans(self, run: Run, first_on: date | None = None, last_on: date | None = None) -> list[tuple[date, int]]:
        """The days in [first_on, last_on] that the run ran on, each with its seconds; midnight ends a day and begins none."""
        if run.start_at is None or run.stop_at is None:
            return []
        low, high = rules.day_of(run.start_at, self._zone), rules.day_of(run.stop_at, self._zone)
        low, high = max(low, first_on or low), min(high, last_on or high)
        found = [
            (day, self._seconds(run, day)) for day in (low + timedelta(days=n) for n in range((high - low).days + 1))
        ]
        return [one for one in found if one[1]] or found[:1]

    def days(self, run: Run, first_on: date | None = None, last_on: date | None = None) -> list[DayUse]:
        """What the run used on each of its days in [first_on, last_on], a row a day and part."""
        return [use for day, seconds in self.spans(run, first_on, last_on) for use in self._day(run, day, seconds)]

    def owner(self, run: Run, day: date) -> str:
        """The project that the run's use of a day belongs to."""
        return self._owners(day).project(run.account, run.user, run.qos)

    def projects(self, run: Run) -> set[str]:
        """The projects of the run on its days; of one that never started, on the day it was submitted."""
        days = [day for day, _ in self.spans(run)]
        return {self.owner(run, day) for day in days or [rules.day_of(run.submit_at, self._zone)]}

    def _seconds(self, run: Run, day: date) -> int:
        start, end = rules.day_bounds(day, self._zone)
        assert run.start_at is not None and run.stop_at is not None
        return max(int((min(run.stop_at, end) - max(run.start_at, start)).total_seconds()), 0)

    def _day(self, run: Run, day: date, seconds: int) -> list[DayUse]:
        project = self.owner(run, day)
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


def run(cluster: str, job_id: str, submit: int, *, actor: Actor) -> RunDetail:
    """One run by its key (`submit` in epoch seconds). Raises NotFound where it is not there or not the actor's to see."""
    try:
        at = datetime.fromtimestamp(submit, UTC)
    except (OverflowError, ValueError, OSError):
        at = None
    runs = Run.objects.filter(cluster__code=cluster, job_id=job_id).select_related("cluster").order_by("submit_at")
    attempts = list(runs) if at else []
    found = next((one for one in attempts if one.submit_at == at), None)
    if found is None:
        raise NotFound(NO_RUN, job=job_id, cluster=cluster)
    counting, visible = Counting(found.cluster), Visible(actor)
    if not any(visible.project(found, project) for project in counting.projects(found)):
        raise NotFound(NO_RUN, job=job_id, cluster=cluster)
    same = [other for other in attempts if (other.account, other.user) == (found.account, found.user)]
    return RunDetail(found, found.cluster, same, counting.days(found))


class Visible:
    """Whether an actor may see a run: its project's runs, or their own."""

    def __init__(self, actor: Actor, department: str | None = None) -> None:
        self.departments = (
            None if department is None else {UNATTRIBUTED} if department == UNATTRIBUTED else codes_below(department)
        )
        self.everything = actor.may("run.view")
        self.own = frozenset() if self.everything else logins_of(actor)
        self._actor = actor

    @cached_property
    def projects(self) -> set[str]:
        """Codes of the projects whose runs the actor sees: by a role on them, or on a department that was ever their home."""
        if self.everything:
            return set()
        held = {one.code for one in held_today(self._actor) if one.gives("run.view", "project")}
        if not (below := held_departments(self._actor, "run.view")):
            return held
        codes = {department_tree()[pk].code for pk in below}
        return held | {project for project, homes in self.homes.items() if any(code in codes for _, code in homes)}

    @cached_property
    def homes(self) -> dict[str, list[tuple[Span, str]]]:
        """The home departments of every project with their days, by one question."""
        found: dict[str, list[tuple[Span, str]]] = {}
        rows = Placement.objects.values_list("project__code", "from_on", "to_on", "department__code")
        for project, low, high, department in rows:
            found.setdefault(project, []).append(((low, high), department))
        return found

    def project(self, run: Run, project: str) -> bool:
        """Whether a run of this project may be seen."""
        return self.everything or (run.cluster_id, run.user) in self.own or project in self.projects

    def is_at_home(self, project: str, day: date) -> bool:
        """Whether the project was at home in the departments asked for on that day."""
        if self.departments is None:
            return True
        homes = (code for span, code in self.homes.get(project, ()) if holds(span, day))
        return next(homes, UNATTRIBUTED) in self.departments

    def __call__(self, run: Run, use: DayUse) -> bool:
        return self.is_at_home(use.project, use.day) and self.project(run, use.project)


def matches(use: DayUse, filters: dict[str, str]) -> bool:
    """Whether the use was counted under the filters' project, pool and model."""
    return all(getattr(use, name) == filters[name] for name in ("project", "pool", "model") if name in filters)


def quarantined_count() -> int:
    """Records in quarantine that no retry has read."""
    return QuarantinedRecord.objects.filter(resolved_at__isnull=True).count()
