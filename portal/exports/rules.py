"""What an export is allowed to be. Plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """Where an export stands. DONE alone has a file."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


CSV, XLSX = "csv", "xlsx"
FORMATS = (XLSX, CSV)
UNDER_WAY = (State.WAITING, State.RUNNING)
#: Up to so many rows a page answers with the file itself.
SMALL_ROWS = 5_000
#: So many of one person may wait or run at once.
MOST_UNDER_WAY = 5
#: A fault that is nobody's data is tried so often before the reader is told that it failed.
MOST_ATTEMPTS = 3
#: Rows of one sheet of a workbook, below the 1,048,576 that the format has, the header among them.
SHEET_ROWS = 1_000_000
#: Characters of one cell of a workbook.
CELL_CHARACTERS = 32_767

Reach = Mapping[str, Any]


def covers(now: Reach, then: Reach) -> bool:
    """Whether what may be seen now holds all that could be seen then.

    A reach is {capability: {"everything": bool, "departments": [code], "projects": [code]}, "logins": [name]}.
    """
    if not set(then.get("logins", ())) <= set(now.get("logins", ())):
        return False
    return all(_within(now.get(name, {}), held) for name, held in then.items() if name != "logins")


def _within(now: Reach, then: Reach) -> bool:
    if now.get("everything"):
        return True
    if then.get("everything"):
        return False
    return all(set(then.get(kind, ())) <= set(now.get(kind, ())) for kind in ("departments", "projects"))


def shortened(text: str, cut: str) -> str:
    """The text as one cell takes it; where it is longer it ends in `cut`, which says so."""
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - len(cut)] + cut
