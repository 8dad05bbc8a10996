"""Short ways to say a made-up sacct table and to read it."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from governance.schedulers.files import ReadOptions, open_source, read
from governance.schedulers.records import BadRecord, RunRecord, Skipped

RECORDED = Path(__file__).parents[1] / "recorded" / "slurm"
SHARED = Path(os.environ.get("STEELYARD_SHARED", Path(__file__).parents[2] / ".." / "shared"))
needs_shared = pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the shared scheduler records are not here")

ROW = {
    "Cluster": "lab",
    "JobIDRaw": "4711",
    "JobID": "4711",
    "Account": "nlp",
    "User": "ada",
    "Partition": "train",
    "QOS": "normal",
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "Submit": "2026-03-02T08:00:00",
    "Eligible": "2026-03-02T08:00:00",
    "Start": "2026-03-02T09:00:00",
    "End": "2026-03-02T11:00:00",
    "Elapsed": "02:00:00",
    "Suspended": "00:00:00",
    "Timelimit": "1-00:00:00",
    "ReqTRES": "billing=8,cpu=8,gres/gpu=2,mem=16G,node=1",
    "AllocTRES": "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=1",
    "NNodes": "1",
    "NCPUS": "8",
    "NodeList": "gpu001",
    "Reason": "None",
    "JobName": "train",
}
START = 1772442000  # 2026-03-02T09:00:00Z

Record = RunRecord | BadRecord | Skipped


def table(*rows: dict[str, str], order: list[str] | None = None, delimiter: str = "|", without: str = "") -> bytes:
    """sacct text with a header: ROW with each row's differences; columns the rows add come first."""
    names = order or [*(name for row in rows for name in row if name not in ROW), *ROW]
    names = [name for name in dict.fromkeys(names) if name not in without.split()]
    lines = [delimiter.join(names)]
    lines += [delimiter.join((ROW | row).get(name, "") for name in names) for row in rows]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def read_bytes(data: bytes, **options: Any) -> list[Record]:
    """Every record of these bytes."""
    return list(read(io.BytesIO(data), name="made up", options=ReadOptions(**options)))


def read_one(data: bytes, **options: Any) -> Record:
    """The only record of these bytes."""
    (record,) = read_bytes(data, **options)
    return record


def run_of(data: bytes, **options: Any) -> RunRecord:
    """The only record of these bytes, which is a run."""
    record = read_one(data, **options)
    assert isinstance(record, RunRecord), record
    return record


def bad_of(data: bytes, **options: Any) -> BadRecord:
    """The only record of these bytes, which is a bad one."""
    record = read_one(data, **options)
    assert isinstance(record, BadRecord), record
    return record


def run(without: str = "", time_zone: str = "UTC", **fields: str) -> RunRecord:
    """The run of one row."""
    return run_of(table(fields, without=without), time_zone=time_zone)


def bad(time_zone: str = "UTC", **fields: str) -> BadRecord:
    """The bad record of one row."""
    return bad_of(table(fields), time_zone=time_zone)


def read_path(path: Path, **options: Any) -> list[Record]:
    """Every record of a file."""
    with open_source(str(path)) as source:
        return list(read(source, name=path.name, options=ReadOptions(**options)))


def runs_of(records: list[Record]) -> list[RunRecord]:
    """The runs among records."""
    return [record for record in records if isinstance(record, RunRecord)]


def job(**parts: Any) -> dict[str, Any]:
    """A made-up job as data parser v0.0.40 and later print it, with differences."""
    base: dict[str, Any] = {
        "account": "nlp",
        "allocation_nodes": 1,
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}, "task": ""},
        "association": {"account": "nlp", "cluster": "lab", "user": "ada"},
        "cluster": "lab",
        "exit_code": {
            "status": ["SUCCESS"],
            "return_code": {"set": True, "infinite": False, "number": 0},
            "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
        },
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
        "job_id": 4711,
        "name": "train",
        "nodes": "gpu001",
        "partition": "train",
        "qos": "normal",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "steps": [{"step": {"id": "4711.batch"}}],
        "time": {
            "elapsed": 7200,
            "eligible": START - 3600,
            "end": START + 7200,
            "limit": {"set": True, "infinite": False, "number": 1440},
            "start": START,
            "submission": START - 3600,
            "suspended": 0,
        },
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "id": 1, "count": 8},
                {"type": "mem", "name": "", "id": 2, "count": 16384},
                {"type": "energy", "name": "", "id": 3, "count": -2},
                {"type": "node", "name": "", "id": 4, "count": 1},
                {"type": "gres", "name": "gpu", "id": 1001, "count": 2},
                {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 2},
            ],
            "requested": [{"type": "gres", "name": "gpu", "id": 1001, "count": 2}],
        },
        "user": "ada",
    }
    for key, value in parts.items():
        base[key] = base[key] | value if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return base


def answer(*jobs: object, **parts: Any) -> bytes:
    """An answer that holds these jobs."""
    return json.dumps({"jobs": list(jobs), "meta": {}, "errors": [], **parts}).encode()
