"""Which runs of the books a job's samples belong to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from governance.catalogue.models import Cluster
from governance.schedulers.telemetry.activity import Attempt

#: A run that has not ended was last seen when the scheduler was last asked: it may lie this far before the samples.
SEEN_WITHIN = timedelta(days=8)


class Attempts:
    """The runs of a cluster that held cards within [since, until), by the job as telemetry names it: raw id, else printed label."""

    def __init__(self, cluster: Cluster, since: float, until: float) -> None:
        self._cluster = cluster.pk
        self._since, self._until = datetime.fromtimestamp(since, UTC), datetime.fromtimestamp(until, UTC)

    def __call__(self, jobs: Iterable[str]) -> dict[str, list[Attempt]]:
        """The attempts of each job that has any, in the order of their starts, none over another."""
        wanted = sorted(set(jobs))
        if not wanted:
            return {}
        found = self._found("job_id", wanted)
        missing = [job for job in wanted if job not in found]
        return found | (self._found("label", missing) if missing else {})

    def _found(self, column: str, jobs: list[str]) -> dict[str, list[Attempt]]:
        found: dict[str, list[Attempt]] = {}
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {column}, job_id, submit_at, start_at, end_at FROM run {self._where(column)} ORDER BY 1, start_at, submit_at",
                self._given(jobs),
            )
            for job, job_id, submit_at, start_at, end_at in cursor.fetchall():
                end = int(end_at.timestamp()) if end_at else None
                found.setdefault(job, []).append(
                    Attempt(int(submit_at.timestamp()), int(start_at.timestamp()), end, job_id)
                )
        return {job: _apart(attempts) for job, attempts in found.items()}

    @staticmethod
    def _where(column: str) -> str:
        return (
            f"WHERE cluster_id = %s AND {column} = ANY(%s) AND start_at < %s AND stop_at >= %s AND (end_at IS NULL OR stop_at >= %s)"
            " AND submit_at < %s"
        )

    def _given(self, jobs: list[str]) -> list[Any]:
        return [self._cluster, jobs, self._until, self._since - SEEN_WITHIN, self._since, self._until]


def _apart(attempts: list[Attempt]) -> list[Attempt]:
    """An attempt ends at the latest where the next one starts."""
    for number, following in enumerate(attempts[1:]):
        end = attempts[number].end_at
        if end is None or end > following.start_at:
            attempts[number] = attempts[number]._replace(end_at=following.start_at)
    return attempts
