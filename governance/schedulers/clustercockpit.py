"""ClusterCockpit's job records, one JSON object a line: as runs, and as what the runs' cards did on average.

Instants are epoch seconds. A submit time of 0 is unknown, and the start stands in. Energy and mean memory are left out: the unit of the
first is not stated, and a mean is not the most. Job states are in lower case; "stopped" is what Slurm calls cancelled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from governance.schedulers.errors import RecordFault
from governance.schedulers.records import MAX_RAW, BadRecord, Flag, Outcome, RunRecord
from governance.schedulers.slurm.states import Status, status_of

_STOPPED = {"stopped": "cancelled", "boot_fail": "boot_fail", "archived": "completed"}
MOST_LINE = 16 * 1024 * 1024


class JobMean(NamedTuple):
    """Mean activity of a job's cards over its whole time, as a ratio; `cards` by node."""

    job_id: str
    submit_at: int | None
    start_at: int
    end_at: int
    cards: tuple[tuple[str, int], ...]
    activity: float


class Unmeasured(NamedTuple):
    """A job of which no activity is known: it has no cards, or its monitoring did not run."""

    job_id: str


def looks_like(line: bytes) -> bool:
    """Whether a first line is a ClusterCockpit job."""
    return line.lstrip().startswith(b"{") and b'"jobId"' in line and b'"startTime"' in line and b'"numAcc"' in line


def jobs(source: BinaryIO, first: bytes = b"") -> Iterator[RunRecord | BadRecord]:
    """The jobs as runs; a line that cannot be read is a BadRecord. `first` was read from the source before."""
    for raw in _lines(source, first):
        try:
            yield run(raw)
        except RecordFault as fault:
            yield BadRecord(raw[:MAX_RAW], fault.code, fault.reason)


def means(source: BinaryIO, first: bytes = b"") -> Iterator[JobMean | Unmeasured | BadRecord]:
    """The jobs' mean activity; a line that cannot be read is a BadRecord."""
    for raw in _lines(source, first):
        try:
            yield mean(raw)
        except RecordFault as fault:
            yield BadRecord(raw[:MAX_RAW], fault.code, fault.reason)


def _lines(source: BinaryIO, first: bytes) -> Iterator[str]:
    whole, _, rest = first.rpartition(b"\n")
    begun = whole.split(b"\n") if whole else []
    # The end of `first` may be the middle of a line.
    for line in chain(begun, _continued(rest, source)):
        text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if text:
            yield text


def _continued(rest: bytes, source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(1 << 20):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        if len(rest) > MOST_LINE:
            yield rest  # no job is that long: it is read as it stands, and quarantined
            rest = b""
    yield rest


def _job(raw: str) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise RecordFault("not_json", "the line is not a JSON object") from None
    if not isinstance(found, dict):
        raise RecordFault("not_json", "the line is not a JSON object")
    return found


def run(raw: str) -> RunRecord:
    """One job as a run; raises RecordFault."""
    job = _job(raw)
    job_id, status = _job_id(job), _status(job)
    submit_at, start_at = _whole(job, "submitTime") or None, _whole(job, "startTime") or None
    duration = _whole(job, "duration") or 0
    if start_at is None and submit_at is None:
        raise RecordFault("no_submit_no_start", "neither a submit nor a start time")
    started = start_at is not None and status.outcome != Outcome.PENDING
    cards = _whole(job, "numAcc")
    nodes = _nodes(job)
    flags = (
        [Flag.START_BEFORE_SUBMIT]
        if started and submit_at is not None and start_at is not None and start_at < submit_at
        else []
    )
    return RunRecord(
        cluster_name=_word(job, "cluster"),
        job_id=job_id,
        label=job_id,
        submit_at=submit_at,
        eligible_at=None,
        start_at=start_at if started else None,
        end_at=start_at + duration if started and status.terminal and start_at is not None else None,
        state=status.word,
        outcome=status.outcome,
        exit_code="",
        reason="",
        account=_word(job, "project"),
        user=_word(job, "user"),
        partition=_word(job, "partition"),
        qos="",
        job_name=_word(job, "jobName"),
        nodes=(_whole(job, "numNodes") or len(nodes)) if started else 0,
        node_list=",".join(nodes) if started else "",
        cpus=(_whole(job, "numHwthreads") or 0) if started else 0,
        memory_mib=0,
        gpu_milli=(None if cards is None else cards * 1000) if started else 0,
        gpu_type="",
        asked_gpu_milli=None if cards is None else cards * 1000,
        elapsed_s=duration if started else None,
        suspended_s=0,
        limit_s=_whole(job, "walltime") or None,
        restarts=None,
        db_index=None,
        sluid="",
        flags=",".join(flags),
        raw=raw[:MAX_RAW],
    )


def mean(raw: str) -> JobMean | Unmeasured:
    """One job's mean activity; raises RecordFault."""
    job = _job(raw)
    job_id, start_at, duration = _job_id(job), _whole(job, "startTime") or 0, _whole(job, "duration") or 0
    footprint = job.get("footprint")
    percent = footprint.get("acc_utilization_avg") if isinstance(footprint, dict) else None
    cards = _whole(job, "numAcc") or 0
    if not cards or not start_at or percent is None:
        return Unmeasured(job_id)
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 <= percent <= 1000:
        raise RecordFault("bad_number", f"acc_utilization_avg is no percentage: {str(percent)[:40]}")
    submit_at = _whole(job, "submitTime") or None
    return JobMean(job_id, submit_at, start_at, start_at + duration, _cards(job, cards), min(percent / 100, 1.0))


def _cards(job: dict[str, Any], total: int) -> tuple[tuple[str, int], ...]:
    """Cards by node, as the resources list them; where the list does not add up, all on the first node."""
    held: dict[str, int] = {}
    for place in job.get("resources") or ():
        if isinstance(place, dict) and isinstance(place.get("accelerators"), list):
            node = str(place.get("hostname", ""))
            held[node] = held.get(node, 0) + len(place["accelerators"])
    if sum(held.values()) != total:
        return ((next(iter(_nodes(job)), ""), total),)
    return tuple(sorted((node, count) for node, count in held.items() if count))


def _nodes(job: dict[str, Any]) -> list[str]:
    places = job.get("resources")
    if not isinstance(places, list):
        return []
    return list(dict.fromkeys(str(p["hostname"]) for p in places if isinstance(p, dict) and p.get("hostname")))


def _job_id(job: dict[str, Any]) -> str:
    found = _whole(job, "jobId")
    if not found:
        raise RecordFault("no_job_id", "the record has no job id")
    return str(found)


def _status(job: dict[str, Any]) -> Status:
    word = _word(job, "jobState").lower()
    return status_of(_STOPPED.get(word, word))


def _word(job: dict[str, Any], name: str) -> str:
    found = job.get(name)
    return "" if found is None else str(found).replace("\x00", "\ufffd")[:1000]


def _whole(job: dict[str, Any], name: str) -> int | None:
    """A whole number that is not negative, None where the record has none; raises RecordFault."""
    found = job.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or found != int(found) or not 0 <= found < 2**53:
        raise RecordFault("bad_number", f"{name} is no whole number: {str(found)[:40]}")
    return int(found)
