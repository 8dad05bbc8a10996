"""The id that joins a request with the work it led to, in logs and in `work_item`."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")
_current: ContextVar[str] = ContextVar("correlation_id", default="")


def current() -> str:
    """The id of what is being done now, or an empty text."""
    return _current.get()


def fresh() -> str:
    """A new id."""
    return uuid.uuid4().hex


def accepted(given: str | None) -> str:
    """`given` where it is harmless in a log and a header, else a new id."""
    return given if given and _ACCEPTED.fullmatch(given) else fresh()


@contextmanager
def using(correlation_id: str) -> Iterator[str]:
    """Everything in the block is done under this id."""
    token = _current.set(correlation_id)
    try:
        yield correlation_id
    finally:
        _current.reset(token)
