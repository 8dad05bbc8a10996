"""The company of the bench: as many departments, projects, prices and nodes as an installation of a few thousand cards has."""

from __future__ import annotations

from typing import Any

from tests.bench.records import ACCOUNTS, NODES, POOLS

CLUSTER = "bench"
DEPARTMENTS = 8


def document() -> dict[str, Any]:
    """The organisation as a file declares it."""
    return {
        "steelyard": 1,
        "departments": [{"code": f"dep{n}", "name": f"Department {n}"} for n in range(DEPARTMENTS)],
        "projects": [
            {"code": f"prj{n:02d}", "name": f"Project {n}", "placements": [{"department": f"dep{n % DEPARTMENTS}"}]}
            for n in range(ACCOUNTS)
        ],
        "accelerators": [
            {"code": pool.kind, "vendor": "NVIDIA", "name": pool.kind.upper(), "memory_gib": 80, "power_watts": 400}
            for pool in POOLS
        ],
        "clusters": [
            {
                "code": CLUSTER,
                "name": "Bench",
                "scheduler": {"kind": "files", "time_zone": "Asia/Shanghai"},
                "pools": [
                    {
                        "code": pool.partition,
                        "name": pool.partition,
                        "purpose": "training",
                        "partitions": [pool.partition],
                        "accelerators": [pool.kind],
                    }
                    for pool in POOLS
                ],
                "nodes": [
                    {
                        "names": f"{pool.prefix}[001-{NODES:03d}]",
                        "pool": pool.partition,
                        "accelerator": pool.kind,
                        "accelerators": pool.cards_per_node,
                        "cpus": 128,
                        "memory_gib": 1024,
                    }
                    for pool in POOLS
                ],
            }
        ],
        "mappings": [{"cluster": CLUSTER, "account": f"acc{n:02d}", "project": f"prj{n:02d}"} for n in range(ACCOUNTS)],
        "prices": [
            {
                "pool": pool.partition,
                "accelerator": "*",
                "qos": "*",
                "gpu_hour": "8.5",
                "cpu_core_hour": "0.1",
                "memory_gib_hour": "0.01",
            }
            for pool in POOLS
        ],
    }
