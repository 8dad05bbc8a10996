"""What jobs wait for, from queue snapshots: each job's wait since the last snapshot goes to the class of its present reason."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from governance.catalogue.models import Cluster
from governance.schedulers.live import PendingRecord

from . import sql
from .ingest import copy_rows
from .live_models import QueueSample
from .rules import waits_for

#: Where snapshots are further apart than this, what lies between is not claimed for any class.
LONGEST_GAP_SECONDS = 20 * 60

_STAGED = ("job_id", "submit_s", "eligible_s", "reason", "waits_for")
_TYPES = ("text", "int8", "int8", "text", "text")


def note_queue(cluster: Cluster, at: datetime, waiting: Iterable[PendingRecord]) -> int:
    """Take in a snapshot of the queue, inside a transaction; answers how many jobs waited. The same snapshot twice changes nothing.

    A job that is not eligible yet waits for nothing of ours: it is listed, and its time is the class `other` of the run itself.
    """
    found = list(waiting)
    rows = [
        (record.job_id, record.submit_at, record.eligible_at, record.reason, waits_for(record.reason))
        for record in found
        if record.submit_at is not None
    ]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS pg_temp.waiting")
        cursor.execute(
            "CREATE TEMP TABLE waiting (job_id text, submit_s bigint, eligible_s bigint, reason text, waits_for text) ON COMMIT DROP"
        )
        copy_rows(cursor, "waiting", _STAGED, _TYPES, rows)
        given: dict[str, Any] = {"cluster": cluster.pk, "at": at, "gap": LONGEST_GAP_SECONDS}
        cursor.execute(sql.text("note_waits"), given)
    _note_sums(cluster, at, found)
    return sum(record.tasks for record in found)


def _note_sums(cluster: Cluster, at: datetime, waiting: list[PendingRecord]) -> None:
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for record in waiting:
        jobs = sums.setdefault((record.partition, record.qos, record.account, record.reason), [0, 0])
        jobs[0] += record.tasks
        jobs[1] += record.tasks * (record.asked_gpu_milli or 0)
    QueueSample.objects.bulk_create(
        [
            QueueSample(
                cluster=cluster,
                at=at,
                partition=partition,
                qos=qos,
                account=account,
                reason=reason,
                waits_for=waits_for(reason),
                jobs=jobs,
                asked_gpu_milli=milli,
            )
            for (partition, qos, account, reason), (jobs, milli) in sums.items()
        ],
        ignore_conflicts=True,
    )


def instant(epoch: int) -> datetime:
    """Epoch seconds as an aware UTC instant."""
    return datetime.fromtimestamp(epoch, UTC)
