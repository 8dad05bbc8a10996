"""File locks between processes.

`flock` belongs to the open file description: a forked child keeps its parent's hold alive, and the kernel drops the
hold when the last copy of the descriptor is closed, however its owner died.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.embedded.errors import EmbeddedError


@contextmanager
def exclusive(path: Path, *, wait_seconds: float) -> Iterator[None]:
    """Hold `path` alone for the block; EmbeddedError when others hold it for longer than `wait_seconds`."""
    descriptor = _open(path)
    try:
        deadline = time.monotonic() + wait_seconds
        while not _try(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise EmbeddedError(f"Another process has held {path} for more than {wait_seconds:.0f} seconds.")
            time.sleep(0.02)
        try:
            yield
        finally:
            # Unlock, not just close: a child forked meanwhile has a copy and would keep the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def hold_shared(path: Path) -> int:
    """Join the holders of `path`; answers the descriptor that is the hold. Children made by fork share it."""
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def hold_alone(path: Path) -> int | None:
    """The descriptor of an exclusive hold, or None when anybody else holds `path`; never waits."""
    descriptor = _open(path)
    if _try(descriptor, fcntl.LOCK_EX):
        return descriptor
    os.close(descriptor)
    return None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise EmbeddedError(f"The lock file {path} cannot be opened: {fault.strerror}.") from fault


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
