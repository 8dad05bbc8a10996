"""Background steps of the ledger."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.work import actions as work
from governance.work.running import run

from . import actions


@shared_task(name="ledger.post_all")
def post_all() -> None:
    """Ask for posting."""
    work.ask("ledger.post", "all", actor=Actor.machine("schedule"))


@shared_task(name="ledger.post")
def post(key: str) -> None:
    """Post what may be posted. May run twice or die anywhere: each day's difference stands or falls alone."""
    run("ledger.post", key, lambda claim: actions.post(actor=Actor.machine("post"), progress=claim.step))
