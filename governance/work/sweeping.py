"""The sweep: finds what a dead worker, a lost message or an absent broker left behind. Beat calls it every few seconds."""

from __future__ import annotations

import json
import logging
import random
from dataclasses import dataclass

from django.db import connection, transaction

from . import actions, rules

log = logging.getLogger(__name__)

AT_ONCE = 1000
KEEP_DONE_DAYS = 30
KEEP_PROCESS_DAYS = 1


@dataclass(frozen=True)
class Swept:
    """What a sweep did: leases that had run out, messages sent, and whether a broker took them."""

    expired: int = 0
    sent: int = 0
    broker: bool = True


def sweep() -> Swept:
    """Give work whose lease is over to others, and send messages for what is due and has no recent one.

    Two sweeps at once do no harm: expired rows are locked, and a message too many is a claim that fails.
    """
    expired = _expire()
    sent = 0
    for kind, key, correlation_id in _due():
        if not actions.wake(kind, key, correlation_id):
            return Swept(expired, sent, broker=False)
        sent += 1
    _forget()
    return Swept(expired, sent)


def _expire() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, key, owner, attempt FROM work_item WHERE state = 'running' AND lease_until_at <= clock_timestamp()"
            " ORDER BY lease_until_at LIMIT %s FOR UPDATE SKIP LOCKED",
            [AT_ONCE],
        )
        rows = cursor.fetchall()
        for kind, key, owner, attempt in rows:
            shown = owner.rpartition(":")[0]
            log.warning("%s %s: the lease of %s ran out in attempt %s", kind, key, shown, attempt)
            cursor.execute(
                "UPDATE work_item SET state = 'failed', due_at = clock_timestamp() + make_interval(secs => %s), asked_again = false,"
                " lease_until_at = NULL, heartbeat_at = NULL, enqueued_at = NULL, last_error_at = clock_timestamp(),"
                " last_error_code = 'lease_expired', last_error = %s, last_error_params = %s::jsonb WHERE kind = %s AND key = %s",
                [
                    rules.silence_seconds(attempt, random.random()),  # noqa: S311  spreads retries, guards nothing
                    rules.SILENT,
                    json.dumps({"owner": shown, "attempt": str(attempt)}),
                    kind,
                    key,
                ],
            )
    return len(rows)


def _due() -> list[tuple[str, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, key, correlation_id FROM work_item WHERE state IN ('waiting', 'failed') AND due_at <= clock_timestamp()"
            " AND (enqueued_at IS NULL OR enqueued_at < clock_timestamp() - make_interval(secs => %s)) ORDER BY due_at LIMIT %s",
            [actions.MESSAGE_SECONDS, AT_ONCE],
        )
        return cursor.fetchall()


def _forget() -> None:
    """Drop what was done long ago and processes that have not been seen for a day."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM work_item WHERE state = 'done' AND done_at < clock_timestamp() - make_interval(days => %s)",
            [KEEP_DONE_DAYS],
        )
        cursor.execute(
            "DELETE FROM work_process WHERE seen_at < clock_timestamp() - make_interval(days => %s)",
            [KEEP_PROCESS_DAYS],
        )
