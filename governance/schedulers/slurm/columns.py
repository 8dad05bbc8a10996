"""Which column of a sacct text is which: from its header line, or from names the caller gives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from governance.schedulers.errors import UnreadableSource

_XDMOD_ORDER = (
    "jobid|jobidraw|cluster|partition|qos|account|group|gid|user|uid|submit|eligible|start|end|elapsed|exitcode|state"
    "|nnodes|ncpus|reqcpus|reqmem|reqtres|alloctres|timelimit|nodelist|jobname"
)
_FREELY_WRITTEN = (
    "jobname comment admincomment systemcomment submitline workdir constraints container extra licenses wckey stdin "
    "stdout stderr reqnodes failednode reservation"
)
_ALSO_KNOWN = (
    "elapsedraw suspended timelimitraw reqgres allocgres allocnodes alloccpus reason restarts dbindex sluid flags "
    "priority derivedexitcode planned reserved"
)
XDMOD = tuple(_XDMOD_ORDER.split("|"))
# Columns people or programs write freely: they may hold delimiters and newlines.
FREE_TEXT = frozenset(_FREELY_WRITTEN.split())
KNOWN = FREE_TEXT | set(XDMOD) | set(_ALSO_KNOWN.split())
_NAME = re.compile(r"([A-Za-z]+)(?:%-?\d+)?", re.ASCII)
_FIRST_GAP = re.compile(r"\s*[A-Za-z]+(?:%-?\d+)?([^A-Za-z0-9%]{1,8})[A-Za-z]", re.ASCII)
_DATA_GAPS = ("|#", "\x1f", "|")


def names_in(line: str, delimiter: str) -> tuple[str, ...] | None:
    """Lower-cased column names if the line is a header (it names a job id and another known column), else None."""
    cells = line.rstrip("\r\n").split(delimiter)
    if len(cells) > 1 and cells[-1] == "":  # `sacct -p` ends every line with the delimiter
        cells.pop()
    names = []
    for cell in cells:
        match = _NAME.fullmatch(cell.strip())
        if match is None:
            return None
        names.append(match[1].lower())
    if not {"jobid", "jobidraw"} & set(names) or len(KNOWN & set(names)) < 2:
        return None
    return tuple(names)


def delimiter_of(header: str, wanted: str | None) -> str:
    """The delimiter of a header line, or the wanted one; raises UnreadableSource("no_known_columns")."""
    if wanted:
        return wanted
    match = _FIRST_GAP.match(header)
    if match is None or match[1].strip(" ") == "":
        raise UnreadableSource("no_known_columns", first_line=header[:200])
    return match[1]


def delimiter_in(line: str) -> str:
    """The delimiter of a line of data whose columns the caller names."""
    return next((gap for gap in _DATA_GAPS if gap in line), "|")


class Plan:
    """The place of every column that is read; -1 is a cell that is always empty."""

    def __init__(self, names: Iterable[str], delimiter: str, *, trailing: bool = False, padded: bool = False) -> None:
        self.names = tuple(names)
        self.delimiter = delimiter
        self.padded = padded  # cells are filled to a width
        self.cells = len(self.names) + trailing  # cells a line splits into
        self.free = tuple(index for index, name in enumerate(self.names) if name in FREE_TEXT)
        self.free_tail = bool(self.free) and self.free[-1] == self.cells - 1
        self.step_at = self.at("JobID", "JobIDRaw")  # both print a step with a dot
        needed = {"JobID": ("JobID", "JobIDRaw"), "State": ("State",), "Submit": ("Submit", "Start")}
        missing = tuple(name for name, either in needed.items() if not self.has(*either))
        if missing:
            raise UnreadableSource("missing_columns", columns=missing)

    def has(self, *names: str) -> bool:
        """Whether any of the columns is there."""
        return self.at(*names) >= 0

    def at(self, *names: str) -> int:
        """The place of the first of these columns that is there, else -1."""
        for name in names:
            if name.lower() in self.names:
                return self.names.index(name.lower())
        return -1
