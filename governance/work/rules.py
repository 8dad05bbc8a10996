"""How long to wait before the next attempt, and how a fault is worded for the page."""

from __future__ import annotations

import re

from governance.errors import N_, DomainError

FIRST_DELAY_SECONDS = 15.0
LONGEST_DELAY_SECONDS = 15 * 60.0
JITTER = 0.2
ERROR_CHARACTERS = 1000

UNEXPECTED = N_("An unexpected fault, %(fault)s: %(words)s")
SILENT = N_("The worker %(owner)s went silent during attempt %(attempt)s; its work is given to another.")

_ADDRESS = re.compile(r"(?<=://)[^/\s@]+@")
_SECRET = re.compile(
    r"(?i)\b((?:[\w-]*(?:password|passwd|token|secret|api[_-]?key)|authorization|cookie)[\"']?\s*[=:]\s*)"
    r"(?:(?:bearer|basic)\s+)?(\"[^\"]*\"|'[^']*'|[^\s,;&]+)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")


def delay_seconds(attempt: int, roll: float) -> float:
    """Seconds before the next attempt after `attempt` (1, 2, …) failed: doubling, capped, ±20 % by `roll` in [0, 1).

    The jitter keeps clusters that failed together from coming back together.
    """
    plain = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(max(attempt, 1) - 1, 30))
    return plain * (1 - JITTER + 2 * JITTER * roll)


def silence_seconds(attempt: int, roll: float) -> float:
    """Seconds before work whose worker went silent is given to another: none at first, then as after a fault.

    Work that kills its workers again and again must not take all of them down without a pause.
    """
    return 0.0 if attempt <= 1 else delay_seconds(attempt - 1, roll)


def scrubbed(text: str) -> str:
    """`text` without what looks like a login in an address, a password or a token, and without control characters."""
    text = _ADDRESS.sub("***@", text)
    text = _SECRET.sub(r"\1***", text)
    text = _BEARER.sub(r"\1 ***", text)
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def worded(fault: BaseException) -> tuple[str, str, dict[str, str]]:
    """(code, msgid, params) of a fault: a DomainError in its own words, another by its kind and its first lines.

    Nothing in them is longer than ERROR_CHARACTERS, and no secret is in them.
    """
    if isinstance(fault, DomainError):
        params = {name: scrubbed(str(value))[:ERROR_CHARACTERS] for name, value in fault.params.items()}
        return type(fault).__name__, fault.message, params
    words = scrubbed(str(fault)).strip()[:ERROR_CHARACTERS]
    return type(fault).__name__, UNEXPECTED, {"fault": type(fault).__name__, "words": words or "-"}
