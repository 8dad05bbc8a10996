"""What the demo's parts hand to each other: a job on its way through a pool, and a node's outage."""

from __future__ import annotations

from dataclasses import dataclass

RANKS = ("high", "normal", "low")  # QoS in the order in which the scheduler looks at them; `low` may be preempted


class Job:
    """One job, mutable while it queues and runs. Instants are epoch seconds, durations seconds."""

    __slots__ = (
        "account",
        "array_first",
        "array_tasks",
        "attempt",
        "cancel_at",
        "cards",
        "cpus",
        "eligible",
        "end_state",
        "exit_code",
        "gone",
        "het_first",
        "job_id",
        "kind",
        "limit",
        "name",
        "nodes",
        "preempted_at",
        "rank",
        "reason",
        "requeue_self",
        "restarts",
        "run",
        "start",
        "submit",
        "task",
        "uid",
        "user",
    )

    def __init__(self, submit: int, cards: int, cpus: int, run: int, limit: int, kind: str) -> None:
        """A job that is eligible when submitted, ends well, and belongs to nobody yet."""
        self.job_id = 0
        self.submit = self.eligible = submit
        self.cards = cards  # 0: runs on cores alone
        self.cpus = cpus
        self.run = run  # how long it runs if nothing disturbs it
        self.limit = limit
        self.kind = kind  # training | inference | development
        self.account = self.user = self.name = ""
        self.uid = 0
        self.rank = 1
        self.end_state = "COMPLETED"
        self.exit_code = "0:0"
        self.cancel_at = 0  # the owner's patience, 0: endless
        self.requeue_self = 0  # times it still asks to be requeued when it ends
        self.array_first = 0  # the array's own id, 0: no array
        self.task = self.array_tasks = 0
        self.het_first = 0  # cards of the first component of two, 0: not heterogeneous
        self.attempt = 0
        self.gone = False  # its last attempt ended
        self.restarts = 0
        self.reason = "None"
        self.preempted_at = 0  # when somebody was last asked to make room for it
        self.start = 0
        self.nodes: list[int] = []  # positions in the pool; empty while it waits


@dataclass(frozen=True)
class Outage:
    """A node out of service, [from_at, to_at) in epoch seconds; `to_at` None where it lasts beyond the end."""

    cluster: str
    node: str
    state: str  # down | drained
    from_at: int
    to_at: int | None
    reason: str  # owner:check:ticket
