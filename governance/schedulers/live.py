"""What a live scheduler answers: the protocols of its client and the frozen data beside `RunRecord`. Plain Python.

Instants are whole epoch seconds (UTC). A client raises SourceFault where it cannot answer; one bad record is a BadRecord.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from .records import BadRecord, RunRecord, Skipped


class SourceFault(Exception):  # noqa: N818  the name says what is wrong, as DomainErrors do
    """The scheduler cannot be asked, or did not answer whole. Stable `code`, particulars in `detail`; whoever shows it words it.

    Codes: "unreachable", "host_key", "refused" (sign-in), "command_missing", "unknown_field", "timed_out", "output_cut" (it
    stopped in the middle), "daemon_down" (`daemon` names which: slurmctld or slurmdbd), "unknown_cluster" (the scheduler knows
    none of that name), "not_permitted", "secret_missing" (`what`: a key, a token, known hosts that cannot be read), "version",
    "bad_answer", "failed" (anything else); and from `registry.connect` alone "unknown_kind" and "bad_connection" (`what`: the key).
    Where a command ran: `command` (its name), `status`, `words` (what it complained of, bounded).
    """

    def __init__(self, code: str, **detail: object) -> None:
        particulars = ", ".join(f"{key}={value!r}" for key, value in detail.items())
        super().__init__(f"{code}: {particulars}" if particulars else code)
        self.code = code
        self.detail: dict[str, object] = detail


class Window(NamedTuple):
    """Half-open [since_at, until_at)."""

    since_at: int
    until_at: int


class Stopped(NamedTuple):
    """What was told the scheduler to end one run, and whether that run was still there."""

    command: str  # as it is run, quoted for a shell
    was_there: bool


class PendingRecord(NamedTuple):
    """A job that waits, as a queue snapshot shows it; `tasks` > 1 for an array that is not yet split."""

    job_id: str  # raw id (of the array, where it is not yet split)
    label: str
    submit_at: int | None
    eligible_at: int | None
    account: str
    user: str
    partition: str
    qos: str
    reason: str  # the scheduler's word without particulars, e.g. "AssocGrpGRES", "ReqNodeNotAvail"
    asked_gpu_milli: int | None  # of one task
    gpu_type: str
    nodes: int
    priority: int | None
    tasks: int


class NodeRecord(NamedTuple):
    """A node as a snapshot shows it: base state and flags apart."""

    name: str
    state: str  # base state, upper case: "IDLE", "MIXED", "ALLOCATED", "DOWN", "FUTURE", "UNKNOWN", ...
    flags: tuple[str, ...]  # sorted: "DRAIN", "NOT_RESPONDING", "RESERVED", "PLANNED", "MAINTENANCE", ...
    reason: str
    reason_at: int | None
    reason_by: str
    gpus: tuple[tuple[str, int], ...]  # (type as printed lower-cased or "", count), sorted
    gpus_used: int | None
    cpus: int
    memory_mib: int
    partitions: tuple[str, ...]
    boot_at: int | None


class NodeEvent(NamedTuple):
    """A stretch of a node's history as the scheduler's database keeps it; `to_at` None: still so."""

    name: str
    state: str
    flags: tuple[str, ...]
    from_at: int
    to_at: int | None
    reason: str
    by: str


class Finding(NamedTuple):
    """One answer of a connection test."""

    code: str  # stable, e.g. "sees_only_own_jobs"
    severity: str  # "ok", "info", "warning" or "blocking"
    detail: dict[str, Any]


class Scheduler(Protocol):
    """A live scheduler. Every call is bounded in time; iterators stream."""

    @property
    def reading(self) -> dict[str, Any]:
        """How the text of one of its records is read again: `format`, and where it has columns `fields`, `delimiter`, `time_zone`."""

    def clock(self) -> int:
        """The scheduler host's own clock, epoch seconds."""

    def runs(self, window: Window) -> Iterator[RunRecord | BadRecord | Skipped]:
        """Every attempt that ran, ended or was eligible in the window, as it is read.

        A half answer raises SourceFault after its last record: nothing may be kept before the end.
        """

    def queue(self) -> Iterator[PendingRecord | BadRecord]:
        """The jobs that wait now."""

    def nodes(self) -> Iterator[NodeRecord | BadRecord]:
        """The nodes now."""

    def events(self, window: Window) -> Iterator[NodeEvent | BadRecord]:
        """Node events that overlap the window."""

    def runaway(self) -> list[str]:
        """Raw ids of jobs the accounting holds for running and the controller does not know."""

    def probe(self) -> list[Finding]:
        """The connection test: what is right, what is missing, what the first pull would bring."""
