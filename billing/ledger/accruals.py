"""What is priced but not posted yet, worked out beside posting and kept, so that a page need not price days while somebody waits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from django.db import connection, transaction

from governance.catalogue.models import Cluster
from governance.usage import watermarks
from governance.usage.ingest import copy_rows

from .models import AccruedDay, AccruedLine
from .posting import Difference, Rating, fact_revision, open_days

COLUMNS = ("used_on", "cluster", "band", "project", "department", "user", "pool", "model", "qos", "measure", "amount")
TYPES = ("date",) + ("text",) * 9 + ("numeric",)

#: Open days of a span, and whether their accrual stands on their present facts and terms.
OPEN = """
    SELECT c.code, f.day, coalesce(a.fact_revision = f.revision AND NOT a.is_stale, FALSE)
    FROM fact_day AS f
    JOIN cluster AS c ON c.id = f.cluster_id
    LEFT JOIN posted_day AS p ON p.cluster_id = f.cluster_id AND p.day = f.day
    LEFT JOIN accrued_day AS a ON a.cluster_id = f.cluster_id AND a.day = f.day
    WHERE f.day BETWEEN %s AND %s AND (p.day IS NULL OR p.is_stale OR p.fact_revision <> f.revision)
    ORDER BY 2, 1"""


class OpenDay(NamedTuple):
    """A cluster's day whose journal does not stand on its present facts, prices and payers."""

    cluster: str
    day: date
    is_kept: bool  # its accrual is kept as it stands now


def accrue(cluster: Cluster, rating: Rating) -> int:
    """Work out the accrual of the cluster's open days that lack one, and forget that of days posted since; answers how many days."""
    still_open = open_days(cluster)
    kept = {
        a.day: a.fact_revision for a in AccruedDay.objects.filter(cluster=cluster, is_stale=False, day__in=still_open)
    }
    done = 0
    for day in still_open:
        with transaction.atomic():
            watermarks.lock_day(cluster.pk, day)
            outdated = rating.is_outdated()
            revision = fact_revision(cluster, day)
            if kept.get(day) == revision:
                continue
            _keep(cluster, day, revision, rating.differences(cluster.code, day), is_stale=outdated)
            done += 1
    with transaction.atomic():
        AccruedDay.objects.filter(cluster=cluster).exclude(day__in=still_open).delete()
        AccruedLine.objects.filter(cluster=cluster.code).exclude(used_on__in=still_open).delete()
    return done


def _keep(cluster: Cluster, day: date, revision: int, found: list[Difference], *, is_stale: bool) -> None:
    AccruedLine.objects.filter(cluster=cluster.code, used_on=day).delete()
    rows = [
        (day, cluster.code, d.band, d.project, d.department, d.user, d.pool, d.model, d.qos, d.measure, d.amount)
        for d in found
    ]
    with connection.cursor() as cursor:
        copy_rows(cursor, "accrued_line", COLUMNS, TYPES, rows)
    AccruedDay.objects.bulk_create(
        [AccruedDay(cluster=cluster, day=day, fact_revision=revision, is_stale=is_stale)],
        update_conflicts=True,
        unique_fields=["cluster", "day"],
        update_fields=["fact_revision", "is_stale"],
    )


def worked_out_now(days: list[OpenDay]) -> Iterator[tuple[OpenDay, Difference]]:
    """The differences of days whose accrual is not kept: a day that changed a moment ago."""
    rating = Rating() if days else None
    for one in days:
        if rating is not None:
            with transaction.atomic():
                for difference in rating.differences(one.cluster, one.day):
                    yield one, difference
