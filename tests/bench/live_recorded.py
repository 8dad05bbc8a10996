"""A scheduler that answers from a file of records in the order of their submits, as a live one does window by window."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from governance.schedulers.files import ReadOptions, read
from governance.schedulers.live import Window
from tests.bench.records import DAYS, midnight
from tests.bench.records import FIRST_ON as FIRST

DAY = 86400


class Recorded:
    """Only what a pull of records asks for. A run shows in the window of its submit alone: so each is pulled once."""

    reading: dict[str, Any] = {"format": "sacct"}

    def __init__(self, path: Path, rows: int, days: int, options: ReadOptions) -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        self._header, self._lines, self._options = lines[0], lines[1:], options
        begin, step = midnight(FIRST), days * DAY / rows
        self._submits = [begin + int(number * step) for number in range(rows)]
        self.since_at, self.until_at = begin, begin + days * DAY
        self._now = begin + DAYS * 2 * DAY  # all have ended

    def clock(self) -> int:
        """A minute later each time."""
        self._now += 60
        return self._now

    def runs(self, window: Window) -> Iterator[Any]:
        """The runs submitted in the window."""
        low, high = bisect_left(self._submits, window.since_at), bisect_left(self._submits, window.until_at)
        text = self._header + b"".join(self._lines[low:high])
        yield from read(BytesIO(text), name="recorded", options=self._options)
