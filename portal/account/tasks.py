"""Background steps of accounts."""

from __future__ import annotations

from celery import shared_task

from governance.work.running import Claim, run

from . import resets


@shared_task(name=resets.RESET)
def send_resets(key: str) -> None:
    """Mail the links that were asked for. Killed in between, the same link goes out again."""

    def send(claim: Claim) -> None:
        resets.send_all()

    run(resets.RESET, key, send)
