"""The revision of what decides where a cluster's use is counted, so that metering never writes by what has changed meanwhile.

Who changes mappings, pools or nodes raises it in the same transaction; metering holds it while it writes a day. Whichever comes
second waits for the first: either metering reads the change, or the change finds the day written and marks it.
"""

from __future__ import annotations

from django.db import connection

from governance.catalogue.models import Cluster


def revision(cluster: Cluster) -> int:
    """The present revision, 0 at first; sees to it that there is a row to hold."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO matching_revision (cluster_id, revision) VALUES (%s, 0) ON CONFLICT DO NOTHING", [cluster.pk]
        )
        cursor.execute("SELECT revision FROM matching_revision WHERE cluster_id = %s", [cluster.pk])
        return int(cursor.fetchone()[0])


def held_revision(cluster: Cluster) -> int:
    """The revision, held as it is until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT revision FROM matching_revision WHERE cluster_id = %s FOR SHARE", [cluster.pk])
        return int(cursor.fetchone()[0])


def raise_revision(cluster_code: str) -> None:
    """Say, in the transaction of the change, that where the cluster's use is counted has changed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO matching_revision AS m (cluster_id, revision) SELECT id, 1 FROM cluster WHERE code = %s"
            " ON CONFLICT (cluster_id) DO UPDATE SET revision = m.revision + 1",
            [cluster_code],
        )
