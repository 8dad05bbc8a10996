"""What a scheduler says of a run, frozen: the one shape all sources answer in.

Named tuples rather than dataclasses: as frozen, and ten times cheaper to make, which matters at a million a minute.
Instants are whole epoch seconds (UTC); durations are whole seconds; cards are whole thousandths (`milli`).
"""

from __future__ import annotations

from typing import NamedTuple


class Outcome:
    """How a run ended, in the portal's words (blueprint, usage)."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILURE = "node_failure"
    PREEMPTED = "preempted"
    RUNNING = "running"
    PENDING = "pending"  # not yet started: no usage, kept for the queue
    ALL = (COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, NODE_FAILURE, PREEMPTED, RUNNING, PENDING)


class Flag:
    """Findings a parser may attach to a record: it is counted, and something about it wants a look."""

    ELAPSED_MISMATCH = "elapsed_mismatch"  # end - start differs from the scheduler's elapsed (+ suspended)
    FOLDED_HOUR = "folded_hour"  # a naive local time that exists twice; the earlier offset was taken
    TYPES_CONTRADICT = "types_contradict"  # typed GPUs add to more than the untyped total; the total was kept
    END_BEFORE_START = "end_before_start"  # the end was moved to the start
    START_BEFORE_SUBMIT = "start_before_submit"  # wait counts zero
    END_MISSING = "end_missing"  # the state is over but no end is printed: not ended, counted to its last observation


class RunRecord(NamedTuple):
    """One attempt of one job as the scheduler recorded it."""

    cluster_name: str  # the scheduler's own name for itself; "" where the record does not say
    job_id: str  # raw id, decimal text without array or component suffix (sacct JobIDRaw)
    label: str  # the id as people see it: "50_3", "12+1", "4711"
    submit_at: int | None  # None: unknown
    eligible_at: int | None  # None: unknown or never eligible
    start_at: int | None  # None: never started (whatever the record prints) or not yet
    end_at: int | None  # None: not ended
    state: str  # the scheduler's word, first token upper-cased: "COMPLETED", "CANCELLED", "NODE_FAIL"
    outcome: str  # one of Outcome
    exit_code: str  # "code:signal" or ""
    reason: str  # the scheduler's last reason, "" where the record has no such field, "None" where it says so
    account: str
    user: str
    partition: str
    qos: str
    job_name: str
    nodes: int  # allocated nodes; 0 when never started
    node_list: str  # as printed, compressed ("gpu[001-003]"); "" when never started
    cpus: int  # allocated
    memory_mib: int  # allocated, all nodes; 0 where unknown
    gpu_milli: int | None  # allocated cards x 1000; 0: known to be none; None: asked for or named but not counted
    gpu_type: str  # see governance.schedulers.slurm.tres.gpu_type: "" untyped, "h100", or "a100:4000+h100:2000+:1000"
    asked_gpu_milli: int | None  # requested cards x 1000, None where the record does not say
    elapsed_s: int | None  # as the scheduler counts it
    suspended_s: int
    limit_s: int | None  # wall time limit; None: unlimited or unknown
    restarts: int | None
    db_index: int | None
    sluid: str
    flags: str  # comma-joined Flag values, sorted, "" for none
    raw: str  # the scheduler's own record: the text line, or the JSON object, in compact form


class BadRecord(NamedTuple):
    """A record that could not be read: its text and why. Nothing is dropped in silence."""

    raw: str  # at most MAX_RAW characters are kept
    code: str  # stable reason code, e.g. "wrong_column_count", "unknown_state", "no_such_hour"
    reason: str  # English detail for the log and the quarantine page, e.g. "26 columns expected, 12 found"


class Skipped(NamedTuple):
    """A row that is no run of its own (a step); counted, never kept."""

    kind: str  # "step"


MAX_RAW = 10_000
