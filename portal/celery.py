"""The Celery application: `celery -A portal worker`, `celery -A portal beat`."""

from __future__ import annotations

import logging.config
import os
import signal
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
app = Celery("steelyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [
        "governance.notices",
        "governance.usage",
        "governance.quotas",
        "governance.quotas.enforcement",
        "governance.approvals",
        "billing.ledger",
        "portal.exports",
        "portal.account",
    ]
)
app.set_default()  # for the threads of the web server as well, which have no current application of their own

_presence: list[Any] = []
_correlations: dict[str, AbstractContextManager[str]] = {}


@signals.setup_logging.connect
def _log_as_the_portal_does(**given: Any) -> None:
    """Workers and beat write the lines that LOGGING describes, not Celery's own."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@signals.beat_init.connect
def _end_once(**given: Any) -> None:
    """Beat ends at the first signal and is deaf to further ones.

    Celery's own handler takes locks: a second signal within it (the kernel's, when the supervisor is killed) waits for ever.
    """

    def end(number: int, frame: FrameType | None) -> None:
        for further in (signal.SIGTERM, signal.SIGINT):
            signal.signal(further, signal.SIG_IGN)
        raise SystemExit

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


@signals.worker_ready.connect
def _here(sender: Any = None, **given: Any) -> None:
    """From now on this worker says that it lives."""
    from governance.work.presence import Presence

    presence = Presence("worker", [str(queue.name) for queue in sender.task_consumer.queues] if sender else [])
    presence.start()
    _presence.append(presence)


@signals.worker_shutting_down.connect
def _going(**given: Any) -> None:
    """The worker ends in order: nobody need wait for it to be taken for dead."""
    while _presence:
        _presence.pop().stop()


@signals.task_prerun.connect
def _begin_correlation(task_id: str = "", task: Any = None, **given: Any) -> None:
    """What the task does is logged under the id of the request that led to it, else under the task's own."""
    from governance.work import correlation
    from governance.work.waking import CORRELATION_HEADER

    sent = getattr(task.request, CORRELATION_HEADER, None) or (task.request.headers or {}).get(CORRELATION_HEADER)
    using = correlation.using(correlation.accepted(sent or task_id))
    using.__enter__()
    _correlations[task_id] = using


@signals.task_postrun.connect
def _end_correlation(task_id: str = "", **given: Any) -> None:
    using = _correlations.pop(task_id, None)
    if using is not None:
        using.__exit__(None, None, None)
