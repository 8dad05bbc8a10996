"""Looking now and then whether something is to be told that no action tells: work that fails, tokens that end.

Each look may come any number of times, or late: what was told is not told again, what was missed is told.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction

from governance.tokens.models import PersonalToken
from governance.work import reads as work_reads
from governance.work.models import WorkItem

from . import registry, wording
from .models import Happening
from .outbox import publish
from .registry import Recipient

log = logging.getLogger(__name__)

#: Work that fails is told from this attempt on: about four minutes after it began to fail.
FAILING_ATTEMPTS = 5
#: How many days before its end a token is told of.
TOKEN_DAYS = (7, 1)
KEEP_DAYS = 400


def look(now: datetime) -> None:
    """Everything there is to look at, each by itself: what fails stands in the log and holds up nothing else."""
    for watch in (failing_work, ending_tokens, *registry.WATCHES, forget):
        try:
            with transaction.atomic():
                watch(now)
        except Exception:
            log.exception("notices: %s failed", getattr(watch, "__name__", watch))


def failing_work(now: datetime) -> None:
    """Work that goes on failing is told to operations, once since it last succeeded."""
    failing = [item for item in work_reads.failed() if item.attempt >= FAILING_ATTEMPTS]
    told = registry.holders_of("operations.view") if failing else []
    for item in failing:
        event = registry.FAILING.get(item.kind)
        about = item.key if event else f"{item.kind} {item.key}"
        since = item.done_at or item.asked_at
        publish(event or "work.failing", about, told, since.isoformat(), _failing_facts(item, since))


def _failing_facts(item: WorkItem, since: datetime) -> dict[str, object]:
    error = wording.words(item.last_error, **item.last_error_params)
    return {
        "kind": item.kind,
        "key": item.key,
        "cluster": item.key,
        "attempts": item.attempt,
        "since_at": since.isoformat(),
        "error": error,
    }


def ending_tokens(now: datetime) -> None:
    """Who holds a token that ends soon is told of the nearest bound it has passed."""
    soon = PersonalToken.objects.live(now).filter(expires_at__lte=now + timedelta(days=max(TOKEN_DAYS)))
    for token in soon:
        bounds = [
            days
            for days in TOKEN_DAYS
            if token.expires_at <= now + timedelta(days=days)
            and token.expires_at - token.created_at > timedelta(days=days)
        ]
        if bounds:
            facts = {"name": token.name, "ends_at": token.expires_at.isoformat()}
            publish("token.expiring", str(token.pk), [Recipient(token.person_id)], str(min(bounds)), facts)


def forget(now: datetime) -> None:
    """Drop what happened long ago, with its notices and deliveries."""
    Happening.objects.filter(at__lt=now - timedelta(days=KEEP_DAYS)).delete()
