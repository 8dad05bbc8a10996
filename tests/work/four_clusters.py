"""The small company with four clusters, two of them live, and their made-up records: for workers on several hosts."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.books import at, company, line

LIVE, FILES = ("west", "east"), ("north", "south")
CLOCK = at("2026-03-09T12:00")
DAY = 86400
FIRST = CLOCK - 6 * DAY  # the first submit
RUNS = 200  # of each cluster, from then to the clock


def rows(cluster: str) -> list[dict[str, str]]:
    """The cluster's made-up records: ended runs of minutes to days, some still running."""
    rng = Random(cluster)
    made = []
    for number in range(RUNS):
        submit = FIRST + int(rng.random() * (CLOCK - FIRST))
        start = submit + int(rng.random() * 900)
        end = start + int(min(rng.lognormvariate(8, 1.5), 3 * DAY)) + 1
        account, kind = rng.choice((("ocr", "h800"), ("rank", "h800"), ("ghost", "h800")))
        ended = end < CLOCK
        row = line(1000 + number, iso(submit), iso(start) if start < CLOCK else None, iso(end) if ended else None,
            gpus=rng.choice((1, 2, 4, 8)), kind=kind, Cluster=cluster, Account=account, User=f"user{number % 7}")  # fmt: skip
        made.append(row)
    return made


def iso(epoch: int) -> str:
    """An instant as `line` takes it."""
    return datetime.fromtimestamp(epoch, UTC).isoformat()


def document() -> dict[str, Any]:
    """The small company with four clusters of one pool each."""
    base = company()
    (cluster,) = base["clusters"]
    pool, node = cluster["pools"][0], cluster["nodes"][0]
    made = [
        {
            "code": code,
            "name": code,
            "scheduler": {
                "kind": "slurm" if code in LIVE else "files",
                "time_zone": "UTC",
                **({"cluster": code} if code in LIVE else {}),
            },
            "pools": [{**pool, "code": f"{code}-train"}],
            "nodes": [{**node, "pool": f"{code}-train", "names": f"{code}[001-040]"}],
        }
        for code in (*LIVE, *FILES)
    ]
    return {
        "clusters": made,
        "mappings": [
            {"cluster": code, "account": name, "project": name} for code in (*LIVE, *FILES) for name in ("ocr", "rank")
        ],
        "prices": [
            {"pool": f"{code}-train", "accelerator": "h800", "qos": "*", "gpu_hour": "10.00"}
            for code in (*LIVE, *FILES)
        ],
    }
