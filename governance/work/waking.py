"""Waking workers up: one message for one item, by task name. A message that is lost or doubled does no harm."""

from __future__ import annotations

import logging

from celery import current_app
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

CORRELATION_HEADER = "steelyard_correlation"
#: A broker that is away must not hold up the page that asked: the sweep sends again.
RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.2}
#: A broker that takes messages and confirms none (its disk is full, its host is cut off) counts as away.
CONFIRM_SECONDS = 5.0


def send(kind: str, key: str, correlation_id: str) -> bool:
    """Send the message to the kind's queue; False where no broker takes it, and the sweep will send it again."""
    if str(current_app.conf.broker_url).startswith("memory:") and not current_app.conf.task_always_eager:
        return False  # nobody listens there: this process runs without a broker
    try:
        headers = {CORRELATION_HEADER: correlation_id}
        current_app.send_task(
            kind,
            args=[key],
            headers=headers,
            ignore_result=True,
            retry=True,
            retry_policy=RETRY,
            confirm_timeout=CONFIRM_SECONDS,
        )
    except (OperationalError, OSError) as fault:
        log.warning("no broker for %s %s, the sweep sends it again: %s", kind, key, fault)
        return False
    return True
