"""Who is told of a case: those who may answer for the project, and the managers of its pool and of the site."""

from __future__ import annotations

from governance.notices.outbox import publish
from governance.tenants.audience import holders

from .models import ReclaimCase


def tell(event: str, case: ReclaimCase) -> None:
    """Publish an event of the case, in the transaction of its change. Told once a case and state."""
    facts = {
        "project": case.project.name,
        "pool": case.pool.name,
        "gpus": case.gpus,
        "due_at": case.due_at.isoformat(),
        "reason": case.outcome_reason or case.answer_reason,
    }
    publish(event, case.number, holders("reclaim.answer", case.project), threshold=case.state, facts=facts)
