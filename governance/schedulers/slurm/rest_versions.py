"""Which API a slurmrestd serves, which of it is read here, and how that version wants to be asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from governance.schedulers.live import SourceFault

OLDEST, NEWEST = 36, 44
# Until v0.0.40 a time is what Slurm's own parser reads; its `uts` prefix is the one form that no zone can shift.
LAST_WITH_TIME_WORDS = 40
# Behind paths since the data parsers came.
FIRST_WITH_SLASH = 40
# Flags of the question for jobs and since when they are known. Duplicates are the earlier attempts of requeued jobs;
# without `scheduler_unset` beside them, some releases of 23.11 and 24.05 leave out most jobs.
FLAGS = {"skip_steps": 36, "show_duplicates": 40, "disable_truncate_usage_time": 40, "scheduler_unset": 40}
# Versions whose answers name every exit code that is not zero SUCCESS.
LAST_WITHOUT_EXIT_CODES = 38
_JOBS = re.compile(r"/(slurm|slurmdb)/v0\.0\.(\d{1,4})/jobs/?")
_VERSION = re.compile(r"v?0\.0\.(\d{1,4})")


class Dialect(NamedTuple):
    """One version of the API, as this daemon speaks it."""

    number: int  # 38 is v0.0.38
    served: tuple[int, ...]  # all versions the daemon serves, sorted; empty where it does not say
    flags: tuple[str, ...]  # those of FLAGS that it takes

    @property
    def name(self) -> str:
        """As paths have it."""
        return name_of(self.number)

    def path(self, daemon: str, thing: str) -> str:
        """The path of a question to `daemon` ("slurm" for slurmctld, "slurmdb" for slurmdbd)."""
        return f"/{daemon}/{self.name}/{thing}{'/' if self.number >= FIRST_WITH_SLASH else ''}"

    def moment(self, at: int) -> str:
        """An instant (epoch seconds) as this version reads it, whatever the daemon's time zone."""
        return f"uts{at}" if self.number <= LAST_WITH_TIME_WORDS else str(at)


def name_of(number: int) -> str:
    """38 as "v0.0.38"."""
    return f"v0.0.{number}"


def number_of(name: str) -> int | None:
    """`v0.0.38` or `0.0.38` as 38; None where it is no version that is read here."""
    match = _VERSION.fullmatch(name)
    return int(match[1]) if match is not None and OLDEST <= int(match[1]) <= NEWEST else None


def chosen(document: Mapping[str, Any] | None, wanted: int | None) -> Dialect:
    """The newest version that both sides know, or the one wanted, by the daemon's OpenAPI document.

    Without a document (some proxies hide it) the wanted one is believed. Raises SourceFault("version").
    """
    if document is None:
        if wanted is None:
            raise SourceFault(
                "version", words="the OpenAPI document cannot be read: name the version in the connection"
            )
        return Dialect(wanted, (), _known_flags(wanted))
    paths = document.get("paths")
    found: dict[str, dict[int, str]] = {"slurm": {}, "slurmdb": {}}
    for path in paths if isinstance(paths, Mapping) else ():
        match = _JOBS.fullmatch(str(path))
        if match is not None:
            found[match[1]][int(match[2])] = path
    served = tuple(sorted(found["slurm"].keys() & found["slurmdb"].keys()))
    read = [number for number in served if OLDEST <= number <= NEWEST]
    if not read or (wanted is not None and wanted not in read):
        raise SourceFault(
            "version",
            served=", ".join(map(name_of, served)) or "none",
            read=name_of(wanted) if wanted is not None else f"{name_of(OLDEST)} to {name_of(NEWEST)}",
        )
    number = wanted if wanted is not None else read[-1]
    assert isinstance(paths, Mapping)
    return Dialect(number, served, _documented_flags(paths[found["slurmdb"][number]]) or _known_flags(number))


def _known_flags(number: int) -> tuple[str, ...]:
    return tuple(flag for flag, since in FLAGS.items() if number >= since)


def _documented_flags(operations: object) -> tuple[str, ...]:
    """The flags a path's own description lists: what it does not list is an error to ask for."""
    operation = operations.get("get") if isinstance(operations, Mapping) else None
    listed = operation.get("parameters") if isinstance(operation, Mapping) else None
    names = {one.get("name") for one in listed if isinstance(one, Mapping)} if isinstance(listed, list) else set()
    return tuple(flag for flag in FLAGS if flag in names)
