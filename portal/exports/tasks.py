"""Background steps of exports."""

from __future__ import annotations

import uuid

from celery import shared_task

from governance.work.running import Claim, run

from . import actions


@shared_task(name="exports.make")
def make(key: str) -> None:
    """Make one file. May run twice or die anywhere: a file appears whole or not at all."""

    def work(claim: Claim) -> None:
        actions.make(uuid.UUID(claim.key), attempt=claim.attempt, heard=claim.step)

    run(actions.WORK, key, work)


@shared_task(name="exports.forget")
def forget() -> None:
    """Delete the files whose time is over."""
    actions.forget()
