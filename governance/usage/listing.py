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
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from governance.access.actor import Actor
from governance.catalogue.history import Span, holds
from governance.catalogue.models import UNASSIGNED_POOL, Cluster
from governance.catalogue.reads import installation
from governance.catalogue.rules import is_glob
from governance.doors import paging
from governance.tenants.models import UNATTRIBUTED, Project

from . import rules
from .metering import months_between
from .models import Run
from .reads import Counting, RunUse, Shared, Visible, matches

ORDER = ("-submit_at", "-cluster_id", "-job_id")
#: So many times the rows of a page are looked at, once and again. Who sees or asks for little of what facts and columns leave
#: is given what was found by then, and a cursor to go on from.
LOOKS = (1, 12)
#: A start so much before its submit is believed.
SKEW = timedelta(hours=1)
#: Filters that only a day's facts can tell, or that a year may hold few runs of: the facts name accounts and users. Outcomes that
#: are rare have an index of their own.
BY_FACTS = ("project", "model", "account", "qos")
COLUMNS = ("account", "user", "qos", "outcome")
#: From so many days on who used something is told by month.
SPAN_OF_MONTHS = 27
SPAN = "(SELECT {of}(month) FROM run_span WHERE cluster_id = cluster.id AND min_start_at < %s AND max_stop_at >= %s)"


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
    asked = _Asked(first_on, last_on, Visible(actor, department), filters)
    rows = asked.rows()
    return paging.Page([], None) if rows is None else _page(rows, asked.use, turn, limit)


def _page(rows: QuerySet[Run], use_of: Callable[[Run], RunUse | None], turn: paging.Turn, limit: int) -> paging.Page:
    shown: list[RunUse] = []
    at = turn.place
    for times in LOOKS:
        count = limit * times + 1
        read = paging.read_on(rows, ORDER, turn._replace(place=at), count)
        for run in read:
            at = paging.place_of(run, ORDER)
            if (use := use_of(run)) is not None:
                shown.append(use)
                if len(shown) > limit:
                    return paging.cut(shown, _place, turn, limit)
        if len(read) < count:
            return paging.cut(shown, _place, turn, limit)
    page = paging.cut(shown, _place, turn, limit)  # more was there than was looked at
    return page._replace(before=at) if turn.is_back else page._replace(after=at)


def _place(use: RunUse) -> paging.Place:
    return paging.place_of(use.run, ORDER)


class _Asked:
    """What is asked for: which rows to read, and what each of them used of it."""

    def __init__(self, first_on: date, last_on: date, visible: Visible, filters: dict[str, str]) -> None:
        self.days, self.visible, self.filters = (first_on, last_on), visible, filters
        zone = ZoneInfo(installation().time_zone)
        self.start, self.end = rules.day_bounds(first_on, zone)[0], rules.day_bounds(last_on, zone)[1]
        named = {"code": filters["cluster"]} if "cluster" in filters else {}
        bounds = {of: RawSQL(SPAN.format(of=of), (self.end, self.start)) for of in ("min", "max")}  # noqa: S611 - constants
        found = Cluster.objects.filter(**named).annotate(low=bounds["min"], high=bounds["max"])
        self.clusters = {cluster.pk: cluster for cluster in found if cluster.low}
        self.shared = Shared(list(self.clusters.values()))
        self._counting = {pk: Counting(cluster, self.shared) for pk, cluster in self.clusters.items()}
        self._has_places = "pool" in filters or "model" in filters
        self._has_owners = "project" in filters or visible.departments is not None or not visible.everything

    def rows(self) -> QuerySet[Run] | None:
        """Runs of the days, narrowed as far as columns can; None where there can be none."""
        if not self.clusters:
            return None
        found: list[Any] = list(self.clusters.values())
        low, high = months_between(min(one.low for one in found), max(one.high for one in found))
        rows = Run.objects.filter(
            cluster__in=self.clusters,
            start_at__lt=self.end,
            stop_at__gte=self.start,
            submit_at__gte=low,
            submit_at__lt=min(self.end + SKEW, high),
            **{name: self.filters[name] for name in COLUMNS if name in self.filters},
        )
        if claimed := self._partitions():
            (cluster, patterns), *_rest = claimed.items()  # a pool is of one cluster
            rows = rows.filter(cluster=cluster, partition__in=patterns)
        if self._wants_facts():
            accounts, users = self._of_facts()
            self.shared.accounts = accounts
            rows = rows.filter(account__in=accounts, user__in=users)
        elif not self.visible.everything:
            users = [user for _, user in self.visible.own]
            rows = rows.filter(user__in=users)
        else:
            return rows.defer("raw")
        return rows.defer("raw") if users else None

    def use(self, run: Run) -> RunUse | None:
        """What a run used of it; None: nothing."""
        counting, code = self._counting[run.cluster_id], self.clusters[run.cluster_id].code
        if self._has_places:
            uses = [u for u in counting.days(run, *self.days) if matches(u, self.filters) and self.visible(run, u)]
            wall = sum({use.day: use.wall_seconds for use in uses}.values())
            return RunUse(run, code, sum(use.milligpu_seconds for use in uses), wall) if uses else None
        spans = counting.spans(run, *self.days)
        if self._has_owners:
            spans = [(day, seconds) for day, seconds in spans if self._is_theirs(run, day, counting)]
        wall = sum(seconds for _, seconds in spans)
        return RunUse(run, code, wall * rules.counted_milli(run.gpu_milli, run.gpu_type), wall) if spans else None

    def _is_theirs(self, run: Run, day: date, counting: Counting) -> bool:
        project, visible = counting.owner(run, day), self.visible
        is_asked = self.filters.get("project", project) == project
        return is_asked and visible.is_at_home(project, day) and visible.project(run, project)

    def _wants_facts(self) -> bool:
        """Whether columns alone would leave too much to look at."""
        asked = any(name in self.filters for name in BY_FACTS) or self.visible.departments is not None
        return asked or bool(self.visible.projects) or self.filters.get("pool") == UNASSIGNED_POOL

    def _of_facts(self) -> tuple[list[str], list[str]]:
        """Accounts and users with facts under the filters, of what may be seen."""
        names = [name for name in ("cluster", "pool", *BY_FACTS, "user", "outcome") if name in self.filters]
        first_on, last_on = self.days
        # The sums of the months that are touched name a few more in a long span, of which the runs themselves are looked at.
        by_month = "outcome" not in names and (last_on - first_on).days >= SPAN_OF_MONTHS
        table, between = (
            ("usage_month", "date_trunc('month', %s::date) AND %s") if by_month else ("usage_day", "%s AND %s")
        )
        parts = [f"{'month' if by_month else 'day'} BETWEEN {between}", *(f'"{name}" = %s' for name in names)]
        given: list[Any] = [*self.days, *(self.filters[name] for name in names)]
        if self.visible.departments is not None:
            parts.append("project = ANY(%s)")
            given.append(self._at_home())
        if not self.visible.everything:
            parts.append('(project = ANY(%s) OR "user" = ANY(%s))')
            given += [sorted(self.visible.projects), sorted({user for _, user in self.visible.own})]
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT DISTINCT account, "user" FROM {table} WHERE {" AND ".join(parts)}', given)
            found = cursor.fetchall()
        return sorted({account for account, _ in found}), sorted({user for _, user in found})

    def _at_home(self) -> list[str]:
        """Projects that were at home in the departments on some of the days; those without a home are unattributed."""
        (first_on, last_on), wanted = self.days, self.visible.departments or set()

        def touches(span: Span) -> bool:
            return (span[0] is None or span[0] <= last_on) and (span[1] is None or span[1] > first_on)

        def is_whole(span: Span) -> bool:
            return holds(span, first_on) and holds(span, last_on)

        homes = self.visible.homes
        if UNATTRIBUTED in wanted:
            placed = {code for code, spans in homes.items() if any(is_whole(span) for span, _ in spans)}
            return sorted(set(Project.objects.values_list("code", flat=True)) - placed)
        return sorted(
            code for code, spans in homes.items() if any(home in wanted and touches(span) for span, home in spans)
        )

    def _partitions(self) -> dict[int, list[str]]:
        """The cluster of the pool asked for and the partitions that it claims on any day; nothing where it claims by a pattern."""
        pool = self.filters.get("pool", UNASSIGNED_POOL)
        if pool == UNASSIGNED_POOL:
            return {}
        claims = self.shared.catalogue().claims.items()
        found = {cluster: {one.pattern for _, one in of if one.pool == pool} for cluster, of in claims}
        return {
            cluster: sorted(patterns)
            for cluster, patterns in found.items()
            if patterns and not any(is_glob(pattern) for pattern in patterns)
        }
