"""Writes of usage: records in, facts out."""

from __future__ import annotations

from datetime import date

from django.db import connection


def mark_dirty(cluster_code: str, from_on: date | None, to_on: date | None) -> int:
    """Mark the days in [from_on, to_on) that have facts or capacity on the cluster, for rebuilding; answers how many.

    An open bound is None. Days that were never metered need no mark: metering comes to them by itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO dirty_day (cluster_id, day) SELECT f.cluster_id, f.day FROM fact_day f JOIN cluster c ON c.id = f.cluster_id"
            " WHERE c.code = %s AND (%s::date IS NULL OR f.day >= %s) AND (%s::date IS NULL OR f.day < %s)",
            [cluster_code, from_on, from_on, to_on, to_on],
        )
        return int(cursor.rowcount)
