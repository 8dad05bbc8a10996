"""Whole rows out of a byte stream: lines in bounded memory, and records broken over lines glued together.

A newline inside a field breaks a record. Pieces are glued when the break falls into a free-text column and together
they have exactly the right number of columns; otherwise the piece is a bad record of its own, so that two half lines
never become one false record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from governance.schedulers.records import MAX_RAW, BadRecord
from governance.schedulers.slurm.columns import Plan
from governance.schedulers.slurm.record import bad

BLOCK = 256 * 1024
LONGEST_LINE = 1024 * 1024
MOST_PIECES = 200
# A line that is not the rest of somebody's text: the beginning of a record, or a tool's own complaint.
_NOT_A_REST = re.compile(r"\d[\d_+.\[\]%,-]*$|(?:sacct|slurm\w*):", re.ASCII)

Row = tuple[str, list[str]]  # a line and its cells


class Batch(NamedTuple):
    """Some lines, without their newlines."""

    lines: list[str]
    may_hold_header: bool
    half: bool = False  # the last line of the source lacks its newline


def text_of(data: bytes) -> str:
    """UTF-8 with what is not UTF-8 replaced; NUL bytes are replaced too, since PostgreSQL stores none."""
    text = data.decode("utf-8", "replace")
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text


def batches(source: BinaryIO, first: bytes) -> Iterator[Batch | BadRecord]:
    """Lines block by block, `first` being bytes already read.

    A line over LONGEST_LINE comes as a BadRecord with its beginning only; memory stays within a few blocks.
    """
    held = bytearray()  # the beginning of a line whose newline is not read yet
    passing = False  # that line is too long: the rest of it is passed over
    block = first or source.read(BLOCK)
    while block:
        at = block.find(b"\n")
        if at >= 0 and (held or passing):
            if not passing:
                held += block[:at]
            passing = passing or len(held) > LONGEST_LINE
            yield _too_long(held) if passing else Batch([text_of(bytes(held))], b"jobid" in held.lower())
            held.clear()
            passing = False
            block = block[at + 1 :]
        body, newline, tail = block.rpartition(b"\n")
        if newline:
            yield Batch(text_of(body).split("\n"), b"jobid" in body.lower())
        if not passing:
            held += tail
            if len(held) > LONGEST_LINE:
                del held[4 * MAX_RAW :]
                passing = True
        block = source.read(BLOCK)
    if passing:
        yield _too_long(held)
    elif held:
        yield Batch([text_of(bytes(held))], b"jobid" in held.lower(), half=True)


def _too_long(beginning: bytearray) -> BadRecord:
    text = text_of(bytes(beginning[: 4 * MAX_RAW]))
    return bad(text, "line_too_long", f"a line of more than {LONGEST_LINE} bytes")


def rows(lines: list[str], plan: Plan, *, last: bool, half: bool) -> tuple[list[Row | BadRecord], list[str]]:
    """Rows of the plan's columns, and the lines at the end that need what follows (none when `last`).

    A row with too many cells is handed on as it is: which of its columns holds a delimiter is for its reader to find.
    """
    split = [line.split(plan.delimiter) for line in lines]
    if plan.padded:
        split = [[cell.strip() for cell in cells] for cells in split]
    if set(map(len, split)) <= {plan.cells}:
        whole: list[Row | BadRecord] = list(zip(lines, split, strict=True))
        if plan.free_tail and not last and whole:
            whole.pop()  # its text may go on in the next line
            return whole, lines[-1:]
        return whole, []
    return _Mender(lines, plan, last, half).mend()


class _Mender:
    """Puts irregular lines together to rows."""

    def __init__(self, lines: list[str], plan: Plan, last: bool, half: bool) -> None:
        self.lines = lines
        self.plan = plan
        self.last = last
        self.half_at = len(lines) - 1 if half else len(lines)  # nothing may be glued to a half line
        self.free = frozenset(plan.free)

    def mend(self) -> tuple[list[Row | BadRecord], list[str]]:
        """As `rows`."""
        found: list[Row | BadRecord] = []
        at, lines, wanted = 0, self.lines, self.plan.cells
        while at < len(lines):
            line = lines[at]
            width = line.count(self.plan.delimiter) + 1
            if not line.strip():
                at += 1
                continue
            text, after, width = self._grown(at, width)
            if after == len(lines) and not self.last and self._may_grow(width, after - at, len(text)):
                return found, lines[at:]
            if width < wanted:
                found.append(bad(line, "wrong_column_count", f"{wanted} columns expected, {self._width(line)} found"))
                at += 1
                continue
            cells = text.split(self.plan.delimiter)
            found.append((text, [cell.strip() for cell in cells] if self.plan.padded else cells))
            at = after
        return found, []

    def _width(self, line: str) -> int:
        return line.count(self.plan.delimiter) + 1

    def _may_grow(self, width: int, pieces: int, length: int) -> bool:
        """Whether a row of this width, at the end of what is read so far, may go on in the next line."""
        if pieces >= MOST_PIECES or length > LONGEST_LINE:
            return False
        return width <= self.plan.cells and (width - 1 in self.free)

    def _grown(self, at: int, width: int) -> tuple[str, int, int]:
        """The row that begins at this line, glued: (text, the line after it, its width)."""
        lines, wanted = self.lines, self.plan.cells
        pieces, after, size = [lines[at]], at + 1, len(lines[at])
        while after < len(lines) and self._may_grow(width, len(pieces), size):
            following = lines[after]
            more = self._width(following)
            if more == wanted or width + more - 1 > wanted or (after == self.half_at and width == wanted):
                break
            if width == wanted and (0 in self.free or not following.strip() or _NOT_A_REST.match(following)):
                break  # with a free text first, too, it may as well be the next record's beginning
            pieces.append(following)
            width += more - 1
            size += len(following)
            after += 1
        if width < wanted:
            return lines[at], after, width
        return "\n".join(pieces), after, width
