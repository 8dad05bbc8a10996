"""Writes of durable work: ask, claim, heartbeat, finish, fail, retry. Each is one statement, and any may be repeated.

All instants come from the database's clock. What a claim writes is compared with its owner, so that a worker that has
lost its lease changes nothing.
"""

from __future__ import annotations

import json
import os
import random
import socket
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.errors import N_, NotFound, NotTheMoment

from . import correlation, rules, waking
from .models import RUNNING, WAITING, WorkItem

#: A message older than this is taken for lost; one too many is a claim that fails and nothing else.
MESSAGE_SECONDS = 60

NO_ITEM = N_("There is no work “%(kind)s” for “%(key)s”.")
RUNS_NOW = N_("“%(kind)s” for “%(key)s” runs at this moment; it needs no retry.")

_ASK = """
INSERT INTO work_item AS w (kind, key, state, asked_at, asked_by, due_at, correlation_id, owner, attempt, asked_again,
    progress_done, progress_of, last_error_code, last_error, last_error_params)
VALUES (%(kind)s, %(key)s, 'waiting', clock_timestamp(), %(by)s, COALESCE(%(due)s, clock_timestamp()), %(correlation)s, '', 0,
    false, 0, 0, '', '', '{}')
ON CONFLICT (kind, key) DO UPDATE SET
    asked_at = excluded.asked_at,
    asked_by = excluded.asked_by,
    state = CASE w.state WHEN 'done' THEN 'waiting' ELSE w.state END,
    correlation_id = CASE w.state WHEN 'done' THEN excluded.correlation_id ELSE w.correlation_id END,
    enqueued_at = CASE w.state WHEN 'done' THEN NULL ELSE w.enqueued_at END,
    due_at = CASE w.state WHEN 'failed' THEN w.due_at ELSE LEAST(w.due_at, excluded.due_at) END,
    asked_again = w.state = 'running'
RETURNING state, state = 'waiting' AND due_at <= clock_timestamp()
    AND (enqueued_at IS NULL OR enqueued_at < clock_timestamp() - make_interval(secs => %(message)s))
"""

_CLAIM = """
UPDATE work_item SET state = 'running', owner = %(owner)s, attempt = attempt + 1, asked_again = false, due_at = NULL,
    started_at = clock_timestamp(), heartbeat_at = clock_timestamp(),
    lease_until_at = clock_timestamp() + make_interval(secs => %(lease)s), enqueued_at = NULL, progress_done = 0, progress_of = 0,
    -- A message may come before the sweep that would have said so: whoever takes over says it.
    last_error_at = CASE state WHEN 'running' THEN clock_timestamp() ELSE last_error_at END,
    last_error_code = CASE state WHEN 'running' THEN 'lease_expired' ELSE last_error_code END,
    last_error = CASE state WHEN 'running' THEN %(silent)s ELSE last_error END,
    last_error_params = CASE state
        WHEN 'running' THEN jsonb_build_object('owner', regexp_replace(owner, ':[^:]*$', ''), 'attempt', attempt::text)
        ELSE last_error_params END
WHERE kind = %(kind)s AND key = %(key)s
    AND ((state IN ('waiting', 'failed') AND due_at <= clock_timestamp()) OR (state = 'running' AND lease_until_at <= clock_timestamp()))
RETURNING attempt, correlation_id
"""

_HELD = " WHERE kind = %(kind)s AND key = %(key)s AND owner = %(owner)s AND state = 'running'"

_HEARTBEAT = (
    "UPDATE work_item SET heartbeat_at = clock_timestamp(), lease_until_at = clock_timestamp() + make_interval(secs => %(lease)s),"
    " progress_done = %(done)s, progress_of = %(of)s" + _HELD + " AND lease_until_at > clock_timestamp()"
)

_FINISH = (
    "UPDATE work_item SET state = CASE WHEN asked_again THEN 'waiting' ELSE 'done' END, done_at = clock_timestamp(), attempt = 0,"
    " asked_again = false, lease_until_at = NULL, heartbeat_at = NULL, enqueued_at = NULL, progress_done = %(done)s, progress_of = %(of)s,"
    " last_error_code = '', last_error = '', last_error_params = '{}', last_error_at = NULL"
    + _HELD
    + " RETURNING COALESCE(due_at <= clock_timestamp(), false)"
)

_FAIL = (
    "UPDATE work_item SET state = 'failed', due_at = clock_timestamp() + make_interval(secs => %(delay)s), asked_again = false,"
    " lease_until_at = NULL, heartbeat_at = NULL, enqueued_at = NULL, last_error_at = clock_timestamp(), progress_done = %(done)s,"
    " progress_of = %(of)s, last_error_code = %(code)s, last_error = %(words)s, last_error_params = %(params)s::jsonb"
    + _HELD
)

_RELEASE = (
    "UPDATE work_item SET state = 'waiting', due_at = clock_timestamp(), asked_again = false, lease_until_at = NULL,"
    " heartbeat_at = NULL, enqueued_at = NULL, attempt = attempt - 1" + _HELD
)


@dataclass
class Progress:
    """How far a claim has come: `done` of `of` steps, 0 of 0 when it does not say."""

    done: int = 0
    of: int = 0


@dataclass(frozen=True)
class Held:
    """A claim as the database knows it. `lease` is in seconds; `attempt` counts from 1 since the last success."""

    kind: str
    key: str
    owner: str
    attempt: int
    lease: float
    correlation_id: str
    progress: Progress = field(default_factory=Progress, compare=False)

    def params(self, **more: Any) -> dict[str, Any]:
        """What the statements on a held item compare and write."""
        kept = {"kind": self.kind, "key": self.key, "owner": self.owner, "lease": self.lease}
        return {**kept, "done": self.progress.done, "of": self.progress.of, **more}


def owner_name() -> str:
    """A name that no other claim has: host:pid:uuid."""
    return f"{socket.gethostname()[:128]}:{os.getpid()}:{uuid.uuid4().hex}"


def ask(kind: str, key: str, *, due_at: datetime | None = None, actor: Actor) -> str:
    """Ask for the work, not before `due_at` (now when None); answers the state in which the item then is.

    One row for each (kind, key): of several requests the earliest counts, one that comes while it runs makes it run once
    more, and one for work that has failed leaves the pause before its next attempt (`retry` ends that). The message goes
    out after commit; without a broker the row waits for the sweep. The action that asks has checked the actor's right,
    and asks last: until it commits, the item's own heartbeat waits. ValueError for a kind without a route in the settings.
    """
    if kind not in settings.CELERY_TASK_ROUTES:
        raise ValueError(f"no queue for the kind {kind!r}: name it in CELERY_TASK_ROUTES")
    of = correlation.current() or correlation.fresh()
    given = {
        "kind": kind,
        "key": key,
        "by": actor.name[:200],
        "due": due_at,
        "correlation": of,
        "message": MESSAGE_SECONDS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ASK, given)
        state, wake = cursor.fetchone()
    if wake:
        wake_after_commit(kind, key, of)
    return str(state)


def wake_after_commit(kind: str, key: str, correlation_id: str) -> None:
    """Send the message once this transaction is there to be seen; a fault on the way leaves the item to the sweep."""
    transaction.on_commit(lambda: wake(kind, key, correlation_id), robust=True)


def wake(kind: str, key: str, correlation_id: str) -> bool:
    """Send the message now and note that it was sent; False where no broker takes it."""
    if not waking.send(kind, key, correlation_id):
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE work_item SET enqueued_at = clock_timestamp() WHERE kind = %s AND key = %s AND state IN ('waiting', 'failed')",
            [kind, key],
        )
    return True


def claim(kind: str, key: str, owner: str, lease: float) -> Held | None:
    """Take the item for `lease` seconds if it is due or its lease is over; None when there is nothing to do here."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"kind": kind, "key": key, "owner": owner, "lease": lease, "silent": rules.SILENT})
        row = cursor.fetchone()
    return Held(kind, key, owner, row[0], lease, row[1]) if row else None


def heartbeat(held: Held) -> bool:
    """Extend the lease by its length and show the progress; False when it is no longer ours."""
    return _write(_HEARTBEAT, held.params())


def finish(held: Held) -> bool:
    """Note that it is done, or waiting once more when it was asked for meanwhile; False when it is no longer ours."""
    with connection.cursor() as cursor:
        cursor.execute(_FINISH, held.params())
        row = cursor.fetchone()
    if row and row[0]:
        wake_after_commit(held.kind, held.key, held.correlation_id)
    return row is not None


def fail(held: Held, fault: BaseException) -> bool:
    """Note the fault and when the next attempt is; False when it is no longer ours."""
    code, words, params = rules.worded(fault)
    delay = rules.delay_seconds(held.attempt, random.random())  # noqa: S311  spreads retries, guards nothing
    return _write(_FAIL, held.params(delay=delay, code=code, words=words, params=json.dumps(params)))


def release(held: Held) -> bool:
    """Give it back as if it had not been taken, for a worker that is told to stop; False when it is no longer ours."""
    return _write(_RELEASE, held.params())


@transaction.atomic
def retry(kind: str, key: str, *, actor: Actor) -> None:
    """Try the work now, its pause and attempts forgotten; what is done is done once more.

    Raises NotAllowed, NotFound, and NotTheMoment while it runs.
    """
    require(actor, "records.import")
    item = WorkItem.objects.select_for_update().filter(kind=kind, key=key).first()
    if item is None:
        raise NotFound(NO_ITEM, kind=kind, key=key)
    if item.state == RUNNING:
        raise NotTheMoment(RUNS_NOW, kind=kind, key=key)
    before = {
        "state": item.state,
        "attempt": item.attempt,
        "due_at": item.due_at,
        "last_error_code": item.last_error_code,
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE work_item SET state = 'waiting', due_at = clock_timestamp(), attempt = 0, enqueued_at = NULL,"
            " asked_at = clock_timestamp(), asked_by = %s WHERE kind = %s AND key = %s",
            [actor.name[:200], kind, key],
        )
    audit(actor, "work.retried", "work", f"{kind} {key}", before=before, after={"state": WAITING})
    wake_after_commit(kind, key, item.correlation_id)


def _write(statement: str, params: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return bool(cursor.rowcount)
