"""Background steps of quotas."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.tenants.models import day_of_today
from governance.work import actions as work
from governance.work.running import Claim, run

from .warnings import warn


@shared_task(name="quotas.warn_all")
def warn_all() -> None:
    """Ask for holders to be told of what ends."""
    work.ask("quotas.warn", "all", actor=Actor.machine("schedule"))


@shared_task(name="quotas.warn")
def warn_holders(key: str) -> None:
    """Tell holders of what ends, has ended, is over. May run twice: each is told once."""

    def tell(claim: Claim) -> None:
        warn(day_of_today())

    run("quotas.warn", key, tell)
