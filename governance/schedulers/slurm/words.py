"""What a command that failed said, as a SourceFault: the words of Slurm's tools, of the shell and of ssh."""

from __future__ import annotations

import re
from typing import NamedTuple

from governance.schedulers.live import SourceFault

MOST_WORDS = 2_000  # characters of a command's complaints that are kept
_FIELD = re.compile(
    r"(?:[Ii]nvalid field requested|[Ii]nvalid job format specification|Unknown field"
    r"|(?:unrecognized|invalid) option(?: --)?)"
    r"[:\s]*['\"]?(?P<field>[^'\"\s]*)"
)
# What Slurm's own tools say, the first that fits: (pattern, code, particulars).
_SLURM: tuple[tuple[re.Pattern[str], str, dict[str, str]], ...] = (
    (
        re.compile(r"Protocol version has changed|[Ii]ncompatible versions|[Uu]nsupported .*version"),
        "version",
        {},
    ),
    (re.compile(r"[Mm]unge|[Pp]rotocol authentication error|Invalid authentication credential"), "refused", {}),
    (
        re.compile(
            r"Problem talking to the database|slurm_persist_conn_open|PersistInit|[Uu]nable to connect to database"
            r"|DBD_\w+ failure|[Dd]atabase connection|slurmdbd: .*(?:refused|timed out)"
        ),
        "daemon_down",
        {"daemon": "slurmdbd"},
    ),
    (
        re.compile(
            r"[Uu]nable to contact slurm controller|[Uu]nable to establish control machine|Slurmctld\S* at .* is DOWN"
            r"|Slurmctld running on cluster \S+ is not up|Zero Bytes were transmitted|Socket timed out on send/recv"
        ),
        "daemon_down",
        {"daemon": "slurmctld"},
    ),
    (re.compile(r"No cluster '[^']*' known|can't be reached now, or it is an invalid entry"), "unknown_cluster", {}),
    (
        re.compile(
            r"[Pp]ermission denied|[Oo]nly admins|must have an AdminLevel|not.{0,40}(?:privilege|authorized)"
            r"|not an (?:admin|operator)"
        ),
        "not_permitted",
        {},
    ),
)
_ALWAYS = frozenset({"daemon_down", "unknown_field", "unknown_cluster", "not_permitted"})
_MISSING = re.compile(r"command not found|env: .{0,120}: No such file|exec: .{0,80}not found", re.DOTALL)
# ssh's own words where it ends with 255.
_SSH: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"[Hh]ost key verification failed|HOST IDENTIFICATION HAS CHANGED|No \S+ host key is known|REVOKED"),
        "host_key",
    ),
    (re.compile(r"Permission denied|Too many authentication failures|no more authentication"), "refused"),
    (
        re.compile(
            r"Could not resolve|Connection refused|timed out|No route to host|Network is unreachable"
            r"|Connection (?:closed|reset)|kex_exchange_identification|banner exchange|Connection to \S+ closed"
            r"|not responding|Broken pipe|Name or service not known"
        ),
        "unreachable",
    ),
)


class Ended(NamedTuple):
    """How a command ended."""

    command: str  # its name alone: arguments may be long, and are none of the reader's business
    status: int  # exit status; negative: killed by that signal
    complaints: str  # standard error, bounded
    gave: int  # bytes of output
    over_ssh: bool = False


def _slurm_fault(words: str) -> tuple[str, dict[str, str]] | None:
    field = _FIELD.search(words)
    if field is not None:
        return "unknown_field", {"field": field["field"]}
    for pattern, code, particulars in _SLURM:
        if pattern.search(words):
            return code, particulars
    return None


def fault_of_silence(command: str, complaints: str, kind: str, after_s: float) -> SourceFault:
    """The fault of a command that was given up: a daemon it complains of that long is down, else nobody knows.

    sacct asks for ever while slurmdbd has lost its database.
    """
    words = complaints.strip()[:MOST_WORDS]
    known = _slurm_fault(words)
    detail: dict[str, object] = {"command": command, "kind": kind, "after_s": round(after_s, 1), "words": words}
    if known is not None and known[0] == "daemon_down":
        return SourceFault("daemon_down", **known[1], **detail)
    return SourceFault("timed_out", **detail)


def fault_of(end: Ended) -> SourceFault | None:
    """The fault of a command that ended, None where all is well.

    A status of 0 is believed unless Slurm says otherwise: `squeue` names a field it does not know and still ends with 0.
    """
    words = end.complaints.strip()[:MOST_WORDS]
    known = _slurm_fault(words)
    detail: dict[str, object] = {"command": end.command, "status": end.status, "words": words}
    if end.status == 0:
        if known is not None and known[0] in _ALWAYS and "error" in words.lower():
            return SourceFault(known[0], **known[1], **detail)
        return None
    if end.over_ssh and end.status == 255 and (known is None or known[0] != "daemon_down"):
        for pattern, code in _SSH:
            if pattern.search(words):
                cut = code == "unreachable" and end.gave > 0
                return SourceFault("output_cut" if cut else code, **detail)
    if end.status in (126, 127) or (known is None and _MISSING.search(words)):
        return SourceFault("command_missing", **detail)
    if known is not None:
        return SourceFault(known[0], **known[1], **detail)
    if end.gave > 0 or end.status < 0:
        return SourceFault("output_cut", **detail)
    return SourceFault("failed", **detail)
