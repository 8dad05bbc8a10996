"""What a decision foresees: use, wait, cost. Kept with it and scored later; it never keeps anybody from deciding."""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Any

from django.db import DatabaseError, transaction

from governance.tenants.models import day_of_today

from .evidence import Evidence
from .models import Ask, AskLine
from .rules import Kind
from .submitting import added, home_of

log = logging.getLogger(__name__)
#: What a project that has held nothing of a pool yet is taken to use of an award, in percent.
USUAL_PERCENT = Decimal(75)


def predict(ask: Ask, lines: list[AskLine]) -> dict[str, Any]:
    """By line: GPUs foreseen in use (95th percentile), mean wait for capacity in hours, cost of that use; None where it cannot be known.

    Use: what the project uses of its guarantee today, applied to what it will hold. Wait: as in the last 30 days.
    """
    if ask.kind in (Kind.RETURN, Kind.KEEP):
        return {}
    try:
        with transaction.atomic():  # evidence that cannot be read must not undo a decision
            return _predict(ask, lines)
    except DatabaseError:
        log.exception("no prediction for %s", ask.number)
        return {}


def _predict(ask: Ask, lines: list[AskLine]) -> dict[str, Any]:
    found = Evidence([line.pool_id for line in lines], ask.project_id, home_of(ask.project), day_of_today())
    rows = []
    for line in lines:
        if not line.left.ceiling_gpus:
            continue
        held = found.guaranteed(line.pool_id, ask.project_id)
        use = found.use(line.pool_id, ask.project_id)
        known = found.as_of(line.pool_id) is not None
        share = min(Decimal(100), Decimal(use.p95) / 864_000 / held) if held and known else USUAL_PERCENT
        will_hold = held + max(added(ask, line), 0) if ask.kind != Kind.EXTEND else max(held, added(ask, line))
        wait = Decimal(use.waited) / 3600 / use.started if use.started else None
        rows.append(
            {
                "position": line.position,
                "holds_gpus": will_hold,
                "used_p95_gpus": str((will_hold * share / 100).quantize(Decimal("0.1"))),
                "used_percent": str(share.quantize(Decimal("0.1"))),
                "wait_capacity_hours": None if wait is None else str(wait.quantize(Decimal("0.01"))),
            }
        )
    cost = None if ask.cost is None else str(ask.cost)
    return {
        "lines": rows,
        "cost_in_full_use": cost,
        "metrics": {"used": "gpu_hours", "wait": "wait_capacity", "cost": "amount"},
    }
