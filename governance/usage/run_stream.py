"""All runs behind a figure, one after another in the order of their submit: for files of any size, not for pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.work.streaming import streamed

from . import reads, rules
from .metering import submit_span
from .models import Run

COLUMNS = [field.attname for field in Run._meta.concrete_fields if field.name != "raw"]
KEYS = ("project", "pool", "model", "account", "user", "qos", "outcome")

#: Runs of a cluster that used something in the days; the facts of the days narrow them to what the filters name.
WITHIN = """
    FROM run AS r JOIN (
        SELECT DISTINCT account, "user", qos, outcome FROM usage_day WHERE day BETWEEN %s AND %s AND cluster = %s{narrowed}{seen}
    ) AS k USING (account, "user", qos, outcome)
    WHERE r.cluster_id = %s AND r.submit_at >= %s AND r.submit_at < %s AND r.start_at < %s AND r.stop_at >= %s"""


def clusters(filters: dict[str, str]) -> list[Cluster]:
    """Those asked for, by code."""
    named = {"code": filters["cluster"]} if "cluster" in filters else {}
    return list(Cluster.objects.filter(**named).order_by("code"))


def looked_at(first_on: date, last_on: date, *, actor: Actor, department: str | None = None, **filters: str) -> int:
    """How many runs `stream` looks at: a measure of its progress for who sees everybody's runs.

    0 for all others: what is looked at and not shown is not theirs to count.
    """
    found = 0
    for cluster in clusters(filters):
        visible = reads.Visible(actor, department)
        if not visible.everything:
            return 0
        question, given = _within(cluster, first_on, last_on, filters, visible)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) {question}", given)
            found += int(cursor.fetchone()[0])
    return found


def stream(
    first_on: date, last_on: date, *, actor: Actor, department: str | None = None, **filters: str
) -> Iterator[reads.RunUse | None]:
    """The runs that the list of jobs pages through, by cluster, submit and id; None for each that was looked at and is not among them.

    `filters` as there. In a transaction, with constant memory.
    """
    for cluster in clusters(filters):
        visible = reads.Visible(actor, department)
        counting = reads.Counting(cluster)
        question, given = _within(cluster, first_on, last_on, filters, visible)
        columns = ", ".join(f'r."{name}"' for name in COLUMNS)
        for row in streamed(f"SELECT {columns} {question} ORDER BY r.submit_at, r.job_id", given):
            run = Run.from_db("default", COLUMNS, row)
            days = counting.days(run, first_on, last_on)
            uses = [use for use in days if reads.matches(use, filters) and visible(run, use)]
            wall = sum({use.day: use.wall_seconds for use in uses}.values())
            milli = sum(use.milligpu_seconds for use in uses)
            yield reads.RunUse(run, cluster.code, milli, wall) if uses else None


def _within(
    cluster: Cluster, first_on: date, last_on: date, filters: dict[str, str], visible: reads.Visible
) -> tuple[str, list[Any]]:
    zone = ZoneInfo(installation().time_zone)
    start, end = rules.day_bounds(first_on, zone)[0], rules.day_bounds(last_on, zone)[1]
    names = [name for name in KEYS if name in filters]
    with connection.cursor() as cursor:
        low, high = submit_span(cursor, cluster.pk, start, end)
    narrowed = "".join(f' AND "{name}" = %s' for name in names)
    seen, held = _in_sight(visible, cluster)
    named = [filters[name] for name in names]
    given = [first_on, last_on, cluster.code, *named, *held, cluster.pk, low, high, end, start]
    return WITHIN.format(narrowed=narrowed, seen=seen), given


def _in_sight(visible: reads.Visible, cluster: Cluster) -> tuple[str, list[Any]]:
    """SQL over day facts that leaves out only what cannot be seen; " AND …" or nothing."""
    if visible.everything:
        return "", []
    own = sorted(login for of, login in visible.own if of == cluster.pk)
    return ' AND (project = ANY(%s) OR "user" = ANY(%s))', [sorted(visible.projects), own]
