"""Scheduler records from files: opens what a path names, finds out what it is, and gives its records one by one.

    with open_source("sacct.txt.gz") as source:
        for record in read(source, name="sacct.txt.gz", options=ReadOptions()):
            ...

The source is read once, in order, in blocks; memory stays flat whatever its size. Whoever wants progress passes
`on_bytes` or wraps the raw file.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from governance.schedulers import clustercockpit
from governance.schedulers.errors import UnreadableSource
from governance.schedulers.records import BadRecord, RunRecord, Skipped
from governance.schedulers.slurm.columns import XDMOD
from governance.schedulers.slurm.json_records import jobs
from governance.schedulers.slurm.lines import BLOCK
from governance.schedulers.slurm.text import Text
from governance.schedulers.slurm.times import zone_named

FORMATS = ("auto", "sacct", "sacct-json", "slurmrestd", "clustercockpit")
_GZIP = b"\x1f\x8b"
_TEXT_CONTROLS = frozenset(b"\t\n\r\x0b\x0c\x1b\x1c\x1d\x1e\x1f")


@dataclass(frozen=True)
class ReadOptions:
    """How a source is to be read."""

    format: str = "auto"  # one of FORMATS
    fields: tuple[str, ...] | None = None  # column names of sacct text; None: its header line; ("xdmod",): XDMoD's log
    delimiter: str | None = None  # None: found from the header, else "|"
    time_zone: str = "UTC"  # the scheduler's clock, for times printed without an offset


class Reading(Iterator[RunRecord | BadRecord | Skipped]):
    """The records of a source, with what was found out about it; iterate it once."""

    def __init__(
        self,
        records: Iterable[RunRecord | BadRecord | Skipped],
        name: str,
        format: str,
        fields: tuple[str, ...] | None = None,
        delimiter: str | None = None,
    ) -> None:
        self._records = _naming(records, name)
        self.format = format  # one of FORMATS, but not "auto"
        self.fields = fields  # columns as first found, None for JSON; with them a line can be read again on its own
        self.delimiter = delimiter

    def __iter__(self) -> Iterator[RunRecord | BadRecord | Skipped]:
        return self._records

    def __next__(self) -> RunRecord | BadRecord | Skipped:
        return next(self._records)


def _naming(records: Iterable[RunRecord | BadRecord | Skipped], name: str) -> Iterator[RunRecord | BadRecord | Skipped]:
    """The records; a refusal on the way says of which source."""
    try:
        yield from records
    except UnreadableSource as fault:
        fault.detail.setdefault("name", name)
        raise


class _Watched(io.RawIOBase):
    """A raw file that gives back two bytes already read and tells how many bytes pass."""

    def __init__(self, raw: BinaryIO, first: bytes, on_bytes: Callable[[int], None] | None) -> None:
        self._raw, self._first, self._on_bytes = raw, first, on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._first or self._raw.read(len(buffer))
        data, self._first = (data[: len(buffer)], data[len(buffer) :]) if self._first else (data, b"")
        buffer[: len(data)] = data
        if self._on_bytes is not None and data:
            self._on_bytes(len(data))
        return len(data)


@contextmanager
def open_source(path: str, *, on_bytes: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
    """The bytes of a file, or of standard input for "-", unpacked where they are gzip (by content, not by name).

    `on_bytes` hears of each piece read from the file itself, before unpacking. Raises UnreadableSource with
    "not_found", "is_a_directory", "not_permitted" or "unreadable".
    """
    if path == "-":
        yield _unpacked(sys.stdin.buffer, on_bytes)
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115  closed below
    except IsADirectoryError:
        raise UnreadableSource("is_a_directory", path=path) from None
    except FileNotFoundError:
        raise UnreadableSource("not_found", path=path) from None
    except PermissionError:
        raise UnreadableSource("not_permitted", path=path) from None
    except (OSError, ValueError) as fault:
        raise UnreadableSource("unreadable", path=path, reason=str(fault)) from None
    with raw:
        yield _unpacked(raw, on_bytes)


def _unpacked(raw: BinaryIO, on_bytes: Callable[[int], None] | None) -> BinaryIO:
    try:
        first = raw.read(2)
    except OSError as fault:
        raise UnreadableSource("unreadable", reason=str(fault)) from None
    plain = io.BufferedReader(_Watched(raw, first, on_bytes), BLOCK)
    return cast(BinaryIO, gzip.GzipFile(fileobj=plain)) if first == _GZIP else plain


class _Named(io.RawIOBase):
    """A source whose faults while reading say what is wrong with it."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._source, self._name = source, name

    def read(self, size: int = -1) -> bytes:
        """As a file's read; raises UnreadableSource."""
        try:
            return self._source.read(size)
        except EOFError:
            raise UnreadableSource("truncated_gzip", name=self._name) from None
        except (gzip.BadGzipFile, zlib.error) as fault:
            raise UnreadableSource("broken_gzip", name=self._name, reason=str(fault)) from None
        except OSError as fault:
            raise UnreadableSource("unreadable", name=self._name, reason=str(fault)) from None


def read(source: BinaryIO, *, name: str, options: ReadOptions) -> Reading:
    """The records of a source in its order: runs, bad records, and steps as Skipped.

    Raises UnreadableSource at once where the source as a whole cannot be read, and while iterating where it turns out
    to be cut off (see `errors.py` for the codes). `name` is for messages only.

    A quarantined record is read again by the same door: its text with the Reading's `fields` and `delimiter`, or its
    JSON object in brackets, as a list of one job.
    """
    if options.format not in FORMATS:
        raise UnreadableSource("unknown_format", format=options.format)
    checked = cast(BinaryIO, _Named(source, name))
    try:
        return _read(checked, name, options)
    except UnreadableSource as fault:
        fault.detail.setdefault("name", name)
        raise


def _read(source: BinaryIO, name: str, options: ReadOptions) -> Reading:
    zone_named(options.time_zone)  # a misspelt zone is told whatever the format
    first = _beginning(source)
    stripped = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not stripped:
        raise UnreadableSource("empty")
    if _is_binary(first):
        raise UnreadableSource("binary")
    if options.format == "clustercockpit" or (
        options.format == "auto" and clustercockpit.looks_like(stripped.partition(b"\n")[0])
    ):
        return Reading(clustercockpit.jobs(source, first), name, "clustercockpit")
    if options.format in ("sacct-json", "slurmrestd") or (options.format == "auto" and stripped[:1] in b"{["):
        kind = "sacct-json" if options.format == "auto" else options.format
        return Reading(jobs(source, first), name, kind)
    fields = XDMOD if options.fields is not None and tuple(options.fields) == ("xdmod",) else options.fields
    text = Text(source, first, fields=fields, delimiter=options.delimiter, time_zone=options.time_zone)
    return Reading(text, name, "sacct", text.plan.names, text.plan.delimiter)


def _beginning(source: BinaryIO) -> bytes:
    """The first bytes: at least the first line that is not blank, or a block, or all there is."""
    begun = b""
    while len(begun) < BLOCK and b"\n" not in begun.lstrip():
        block = source.read(BLOCK)
        if not block:
            break
        begun += block
    return begun


def _is_binary(first: bytes) -> bool:
    """Whether these are no characters: UTF-16 or many control bytes (a stray NUL in a text is none of that)."""
    sample = first[:8192]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\x7fELF", b"PK\x03\x04", b"%PDF")):
        return True
    odd = sum(1 for byte in sample if byte < 32 and byte not in _TEXT_CONTROLS)
    return odd * 20 > len(sample)
