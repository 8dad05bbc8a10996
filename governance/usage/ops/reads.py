"""What the operations pages show, each page in a fixed number of questions. No rights here: the views ask for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, DateTimeField, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left, Length, Now

from governance.catalogue.history import holds
from governance.catalogue.models import Cluster, NodeState, NodeTerm
from governance.schedulers.registry import SCHEDULERS
from governance.work import reads as work
from governance.work.models import FAILED, RUNNING, WAITING, ScheduleMark, WorkItem

from .. import watermarks
from ..live_models import NodeSeen, PullFinding, QueueSample
from ..models import Intake, QuarantinedRecord
from . import words

STAGES = ("ingested", "metered", "posted")
FINDINGS_SHOWN = 100
QUARANTINE_A_PAGE = 50
NODES_A_PAGE = 100
RAW_CHARACTERS = 2_000
#: A snapshot of the nodes follows that of the queue at once: one that is later by more than this saw an empty queue before it.
SAME_PULL = timedelta(minutes=2)


@dataclass(frozen=True)
class Mark:
    """How far a stage is. `lag_seconds` is None where it never came; files come when somebody brings them, so only a live one is late."""

    stage: str
    until_at: datetime | None
    lag_seconds: float | None
    is_live: bool

    @property
    def tone(self) -> str:
        """A stage that lags by hours is coloured; posting waits for whole days."""
        late = {"ingested": 3_600, "metered": 7_200}.get(self.stage, 3 * 86_400)
        return "bad" if self.is_live and self.lag_seconds is not None and self.lag_seconds > late else ""


@dataclass(frozen=True)
class ClusterRow:
    """A cluster as the list shows it."""

    cluster: Cluster
    is_live: bool  # a scheduler is asked, rather than files read
    marks: list[Mark]
    last: Intake | None
    pull: WorkItem | None
    next_at: datetime | None
    faults: list[WorkItem]
    findings: int
    quarantined: int


@dataclass(frozen=True)
class Queue:
    """The work of one kind."""

    kind: str
    queue: str
    waiting: int
    overdue_seconds: float | None
    running: int
    failed: int
    done: int


@dataclass(frozen=True)
class Work:
    """Background work as it stands; `now` is the database's clock."""

    now: datetime
    items: Sequence[WorkItem]

    def of(self, kind: str, key: str) -> WorkItem | None:
        """One item, or None."""
        return next((item for item in self.items if (item.kind, item.key) == (kind, key)), None)

    def about(self, key: str) -> list[WorkItem]:
        """What concerns one cluster."""
        return [item for item in self.items if item.key == key]

    @property
    def running(self) -> list[WorkItem]:
        """What runs, the longest first."""
        return sorted(
            (i for i in self.items if i.state == RUNNING), key=lambda i: (i.started_at or self.now, i.kind, i.key)
        )

    @property
    def failed(self) -> list[WorkItem]:
        """What has failed, the next to be tried first."""
        return sorted((i for i in self.items if i.state == FAILED), key=lambda i: (i.due_at or self.now, i.kind, i.key))

    @property
    def queues(self) -> list[Queue]:
        """One row for each kind that was ever asked for."""
        kinds: dict[str, list[WorkItem]] = {}
        for item in self.items:
            kinds.setdefault(item.kind, []).append(item)
        return [self._queue(kind, items) for kind, items in sorted(kinds.items())]

    def _queue(self, kind: str, items: list[WorkItem]) -> Queue:
        states = Counter(item.state for item in items)
        late = [
            (self.now - i.due_at).total_seconds()
            for i in items
            if i.state == WAITING and i.due_at and i.due_at <= self.now
        ]
        name = settings.CELERY_TASK_ROUTES.get(kind, {}).get("queue", "")
        overdue = max(late, default=None)
        return Queue(kind, name, states[WAITING], overdue, states[RUNNING], states[FAILED], states["done"])


def work_now() -> Work:
    """All items (one for each kind and key, so they are few), by one question."""
    items = list(WorkItem.objects.annotate(read_at=Now()).order_by("kind", "key"))
    return Work(items[0].read_at if items else datetime.now().astimezone(), items)


def known_clusters() -> QuerySet[Any]:
    """Clusters with their last call, the counts of what is open, when nodes were last seen and beat last asked for pulls."""
    last = Intake.objects.filter(cluster=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    seen = NodeSeen.objects.filter(cluster=OuterRef("pk")).order_by("-seen_at").values("seen_at")[:1]
    return Cluster.objects.order_by("code").annotate(
        last_intake=Subquery(last),
        open_findings=_counted(PullFinding.objects.filter(resolved_at__isnull=True)),
        open_quarantine=_counted(QuarantinedRecord.objects.filter(resolved_at__isnull=True)),
        nodes_seen_at=Subquery(seen),
        pulls_sent_at=Subquery(ScheduleMark.objects.filter(name="pull").values("sent_at")[:1]),
    )


def cluster_rows(on: Work) -> list[ClusterRow]:
    """Every cluster by code."""
    clusters = list(known_clusters())
    intakes = Intake.objects.in_bulk([c.last_intake for c in clusters if c.last_intake])
    marks = _marks(clusters)
    return [_row(one, on, marks.get(one.pk, {}), intakes.get(one.last_intake)) for one in clusters]


def cluster_row(cluster: Any, on: Work) -> ClusterRow:
    """One of `known_clusters`; its last call is read with the others of the page."""
    return _row(cluster, on, _marks([cluster]).get(cluster.pk, {}), None)


def _row(cluster: Any, on: Work, reached: dict[str, datetime], last: Intake | None) -> ClusterRow:
    pull = on.of("usage.pull", cluster.code)
    is_live = cluster.scheduler_kind in SCHEDULERS
    return ClusterRow(
        cluster=cluster,
        is_live=is_live,
        marks=marks_of(reached, on.now, is_live=is_live),
        last=last,
        pull=pull,
        next_at=next_pull(pull, cluster.pulls_sent_at) if is_live else None,
        faults=[item for item in on.about(cluster.code) if item.last_error],
        findings=cluster.open_findings,
        quarantined=cluster.open_quarantine,
    )


def _counted(rows: QuerySet[Any]) -> Coalesce:
    of_cluster = rows.filter(cluster=OuterRef("pk")).order_by().values("cluster").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(of_cluster), 0)


def _marks(clusters: Iterable[Cluster]) -> dict[int, dict[str, datetime]]:
    found: dict[int, dict[str, datetime]] = {}
    for (pk, stage), until_at in watermarks.marks().items():
        found.setdefault(pk, {})[stage] = until_at
    return {cluster.pk: found.get(cluster.pk, {}) for cluster in clusters}


def marks_of(reached: dict[str, datetime], now: datetime, *, is_live: bool) -> list[Mark]:
    """The marks in the order of the stages."""
    return [
        Mark(stage, at, (now - at).total_seconds() if at else None, is_live)
        for stage in STAGES
        for at in (reached.get(stage),)
    ]


def next_pull(item: WorkItem | None, sent_at: datetime | None) -> datetime | None:
    """When a live cluster is pulled next: when its work is due, else when beat asks for every pull again."""
    if item is not None and item.state in (WAITING, FAILED):
        return item.due_at
    every = settings.CELERY_BEAT_SCHEDULE.get("pull", {}).get("schedule")
    return sent_at + timedelta(seconds=every) if sent_at and isinstance(every, float | int) else None


@dataclass(frozen=True)
class Findings:
    """Standing findings in words, the newest first; `more` beyond those shown."""

    shown: list[tuple[PullFinding, words.Said]]
    more: int


def findings(cluster: Cluster, total: int) -> Findings:
    """The open findings of a cluster."""
    rows = PullFinding.objects.filter(cluster=cluster, resolved_at__isnull=True).select_related("cluster")
    # Faults of the source before runs: one of the first explains many of the second.
    rows = rows.order_by(Coalesce(Q(code="source_fault"), False).desc(), "-last_at", "code", "subject")
    shown = [(row, words.of_pull(row)) for row in rows[:FINDINGS_SHOWN]]
    return Findings(shown, max(total - len(shown), 0))


@dataclass(frozen=True)
class Waiting:
    """The queue at its last snapshot by reason, the longest first; None where none was ever taken."""

    at: datetime | None
    is_empty: bool
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def jobs(self) -> int:
        """All that wait."""
        return sum(row["jobs"] for row in self.rows)


def waiting(cluster: Cluster, seen: datetime | None) -> Waiting:
    """The last snapshot, summed by reason and class; `seen` is when the nodes were last seen."""
    latest = QueueSample.objects.filter(cluster=cluster).order_by("-at").values("at")[:1]
    rows = QueueSample.objects.filter(cluster=cluster, at=Subquery(latest, output_field=DateTimeField()))
    sums: dict[tuple[str, str], list[int]] = {}
    at = None
    for row in rows:
        at = row.at
        found = sums.setdefault((row.waits_for, row.reason), [0, 0])
        found[0] += row.jobs
        found[1] += row.asked_gpu_milli
    if seen is not None and (at is None or seen - at > SAME_PULL):
        return Waiting(seen, is_empty=True)
    shown = [
        {
            "tone": words.WAITS_FOR.get(kind, words.WAITS_FOR["other"]),
            "reason": reason,
            "jobs": jobs,
            "gpu_milli": milli,
        }
        for (kind, reason), (jobs, milli) in sorted(sums.items(), key=lambda one: (-one[1][0], one[0]))
    ]
    return Waiting(at, is_empty=False, rows=shown)


@dataclass(frozen=True)
class Nodes:
    """A page of nodes and how many there are of each state; `after` leads to the next page."""

    rows: list[dict[str, Any]]
    states: list[tuple[str, int]]
    seen_at: datetime | None
    after: str


def nodes(cluster: Cluster, after: str, day: date) -> Nodes:
    """The nodes of the last snapshot by name, beginning behind the name `after`, beside the catalogue of `day`."""
    all_nodes = NodeSeen.objects.filter(cluster=cluster)
    counted: Counter[str] = Counter()
    seen_at = None
    for state, flags, at, number in all_nodes.values_list("state", "flags", "seen_at").annotate(n=Count("name")):
        seen_at = max(seen_at or at, at)
        counted[shown_state(state, flags)] += number
    page = list(all_nodes.filter(name__gt=after).order_by("name")[: NODES_A_PAGE + 1])
    names = [node.name for node in page[:NODES_A_PAGE]]
    held = NodeState.objects.filter(node__cluster=cluster, node__name__in=names, to_at__isnull=True).select_related(
        "node"
    )
    states = {state.node.name: state for state in held}
    terms = NodeTerm.objects.filter(node__cluster=cluster, node__name__in=names)
    known = {
        name for name, *days in terms.values_list("node__name", "from_on", "to_on") if holds((days[0], days[1]), day)
    }
    rows = []
    for node in page[:NODES_A_PAGE]:
        state = states.get(node.name)
        rows.append(
            {
                "node": node,
                "shown": shown_state(node.state, node.flags),
                "gpus": sum(count for _, count in node.gpus),
                "types": ", ".join(sorted({kind for kind, _ in node.gpus if kind})),
                "state": state,
                "tone": words.NODE_STATES[state.state if state else "in_service"]
                if node.name in known
                else words.NOT_KNOWN,
                "source": words.SOURCES.get(state.source, "") if state else "",
                "is_stale": seen_at is not None and node.seen_at < seen_at,
            }
        )
    return Nodes(rows, counted.most_common(), seen_at, names[-1] if len(page) > NODES_A_PAGE else "")


def shown_state(state: str, flags: Iterable[str]) -> str:
    """The state as the scheduler's own tools print it: IDLE+DRAIN."""
    return "+".join([state, *flags])


@dataclass(frozen=True)
class Held:
    """A page of the quarantine; `before` leads to the next one."""

    rows: list[Any]
    total: int
    before: int


def quarantine(cluster: Cluster, before: int, total: int) -> Held:
    """Records that could not be read, the newest first, beginning behind the id `before` (0: from the newest)."""
    rows = QuarantinedRecord.objects.filter(cluster=cluster, resolved_at__isnull=True).select_related("intake")
    rows = rows.filter(pk__lt=before) if before else rows
    rows = rows.defer("raw").annotate(text=Left("raw", RAW_CHARACTERS), length=Length(F("raw"))).order_by("-pk")
    page = list(rows[: QUARANTINE_A_PAGE + 1])
    shown = page[:QUARANTINE_A_PAGE]
    return Held(shown, total, shown[-1].pk if len(page) > QUARANTINE_A_PAGE else 0)


def processes() -> list[work.Seen]:
    """Workers and beats that were seen within a day."""
    return work.processes()


def intakes(cluster: Cluster) -> list[Intake]:
    """The last calls that brought records in, the newest first."""
    return list(Intake.objects.filter(cluster=cluster).order_by("-pk")[:5])
