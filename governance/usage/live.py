"""Live schedulers: pull now, test the connection, take refused submissions. Pages, tasks and commands call these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.catalogue.states import Touched
from governance.errors import N_, BadData, NotTheMoment
from governance.schedulers.live import Finding, Scheduler, SourceFault
from governance.schedulers.registry import SCHEDULERS, connect

from . import findings, pulling, watermarks
from .actions import cluster_of, mark_dirty
from .live_models import RefusedSubmission
from .pulling import Pulled
from .rules import day_of
from .wording import fault_worded

NOT_LIVE = N_(
    "Cluster “%(code)s” is read from files: it has no live scheduler. Give it a scheduler kind of %(kinds)s first."
)


def scheduler_of(cluster: Cluster) -> Scheduler:
    """The cluster's live scheduler. Raises NotTheMoment where it has none, SourceFault where a secret is missing."""
    if cluster.scheduler_kind not in SCHEDULERS:
        raise NotTheMoment(NOT_LIVE, code=cluster.code, kinds=", ".join(sorted(SCHEDULERS)))
    names = [name for name in cluster.scheduler_names if name != "*"]
    return connect(cluster.scheduler_kind, name=names[0] if names else cluster.code, connection=cluster.connection)


def pull(
    cluster_code: str,
    *,
    actor: Actor,
    since_at: datetime | None = None,
    until_at: datetime | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Pulled:
    """Pull records, queue and nodes of a live cluster; by default from the watermark less two hours to now.

    Records, queue and nodes are asked for each by itself: accounting that is down hides neither the queue nor the nodes. What the
    scheduler answers whole is kept even where another question fails; then NotTheMoment says which and why, and the faults stand as
    open findings until a pull succeeds.
    """
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    done, faults = Pulled(cluster.code), list[SourceFault]()
    try:
        scheduler = scheduler_of(cluster)
        clock, back_to = pulling.read_clock(cluster, scheduler), watermarks.reached(cluster, "ingested")
    except SourceFault as fault:  # nobody there: no other question would be answered
        _note_faults(cluster, [fault])
        raise fault_worded(fault, cluster.code) from fault
    try:
        done = pulling.pull_records(
            cluster, scheduler, clock=clock, since_at=since_at, until_at=until_at, by=actor.name, progress=progress
        )
    except SourceFault as fault:
        faults.append(fault)
    if until_at is None:
        faults += _take_snapshots(cluster, scheduler, done, back_to)
    _note_faults(cluster, faults)
    if faults:
        raise fault_worded(faults[0], cluster.code) from faults[0]
    return done


def _take_snapshots(
    cluster: Cluster, scheduler: Scheduler, done: Pulled, back_to: datetime | None
) -> list[SourceFault]:
    """The queue and the nodes as they are now, into `done`; answers what could not be had."""
    faults = []
    try:
        done.waiting = pulling.pull_queue(cluster, scheduler)
    except SourceFault as fault:
        faults.append(fault)
    try:
        nodes = pulling.pull_nodes(cluster, scheduler, back_to=back_to)
        done.nodes = nodes.seen
        _mark(cluster, nodes.touched)
        faults += [nodes.fault] if nodes.fault else []
    except SourceFault as fault:
        faults.append(fault)
    return faults


def _note_faults(cluster: Cluster, faults: list[SourceFault]) -> None:
    """Make these the open faults of the source; of several with one code the first is shown."""
    subjects = {fault.code: _plain(fault.detail) for fault in reversed(faults)}
    findings.replace(cluster, "source_fault", subjects, at=timezone.now())


def reread(cluster_code: str, *, actor: Actor, progress: Callable[[int, int], None] | None = None) -> Pulled:
    """The nightly re-read of the last eight days, and the question for runaway jobs."""
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    try:
        scheduler = scheduler_of(cluster)
        clock = pulling.read_clock(cluster, scheduler)
        since = clock - pulling.NIGHTLY
        done = pulling.pull_records(cluster, scheduler, clock=clock, since_at=since, by=actor.name, progress=progress)
        done.runaway = pulling.note_runaway(cluster, scheduler)
    except SourceFault as fault:
        raise fault_worded(fault, cluster.code) from fault
    return done


def try_connection(cluster_code: str, *, actor: Actor) -> list[Finding]:
    """What is right about the connection and what is missing. A scheduler that cannot be asked at all is one blocking finding."""
    require(actor, "catalogue.change")
    cluster = cluster_of(cluster_code)
    try:
        return scheduler_of(cluster).probe()
    except SourceFault as fault:
        return [Finding(fault.code, "blocking", _plain(fault.detail))]


@transaction.atomic
def note_refused(cluster_code: str, reports: Iterable[dict[str, Any]], *, actor: Actor) -> int:
    """Take in refused submissions (key, at, account, user, partition, qos, asked_gpu_milli, reason); a report twice is one row.

    Answers how many were new. Raises BadData for a report without key, time or reason.
    """
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    rows = []
    for number, report in enumerate(reports):
        try:
            at = datetime.fromisoformat(str(report["at"]))
            if at.tzinfo is None:
                raise ValueError
            known = {name: str(report.get(name) or "")[:128] for name in ("account", "user", "partition", "qos")}
            milli = report.get("asked_gpu_milli")
            rows.append(
                RefusedSubmission(
                    cluster=cluster,
                    key=str(report["key"])[:128],
                    at=at,
                    asked_gpu_milli=int(milli) if milli is not None else None,
                    reason=str(report["reason"])[:300],
                    **known,
                )
            )
        except (KeyError, TypeError, ValueError):
            raise BadData(
                N_("Report %(number)s needs a key, a time with an offset (at) and a reason."), number=number + 1
            ) from None
    before = RefusedSubmission.objects.filter(cluster=cluster).count()
    RefusedSubmission.objects.bulk_create(rows, ignore_conflicts=True)
    new = RefusedSubmission.objects.filter(cluster=cluster).count() - before
    audit(actor, "usage.refused_noted", "cluster", cluster.code, after={"reports": len(rows), "new": new})
    return new


def _mark(cluster: Cluster, touched: list[Touched]) -> None:
    """Days whose capacity changed with a node's state."""
    if touched:
        first = min(t.from_at for t in touched)
        mark_dirty(cluster.code, day_of(first, ZoneInfo(installation().time_zone)), None)


def _plain(detail: dict[str, object]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, int | float | bool) else str(value)[:500] for name, value in detail.items()
    }
