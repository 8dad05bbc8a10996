"""A small company and made-up sacct text, and the whole chain from one to the other, for tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from billing.ledger import actions as ledger
from governance.access.actor import Actor
from governance.schedulers.files import ReadOptions
from governance.usage import actions as usage
from governance.usage.ingest import Counts
from portal.organisation.actions import load

MACHINE = Actor.machine("test")
SHARED = Path(os.environ.get("STEELYARD_SHARED", Path(__file__).resolve().parents[2] / "shared"))

COLUMNS = (
    "JobIDRaw", "JobID", "Cluster", "Account", "User", "Partition", "QOS", "State", "Submit", "Eligible", "Start", "End", "ElapsedRaw",
    "Suspended", "NNodes", "AllocCPUS", "ReqTRES", "AllocTRES", "NodeList", "Reason", "JobName",
)  # fmt: skip


def at(text: str) -> int:
    """Epoch seconds of an ISO instant; without an offset it is Shanghai's."""
    return int(datetime.fromisoformat(text if "+" in text or text.endswith("Z") else f"{text}+08:00").timestamp())


def line(
    job: int | str, submit: str, start: str | None, end: str | None, *, gpus: int | None = 8, **other: Any
) -> dict[str, str]:
    """One record as sacct prints it in UTC epochs; times are ISO, Shanghai's unless they say. `gpus=None`: asked for, not counted."""
    seconds = {
        name: at(value) if value else None for name, value in {"Submit": submit, "Start": start, "End": end}.items()
    }
    kind = other.pop("kind", "")
    tres = f"cpu={other.get('AllocCPUS', 64)},mem=512G,node=1"
    counted = f",gres/gpu{':' + kind if kind else ''}={gpus}" + (f",gres/gpu={gpus}" if kind else "")
    state = "RUNNING" if end is None else "COMPLETED"
    values = {
        "JobIDRaw": str(job),
        "JobID": str(job),
        "Cluster": "bj",
        "Account": "ocr",
        "User": "ada",
        "Partition": "train",
        "QOS": "normal",
        "State": state if start else "PENDING",
        "Submit": str(seconds["Submit"]),
        "Eligible": str(seconds["Submit"]),
        "Start": str(seconds["Start"] or "Unknown"),
        "End": str(seconds["End"] or "Unknown"),
        "ElapsedRaw": str((seconds["End"] or seconds["Start"] or 0) - (seconds["Start"] or 0)),
        "Suspended": "00:00:00",
        "NNodes": "1" if start else "0",
        "AllocCPUS": "64" if start else "0",
        "ReqTRES": tres + ("" if gpus == 0 else counted if gpus is not None else ",gres/gpu=8"),
        "AllocTRES": "" if not start else tres if not gpus else tres + counted,
        "NodeList": "gpu001" if start else "None assigned",
        "Reason": "None",
        "JobName": f"train-{job}",
    }
    return {**values, **{name: str(value) for name, value in other.items()}}


def text(rows: Iterable[dict[str, str]], columns: Sequence[str] = COLUMNS) -> str:
    """The records as `sacct -P` prints them."""
    return "\n".join(["|".join(columns), *("|".join(row[name] for name in columns) for row in rows)]) + "\n"


def company(**changes: Any) -> dict[str, Any]:
    """A document of a company with two departments, a cluster of two pools, prices. `changes` replace whole sections."""
    return {
        "steelyard": 1,
        "departments": [
            {"code": "research", "name": {"zh": "研究院", "en": "Research"}},
            {"code": "vision", "name": {"zh": "视觉算法部", "en": "Vision"}, "parent": "research"},
            {"code": "search", "name": {"zh": "搜索部", "en": "Search"}},
        ],
        "projects": [
            {"code": "ocr", "name": {"zh": "文字识别", "en": "OCR"}, "placements": [{"department": "vision"}]},
            {"code": "rank", "name": {"zh": "排序", "en": "Ranking"}, "placements": [{"department": "search"}]},
        ],
        "accelerators": [
            {
                "code": "h800",
                "vendor": "NVIDIA",
                "name": "H800",
                "memory_gib": 80,
                "power_watts": 700,
                "aliases": ["NVIDIA-H800"],
            },
            {"code": "l20", "vendor": "NVIDIA", "name": "L20", "memory_gib": 48, "power_watts": 275},
        ],
        "clusters": [
            {
                "code": "bj",
                "name": {"zh": "北京", "en": "Beijing"},
                "scheduler": {"kind": "files", "time_zone": "UTC"},
                "pools": [
                    {
                        "code": "train-h800",
                        "name": "train",
                        "purpose": "training",
                        "partitions": ["train"],
                        "accelerators": ["h800"],
                    },
                    {
                        "code": "infer-l20",
                        "name": "infer",
                        "purpose": "inference",
                        "partitions": ["infer*"],
                        "accelerators": ["l20"],
                    },
                ],
                "nodes": [
                    {
                        "names": "gpu[001-004]",
                        "pool": "train-h800",
                        "accelerator": "h800",
                        "accelerators": 8,
                        "cpus": 128,
                        "memory_gib": 1024,
                    },
                    {
                        "names": "inf[001-002]",
                        "pool": "infer-l20",
                        "accelerator": "l20",
                        "accelerators": 4,
                        "cpus": 64,
                        "memory_gib": 512,
                    },
                ],
            }
        ],
        "mappings": [
            {"cluster": "bj", "account": "ocr", "project": "ocr"},
            {"cluster": "bj", "account": "rank", "project": "rank"},
        ],
        "prices": [
            {"pool": "train-h800", "accelerator": "h800", "qos": "*", "gpu_hour": "10.00"},
            {
                "pool": "infer-l20",
                "accelerator": "*",
                "qos": "*",
                "gpu_hour": "3.00",
                "cpu_core_hour": "0.10",
                "memory_gib_hour": "0.01",
            },
        ],
        **changes,
    }


def declare(**changes: Any) -> None:
    """Load the company."""
    load(company(**changes), actor=MACHINE)


def bring(
    folder: Path, rows: Iterable[dict[str, str]], *, observed_at: str | None = None, cluster: str = "bj"
) -> Counts:
    """Import the records through a file."""
    path = folder / f"sacct-{len(list(folder.iterdir()))}.txt"
    path.write_text(text(rows), encoding="utf-8")
    seen = datetime.fromtimestamp(at(observed_at), UTC) if observed_at else None
    (counts,) = usage.import_files(
        cluster, [str(path)], actor=MACHINE, options=ReadOptions(time_zone="UTC"), observed_at=seen
    )
    return counts


def settle(cluster: str = "bj") -> None:
    """Meter and post."""
    usage.meter(cluster, actor=MACHINE)
    ledger.post(actor=MACHINE)
