"""Background steps of asks."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from governance.access.actor import Actor
from governance.work import actions as work
from governance.work.running import Claim, run

from . import deadlines, scoring


@shared_task(name="asks.sweep_all")
def sweep_all() -> None:
    """Ask for deadlines to be looked after."""
    work.ask("asks.sweep", "all", actor=Actor.machine("schedule"))


@shared_task(name="asks.sweep")
def sweep(key: str) -> None:
    """Remind, escalate, expire, bring back from who left. May run twice: each of it happens once."""

    def look(claim: Claim) -> None:
        deadlines.sweep(timezone.now(), actor=Actor.machine("deadlines"), step=claim.step)

    run("asks.sweep", key, look)


@shared_task(name="asks.score_all")
def score_all() -> None:
    """Ask for decisions to be scored."""
    work.ask("asks.score", "all", actor=Actor.machine("schedule"))


@shared_task(name="asks.score")
def score(key: str) -> None:
    """Compare what decisions foresaw with what came, 14 and 30 days after."""

    def look(claim: Claim) -> None:
        scoring.score(timezone.now(), actor=Actor.machine("scoring"), step=claim.step)

    run("asks.score", key, look)
