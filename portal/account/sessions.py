"""When a session ends. It lasts a working day from sign-in, and as long again each time its reader says so."""

from __future__ import annotations

import time

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase

ENDS = "ends"
WARN_SECONDS = 300


def begin(session: SessionBase) -> None:
    """From now on it lasts SESSION_COOKIE_AGE."""
    session.set_expiry(settings.SESSION_COOKIE_AGE)
    session[ENDS] = int(time.time()) + settings.SESSION_COOKIE_AGE


def left(session: SessionBase) -> int | None:
    """Seconds until it ends; None where that is not known."""
    ends = session.get(ENDS)
    return max(int(ends) - int(time.time()), 0) if isinstance(ends, int) else None


def warn_seconds() -> int:
    """How long before its end a reader is warned: less where a session is short from the start."""
    return min(WARN_SECONDS, int(settings.SESSION_COOKIE_AGE) // 3)
