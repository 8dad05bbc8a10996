"""`sacct --json` and slurmrestd's `/slurmdb/.../jobs` as run records, streamed; data parsers v0.0.36 to v0.0.44.

A number may be plain, null or `{"set", "infinite", "number"}`; a state a word or a list; times are epochs. Steps are
nested in their job and not counted; they are left out of the raw record too, since one job may have thousands.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from typing import Any, BinaryIO

import ijson

from governance.schedulers.errors import RecordFault, UnreadableSource
from governance.schedulers.records import BadRecord, RunRecord
from governance.schedulers.slurm import tres
from governance.schedulers.slurm.record import Facts, asks_gpus, bad, job_id_from, judge
from governance.schedulers.slurm.states import status_of, status_of_flags
from governance.schedulers.slurm.times import SENTINELS, epoch

Json = Mapping[str, Any]
# Where controllers' records name cards outside their TRES.
_CARD_FIELDS = ("used_gres", "gres_detail", "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")
MOST_EXPLAINED = 1024 * 1024  # bytes of an answer without jobs that are looked at to say why
DIGITS = b"0123456789"
MOST_DIGITS = 400
_LONG_NUMBER = re.compile(rb"([0-9]{%d})[0-9]+" % MOST_DIGITS)
_BITS = re.compile(r"0x[0-9A-Fa-f]{1,1000000}")  # of an array's tasks
MOST_TASKS_SHOWN = 64  # characters of their list, Slurm's own bound
DEEPEST = 2_000  # brackets; real jobs have eight
PIECE = 64 * 1024  # the parser holds all jobs that end in one piece
_CARD_NAMES = ("gpu", "npu", "mps", "shard")


class Washing:
    """Makes bytes, piece by piece, such that the parser survives them: UTF-8 (what is none is replaced), numbers not too long."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._digits = 0  # at the end of what was given out

    def wash(self, data: bytes, *, final: bool = False) -> bytes:
        """The next piece; it may be empty where a character is not yet whole."""
        return self._cut_numbers(self._decoder.decode(data, final=final).encode())

    def _cut_numbers(self, data: bytes) -> bytes:
        """Cut numbers to MOST_DIGITS: Python refuses to read longer ones, which the parser does not survive."""
        lead = len(data) - len(data.lstrip(DIGITS))
        if self._digits + lead > MOST_DIGITS:
            data = data[: max(0, MOST_DIGITS - self._digits)] + data[lead:]
        data = _LONG_NUMBER.sub(rb"\1", data)
        trail = len(data) - len(data.rstrip(DIGITS))
        self._digits = trail + (self._digits if trail == len(data) else 0)
        return data


class _Clean:
    """A washed byte source with a known beginning."""

    def __init__(self, source: BinaryIO, first: bytes) -> None:
        self._source = source
        self._first = first.removeprefix(b"\xef\xbb\xbf")
        self._washing = Washing()
        self.saw_jobs = False
        self.keeps = True  # the beginning, until a job is found, to say why there was none
        self.size = 0
        self.beginning = b""
        self._tail = b""
        self.depth = 0  # brackets open since the last whole job, as far as can be told without parsing

    def read(self, size: int = -1) -> bytes:
        """The next bytes, whatever size is asked for; empty only at the end (and for a size of zero)."""
        if size == 0:
            return b""
        while True:
            data, self._first = self._first[:PIECE], self._first[PIECE:]
            data = data or self._source.read(PIECE)
            clean = self._washing.wash(data, final=not data)
            if clean or not data:
                break
        self._watch_depth(clean)
        if not self.saw_jobs:
            self.saw_jobs = b'"jobs"' in self._tail + clean
            self._tail = clean[-8:]
        if not self.keeps:
            self.beginning = b""
        elif len(self.beginning) < MOST_EXPLAINED:
            self.beginning += clean[:MOST_EXPLAINED]
        self.size += len(clean)
        return clean

    def _watch_depth(self, data: bytes) -> None:
        """Refuse what nests without end, for which the parser would need memory by the square of its depth."""
        for at in range(0, len(data), 4096):
            part = data[at : at + 4096]
            self.depth += part.count(b"{") + part.count(b"[") - part.count(b"}") - part.count(b"]")
            if self.depth > DEEPEST:
                raise UnreadableSource("not_json", reason="nested too deeply")


def jobs(source: BinaryIO, first: bytes) -> Iterator[RunRecord | BadRecord]:
    """The jobs of one or several answers in a row, `first` being bytes already read; a bare list of jobs will do too.

    Raises UnreadableSource: "not_json", "truncated_json", "no_jobs" (another kind of answer), "scheduler_errors" (no
    jobs because the scheduler refused).
    """
    clean = _Clean(source, first)
    listed = first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    read = 0
    try:
        for job in ijson.items(clean, "item" if listed else "jobs.item", multiple_values=True):
            read += 1
            clean.keeps = False
            clean.depth = 0
            yield record(job)
    except ijson.IncompleteJSONError as fault:
        words = str(fault)
        cut = "premature" in words or "incomplete" in words.lower()
        raise UnreadableSource(
            "truncated_json" if cut else "not_json", records=read, reason=words.split("\n")[0]
        ) from None
    except ijson.JSONError as fault:
        raise UnreadableSource("not_json", records=read, reason=str(fault).split("\n")[0]) from None
    if read == 0 and not listed:
        _explain_no_jobs(clean)


def _explain_no_jobs(clean: _Clean) -> None:
    errors: list[str] = []
    has_jobs = clean.saw_jobs
    if clean.size <= len(clean.beginning):
        try:
            answer = json.loads(clean.beginning)
        except ValueError:
            answer = {}
        if isinstance(answer, dict):
            has_jobs = isinstance(answer.get("jobs", 0), list | None)
            errors = [text_of(one) for one in answer.get("errors") or [] if not _found_nothing(one)]
    if errors:
        raise UnreadableSource("scheduler_errors", errors=tuple(error[:300] for error in errors[:5]))
    if not has_jobs:
        raise UnreadableSource("no_jobs")


def _found_nothing(error: object) -> bool:
    """slurmrestd calls an empty answer an error."""
    return "nothing found" in text_of(error).lower() or "found nothing" in text_of(error).lower()


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_fraction)


def _fraction(value: object) -> float | str:
    """A decimal as JSON writes it; one beyond any float as its text."""
    if isinstance(value, Decimal) and isfinite(fraction := float(value)):
        return fraction
    return str(value)


def text_of(value: object) -> str:
    """A text, "" for null; anything else as JSON. What cannot be stored as UTF-8 is replaced."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _compact(value)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", "\ufffd") if "\0" in text else text


def number(value: object) -> int | None:
    """A whole number, plain, as text or `{set, infinite, number}`; None for unset, infinite and sentinels."""
    if isinstance(value, Mapping):
        if value.get("set") is False or value.get("infinite"):
            return None
        value = value.get("number")
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        plain = value.strip()
        if not plain.isascii() or not plain.isdigit() or len(plain) > 20:
            return None
        value = int(plain)
    if isinstance(value, Decimal):
        size = value.adjusted()  # of 1e999999999 too, with which arithmetic would overflow
        value = None if size > 19 else int(value) if size >= 0 else 0
    if not isinstance(value, int) or value < 0 or value in SENTINELS or value >= 2**63:
        return None
    return value


def record(job: object) -> RunRecord | BadRecord:
    """One job of an answer."""
    if not isinstance(job, Mapping):
        return bad(text_of(job), "not_an_object", "a job that is no JSON object")
    try:
        raw = text_of(_compact({key: value for key, value in job.items() if key != "steps"}))
    except RecursionError:
        return bad(text_of(number(job.get("job_id"))), "nested_too_deeply", "a job nested beyond reading")
    try:
        return judge(_facts(job, raw))
    except RecordFault as fault:
        return bad(raw, fault.code, fault.reason)


def _part(job: Json, key: str) -> Json:
    part = job.get(key)
    return part if isinstance(part, Mapping) else {}


def _time(times: Json, key: str) -> int | None:
    return epoch(number(times.get(key)) or 0)


def _facts(job: Json, raw: str) -> Facts:
    if "job_state" in job and "state" not in job:
        raise RecordFault("controller_record", "a job of the controller's queue, not of the accounting database")
    times, state, association = _part(job, "time"), _part(job, "state"), _part(job, "association")
    current = state.get("current", job.get("state"))
    end_at = _time(times, "end")
    if isinstance(current, list):
        status = status_of_flags([text_of(word) for word in current], ended=end_at is not None)
    else:
        status = status_of(text_of(current))
    job_id = number(job.get("job_id"))
    resources = _part(job, "tres")
    limit = number(times.get("limit"))
    names_gpus = asks_gpus(text_of(job.get("submit_line"))) or any(
        name in text_of(job.get(field)).lower() for field in _CARD_FIELDS if job.get(field) for name in _CARD_NAMES
    )
    return Facts(
        text_of(job.get("cluster")) or text_of(association.get("cluster")),
        str(job_id) if job_id else job_id_from(text_of(job.get("job_id") or None)),
        _label(job, job_id or 0),
        _time(times, "submission"),
        _time(times, "eligible"),
        _time(times, "start"),
        end_at,
        status,
        _exit_code(_part(job, "exit_code")),
        text_of(state.get("reason")),
        text_of(job.get("account")) or text_of(association.get("account")),
        text_of(job.get("user")) or text_of(association.get("user")),
        text_of(job.get("partition")),
        text_of(job.get("qos")),
        text_of(job.get("name")),
        number(job.get("allocation_nodes")) or 0,
        text_of(job.get("nodes")),
        0,
        _resources(resources.get("allocated")),
        _resources(resources.get("requested")),
        names_gpus,
        number(times.get("elapsed")),
        number(times.get("suspended")) or 0,
        limit * 60 if limit else None,
        number(job.get("restart_cnt")),
        number(job.get("db_index")) or None,
        text_of(job.get("sluid")),
        False,
        raw,
    )


def _label(job: Json, job_id: int) -> str:
    """The id as sacct prints it: `50_3`, `50_[4-7%2]`, `12+1`, `4711`."""
    array, het = _part(job, "array"), _part(job, "het")
    leader, task, tasks = number(array.get("job_id")), number(array.get("task_id")), text_of(array.get("task"))
    if leader and task is not None:
        return f"{leader}_{task}"
    if leader and tasks:
        return f"{leader}_[{_waiting(array, tasks.strip('[]'))}]"
    first, offset = number(het.get("job_id")), number(het.get("job_offset"))
    return f"{first}+{offset}" if first and offset is not None else str(job_id)


def _waiting(array: Json, tasks: str) -> str:
    """Tasks that never split off, as sacct prints them: slurmdbd keeps them as bits, `0xE` for 1-3."""
    if not _BITS.fullmatch(tasks):
        return tasks
    bits = bin(int(tasks, 16))[:1:-1]
    set_at = [at for at, bit in enumerate(bits) if bit == "1"]
    steps = {after - before for before, after in pairwise(set_at)}
    if len(steps) == 1 and (step := steps.pop()) > 1:
        shown = f"{set_at[0]}-{set_at[-1]}:{step}"
    else:
        shown = ",".join(
            str(run.start()) if run.end() - run.start() == 1 else f"{run.start()}-{run.end() - 1}"
            for run in re.finditer("1+", bits)
        )
    if len(shown) > MOST_TASKS_SHOWN:
        shown = shown[:MOST_TASKS_SHOWN].rpartition(",")[0] + ",..."
    most = number(_part(_part(_part(array, "limits"), "max"), "running").get("tasks"))
    return f"{shown}%{most}" if most else shown


def _exit_code(code: Json) -> str:
    """`code:signal` as sacct prints it, "" where the record gives neither."""
    signal = _part(code, "signal")
    signal_number = number(signal.get("id", signal.get("signal_id")))
    returned = number(code.get("return_code"))
    if returned is None and signal_number is None:
        return ""
    return f"{returned or 0}:{signal_number or 0}"


def _resources(entries: object) -> tres.Tres:
    if isinstance(entries, str):
        return tres.read_tres(entries)
    if not isinstance(entries, list):
        return tres.SILENT
    return tres.from_entries(
        (text_of(entry.get("type")).lower(), text_of(entry.get("name")), number(entry.get("count")))
        for entry in entries
        if isinstance(entry, Mapping)
    )
