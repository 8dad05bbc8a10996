"""Verbs of the operations pages that join topics: a cluster and the days it touches, a pull asked for, a bounded test."""

from __future__ import annotations

import threading
from datetime import date
from typing import Any

from django.db import transaction

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue import actions as catalogue
from governance.catalogue.models import UNKNOWN_MODEL, Cluster
from governance.errors import N_, BadData, NotTheMoment
from governance.schedulers.live import Finding, Scheduler, SourceFault
from governance.schedulers.registry import SCHEDULERS
from governance.work import actions as work
from governance.work import reads as work_reads
from governance.work.models import FAILED

from .. import discovery, live
from ..actions import cluster_of, mark_dirty, retry_quarantined
from ..ingest import Counts
from ..models import QuarantinedRecord

PULL = "usage.pull"
TEST_SECONDS = 15.0
#: More than a page should read again while somebody waits; the command has all the time.
READ_AGAIN_MOST = 5_000


@transaction.atomic
def save_cluster(code: str, values: dict[str, Any], *, is_new: bool, actor: Actor) -> bool:
    """Add a cluster, or change one; answers whether anything changed. Days are metered again where GPUs count otherwise now.

    Raises NotAllowed, NotFound, and BadData where a new one has the code of another.
    """
    require(actor, "catalogue.change")
    standing = Cluster.objects.select_for_update().filter(code=code).first()
    if is_new and standing is not None:
        raise BadData(N_("There is a cluster “%(code)s” already. Choose another code."), code=code)
    tracked = (standing or cluster_of(code)).tracks_gpus if not is_new else None
    changed = catalogue.put_clusters({(code,): values}, actor=actor)
    if tracked is not None and values.get("tracks_gpus", tracked) != tracked:
        mark_dirty(code, None, None)
    return bool(changed)


@transaction.atomic
def ask_pull(code: str, *, actor: Actor) -> str:
    """Ask for a pull now; answers the state of the work. One that has failed is tried at once, its pause forgotten.

    Raises NotAllowed, NotFound, and NotTheMoment for a cluster without a live scheduler.
    """
    require(actor, "records.import")
    cluster = cluster_of(code)
    if cluster.scheduler_kind not in SCHEDULERS:
        raise NotTheMoment(live.NOT_LIVE, code=code, kinds=", ".join(sorted(SCHEDULERS)))
    standing = work_reads.of(PULL, code)
    if standing is not None and standing.state == FAILED:
        work.retry(PULL, code, actor=actor)
        return "waiting"
    audit(actor, "usage.pull_asked", "cluster", code)
    return work.ask(PULL, code, actor=actor)


def try_connection(code: str, *, actor: Actor, within: float = TEST_SECONDS) -> list[Finding]:
    """The connection test, for a page that somebody waits for: over `within` seconds it is one finding that says so.

    What was asked goes on to its own time-out in a thread of its own, which touches no table.
    """
    require(actor, "catalogue.change")
    cluster = cluster_of(code)
    try:
        scheduler = live.scheduler_of(cluster)
    except SourceFault as fault:
        return [_of_fault(fault)]
    found: list[Finding] = []
    asking = threading.Thread(target=_probe, args=(scheduler, found), name=f"test {code}", daemon=True)
    asking.start()
    asking.join(within)
    if asking.is_alive():
        return [Finding("test_too_long", "blocking", {"seconds": round(within)})]
    return found


def _probe(scheduler: Scheduler, found: list[Finding]) -> None:
    try:
        found += scheduler.probe()
    except SourceFault as fault:
        found.append(_of_fault(fault))
    except Exception as fault:  # a thread has nobody above it: what is unexpected is a finding too
        found.append(Finding("failed", "blocking", {"words": f"{type(fault).__name__}"}))
        raise


def _of_fault(fault: SourceFault) -> Finding:
    detail = {
        name: value if isinstance(value, int | float) else str(value)[:500] for name, value in fault.detail.items()
    }
    return Finding(fault.code, "blocking", detail)


def accept_nodes(code: str, names: list[str], *, every: bool = False, from_on: date, actor: Actor) -> int:
    """Put the chosen nodes (or every new one) into the catalogue from a day on; answers how many terms were written."""
    require(actor, "catalogue.change")
    cluster = cluster_of(code)
    if every:
        names = [
            p.node for p in discovery.proposals(cluster) if p.kind == discovery.NEW and UNKNOWN_MODEL not in p.models
        ]
    if not names:
        raise BadData(N_("No node was chosen. Tick at least one."))
    return discovery.accept(cluster, names, from_on=from_on, actor=actor)


def read_again(code: str, *, actor: Actor) -> Counts:
    """Read a cluster's quarantined records again. Raises NotTheMoment where they are too many for a page."""
    require(actor, "records.import")
    held = QuarantinedRecord.objects.filter(cluster=cluster_of(code), resolved_at__isnull=True).count()
    if held > READ_AGAIN_MOST:
        raise NotTheMoment(
            N_("%(count)s records are too many for a page. Run on the server: manage.py retry_quarantined %(code)s"),
            count=held,
            code=code,
        )
    return retry_quarantined(code, actor=actor)
