"""Slurm's job states and what they mean for a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from governance.schedulers.errors import RecordFault
from governance.schedulers.records import Outcome


class Status(NamedTuple):
    """A state as Slurm says it, its outcome, and whether a run in it is over."""

    word: str
    outcome: str
    terminal: bool


_OVER = {
    "COMPLETED": Outcome.COMPLETED,
    "FAILED": Outcome.FAILED,
    "CANCELLED": Outcome.CANCELLED,
    "TIMEOUT": Outcome.TIMEOUT,
    "DEADLINE": Outcome.TIMEOUT,
    "OUT_OF_MEMORY": Outcome.OUT_OF_MEMORY,
    "NODE_FAIL": Outcome.NODE_FAILURE,
    "BOOT_FAIL": Outcome.NODE_FAILURE,
    "LAUNCH_FAILED": Outcome.NODE_FAILURE,
    "RECONFIG_FAIL": Outcome.NODE_FAILURE,
    "PREEMPTED": Outcome.PREEMPTED,
    "REQUEUED": Outcome.CANCELLED,  # the attempt is over, the job is not; preempted where the reason says so
    "RESIZING": Outcome.COMPLETED,  # the attempt of the old size is over
    "REVOKED": Outcome.CANCELLED,
    "SPECIAL_EXIT": Outcome.FAILED,
}
_ALIVE = dict.fromkeys(
    ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "SIGNALING", "STAGE_OUT", "CONFIGURING", "POWER_UP_NODE"),
    Outcome.RUNNING,
)
_WAITING = dict.fromkeys(("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD"), Outcome.PENDING)
STATUSES = {word: Status(word, outcome, word in _OVER) for word, outcome in (_OVER | _ALIVE | _WAITING).items()}
_BASE_STATES = (
    "PENDING RUNNING SUSPENDED COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY"
)
BASES = frozenset(_BASE_STATES.split())


def status_of(text: str) -> Status:
    """The status of a printed state such as `CANCELLED by 1002` or `OUT_OF_ME+`; raises RecordFault."""
    tokens = text.split()
    word = tokens[0].upper() if tokens else ""
    found = STATUSES.get(word)
    if found is None and word.endswith("+"):  # cut to a column's width
        meant = [name for name in STATUSES if name.startswith(word[:-1])]
        found = STATUSES[meant[0]] if len(meant) == 1 else None
    if found is None:
        raise RecordFault("unknown_state", f"unknown state {text[:60]!r}")
    return found


def status_of_flags(words: Sequence[str], ended: bool) -> Status:
    """The status of a JSON list: a base state with flags.

    The base counts, but a requeued or resized attempt is stored as a flag upon the base 0, which prints as PENDING:
    where the record has an end, the flag says what became of it.
    """
    bases = [word for word in words if word.upper() in BASES]
    if ended and bases and bases[0].upper() == "PENDING":
        flags = [word for word in words if word.upper() in _OVER]
        bases = flags or bases
    if not words:
        raise RecordFault("unknown_state", "no state")
    return status_of((bases or list(words))[0])


def outcome_of(status: Status, reason: str) -> str:
    """The outcome, with the one case in which the reason decides."""
    if status.word == "REQUEUED" and "preempt" in reason.lower():
        return Outcome.PREEMPTED
    return status.outcome
