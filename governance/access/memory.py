"""What was asked once in answering a page is not asked again: a memory that lives as long as one reading request.

Outside `remembering()` (commands, tasks, writes) nothing is remembered, so nothing can be stale there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_memory: ContextVar[dict[Any, Any] | None] = ContextVar("memory", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember the answers of `remembered` functions within this block, in this thread alone."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def is_remembering() -> bool:
    """Whether a page is being read, so that what was asked at its beginning still counts."""
    return _memory.get() is not None


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a read whose answer stays the same while one page is answered. Its arguments must be hashable."""

    @wraps(function)
    def ask(*args: P.args, **kwargs: P.kwargs) -> R:
        memory = _memory.get()
        if memory is None:
            return function(*args, **kwargs)
        key = (function, args, tuple(sorted(kwargs.items())))
        if key not in memory:
            memory[key] = function(*args, **kwargs)
        answer: R = memory[key]
        return answer

    return ask
