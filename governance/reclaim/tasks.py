"""Background steps of reclaim. Each may run twice or die anywhere: a case moves in one transaction."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.tenants.models import day_of_today
from governance.work import actions as work
from governance.work.running import Claim, run

from . import actions, effect

MACHINE = Actor.machine("reclaim")


@shared_task(name="reclaim.daily")
def daily() -> None:
    """Ask for the day's detection."""
    work.ask("reclaim.detect", "all", actor=MACHINE)


@shared_task(name="reclaim.detect")
def detect(key: str = "all") -> None:
    """Open the cases that today's books call for."""

    def do(claim: Claim) -> None:
        actions.detect(day_of_today(), actor=MACHINE)

    run("reclaim.detect", key, do)


@shared_task(name="reclaim.hourly")
def hourly() -> None:
    """Ask for open cases to be taken further."""
    work.ask("reclaim.advance", "all", actor=MACHINE)


@shared_task(name="reclaim.advance")
def advance(key: str = "all") -> None:
    """Carry out what is due, follow the asks, measure what was applied a week ago."""

    def do(claim: Claim) -> None:
        actions.advance(actor=MACHINE)
        effect.measure_due(actor=MACHINE)

    run("reclaim.advance", key, do)
