"""What an operations page, the health check and the metrics show of work. No rights here: the page asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from .models import FAILED, RUNNING, WAITING, ProcessSeen, WorkItem

#: A process that has not been seen for this long is taken for dead.
SILENT_SECONDS = 45.0


@dataclass(frozen=True)
class Count:
    """Items of a kind in a state. `oldest_seconds`: how long the oldest has waited beyond its due time, or run."""

    kind: str
    state: str
    items: int
    oldest_seconds: float


@dataclass(frozen=True)
class Seen:
    """A worker or beat process; `age_seconds` since it was last seen."""

    name: str
    role: str
    host: str
    queues: tuple[str, ...]
    started_at: datetime
    seen_at: datetime
    age_seconds: float

    @property
    def is_silent(self) -> bool:
        """Whether it must be taken for dead."""
        return self.age_seconds > SILENT_SECONDS


def counts() -> list[Count]:
    """Items by kind and state."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, state, count(*), COALESCE(max(EXTRACT(epoch FROM clock_timestamp()"
            " - CASE state WHEN 'running' THEN started_at WHEN 'done' THEN NULL ELSE due_at END)), 0)::float8"
            " FROM work_item GROUP BY kind, state ORDER BY kind, state"
        )
        return [Count(kind, state, items, max(0.0, oldest)) for kind, state, items, oldest in cursor.fetchall()]


def items(*states: str) -> QuerySet[WorkItem]:
    """Items in these states (all when none is named), by when they are next due."""
    chosen = WorkItem.objects.filter(state__in=states) if states else WorkItem.objects.all()
    return chosen.order_by("due_at", "kind", "key")


def running() -> QuerySet[WorkItem]:
    """What runs, the longest first."""
    return WorkItem.objects.filter(state=RUNNING).order_by("started_at", "kind", "key")


def failed() -> QuerySet[WorkItem]:
    """What has failed and is tried again at `due_at`, the next first."""
    return items(FAILED)


def next_runs() -> QuerySet[WorkItem]:
    """What is to come, waiting or after a fault, the next first."""
    return items(WAITING, FAILED)


def of(kind: str, key: str) -> WorkItem | None:
    """One item, or None."""
    return WorkItem.objects.filter(kind=kind, key=key).first()


def error_words(item: WorkItem) -> str:
    """The last error in the reader's language; empty when there was none since the last success."""
    if not item.last_error:
        return ""
    params: dict[str, Any] = item.last_error_params
    return _(item.last_error) % params if params else _(item.last_error)


def processes(role: str | None = None) -> list[Seen]:
    """Workers and beats that were seen within a day and did not end in order, the latest seen first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now = cursor.fetchone()[0]
    chosen = ProcessSeen.objects.filter(role=role) if role else ProcessSeen.objects.all()
    return [
        Seen(
            name=process.name,
            role=process.role,
            host=process.host,
            queues=tuple(process.queues.split(",")) if process.queues else (),
            started_at=process.started_at,
            seen_at=process.seen_at,
            age_seconds=(now - process.seen_at).total_seconds(),
        )
        for process in chosen.order_by("-seen_at", "name")
    ]


def youngest_seconds(role: str) -> float | None:
    """Seconds since any process of the role was last seen; None when none is known."""
    return min((seen.age_seconds for seen in processes(role)), default=None)
