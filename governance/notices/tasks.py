"""Background steps of notices."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from governance.access.actor import Actor
from governance.work import actions as work
from governance.work.running import Claim, run

from . import delivering, mailing, watch
from .outbox import DELIVER, MAIL

#: What has been due for longer was missed by whoever should have asked for it.
GRACE = timedelta(seconds=30)


@shared_task(name=MAIL)
def mail(person: str) -> None:
    """Send the mail that is due to a person."""

    def send(claim: Claim) -> None:
        mailing.send_due(int(person), claim)

    run(MAIL, person, send)


@shared_task(name=DELIVER)
def deliver(channel: str) -> None:
    """Send what is due to a channel."""

    def send(claim: Claim) -> None:
        delivering.send_due(int(channel), claim)

    run(DELIVER, channel, send)


@shared_task(name="notices.sweep")
def sweep() -> None:
    """Look what is to be told, and ask for mail and deliveries that nobody has asked for."""
    now = timezone.now()
    watch.look(now)
    actor = Actor.machine("schedule")
    for person in mailing.overdue(now - GRACE):
        work.ask(MAIL, str(person), actor=actor)
    for channel in delivering.overdue(now - GRACE):
        work.ask(DELIVER, str(channel), actor=actor)
