"""What slurmrestd answers, before its content is read: is it whole, and which fault does it report.

HTTP 200 may carry errors, "nothing found" is an error that is none, and with a bad token the controller's paths report
the same as when slurmctld is down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import ijson

from governance.schedulers.live import SourceFault
from governance.schedulers.slurm.json_records import number, text_of
from governance.schedulers.slurm.words import MOST_WORDS, Ended, fault_of

DEEPEST = 200  # brackets; real answers have some fifteen
MOST_EVENTS = 50_000  # parts of what an answer says of itself that are kept
_KEPT = frozenset({"errors", "meta"})
NOTHING_FOUND = 9003
# Slurm's error numbers: (code, particulars).
_NUMBERS: dict[int, tuple[str, dict[str, str]]] = {
    1005: ("version", {}),
    1007: ("refused", {}),
    1800: ("daemon_down", {"daemon": "slurmctld"}),
    1801: ("daemon_down", {"daemon": "slurmctld"}),
    1802: ("daemon_down", {"daemon": "slurmctld"}),
    1803: ("daemon_down", {"daemon": "slurmctld"}),
    2002: ("not_permitted", {}),
    7000: ("daemon_down", {"daemon": "slurmdbd"}),
}
_STATUSES = {
    400: "bad_answer",
    401: "refused",
    403: "refused",
    404: "version",
    408: "timed_out",
    429: "unreachable",
    502: "unreachable",
    503: "unreachable",
    504: "timed_out",
}
_UNKNOWN_FIELD = re.compile(r"Unknown Query field|Unknown (?:query )?parameter", re.IGNORECASE)
_SIGN_IN = re.compile(r"authenticat", re.IGNORECASE)


class Survey(NamedTuple):
    """What an answer says of itself."""

    keys: frozenset[str]  # of its outermost object
    errors: tuple[Mapping[str, Any], ...]
    meta: Mapping[str, Any]


EMPTY = Survey(frozenset(), (), {})


def survey(source: BinaryIO) -> Survey:
    """Read a washed answer through to its end, in flat memory; it must be one whole JSON object.

    Raises SourceFault: "output_cut" where it stops in the middle, "bad_answer" where it is something else.
    """
    keys: set[str] = set()
    built: dict[str, Any] = {}
    depth, key, events = 0, "", 0
    builder = ijson.ObjectBuilder()
    try:
        for event, value in ijson.basic_parse(source):
            if event in ("end_map", "end_array"):
                depth -= 1
            if depth == 0 and event != "start_map" and event != "end_map":
                raise SourceFault("bad_answer", words="the answer is no JSON object")
            if depth == 1 and event == "map_key":
                key = value
                keys.add(key)
                builder = ijson.ObjectBuilder()
            elif depth >= 1 and key in _KEPT and events < MOST_EVENTS:
                events += 1
                builder.event(event, value)
                if depth == 1 and not event.startswith("start_"):
                    built[key] = builder.value
            if event in ("start_map", "start_array"):
                depth += 1
                if depth > DEEPEST:
                    raise SourceFault("bad_answer", words="the answer is nested too deeply")
    except ijson.JSONError as fault:
        words = str(fault).split("\n")[0]
        cut = isinstance(fault, ijson.IncompleteJSONError) and ("premature" in words or "incomplete" in words.lower())
        raise SourceFault("output_cut" if cut else "bad_answer", words=f"not whole: {words}"[:MOST_WORDS]) from None
    if "errors" in keys and "errors" not in built:
        built["errors"] = [{"error": "more errors than are read"}]
    errors = built.get("errors")
    meta = built.get("meta")
    return Survey(
        frozenset(keys),
        tuple(one if isinstance(one, Mapping) else {"error": text_of(one)} for one in errors or ())
        if isinstance(errors, list)
        else (),
        meta if isinstance(meta, Mapping) else {},
    )


def fault_in(path: str, status: int, errors: Sequence[Mapping[str, Any]], words: str = "") -> SourceFault | None:
    """The fault that an answer reports, None where all is well; `words` is the body of one that is no JSON."""
    for error in errors:
        fault = _fault_of_error(path, status, error)
        if fault is not None:
            return fault
    if status in (200, 204):
        return None
    code = _STATUSES.get(status, "failed" if status >= 500 else "bad_answer")
    return SourceFault(code, path=path, status=status, words=words.strip()[:MOST_WORDS] or f"HTTP {status}")


def _fault_of_error(path: str, status: int, error: Mapping[str, Any]) -> SourceFault | None:
    said = [text_of(error.get(key)) for key in ("description", "error", "source") if error.get(key)]
    words = ": ".join(said)[:MOST_WORDS]
    numbered = number(error.get("error_number", error.get("errno")))
    detail: dict[str, object] = {"path": path, "status": status, "words": words}
    if numbered == NOTHING_FOUND or "nothing found" in words.lower() or "found nothing" in words.lower():
        return None
    if numbered in _NUMBERS:
        code, particulars = _NUMBERS[numbered]
        return SourceFault(code, **particulars, **detail)
    if _UNKNOWN_FIELD.search(words):
        return SourceFault("unknown_field", **detail)
    if _SIGN_IN.search(words):
        return SourceFault("refused", **detail)
    known = fault_of(Ended("slurmrestd", 1, words, 0))
    if known is not None and known.code not in ("failed", "command_missing"):
        particulars = {"daemon": str(known.detail["daemon"])} if "daemon" in known.detail else {}
        return SourceFault(known.code, **particulars, **detail)
    if path.startswith("/slurm/") and status >= 500 and numbered is None:
        # 22.05 says no more than this, of a slurmctld that is down and of a token that is not taken.
        return SourceFault("daemon_down", daemon="slurmctld", unspecific=True, **detail)
    return SourceFault("failed", **detail)
