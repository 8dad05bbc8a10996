"""How far each stage has come on a cluster. A mark moves forward only, in the transaction of the work it stands for."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from governance.access.memory import remembered
from governance.catalogue.models import Cluster

from .models import Watermark


@remembered
def marks() -> dict[tuple[int, str], datetime]:
    """How far every stage of every cluster has come, by cluster and stage."""
    return {(pk, stage): at for pk, stage, at in Watermark.objects.values_list("cluster_id", "stage", "until_at")}


def reached(cluster: Cluster, stage: str) -> datetime | None:
    """The instant (exclusive) up to which `stage` is done on the cluster, None before its first time."""
    return Watermark.objects.filter(cluster=cluster, stage=stage).values_list("until_at", flat=True).first()


def move(cluster: Cluster, stage: str, until_at: datetime) -> None:
    """Move the mark forward to `until_at`; a mark that stands further stays."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO watermark AS w (cluster_id, stage, until_at) VALUES (%s, %s, %s)"
            " ON CONFLICT (cluster_id, stage) DO UPDATE SET until_at = excluded.until_at WHERE w.until_at < excluded.until_at",
            [cluster.pk, stage, until_at],
        )


def lock_day(cluster_id: int, day: object) -> None:
    """Take the transaction lock that metering and posting of a cluster's day share; what is computed is computed after it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"day:{cluster_id}:{day}"])
