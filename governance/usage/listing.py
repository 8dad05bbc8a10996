"""Lists of the runs behind a figure: newest submit first, a page at a time, whatever was added meanwhile.

Submit is in the key of a run and never changes, and the table is partitioned by it: a page is read from the end of one month's
partition on and touches the next only when that is used up.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import Q, QuerySet

from governance.access.actor import Actor
from governance.catalogue.models import UNASSIGNED_POOL, Cluster, PoolPartition
from governance.catalogue.reads import installation
from governance.catalogue.rules import is_glob
from governance.doors import paging
from governance.tenants.models import UNATTRIBUTED, Placement, Project

from . import rules
from .metering import submit_bounds
from .models import Run
from .reads import Counting, RunUse, Shared, Visible, matches

ORDER = ("-submit_at", "-cluster_id", "-job_id")
#: So many rows are looked at for a page of `limit`, one time after another. Who sees or asks for little of what facts and
#: columns leave is given what was found by then, and a cursor to go on from.
LOOKS = (1, 6, 30)
#: Filters that only a day's facts can tell, or that a year may hold few runs of: the facts name accounts and users.
BY_FACTS = ("project", "model", "account", "qos", "outcome")
#: A start so much before its submit is believed.
SKEW = timedelta(hours=1)
COLUMNS = ("account", "user", "qos", "outcome")


def runs(
    first_on: date,
    last_on: date,
    *,
    actor: Actor,
    limit: int,
    turn: paging.Turn = paging.Turn(),
    department: str | None = None,
    **filters: str,
) -> paging.Page:
    """A page of `RunUse`: runs that used something in [first_on, last_on] and whose use was counted under `filters`
    (project, pool, model, account, user, qos, outcome, cluster), as far as the actor may see them. `department`: at home in
    it or below. A page may hold fewer than `limit` and not be the last."""
    named = {"code": filters["cluster"]} if "cluster" in filters else {}
    clusters = {cluster.pk: cluster for cluster in Cluster.objects.filter(**named)}
    visible = Visible(actor, department)
    found, accounts = _rows(first_on, last_on, clusters, visible, filters)
    if found is None:
        return paging.Page([], None)
    look = _Look(first_on, last_on, clusters, visible, filters, accounts)
    return _page(found, look, turn, limit)


def _page(rows: QuerySet[Run], look: Callable[[Run], RunUse | None], turn: paging.Turn, limit: int) -> paging.Page:
    shown: list[RunUse] = []
    at = turn.place
    for times in LOOKS:
        count = limit * times + 1
        read = paging.read_on(rows, ORDER, turn._replace(place=at), count)
        for run in read:
            at = paging.place_of(run, ORDER)
            if (use := look(run)) is not None:
                shown.append(use)
                if len(shown) > limit:
                    return paging.cut(shown, _place, turn, limit)
        if len(read) < count:
            return paging.cut(shown, _place, turn, limit)
    page = paging.cut(shown, _place, turn, limit)  # more was there than was looked at
    return page._replace(before=at) if turn.is_back else page._replace(after=at)


def _place(use: RunUse) -> paging.Place:
    return paging.place_of(use.run, ORDER)


def _rows(
    first_on: date, last_on: date, clusters: dict[int, Cluster], visible: Visible, filters: dict[str, str]
) -> tuple[QuerySet[Run] | None, list[str] | None]:
    """Runs of the window, narrowed as far as columns can, and the accounts they are of where that is known; None: none."""
    zone = ZoneInfo(installation().time_zone)
    start, end = rules.day_bounds(first_on, zone)[0], rules.day_bounds(last_on, zone)[1]
    low, high = submit_bounds(list(clusters), start, end)
    if low == high:
        return None, None
    rows = Run.objects.filter(cluster__in=clusters, start_at__lt=end, stop_at__gte=start)
    rows = rows.filter(submit_at__gte=low, submit_at__lt=min(end + SKEW, high))
    rows = rows.filter(**{name: filters[name] for name in COLUMNS if name in filters})
    if filters.get("pool", UNASSIGNED_POOL) != UNASSIGNED_POOL and (claimed := _partitions(filters["pool"])):
        rows = rows.filter(partition__in=claimed)
    accounts = None
    if _wants_facts(visible, filters):
        accounts, users = _owners(first_on, last_on, visible, filters)
        if not users:
            return None, None
        rows = rows.filter(account__in=accounts, user__in=users)
    elif not visible.everything:
        if not visible.own:
            return None, None
        rows = rows.filter(user__in={user for _, user in visible.own})
    return rows.defer("raw", "node_list") if "pool" not in filters and "model" not in filters else rows.defer(
        "raw"
    ), accounts


def _wants_facts(visible: Visible, filters: dict[str, str]) -> bool:
    """Whether columns alone would leave too much to look at."""
    asked = any(name in filters for name in BY_FACTS) or visible.departments is not None
    return asked or bool(visible.projects) or filters.get("pool") == UNASSIGNED_POOL


def _owners(first_on: date, last_on: date, visible: Visible, filters: dict[str, str]) -> tuple[list[str], list[str]]:
    """Accounts and users with facts under the filters, of what may be seen."""
    names = [name for name in ("cluster", "pool", *BY_FACTS, "user") if name in filters]
    parts = ["day BETWEEN %s AND %s", *(f'"{name}" = %s' for name in names)]
    given: list[Any] = [first_on, last_on, *(filters[name] for name in names)]
    if visible.departments is not None:
        parts.append("project = ANY(%s)")
        given.append(_at_home(visible.departments, first_on, last_on))
    if not visible.everything:
        parts.append('(project = ANY(%s) OR "user" = ANY(%s))')
        given += [sorted(visible.projects), sorted({user for _, user in visible.own})]
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT DISTINCT account, "user" FROM usage_day WHERE {" AND ".join(parts)}',
            given,
        )
        found = cursor.fetchall()
    return sorted({account for account, _ in found}), sorted({user for _, user in found})


def _at_home(departments: set[str], first_on: date, last_on: date) -> list[str]:
    """Projects that were at home in the departments on some of the days; those without a home are unattributed."""
    begun, over = Q(from_on__isnull=True) | Q(from_on__lte=last_on), Q(to_on__isnull=True) | Q(to_on__gt=first_on)
    found = set(
        Placement.objects.filter(begun, over, department__code__in=departments).values_list("project__code", flat=True)
    )
    if UNATTRIBUTED in departments:
        whole = Placement.objects.filter(
            Q(from_on__isnull=True) | Q(from_on__lte=first_on), Q(to_on__isnull=True) | Q(to_on__gt=last_on)
        )
        found |= set(Project.objects.exclude(placements__in=whole).values_list("code", flat=True))
    return sorted(found)


def _partitions(pool: str) -> list[str]:
    """The partitions the pool claims on any day; none where a claim is no plain name."""
    claimed = list(PoolPartition.objects.filter(pool__code=pool).values_list("pattern", flat=True))
    return [] if any(is_glob(pattern) for pattern in claimed) else claimed


class _Look:
    """What a run used within the window, of what is asked for and may be seen; None: nothing."""

    def __init__(
        self,
        first_on: date,
        last_on: date,
        clusters: dict[int, Cluster],
        visible: Visible,
        filters: dict[str, str],
        accounts: list[str] | None,
    ) -> None:
        self._span, self._clusters, self._visible, self._filters = (first_on, last_on), clusters, visible, filters
        shared = Shared(clusters.values(), accounts)
        self._counting = {pk: Counting(cluster, shared) for pk, cluster in clusters.items()}
        self._has_places = "pool" in filters or "model" in filters
        self._has_owners = "project" in filters or visible.departments is not None or not visible.everything

    def __call__(self, run: Run) -> RunUse | None:
        counting, code = self._counting[run.cluster_id], self._clusters[run.cluster_id].code
        if self._has_places:
            uses = [u for u in counting.days(run, *self._span) if matches(u, self._filters) and self._visible(run, u)]
            wall = sum({use.day: use.wall_seconds for use in uses}.values())
            return RunUse(run, code, sum(use.milligpu_seconds for use in uses), wall) if uses else None
        spans = counting.spans(run, *self._span)
        if self._has_owners:
            spans = [(day, seconds) for day, seconds in spans if self._is_theirs(run, day, counting)]
        wall = sum(seconds for _, seconds in spans)
        return RunUse(run, code, wall * rules.counted_milli(run.gpu_milli, run.gpu_type), wall) if spans else None

    def _is_theirs(self, run: Run, day: date, counting: Counting) -> bool:
        project, visible = counting.owner(run, day), self._visible
        is_asked = self._filters.get("project", project) == project
        return is_asked and visible.is_at_home(project, day) and visible.project(run, project)
