"""What the home pages show beside the ledger's own statement, each part in one or two questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from billing.ledger import reads
from billing.ledger.rules import Span
from governance.access.actor import Actor
from governance.access.named import in_language
from governance.catalogue.models import UNASSIGNED_POOL
from governance.tenants.models import held_today
from governance.usage.ops import reads as ops
from governance.usage.rules import waits_for
from governance.work import reads as work

OWN_SHOWN = 20
RUNNING_SEEN = timedelta(days=2)  # a run that was seen running this shortly before the last records runs
WAITING_SINCE = timedelta(days=31)
#: The first words of the scheduler's reason, and what they mean to who waits.
REASONS: tuple[tuple[tuple[str, ...], str | Promise], ...] = (
    (("Resources", "Nodes_required"), _("The GPUs it asks for are not free yet.")),
    (("Priority",), _("Others are before it in the queue.")),
    (("Dependency",), _("It waits for another job to end.")),
    (("BeginTime",), _("It was told to begin later.")),
    (("JobHeld", "Held"), _("It is held; whoever held it must release it.")),
    (("ReqNodeNotAvail", "NodeDown", "PartitionDown"), _("The nodes it asks for are out of service.")),
    (("Reservation",), _("It waits for its reservation.")),
    (("Licenses",), _("The licences it asks for are taken.")),
)
CLASSES: dict[str, str | Promise] = {
    "quota": _("A limit of its project, account or QoS is reached."),
    "capacity": _("The pool has too little free for it."),
    "other": _("The scheduler gives a reason of its own."),
}
NO_REASON = _("The records do not say why.")


@dataclass(frozen=True)
class OwnJob:
    """A job of the reader's that runs or waits; `seconds` since it started, or since it could have."""

    label: str
    name: str
    cluster: str
    url: str
    is_running: bool
    gpu_milli: int | None
    seconds: int
    why: str | Promise
    reason: str


@dataclass(frozen=True)
class OwnJobs:
    """Those that run, then those that wait, each the longest first; as of when the records are."""

    rows: list[OwnJob]
    at: datetime | None
    more: int = 0

    @property
    def running(self) -> int:
        """How many run."""
        return sum(row.is_running for row in self.rows)


OWN = """
    SELECT r.label, r.job_name, c.code, r.job_id, r.submit_at, r.start_at, r.eligible_at,
        CASE WHEN r.start_at IS NULL THEN r.asked_gpu_milli ELSE r.gpu_milli END,
        coalesce(nullif(s.last_reason, ''), nullif(r.reason, 'None'), ''), w.until_at
    FROM login AS l
    JOIN watermark AS w ON w.cluster_id = l.cluster_id AND w.stage = 'ingested'
    JOIN cluster AS c ON c.id = l.cluster_id
    LEFT JOIN LATERAL (
        SELECT * FROM run WHERE cluster_id = l.cluster_id AND "user" = l.login AND outcome = 'running'
            AND stop_at >= w.until_at - %(seen)s
        UNION ALL
        SELECT * FROM run WHERE cluster_id = l.cluster_id AND "user" = l.login AND outcome = 'pending'
            AND submit_at >= w.until_at - %(since)s
    ) AS r ON TRUE
    LEFT JOIN wait_sample AS s ON s.cluster_id = r.cluster_id AND s.job_id = r.job_id AND s.submit_at = r.submit_at
    WHERE l.person_id = %(person)s"""


def own_jobs(actor: Actor) -> OwnJobs:
    """What the actor's own logins have running and waiting by the last records."""
    given: dict[str, Any] = {
        "person": actor.person.pk if actor.person else 0,
        "seen": RUNNING_SEEN,
        "since": WAITING_SINCE,
    }
    with connection.cursor() as cursor:
        cursor.execute(OWN, given)
        rows = cursor.fetchall()
    found = [_own(row[:-1], row[-1]) for row in rows if row[0] is not None]
    found.sort(key=lambda job: (not job.is_running, -job.seconds, job.label))
    at = min((row[-1] for row in rows), default=None)
    return OwnJobs(found[:OWN_SHOWN], at, max(len(found) - OWN_SHOWN, 0))


def _own(row: tuple[Any, ...], at: datetime) -> OwnJob:
    label, name, cluster, job_id, submit_at, start_at, eligible_at, milli, reason = row
    since = start_at or max(submit_at, eligible_at or submit_at)
    url = reverse("job", args=[cluster, job_id, int(submit_at.timestamp())])
    why = "" if start_at else why_words(reason)
    seconds = max(int((at - since).total_seconds()), 0)
    return OwnJob(label, name, cluster, url, start_at is not None, milli, seconds, why, "" if start_at else reason)


def why_words(reason: str) -> str | Promise:
    """The scheduler's reason in plain words."""
    if not reason:
        return NO_REASON
    for beginnings, words in REASONS:
        if reason.startswith(beginnings):
            return words
    return CLASSES[waits_for(reason)]


@dataclass(frozen=True)
class Closing:
    """What keeps a month from being complete in the books, and whether they balance."""

    unposted: int
    first_unposted: str
    owed: Decimal
    recovered: Decimal

    @property
    def difference(self) -> Decimal:
        """Zero where the books balance."""
        return self.owed + self.recovered


def closing(period: str, unposted: list[str], *, actor: Actor) -> Closing:
    """The trial balance of the month, beside its days (ISO) that are not posted."""
    balance = reads.trial_balance(period, actor=actor)
    sums = {
        kind: sum((a.amount for a in balance if a.account_kind == kind), Decimal(0)) for kind in ("department", "pool")
    }
    return Closing(len(unposted), unposted[0] if unposted else "", sums["department"], sums["pool"])


class Supply(NamedTuple):
    """Capacity of a span: allocated of available GPU time, and of how many days there are figures."""

    rate: Decimal | None
    days: int
    of_days: int


def supply(span: Span) -> Supply:
    """The site's allocation rate: allocated ÷ (installed − reserved − drained − down)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(allocated), sum(installed - reserved - drained - down), count(DISTINCT day) FROM capacity_day"
            " WHERE day BETWEEN %s AND %s",
            list(span),
        )
        allocated, available, days = cursor.fetchone()
    rate = Decimal(allocated) / Decimal(available) if available and available > 0 else None
    return Supply(rate, days, (span.last_on - span.first_on).days + 1)


class QueueNow(NamedTuple):
    """What waits by the last snapshot of each queue; `at` of the oldest of these, None where there is none."""

    at: datetime | None
    jobs: int
    gpu_milli: int
    clusters: int


def queue() -> QueueNow:
    """Jobs and GPUs that wait everywhere."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(q.at), coalesce(sum(q.jobs), 0), coalesce(sum(q.asked_gpu_milli), 0), count(DISTINCT q.cluster_id)"
            " FROM queue_sample AS q JOIN (SELECT cluster_id, max(at) AS at FROM queue_sample GROUP BY 1) AS l USING (cluster_id, at)"
        )
        at, jobs, milli, clusters = cursor.fetchone()
    return QueueNow(at, int(jobs), int(milli), clusters)


class PoolUse(NamedTuple):
    """A pool's month: its allocation rate and its parts in GPU-hours."""

    code: str
    name: str
    rate: Decimal | None
    allocated: Decimal
    free: Decimal
    out: Decimal

    @property
    def bar(self) -> int:
        """The rate in whole percent, at most 100."""
        return min(int((self.rate or 0) * 100), 100)


def pools(span: Span, *, actor: Actor) -> list[PoolUse]:
    """The pools the actor manages, the fullest first."""
    mine = (
        None if actor.may("capacity.view") else [h.code for h in held_today(actor) if h.gives("capacity.view", "pool")]
    )
    narrowed, given = ("", []) if mine is None else (" AND c.pool = ANY(%s)", [mine])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.pool, p.name_zh, p.name_en, sum(c.allocated), sum(c.free), sum(c.reserved + c.drained + c.down),"
            " sum(c.installed - c.reserved - c.drained - c.down)"
            " FROM capacity_day AS c JOIN pool AS p ON p.code = c.pool"
            f" WHERE c.day BETWEEN %s AND %s AND c.pool <> %s{narrowed} GROUP BY 1, 2, 3",
            [*span, UNASSIGNED_POOL, *given],
        )
        rows = cursor.fetchall()
    found = [
        PoolUse(
            code,
            in_language(zh, en) or code,
            Decimal(allocated) / Decimal(available) if available > 0 else None,
            *(Decimal(value) / 3_600_000 for value in (allocated, free, out)),
        )
        for code, zh, en, allocated, free, out, available in rows
    ]
    return sorted(found, key=lambda pool: (-(pool.rate or 0), pool.code))


@dataclass(frozen=True)
class Operations:
    """How collection stands: each cluster, what failed, what wants a look."""

    clusters: list[ops.ClusterRow]
    failed: list[tuple[Any, str]] = field(default_factory=list)

    @property
    def findings(self) -> int:
        """Open findings of all clusters."""
        return sum(row.findings for row in self.clusters)

    @property
    def quarantined(self) -> int:
        """Records in quarantine."""
        return sum(row.quarantined for row in self.clusters)


def operations() -> Operations:
    """Clusters by code, and failed work with its fault in words."""
    on = ops.work_now()
    return Operations(ops.cluster_rows(on), [(item, work.error_words(item)) for item in on.failed[:5]])
