"""Reading ahead: a thread reads while what it has read before is being written, so that source and database work at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from queue import Empty, Full, Queue
from typing import TypeVar

Item = TypeVar("Item")

#: How long whoever stops early waits for the reader, which may itself wait for a scheduler that is silent; it ends with its answer.
LEAVE_SECONDS = 5.0


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The items in their order, read by a thread one ahead. A fault of theirs is raised here, after the items that came before it.

    The iteration of `items` must touch no database connection: it runs in the thread.
    """
    queue: Queue[Item | _Ended] = Queue(maxsize=1)
    stop = threading.Event()

    def put(item: Item | _Ended) -> None:
        while not stop.is_set():
            try:
                queue.put(item, timeout=0.1)
                return
            except Full:
                continue

    def work() -> None:
        fault: BaseException | None = None
        try:
            for item in items:
                put(item)
                if stop.is_set():
                    return
        except BaseException as caught:  # noqa: BLE001 - handed to the thread that waits for it
            fault = caught
        put(_Ended(fault))

    thread = threading.Thread(target=work, name="read-records", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _Ended):
            yield item
        if item.fault:
            raise item.fault
    finally:
        stop.set()
        deadline = time.monotonic() + LEAVE_SECONDS
        while thread.is_alive() and time.monotonic() < deadline:
            try:
                queue.get_nowait()
            except Empty:
                thread.join(timeout=0.05)


class _Ended:
    """The end of the items, and what ended them if they did not end by themselves."""

    def __init__(self, fault: BaseException | None) -> None:
        self.fault = fault
