"""The yardstick of metering: one day's runs cut at its midnights and summed, and nothing else."""

from __future__ import annotations

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.usage.metering import submit_span
from governance.usage.rules import day_bounds

GROUP_BY = """
    SELECT partition, gpu_type, account, "user", qos, outcome, sum(gpu_milli * secs), sum(cpus * secs), sum(nodes * secs), sum(secs),
        sum(memory_mib * secs), count(*) FILTER (WHERE start_at >= %(start_at)s), count(*) FILTER (WHERE end_at < %(end_at)s),
        sum(extract(epoch FROM start_at - submit_at)) FILTER (WHERE start_at >= %(start_at)s)
    FROM run
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM least(stop_at, %(end_at)s) - greatest(start_at, %(start_at)s))::bigint AS secs
    ) AS t
    WHERE cluster_id = %(cluster)s AND submit_at >= %(low)s AND submit_at < %(high)s
        AND start_at < %(end_at)s AND stop_at >= %(start_at)s
    GROUP BY 1, 2, 3, 4, 5, 6
"""


def bare_group_by(cluster: Cluster, day: date) -> list[tuple[Any, ...]]:
    """The sums of the day by what the records say: no bands, classes of waits, pools, models, projects or facts."""
    start_at, end_at = day_bounds(day, ZoneInfo(installation().time_zone))
    with connection.cursor() as cursor:
        low, high = submit_span(cursor, cluster.pk, start_at, end_at)
        cursor.execute(
            GROUP_BY, {"cluster": cluster.pk, "start_at": start_at, "end_at": end_at, "low": low, "high": high}
        )
        return list(cursor.fetchall())
