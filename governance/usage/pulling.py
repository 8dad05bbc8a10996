"""Pulling a live scheduler: its records in windows, its queue, its nodes; each window's work and watermark in one transaction.

The watermark is the scheduler host's clock at the start of the call, never our clock and never the latest end. Pulls overlap by two
hours, since accounting is late; the nightly re-read takes eight days, since a run may be changed long after it ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from typing import Any, NamedTuple

from django.db import transaction

from governance.catalogue.models import Cluster
from governance.catalogue.states import Touched, note_events, note_nodes
from governance.schedulers.live import NodeEvent, NodeRecord, PendingRecord, Scheduler, SourceFault, Window

from . import findings, watermarks
from .ahead import ahead
from .ingest import Counts
from .intake import Chunk, absorb, chunks_of, names_of
from .live_models import NodeSeen
from .models import Intake, Run
from .queue import instant, note_queue

OVERLAP = timedelta(hours=2)
NIGHTLY = timedelta(days=8)
#: The first window, and the bounds of the others. Each call costs the scheduler some time however little it answers, and each record
#: of an answer some of the memory that both ends hold until it is printed: a window grows and shrinks with what the last one brought.
WINDOW, SHORTEST, LONGEST = timedelta(days=1), timedelta(hours=1), timedelta(days=8)
FEW, MANY = 10_000, 40_000
#: How far back the first pull of a cluster reaches where nobody says.
FIRST_PULL = timedelta(days=30)
#: A clock of the scheduler's host that is off ours by more seconds than this is a finding.
MOST_SKEW_S = 60

Progress = Callable[[int, int], None]


@dataclass
class Pulled:
    """What a pull did."""

    cluster: str
    since: str = ""
    until: str = ""
    windows: int = 0
    records: Counts = field(default_factory=Counts)
    waiting: int = 0
    nodes: int = 0
    vanished: int = 0
    runaway: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return asdict(self)


def our_clock() -> float:
    """This host's clock, epoch seconds: only ever compared with the scheduler's, never used for its records."""
    return time.time()


def read_clock(cluster: Cluster, scheduler: Scheduler) -> datetime:
    """The scheduler host's clock; one that is off ours stands as a finding until it agrees again. Raises SourceFault."""
    before = our_clock()
    clock = scheduler.clock()
    first, last = clock - before, clock - our_clock()  # it was read in between
    skew = round(first if abs(first) < abs(last) else last)
    found = {"": {"skew_s": skew}} if abs(skew) > MOST_SKEW_S else {}
    findings.replace(cluster, "clock_skew", found, at=datetime.fromtimestamp(our_clock(), UTC))
    return instant(clock)


def pull_records(
    cluster: Cluster,
    scheduler: Scheduler,
    *,
    clock: datetime | None = None,
    since_at: datetime | None = None,
    until_at: datetime | None = None,
    by: str,
    progress: Progress | None = None,
) -> Pulled:
    """Pull the records of [since_at, until_at) in windows, oldest first; by default from the watermark less the overlap to now.

    Each window is a transaction with its own watermark, so that a pull that dies goes on where it was; `progress` is in days. `clock` is
    the scheduler's, where it has just been read. Raises SourceFault where the scheduler does not answer whole; the windows before it stay.
    """
    clock = clock or instant(scheduler.clock())
    until = min(until_at, clock) if until_at else clock
    since = since_at or _default_since(cluster, clock)
    done = Pulled(cluster.code, since.isoformat(), until.isoformat())
    continues, known_to = _continues(cluster, since), watermarks.reached(cluster, "ingested")
    for (low, high), of_window in groupby(
        ahead(_pieces(cluster, scheduler, since, until, clock)), key=lambda piece: piece.window
    ):
        first = next(of_window)
        # Opened now that its beginning is read: no lock is held while a scheduler gathers its rows.
        with transaction.atomic():
            intake = Intake.objects.create(
                cluster=cluster,
                source=f"{cluster.scheduler_kind} {low:%Y-%m-%dT%H:%M:%SZ}..{high:%Y-%m-%dT%H:%M:%SZ}",
                format=cluster.scheduler_kind,
                actor=by,
                observed_at=first.observed_at,
            )
            counts = absorb(
                intake,
                (piece.chunk for piece in chain((first,), of_window)),
                scheduler.reading,
                reached_at=_reached(cluster, high if high < until else min(clock, high), continues),
                expects_known=known_to is not None and (known_to - low) * 2 > high - low,
            )
        done.records.add(counts)
        done.windows += 1
        if progress:
            progress(_days(high - since), _days(until - since))
    if until_at is None:
        done.vanished = _note_vanished(cluster, since, clock)
    return done


class _Piece(NamedTuple):
    """A chunk of the records of a window, observed when that window's call began."""

    window: tuple[datetime, datetime]
    observed_at: datetime
    chunk: Chunk


def _pieces(
    cluster: Cluster, scheduler: Scheduler, since: datetime, until: datetime, clock: datetime
) -> Iterator[_Piece]:
    """The chunks of all windows of [since, until), at least one of each. Touches no database: a thread reads them ahead."""
    names, low, length, observed = names_of(cluster), since, WINDOW, clock
    while low < until:
        high = min(low + length, until)
        count = 0
        for chunk in chunks_of(scheduler.runs(Window(int(low.timestamp()), int(high.timestamp()))), names, observed):
            count += len(chunk.rows) + len(chunk.bad) + chunk.steps
            yield _Piece((low, high), observed, chunk)
        low, length = high, following(length, count)
        if low < until:
            observed = instant(scheduler.clock())


def following(length: timedelta, records: int) -> timedelta:
    """How long the window after one of this length with so many records is."""
    if records < FEW:
        return min(length * 2, LONGEST)
    return max(length / 2, SHORTEST) if records > MANY else length


def _days(span: timedelta) -> int:
    """Days begun."""
    return -(span // timedelta(days=-1))


def _default_since(cluster: Cluster, clock: datetime) -> datetime:
    ingested = watermarks.reached(cluster, "ingested")
    return min(ingested - OVERLAP, clock - OVERLAP) if ingested else clock - FIRST_PULL


def _continues(cluster: Cluster, since: datetime) -> bool:
    """Whether the window joins on to what is in: a pull that starts later than the watermark leaves a gap, and may not move it."""
    ingested = watermarks.reached(cluster, "ingested")
    return ingested is None or since <= ingested


def _reached(cluster: Cluster, high: datetime, continues: bool) -> datetime:
    if continues:
        return high
    standing = watermarks.reached(cluster, "ingested")
    return high if standing is None else standing


def _note_vanished(cluster: Cluster, since: datetime, clock: datetime) -> int:
    """Runs that have not ended for us but that a pull to now no longer shows: the scheduler forgot them."""
    gone = Run.objects.filter(cluster=cluster, end_at__isnull=True, start_at__isnull=False, observed_at__lt=clock)
    gone = gone.filter(submit_at__lt=clock - OVERLAP)
    subjects = {
        f"{job} {at:%Y-%m-%dT%H:%M:%SZ}": {"last_seen": seen.isoformat()}
        for job, at, seen in gone.values_list("job_id", "submit_at", "observed_at")
    }
    findings.replace(cluster, "vanished_run", subjects, at=clock)
    return len(subjects)


def pull_queue(cluster: Cluster, scheduler: Scheduler) -> int:
    """Take a snapshot of the queue; answers how many jobs wait."""
    at = instant(scheduler.clock())
    waiting = [record for record in scheduler.queue() if isinstance(record, PendingRecord)]
    with transaction.atomic():
        return note_queue(cluster, at, waiting)


class NodesPulled(NamedTuple):
    """What a snapshot of the nodes brought. `fault`: why their events could not be had; the snapshot stands all the same."""

    seen: int
    touched: list[Touched]
    fault: SourceFault | None


def pull_nodes(cluster: Cluster, scheduler: Scheduler, *, back_to: datetime | None = None) -> NodesPulled:
    """Take a snapshot of the nodes and the events since the last one (or since `back_to`, where that is earlier).

    Raises SourceFault where there is no snapshot. The accounting, which keeps the events, may be down by itself.
    """
    at = instant(scheduler.clock())
    seen = [record for record in scheduler.nodes() if isinstance(record, NodeRecord)]
    last = NodeSeen.objects.filter(cluster=cluster).order_by("-seen_at").values_list("seen_at", flat=True).first()
    since = min(last or at, back_to or at, at) - timedelta(days=1)
    events, fault = _events(scheduler, Window(int(since.timestamp()), int(at.timestamp())))
    with transaction.atomic():
        touched = note_events(cluster, events) + note_nodes(cluster, at, seen)
        _note_seen(cluster, at, seen)
    return NodesPulled(len(seen), touched, fault)


def _events(scheduler: Scheduler, window: Window) -> tuple[list[NodeEvent], SourceFault | None]:
    try:
        return [event for event in scheduler.events(window) if isinstance(event, NodeEvent)], None
    except SourceFault as fault:
        return [], fault


def _note_seen(cluster: Cluster, at: datetime, seen: list[NodeRecord]) -> None:
    rows = [
        NodeSeen(
            cluster=cluster,
            name=r.name,
            state=r.state,
            flags=list(r.flags),
            reason=r.reason,
            gpus=[list(pair) for pair in r.gpus],
            gpus_used=r.gpus_used,
            cpus=r.cpus,
            memory_mib=r.memory_mib,
            partitions=list(r.partitions),
            seen_at=at,
        )
        for r in {record.name: record for record in seen}.values()
    ]
    fields = ["state", "flags", "reason", "gpus", "gpus_used", "cpus", "memory_mib", "partitions", "seen_at"]
    NodeSeen.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["cluster", "name"], update_fields=fields, batch_size=2000
    )


def note_runaway(cluster: Cluster, scheduler: Scheduler) -> int:
    """Jobs the accounting holds for running and the controller does not know: they inflate use until they are mended."""
    found = scheduler.runaway()
    findings.replace(cluster, "runaway_job", {job: {} for job in found}, at=datetime.now(UTC))
    return len(found)
