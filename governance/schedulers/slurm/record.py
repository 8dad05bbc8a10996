"""The judgements that sacct text and JSON share: did the run start, is it over, how many cards, what looks odd."""

from __future__ import annotations

import re
from typing import NamedTuple

from governance.schedulers.errors import RecordFault
from governance.schedulers.records import MAX_RAW, BadRecord, Flag, Outcome, RunRecord
from governance.schedulers.slurm import hostlist
from governance.schedulers.slurm.hostlist import NO_NODES
from governance.schedulers.slurm.states import Status, outcome_of
from governance.schedulers.slurm.tres import Tres

_NEVER_WITHOUT_NODES = frozenset({"CANCELLED", "DEADLINE", "REVOKED"})
_HET = re.compile(r"(\d{1,20})\+(\d{1,20})", re.ASCII)
_PENDING_ARRAY = re.compile(r"(\d{1,20})_\[.*\]", re.ASCII | re.DOTALL)
_PLAIN_OR_TASK = re.compile(r"\d{1,20}(?:_\d{1,20})?(?:\+\d{1,20})?", re.ASCII)
_ASKS_GPUS = re.compile(
    r"(?<!\S)(?:(?:--gpus(?:-per-(?:node|task|socket))?[ =]|-G ?)(?!0\b)\w"
    r"|--(?:gres|tres-per-task)[ =]\S*\b(?:gpu|npu|mps|shard)\b(?!:0\b))"
)


class Facts(NamedTuple):
    """What a record prints, read but not yet judged; the fields of RunRecord mean the same here."""

    cluster_name: str
    job_id: str
    label: str
    submit_at: int | None
    eligible_at: int | None
    start_at: int | None  # as printed
    end_at: int | None  # as printed
    status: Status
    exit_code: str
    reason: str
    account: str
    user: str
    partition: str
    qos: str
    job_name: str
    nodes: int  # 0 where the record has no count
    node_list: str | None  # None where the record has no such field
    cpus: int  # 0 where the record has no count
    allocated: Tres
    asked: Tres
    names_gpus: bool  # any other field asks for or names cards
    elapsed_s: int | None
    suspended_s: int
    limit_s: int | None
    restarts: int | None
    db_index: int | None
    sluid: str
    folded: bool
    raw: str


def bad(raw: str, code: str, reason: str) -> BadRecord:
    """A record that goes to quarantine, its text cut to MAX_RAW characters."""
    return BadRecord(raw[:MAX_RAW], code, reason)


def job_id_from(label: str) -> str:
    """The raw id behind a printed one, for records that print no raw id.

    `4711` is itself, `12+1` is 13 (components of a heterogeneous job are numbered on from the leader), `50_[1-3%1]` is
    the array's own 50. The raw id of a task `50_3` cannot be known and `50_3` stands in for it. Raises RecordFault.
    """
    if not label:
        raise RecordFault("no_job_id", "the record has no job id")
    if match := _HET.fullmatch(label):
        return str(int(match[1]) + int(match[2]))
    if match := _PENDING_ARRAY.fullmatch(label):
        return match[1]
    if _PLAIN_OR_TASK.fullmatch(label):
        return label
    raise RecordFault("bad_job_id", f"not a job id: {label[:60]!r}")


def asks_gpus(submit_line: str) -> bool:
    """Whether a submit line asks for cards (`--gpus 4`, `-G2`, `--gres=gpu:2`).

    Slurm keeps it without its quotes, so a program's own `--gpus` looks the same: rather unknown than a wrong zero.
    """
    return "-" in submit_line and _ASKS_GPUS.search(submit_line) is not None


def _started(facts: Facts) -> bool:
    """A run has started when it has a start and nodes; without a node list, its start and state decide.

    Slurm gives a job that was cancelled while it waited a start equal to its end.
    """
    if facts.start_at is None:
        return False
    if facts.node_list is not None:
        return facts.node_list.strip().lower() not in NO_NODES
    if facts.status.outcome == Outcome.PENDING:
        return False
    return not (facts.status.word in _NEVER_WITHOUT_NODES and facts.end_at == facts.start_at)


def _gpu_milli(facts: Facts) -> int | None:
    """Cards of a started run: the allocation's count; unknown where cards are named or nothing at all is stated."""
    allocated, asked = facts.allocated, facts.asked
    if allocated.names_gpus:
        return allocated.gpu_milli
    if asked.names_gpus or facts.names_gpus:
        return None
    return 0 if allocated.stated or asked.stated else None


def _asked_milli(facts: Facts) -> int | None:
    asked = facts.asked
    if asked.names_gpus:
        return asked.gpu_milli
    return 0 if asked.stated and not facts.names_gpus else None


def _node_count(node_list: str) -> int:
    try:
        return len(hostlist.expand(node_list))
    except ValueError:
        return 0


def _found(facts: Facts, start_at: int, end_at: int | None, flags: list[str]) -> int | None:
    """Add what looks odd in a started run to `flags`; returns its end, which never lies before its start."""
    if facts.allocated.types_contradict:
        flags.append(Flag.TYPES_CONTRADICT)
    if facts.submit_at is not None and start_at < facts.submit_at:
        flags.append(Flag.START_BEFORE_SUBMIT)
    if end_at is None:
        if facts.status.terminal:
            flags.append(Flag.END_MISSING)
        return None
    if end_at < start_at:
        flags.append(Flag.END_BEFORE_START)
        end_at = start_at
    elapsed = facts.elapsed_s
    if elapsed is not None and not -1 <= end_at - start_at - elapsed - facts.suspended_s <= 1:
        flags.append(Flag.ELAPSED_MISMATCH)
    return end_at


def judge(facts: Facts) -> RunRecord:
    """The run a record tells of.

    - A state that is not over has no end, whatever is printed (controllers print planned ends).
    - A state that is over without an end keeps its outcome and has no end (Flag.END_MISSING): its elapsed time is
      Slurm's clock at the time of asking, so an end made from it would be invented.
    - A run that never started keeps neither start, nodes nor resources.

    Raises RecordFault("no_submit_no_start") where nothing could key the run.
    """
    status, allocated = facts.status, facts.allocated
    submit_at, start_at = facts.submit_at, facts.start_at
    end_at = facts.end_at if status.terminal else None
    outcome = outcome_of(status, facts.reason) if status.word == "REQUEUED" else status.outcome
    flags: list[str] = [Flag.FOLDED_HOUR] if facts.folded else []
    if _started(facts):
        assert start_at is not None
        node_list = facts.node_list or ""
        nodes = facts.nodes or allocated.nodes or _node_count(node_list)
        cpus = facts.cpus or allocated.cpus or 0
        memory_mib = allocated.memory_mib or 0
        gpu_milli, gpu_type = _gpu_milli(facts), allocated.gpu_type
        if outcome == Outcome.PENDING:
            outcome = Outcome.RUNNING  # it has nodes and a start: the state is late, not the run
        end_at = _found(facts, start_at, end_at, flags)
    else:
        start_at, node_list, nodes, cpus, memory_mib, gpu_milli, gpu_type = None, "", 0, 0, 0, 0, ""
        if outcome == Outcome.RUNNING:
            outcome = Outcome.PENDING
        if submit_at is None:
            raise RecordFault("no_submit_no_start", "neither a submit nor a start time")
    return RunRecord(
        facts.cluster_name,
        facts.job_id,
        facts.label,
        submit_at,
        facts.eligible_at,
        start_at,
        end_at,
        status.word,
        outcome,
        facts.exit_code,
        facts.reason,
        facts.account,
        facts.user,
        facts.partition,
        facts.qos,
        facts.job_name,
        nodes,
        node_list,
        cpus,
        memory_mib,
        gpu_milli,
        gpu_type,
        _asked_milli(facts),
        facts.elapsed_s,
        facts.suspended_s,
        facts.limit_s,
        facts.restarts,
        facts.db_index,
        facts.sluid,
        ",".join(sorted(flags)) if flags else "",
        facts.raw,
    )
