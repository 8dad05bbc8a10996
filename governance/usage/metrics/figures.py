"""Which figure stands on which entry. Figures are named as the ledger's statement and JSON name them."""

from __future__ import annotations

#: Columns of a row of the ledger.
ROW_FIGURES: dict[str, str] = {
    "gpu_hours": "gpu_hours",
    "card_hours": "card_hours",
    "cpu_hours": "cpu_hours",
    "node_hours": "node_hours",
    "wall_hours": "wall_hours",
    "memory_gib_hours": "memory_gib_hours",
    "runs_started": "runs_started",
    "runs_ended": "runs_ended",
    "amount": "amount",
    "accrued": "accrued",
}
#: What stands beside them.
EXCEPTION_FIGURES: dict[str, str] = {
    "quarantined": "quarantined",
    "unattributed_gpu_hours": "unattributed",
    "unassigned_gpu_hours": "unassigned",
    "unknown_gpu_runs": "unknown_gpu_runs",
    "unpriced_days": "unpriced",
    "over_allocated_days": "over_allocated",
}
#: Columns of the facts.
FACT_FIGURES: dict[str, str] = {
    "milligpu_seconds": "gpu_hours",
    "cpu_seconds": "cpu_hours",
    "node_seconds": "node_hours",
    "wall_seconds": "wall_hours",
    "memory_mib_seconds": "memory_gib_hours",
    "wait_quota_seconds": "wait_quota",
    "wait_capacity_seconds": "wait_capacity",
    "wait_other_seconds": "wait_other",
    "wait_unknown_seconds": "wait_unknown",
    "active_milligpu_seconds": "active",
    "idle_milligpu_seconds": "idle_card",
    "measured_milligpu_seconds": "measured",
    "busy_milligpu_seconds": "busy",
    "energy_joules": "energy",
    "installed": "installed",
    "allocated": "allocated",
    "free": "free",
    "reserved": "reserved",
    "drained": "drained",
    "down": "down",
    "over": "over",
}
FIGURES: dict[str, str] = {**FACT_FIGURES, **ROW_FIGURES, **EXCEPTION_FIGURES}
