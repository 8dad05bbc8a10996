"""The yardstick of metering: the same sums of one day's runs cut at its midnights, and nothing else."""

from __future__ import annotations

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.usage.metering import submit_span
from governance.usage.rules import CAPACITY_REASONS, OTHER_REASONS, QUOTA_REASONS, day_bounds

REASONS = {
    name: f"^({'|'.join(words)})"
    for name, words in {"quota": QUOTA_REASONS, "other": OTHER_REASONS, "capacity": CAPACITY_REASONS}.items()
}
GROUP_BY = """
    SELECT partition, gpu_type, account, "user", qos, outcome, sum(gpu_milli * secs), sum(cpus * secs), sum(nodes * secs), sum(secs),
        sum(memory_mib * secs), count(*) FILTER (WHERE started), count(*) FILTER (WHERE end_at < %(end_at)s),
        count(*) FILTER (WHERE started AND gpu_milli IS NULL), sum(wait) FILTER (WHERE class = 'quota'),
        sum(wait) FILTER (WHERE class = 'capacity'), sum(wait) FILTER (WHERE class = 'other'), sum(wait) FILTER (WHERE class = '')
    FROM (
        SELECT *, start_at >= %(start_at)s AS started,
            extract(epoch FROM least(stop_at, %(end_at)s) - greatest(start_at, %(start_at)s))::bigint AS secs,
            CASE WHEN start_at >= %(start_at)s THEN extract(epoch FROM start_at - greatest(submit_at, eligible_at))::bigint ELSE 0 END
                AS wait,
            CASE WHEN reason ~ %(quota)s THEN 'quota' WHEN reason ~ %(other)s THEN 'other' WHEN reason ~ %(capacity)s THEN 'capacity'
                ELSE '' END AS class
        FROM run
        WHERE cluster_id = %(cluster)s AND submit_at >= %(low)s AND submit_at < %(high)s
            AND start_at < %(end_at)s AND stop_at >= %(start_at)s
        OFFSET 0
    ) AS r
    GROUP BY 1, 2, 3, 4, 5, 6
"""


def bare_group_by(cluster: Cluster, day: date) -> list[tuple[Any, ...]]:
    """The sums of the day by what the records say: no bands, queue samples, telemetry, pools, models, projects or facts."""
    start_at, end_at = day_bounds(day, ZoneInfo(installation().time_zone))
    with connection.cursor() as cursor:
        low, high = submit_span(cursor, cluster.pk, start_at, end_at)
        given = {"cluster": cluster.pk, "start_at": start_at, "end_at": end_at, "low": low, "high": high}
        cursor.execute(GROUP_BY, given | REASONS)
        return list(cursor.fetchall())
