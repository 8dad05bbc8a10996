"""What `sacctmgr -n -P` prints: node events, associations, QOS, transactions and runaway jobs.

sacctmgr knows no other delimiter than `|` and escapes nothing, so the one field that people write is asked for last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from governance.schedulers.errors import RecordFault
from governance.schedulers.limits import Association, Qos, Transaction
from governance.schedulers.live import NodeEvent
from governance.schedulers.records import BadRecord
from governance.schedulers.slurm import node_states
from governance.schedulers.slurm.record import bad
from governance.schedulers.slurm.times import Clock, duration

EVENT_FIELDS = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "StateRaw", "User", "Reason")
ASSOCIATION_FIELDS = (
    "Cluster", "Account", "User", "Partition", "ParentName", "Share", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins",
    "GrpJobs", "GrpSubmit", "MaxTRES", "MaxWall", "QOS", "DefaultQOS",
)  # fmt: skip
QOS_FIELDS = (
    "Name", "Priority", "Flags", "Preempt", "UsageFactor", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "MaxTRESPU",
    "MaxTRESPA", "MaxWall",
)  # fmt: skip
TRANSACTION_FIELDS = ("Time", "Action", "Actor", "Where", "Info")

Record = TypeVar("Record")


def _rows(lines: Iterable[str], width: int) -> Iterator[tuple[str, list[str]]]:
    """(text, cells) of each row; the last cell keeps its delimiters, and the lines it was broken over.

    A line with all the cells is a row of its own; any other belongs to the last cell of the row before.
    """
    text, cells = "", [""]
    for line in lines:
        found = line.split("|", width - 1)
        if text and len(found) != width:
            text += "\n" + line
            cells[-1] += "\n" + line
            continue
        if text:
            yield text, cells
        text, cells = line, found
    if text:
        yield text, cells


def _read(lines: Iterable[str], width: int, make: Callable[[list[str]], Record | None]) -> Iterator[Record | BadRecord]:
    for text, cells in _rows((line for line in lines if line.strip()), width):
        try:
            if len(cells) != width:
                raise RecordFault("wrong_column_count", f"{width} columns expected, {len(cells)} found")
            record = make(cells)
        except RecordFault as fault:
            yield bad(text, fault.code, fault.reason)
            continue
        if record is not None:
            yield record


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted(part.strip() for part in text.split(",") if part.strip()))


def _instant(clock: Clock, text: str) -> int:
    moment = clock.instant(text)
    if moment is None:
        raise RecordFault("bad_time", f"not an instant: {text[:40]!r}")
    return moment


def events(lines: Iterable[str], *, time_zone: str = "UTC") -> Iterator[NodeEvent | BadRecord]:
    """The node events of `sacctmgr -n -P show event format=EVENT_FIELDS`; the cluster's own are passed over."""
    clock = Clock(time_zone)

    def make(cells: list[str]) -> NodeEvent | None:
        _, name, begin, end, state, raw, by, reason = cells
        if not name:
            return None
        number = _count(raw)
        base, flags = node_states.from_text(state) if number is None else node_states.from_number(number)
        return NodeEvent(
            name, base, flags, _instant(clock, begin), clock.instant(end), reason.strip(), by.partition("(")[0]
        )

    return _read(lines, len(EVENT_FIELDS), make)


def associations(lines: Iterable[str]) -> Iterator[Association | BadRecord]:
    """The tree of `sacctmgr -n -P show assoc format=ASSOCIATION_FIELDS`."""

    def make(cells: list[str]) -> Association:
        cluster, account, user, partition, parent, share, grp, mins, running, jobs, submit, most, wall, qos, first = (
            cells
        )
        limits = (grp, mins, running, _count(jobs), _count(submit), most, duration(wall))
        return Association(cluster, account, user, partition, parent, share, *limits, _names(qos), first)

    return _read(lines, len(ASSOCIATION_FIELDS), make)


def qos(lines: Iterable[str]) -> Iterator[Qos | BadRecord]:
    """The qualities of service of `sacctmgr -n -P show qos format=QOS_FIELDS`."""

    def make(cells: list[str]) -> Qos:
        name, priority, flags, preempts, factor, grp, mins, running, per_user, per_account, wall = cells
        limits = (grp, mins, running, per_user, per_account, duration(wall))
        return Qos(name, _count(priority), _names(flags), _names(preempts), factor, *limits)

    return _read(lines, len(QOS_FIELDS), make)


def transactions(lines: Iterable[str], *, time_zone: str = "UTC") -> Iterator[Transaction | BadRecord]:
    """The changes of `sacctmgr -n -P show transactions format=TRANSACTION_FIELDS`."""
    clock = Clock(time_zone)

    def make(cells: list[str]) -> Transaction:
        at, action, actor, where, info = cells
        return Transaction(_instant(clock, at), action, actor, where, info)

    return _read(lines, len(TRANSACTION_FIELDS), make)


def runaway(text: str) -> list[str]:
    """Raw ids in what `sacctmgr -n -P show runaway` prints before it asks whether to mend them."""
    found = []
    for line in text.splitlines():
        cells = line.split("|")
        if len(cells) >= 5 and _count(cells[0]) is not None:
            found.append(cells[0])
    return found
