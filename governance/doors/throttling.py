"""Rate limits, counted in the database so that every host counts together; a process adds what it counted now and then."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.conf import settings
from django.db import connection
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

#: A process tells the others of every fourth request: a limit is passed by three for each process at most.
TOLD_EVERY = 4
#: So many askers are remembered before those of past minutes are forgotten.
REMEMBERED = 10_000

#: Adds to this minute, and forgets the minutes before it.
ADD = """
WITH before AS (DELETE FROM asked_of_doors WHERE who = %(who)s AND minute < %(minute)s)
INSERT INTO asked_of_doors AS a (who, minute, times) VALUES (%(who)s, %(minute)s, %(times)s)
ON CONFLICT (who, minute) DO UPDATE SET times = a.times + excluded.times RETURNING times
"""


def who(request: Any) -> str:
    """Who is counted, and whose answers are kept: a person by name, a machine by its, nobody by the address."""
    actor = request.actor
    return f"{'machine' if actor.is_machine else 'person'} {actor.name}" if actor.name else f"address {actor.address}"


class _Counts:
    """What this process has counted: for each asker and minute, what the database said last and what it was not told yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, int], tuple[int, int]] = {}

    def add(self, asker: str, minute: int) -> int:
        """Count one more; answers how many there were this minute, as far as is known here."""
        with self._lock:
            if len(self._counts) >= REMEMBERED:
                self._counts = {key: value for key, value in self._counts.items() if key[1] >= minute}
            told, untold = self._counts.get((asker, minute), (0, 0))
            untold += 1
            telling = untold >= TOLD_EVERY
            self._counts[asker, minute] = (told + (untold if telling else 0), 0 if telling else untold)
        if not telling:
            return told + untold
        with connection.cursor() as cursor:
            cursor.execute(ADD, {"who": asker, "minute": minute, "times": untold})
            total = int(cursor.fetchone()[0])
        with self._lock:
            self._counts[asker, minute] = (total, self._counts.get((asker, minute), (0, 0))[1])
        return total

    def clear(self) -> None:
        """Begin anew."""
        with self._lock:
            self._counts.clear()


COUNTS = _Counts()


class MinuteThrottle(BaseThrottle):
    """So many requests a minute for each person (all their tokens together), machine, or unknown address."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count it; False where it is one too many."""
        asker = who(request)
        if asker.startswith("address "):
            limit = settings.API_UNKNOWN_PER_MINUTE
        elif request.method in {"GET", "HEAD"}:
            limit = settings.API_READS_PER_MINUTE
        else:
            asker, limit = f"{asker} writes", settings.API_WRITES_PER_MINUTE
        return COUNTS.add(asker[-200:], int(time.time() // 60)) <= int(limit)

    def wait(self) -> float:
        """Seconds until the next minute."""
        return 60 - time.time() % 60
