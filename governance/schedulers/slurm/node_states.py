"""Slurm's node states in every spelling, as a base state and flags: scontrol, sinfo, JSON and slurmdbd's numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

BASES = frozenset({"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"})
# Signs behind a state, as scontrol and sinfo print them.
_SIGNS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
# Words that mean a base, flags, or both: sinfo's own, short and old spellings.
_MEANING: dict[str, tuple[str, tuple[str, ...]]] = {
    "ALLOC": ("ALLOCATED", ()),
    "MIX": ("MIXED", ()),
    "UNK": ("UNKNOWN", ()),
    "FUTR": ("FUTURE", ()),
    "DRAINED": ("IDLE", ("DRAIN",)),
    "DRAINING": ("ALLOCATED", ("DRAIN",)),
    "DRNG": ("ALLOCATED", ("DRAIN",)),
    "COMP": ("", ("COMPLETING",)),
    "MAINT": ("", ("MAINTENANCE",)),
    "RESV": ("", ("RESERVED",)),
    "PLND": ("", ("PLANNED",)),
    "NO_RESPOND": ("", ("NOT_RESPONDING",)),
    "FAILG": ("ALLOCATED", ("FAIL",)),
    "FAILING": ("ALLOCATED", ("FAIL",)),
    "BOOT": ("", ("REBOOT_ISSUED",)),
    "REBOOT": ("", ("REBOOT_ISSUED",)),
    "INVAL": ("", ("INVALID_REG",)),
    "POW_UP": ("", ("POWERING_UP",)),
    "POW_DN": ("", ("POWERING_DOWN",)),
    "POWER_SAVING": ("", ("POWERED_DOWN",)),
}
# A flag that stands alone in sinfo's words says nothing of the base; these imply one.
_IMPLIED = {
    "COMPLETING": "ALLOCATED",
    "RESERVED": "IDLE",
    "PLANNED": "IDLE",
    "DRAIN": "IDLE",
    "MAINTENANCE": "IDLE",
    "FAIL": "IDLE",
}
_NOT_FLAGS = frozenset({"INVALID", ""})
_WORD = re.compile(r"([A-Za-z_]+)([*~#!%$@^-]*)", re.ASCII)
_BASE_NUMBERS = ("UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE")
_BITS = {
    0x10: "NET", 0x20: "RESERVED", 0x40: "UNDRAIN", 0x80: "CLOUD", 0x100: "RESUME", 0x200: "DRAIN",
    0x400: "COMPLETING", 0x800: "NOT_RESPONDING", 0x1000: "POWERED_DOWN", 0x2000: "FAIL", 0x4000: "POWERING_UP",
    0x8000: "MAINTENANCE", 0x10000: "REBOOT_REQUESTED", 0x20000: "REBOOT_CANCELED", 0x40000: "POWERING_DOWN",
    0x80000: "DYNAMIC_FUTURE", 0x100000: "REBOOT_ISSUED", 0x200000: "PLANNED", 0x400000: "INVALID_REG",
    0x800000: "POWER_DOWN", 0x1000000: "POWER_UP", 0x2000000: "POWER_DRAIN", 0x4000000: "DYNAMIC_NORM",
}  # fmt: skip


def from_words(words: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """(base, sorted flags) of JSON's words or the parts of a text; the base is "UNKNOWN" where none is named."""
    base, flags = "", set()
    for word in words:
        match = _WORD.fullmatch(word.strip())
        if match is None:
            if word.strip():
                flags.add(word.strip().upper())
            continue
        flags.update(_SIGNS[sign] for sign in match[2])
        name = match[1].upper()
        meant, more = _MEANING.get(name, (name, ()) if name in BASES else ("", (name,)))
        base = base or meant
        flags.update(more)
    flags -= _NOT_FLAGS
    if not base:
        base = next((state for flag, state in _IMPLIED.items() if flag in flags), "UNKNOWN")
    return base, tuple(sorted(flags))


def from_text(text: str) -> tuple[str, tuple[str, ...]]:
    """(base, sorted flags) of `IDLE+DRAIN`, `DOWN*+DRAIN`, sinfo's `drained*` or `mix-`."""
    return from_words(re.split(r"[+,]", text))


def from_number(number: int) -> tuple[str, tuple[str, ...]]:
    """(base, sorted flags) of slurmdbd's number for a state: 514 is IDLE with DRAIN."""
    base = number & 0xF
    flags = tuple(sorted(name for bit, name in _BITS.items() if number & bit))
    return (_BASE_NUMBERS[base] if base < len(_BASE_NUMBERS) else "UNKNOWN"), flags
