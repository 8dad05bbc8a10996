"""Which workers and beats live: each says so every few seconds from a thread of its main process."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterable

from django.db import DatabaseError, InterfaceError, connection

log = logging.getLogger(__name__)

SAY_SECONDS = 10.0


def seen(role: str, queues: Iterable[str] = ()) -> None:
    """Note that this process, a "worker" or a "beat", lives."""
    host = socket.gethostname()[:128]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO work_process AS p (name, role, host, queues, started_at, seen_at)"
            " VALUES (%s, %s, %s, %s, clock_timestamp(), clock_timestamp())"
            " ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at, queues = excluded.queues",
            [f"{role}@{host}:{os.getpid()}", role, host, ",".join(sorted(queues))[:500]],
        )


def gone(role: str) -> None:
    """Note that this process ends in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM work_process WHERE name = %s", [f"{role}@{socket.gethostname()[:128]}:{os.getpid()}"]
        )


class Presence:
    """The thread that says so."""

    def __init__(self, role: str, queues: Iterable[str]) -> None:
        self._role, self._queues = role, tuple(queues)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._say, name="presence", daemon=True)

    def start(self) -> None:
        """Begin to say so."""
        self._thread.start()

    def stop(self) -> None:
        """Say goodbye."""
        self._over.set()
        self._thread.join(5)

    def _say(self) -> None:
        while True:
            over = self._over.is_set()
            try:
                if over:
                    gone(self._role)
                else:
                    seen(self._role, self._queues)
            except (DatabaseError, InterfaceError) as fault:
                log.warning("presence is not noted: %s", fault)
            finally:
                connection.close()  # not held between two words, and never shared with a process forked later
            if over:
                return
            self._over.wait(SAY_SECONDS)
