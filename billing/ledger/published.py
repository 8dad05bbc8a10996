"""The published JSON form of the ledger: the command and the API give the same."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from .statement import Exceptions, Statement, Sums, money

HOURS = ("gpu_hours", "card_hours", "cpu_hours", "node_hours", "wall_hours", "memory_gib_hours")


def figures(sums: Sums) -> dict[str, Any]:
    """A row's figures as decimal strings: hours with four places, money with six."""
    return {
        **{name: f"{getattr(sums, name):.4f}" for name in HOURS},
        "runs_started": sums.runs_started,
        "runs_ended": sums.runs_ended,
        "amount": _money(sums.amount),
        "accrued": _money(sums.accrued),
    }


def _money(amount: Decimal | None) -> str | None:
    found = money(amount)
    return None if found is None else f"{found:.6f}"


def as_json(found: Statement) -> dict[str, Any]:
    """The statement in the published form."""
    return {
        "period": found.period,
        "time_zone": found.time_zone,
        "currency": found.currency,
        "through": found.through.strftime("%Y-%m-%dT%H:%M:%SZ") if found.through else None,
        "rows": [{**row.keys, "name": row.name, **figures(row.sums)} for row in found.rows],
        "total": figures(found.total),
        "exceptions": exceptions(found.exceptions),
    }


def exceptions(found: Exceptions) -> dict[str, Any]:
    """The exceptions in the published form."""
    return {
        "quarantined": found.quarantined,
        "unattributed_gpu_hours": f"{found.unattributed_gpu_hours:.4f}",
        "unassigned_gpu_hours": f"{found.unassigned_gpu_hours:.4f}",
        "unknown_gpu_runs": found.unknown_gpu_runs,
        "unpriced_days": [
            {
                "day": d.day.isoformat(),
                "pool": d.pool,
                "model": d.model,
                "qos": d.qos,
                "gpu_hours": f"{d.gpu_hours:.4f}",
            }
            for d in found.unpriced_days
        ],
        "over_allocated_days": found.over_allocated_days,
    }
