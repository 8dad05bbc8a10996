"""The waiting jobs in what `squeue -O` prints, one field after the other with a separator that cannot occur."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from governance.schedulers.errors import RecordFault
from governance.schedulers.live import PendingRecord
from governance.schedulers.records import BadRecord, Outcome
from governance.schedulers.slurm import tres
from governance.schedulers.slurm.record import bad
from governance.schedulers.slurm.states import status_of
from governance.schedulers.slurm.times import Clock

GAP = "\x1f"
# Slurm's names of the fields, free text last. `tres-alloc` of a waiting job is what it asks for, of one task.
FIELDS = (
    "JobID", "JobArrayID", "State", "SubmitTime", "EligibleTime", "Account", "UserName", "Partition", "QOS",
    "NumNodes", "NumTasks", "PriorityLong", "tres-alloc", "tres-per-job", "tres-per-node", "tres-per-task", "Reason",
)  # fmt: skip
FORMAT = ",".join(f"{name}:{GAP}" for name in FIELDS)
MOST_TASKS = 4_000_000  # Slurm's own bound of MaxArraySize
_NOTHING = frozenset({"", "n/a", "(null)", "none", "null"})
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)
_WAITING = re.compile(r"\d+_\[([^\]%]*)(?:%\d+)?\]", re.ASCII)


def tasks_in(label: str) -> int:
    """How many tasks a printed job id stands for: `46_[1-3%1]` is 3, `7_[0-8:4]` 3, any other 1.

    Raises RecordFault where the list is cut off (`...`) or is none.
    """
    match = _WAITING.fullmatch(label)
    if match is None:
        if "[" in label:
            raise RecordFault("bad_job_id", f"not a list of tasks: {label[:60]!r}")
        return 1
    count = 0
    for part in match[1].split(","):
        span = _RANGE.fullmatch(part)
        if span is None or len(part) > 40:
            raise RecordFault("bad_job_id", f"not a list of tasks: {label[:60]!r}")
        first, last, step = int(span[1]), int(span[2] or span[1]), int(span[3] or 1)
        if last < first or step < 1:
            raise RecordFault("bad_job_id", f"not a list of tasks: {label[:60]!r}")
        count += (last - first) // step + 1
    if not 0 < count <= MOST_TASKS:
        raise RecordFault("bad_job_id", f"{count} tasks in {label[:60]!r}")
    return count


def _plain(text: str) -> str:
    return "" if text.strip().lower() in _NOTHING else text.strip()


def reason_word(text: str) -> str:
    """A pending reason without its particulars, as scontrol writes it: `ReqNodeNotAvail, UnavailableNodes:gpu1` is its first word.

    A whole sentence keeps its words, joined by underscores; a reason in brackets, as in squeue's node lists, loses them.
    """
    plain = re.sub(r"\s+", "_", text.strip().strip("()"))
    word = plain.partition(",")[0]
    return word if "_" not in word else plain


def _number(text: str) -> int:
    plain = text.strip().partition("-")[0]
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 19 else 0


def asked_cards(
    total: str, per_job: str, per_node: str, per_task: str, nodes: int, tasks: int
) -> tuple[int | None, str]:
    """(cards asked for x 1000, their type's signature) of one task; None where cards are named and not counted.

    The total has the count where the cluster tracks cards, and often not the type, which the request itself names.
    """
    counted = tres.read_tres(_plain(total))
    requests = (
        tres.read_gres(_plain(per_job), 1),
        tres.read_gres(_plain(per_node), max(1, nodes)),
        tres.read_gres(_plain(per_task), max(1, tasks)),
    )
    named = [one for one in requests if one.names_gpus]
    kind = counted.gpu_type or next((one.gpu_type for one in named if one.gpu_type), "")
    if counted.names_gpus:
        return counted.gpu_milli, kind
    if named:
        return named[0].gpu_milli, kind
    return (0 if counted.stated or any(one.stated for one in requests) else None), ""


def pending(lines: Iterable[str], *, time_zone: str = "UTC") -> Iterator[PendingRecord | BadRecord]:
    """The waiting jobs of `squeue -a -h -O FORMAT`; jobs that run are passed over, what cannot be read is a BadRecord.

    Job names are not asked for, so that no newline can break a row.
    """
    clock = Clock(time_zone)
    for line in lines:
        if not line.strip() or line.startswith("CLUSTER:"):
            continue
        cells = line.split(GAP)
        if len(cells) != len(FIELDS) + 1:
            yield bad(line, "wrong_column_count", f"{len(FIELDS)} columns expected, {len(cells) - 1} found")
            continue
        try:
            record = _pending(cells, clock)
        except RecordFault as fault:
            yield bad(line, fault.code, fault.reason)
            continue
        if record is not None:
            yield record


def _pending(cells: Sequence[str], clock: Clock) -> PendingRecord | None:
    (job_id, label, state, submit, eligible, account, user, partition, qos, nodes, tasks, priority, *rest) = (
        cell.strip() for cell in cells[:-1]
    )
    if status_of(state).outcome != Outcome.PENDING:
        return None
    if not (job_id.isascii() and job_id.isdigit()):
        raise RecordFault("bad_job_id", f"not a job id: {job_id[:60]!r}")
    total, per_job, per_node, per_task, reason = rest
    milli, kind = asked_cards(total, per_job, per_node, per_task, _number(nodes), _number(tasks))
    return PendingRecord(
        job_id,
        label or job_id,
        clock.instant(submit),
        clock.instant(eligible),
        _plain(account),
        user,
        _plain(partition),
        _plain(qos),
        reason_word(reason),
        milli,
        kind,
        _number(nodes),
        int(priority) if priority.isascii() and priority.isdigit() and len(priority) < 19 else None,
        tasks_in(label or job_id),
    )
