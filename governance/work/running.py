"""Doing one item: claim it, keep its lease alive from a thread, then finish or fail.

The worker may be killed anywhere, or find that its lease is gone: what it writes must be idempotent in any case, the
lease only keeps two workers from doing the same at once and bounds the time until another takes over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from . import actions, correlation
from .actions import Held

log = logging.getLogger(__name__)

LONGEST_BEAT_SECONDS = 5.0


class LeaseLost(Exception):  # noqa: N818  what has happened, as DomainErrors do
    """The item belongs to another worker by now, or must be taken to: stop here, it will be done again."""


class Ran(StrEnum):
    """How a call of `run` ended. NOTHING: not due, or another worker holds it."""

    DONE = "done"
    FAILED = "failed"
    LOST = "lost"
    NOTHING = "nothing"


class Claim:
    """A held item in the hands of the work. `check` between two steps, `step` to show progress as well."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self._lost = threading.Event()
        self._sure_until = time.monotonic() + held.lease

    @property
    def kind(self) -> str:
        """The kind of the item."""
        return self.held.kind

    @property
    def key(self) -> str:
        """The key of the item."""
        return self.held.key

    @property
    def attempt(self) -> int:
        """1 at the first attempt since the last success."""
        return self.held.attempt

    @property
    def is_lost(self) -> bool:
        """Whether another worker may have taken the item: told so by the database, or out of touch for a whole lease."""
        return self._lost.is_set() or time.monotonic() >= self._sure_until

    def check(self) -> None:
        """Raise LeaseLost when the item is no longer ours; call it before each step that costs."""
        if self.is_lost:
            raise LeaseLost(f"{self.kind} {self.key}: the lease is lost")

    def step(self, done: int, of: int = 0) -> None:
        """Note that `done` steps of `of` (0: not known) are behind us, then `check`. Written with the next heartbeat."""
        self.held.progress.of = max(of, 0)
        self.held.progress.done = min(max(done, 0), of) if of > 0 else max(done, 0)
        self.check()

    def beat(self) -> None:
        """One heartbeat. A database that is away is not a lost lease yet; that follows when the lease is over."""
        asked_at = time.monotonic()
        try:
            kept = actions.heartbeat(self.held)
        except (DatabaseError, InterfaceError) as fault:
            log.warning("%s %s: no heartbeat: %s", self.kind, self.key, fault)
            connection.close()
            return
        if kept:
            self._sure_until = asked_at + self.held.lease
        else:
            self._lost.set()


def run(kind: str, key: str, work: Callable[[Claim], object], *, lease: float | None = None) -> Ran:
    """Do the item if it is due: claim, `work(claim)` with a heartbeat, finish or fail. Never raises the work's own faults.

    `lease` is in seconds, by default settings.WORK_LEASE_SECONDS. A fault is logged and stands in the item with the time
    of the next attempt. RuntimeError inside a transaction, where no other process could see the claim.
    """
    if connection.in_atomic_block:
        raise RuntimeError("durable work is claimed outside transactions")
    held = actions.claim(kind, key, actions.owner_name(), lease or settings.WORK_LEASE_SECONDS)
    if held is None:
        log.debug("%s %s: nothing to do", kind, key)
        return Ran.NOTHING
    claim = Claim(held)
    with correlation.using(held.correlation_id or correlation.fresh()):
        log.info("%s %s: begun, attempt %s", kind, key, held.attempt)
        began = time.monotonic()
        ended = _do(claim, work)
        log.info("%s %s: %s after %.1f s", kind, key, ended, time.monotonic() - began)
    return ended


def _do(claim: Claim, work: Callable[[Claim], object]) -> Ran:
    try:
        with _heartbeat(claim):
            work(claim)
        return Ran.DONE if _note(lambda: actions.finish(claim.held)) else Ran.LOST
    except LeaseLost as fault:
        log.warning("%s", fault)
        return Ran.LOST
    except Exception as fault:
        log.exception("%s %s: failed in attempt %s", claim.kind, claim.key, claim.attempt)
        words = fault
        return Ran.FAILED if _note(lambda: actions.fail(claim.held, words)) else Ran.LOST
    except BaseException:  # the worker is told to stop: another goes on at once
        _note(lambda: actions.release(claim.held))
        raise


def _note(write: Callable[[], bool]) -> bool:
    """Write the outcome on a connection that works; without a database the lease runs out and the sweep sees to it."""
    for _attempt in (1, 2):
        try:
            return write()
        except (DatabaseError, InterfaceError) as fault:
            log.warning("the outcome could not be written: %s", fault)
            connection.close()
    return False


@contextmanager
def _heartbeat(claim: Claim) -> Iterator[None]:
    over = threading.Event()
    pause = min(LONGEST_BEAT_SECONDS, claim.held.lease / 4)

    def beat() -> None:
        try:
            while not over.wait(pause) and not claim.is_lost:
                claim.beat()
        finally:
            connection.close()  # the thread's own

    thread = threading.Thread(target=beat, name=f"heartbeat {claim.kind} {claim.key}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
