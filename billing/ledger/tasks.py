"""Background steps of the ledger."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor

from . import actions


@shared_task(name="ledger.post")
def post() -> None:
    """Post what may be posted. May run twice or die anywhere: each day's difference stands or falls alone."""
    actions.post(actor=Actor.machine("post"))
