"""Writes of usage: records in, facts out. Pages, tasks and commands call these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime

from django.db import connection, transaction
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.errors import N_, BadData, NotFound
from governance.notices.outbox import publish
from governance.notices.wording import words
from governance.schedulers.errors import UnreadableSource
from governance.schedulers.files import ReadOptions
from governance.schedulers.records import RunRecord

from . import intake, matching, watermarks
from .ingest import Counts, Merge, latest_instant, staged_row
from .metering import Meter, Metered, Progress
from .models import QuarantinedRecord

NO_CLUSTER = N_("There is no cluster “%(code)s”. Load an organisation file that declares it first.")


def cluster_of(code: str) -> Cluster:
    """The cluster with this code; raises NotFound."""
    cluster = Cluster.objects.filter(code=code).first()
    if cluster is None:
        raise NotFound(NO_CLUSTER, code=code)
    return cluster


def import_files(
    cluster_code: str,
    paths: Sequence[str],
    *,
    actor: Actor,
    options: ReadOptions | None = None,
    observed_at: datetime | None = None,
    on_bytes: Callable[[int], None] | None = None,
    called: str = "",
) -> list[Counts]:
    """Import files of scheduler records, each in a transaction of its own; answers the counts of each.

    `called`: what the source is called where its path says nothing, as of a file that was sent.
    Times without an offset are read in the cluster's zone unless `options` says another. Raises NotFound for the cluster,
    NotAllowed, and BadData for the first file that cannot be read (files before it stay imported, that one leaves nothing).
    """
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    chosen = options or ReadOptions(time_zone=cluster.time_zone)
    done = []
    for path in paths:
        with _telling_failure(cluster, called or path, actor), transaction.atomic():
            counts = intake.take_in(
                cluster,
                path,
                chosen,
                observed_at=observed_at,
                by=actor.name,
                on_bytes=on_bytes,
                called=called or path,
            )
            audit(actor, "usage.imported", "cluster", cluster.code, after={"source": called or path, **vars(counts)})
            _tell_imported(cluster, called or path, counts, actor)
        done.append(counts)
    return done


@contextmanager
def _telling_failure(cluster: Cluster, source: str, actor: Actor) -> Iterator[None]:
    """Let the person who brought a file know that it could not be read: once a day and cluster, since a program may go on trying."""
    try:
        yield
    except BadData as fault:
        if actor.person is not None:
            facts = {
                "cluster": cluster.code,
                "source": source,
                "error": words(fault.message, **fault.params),
            }
            with transaction.atomic():
                day = f"{timezone.now():%Y-%m-%d}"
                publish("usage.import_failed", f"{cluster.code} {actor.name}", [actor.person], day, facts)
        raise


def _tell_imported(cluster: Cluster, source: str, counts: Counts, actor: Actor) -> None:
    """The same for one that came in; a program that shows a token reads its answer, and is not told of each."""
    if actor.person is None or actor.scopes is not None:
        return
    facts = {"cluster": cluster.code, "source": source, **vars(counts)}
    publish("usage.import_finished", f"{cluster.code} {actor.name}", [actor.person], timezone.now().isoformat(), facts)


def meter(
    cluster_code: str,
    *,
    actor: Actor,
    from_on: date | None = None,
    to_on: date | None = None,
    until_at: datetime | None = None,
    progress: Progress | None = None,
) -> Metered:
    """Rebuild the day facts of the cluster's dirty days and of those its records have newly reached.

    `from_on`, `to_on` (half-open) restrict the days and leave the watermark; `until_at` stops before an instant.
    """
    require(actor, "records.import")
    return Meter(cluster_of(cluster_code), until_at).run(from_on, to_on, progress)


def mark_dirty(cluster_code: str, from_on: date | None, to_on: date | None) -> int:
    """Mark the days in [from_on, to_on) that have facts or capacity on the cluster, for rebuilding; answers how many.

    An open bound is None. Days that were never metered need no mark: metering comes to them by itself.
    """
    matching.raise_revision(
        cluster_code
    )  # first: it waits for a metering that is writing, and the marks then see its day
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO dirty_day (cluster_id, day) SELECT f.cluster_id, f.day FROM fact_day f JOIN cluster c ON c.id = f.cluster_id"
            " WHERE c.code = %s AND (%s::date IS NULL OR f.day >= %s) AND (%s::date IS NULL OR f.day < %s)",
            [cluster_code, from_on, from_on, to_on, to_on],
        )
        return int(cursor.rowcount)


@transaction.atomic
def retry_quarantined(cluster_code: str, *, actor: Actor) -> Counts:
    """Read the cluster's quarantined records again; what can be read now becomes runs, the rest stays."""
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    counts, names = Counts(), intake.names_of(cluster)
    merge: Merge | None = None
    for held in QuarantinedRecord.objects.select_for_update().filter(cluster=cluster, resolved_at__isnull=True):
        counts.read += 1
        try:
            again = intake.read_again(held)
        except UnreadableSource:
            again = []
        runs = [
            r
            for r in again
            if isinstance(r, RunRecord)
            and intake.fits(r)
            and (not names or not r.cluster_name or r.cluster_name in names)
        ]
        if not runs or len(runs) < len(again):
            counts.quarantined += 1
            continue
        merge = merge or Merge(cluster.pk, installation().time_zone, held.intake_id)
        seen = held.intake.observed_at
        rows = [staged_row(r, int(seen.timestamp()) if seen else latest_instant(r)) for r in runs]
        counts.add(merge.chunk(rows))
        watermarks.move(cluster, "ingested", datetime.fromtimestamp(max(row[-1] for row in rows), UTC))
        held.resolved_at = timezone.now()
        held.save(update_fields=["resolved_at"])
    audit(actor, "usage.quarantine_retried", "cluster", cluster.code, after=vars(counts))
    return counts
