"""Trackable resources: how many CPUs, nodes, MiB and cards a TRES text, a GRES text or JSON entries name.

Cards are counted in thousandths (milli). `gpu_type` is a signature:

    ""                                untyped, or no cards
    "h100"                            all cards of one type, lower-cased as printed
    "a100:4000+h100:2000+:1000"       several: milli per type, sorted by type, the untyped remainder last

Typed and untyped entries count the same cards. The untyped total stands where there is one and the typed entries only
split it; without it they are summed; where they add to more than it, it is kept and the types are not believed.

MIG profiles (`gres/gpu:1g.10gb`, `gpu:a100_1g.5gb`) are types of their own, counted in slices. `gres/mps=N` is N
percent of a card (Slurm's own default is 100 to a card), so N x 10 milli; a card handed out by MPS is never also handed
out whole, so both are added. `gres/shard=N` has no meaning without the site's shards per card, which no record carries:
such a run has cards, and their count is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from governance.schedulers.errors import RecordFault

DEVICES = frozenset({"gpu", "npu"})  # an NPU is an accelerator like any other; its type names the model
_COUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)", re.ASCII | re.IGNORECASE)
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)[nc]?", re.ASCII | re.IGNORECASE)
_SCALES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5, "E": 1024**6}
_MOST = 2**62


class Tres(NamedTuple):
    """What one resource text says."""

    stated: bool  # it says anything at all
    cpus: int | None = None
    nodes: int | None = None
    memory_mib: int | None = None
    names_gpus: bool = False  # cards are named, counted or not
    gpu_milli: int | None = None  # None where cards are named without a count, or not named at all
    gpu_type: str = ""
    types_contradict: bool = False


SILENT = Tres(stated=False)


def count(text: str) -> int | None:
    """`8`, `2K` (2,048) as a whole number; None for no text or a sentinel; raises RecordFault."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    if not text or text.startswith("-") or (text.isascii() and text.isdigit()):
        return None  # -2 and 18446744073709551614 are Slurm's "no value"
    match = _COUNT.fullmatch(text)
    if match is None:
        raise RecordFault("bad_tres", f"not a count: {text[:40]!r}")
    return round(float(match[1]) * _SCALES[match[2].upper()])


def memory(text: str) -> int | None:
    """`31000M`, `62.50G`, plain MiB as whole MiB, halves up; raises RecordFault."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        if not text or text.startswith("-"):
            return None
        raise RecordFault("bad_tres", f"not an amount of memory: {text[:40]!r}")
    scale = _SCALES[match[2].upper() or "M"]
    mib = int(float(match[1]) * scale / 1024**2 + 0.5)
    return mib if mib < _MOST else None


def gpu_type(typed: dict[str, int], untyped: int) -> str:
    """The signature of cards by type (milli) with an untyped remainder (milli); see the head of this file."""
    parts = sorted((name, milli) for name, milli in typed.items() if milli)
    if not parts:
        return ""
    if len(parts) == 1 and not untyped:
        return parts[0][0]
    if untyped:
        parts.append(("", untyped))
    return "+".join(f"{name}:{milli}" for name, milli in parts)


class _Cards:
    """Adds up the card entries of one resource text."""

    def __init__(self) -> None:
        self.named = False
        self.uncounted = False
        self.totals: dict[str, int] = {}  # device family -> milli
        self.typed: dict[str, dict[str, int]] = {}  # device family -> type -> milli

    def add(self, name: str, number: int | None) -> None:
        """An entry `gpu`, `gpu:TYPE`, `mps`, `shard`, ... of a resource text; other names are none of ours."""
        family, _, kind = name.lower().partition(":")
        if family == "shard":
            if number != 0:
                self.named = self.uncounted = True
            return
        if family not in DEVICES and family != "mps":
            return
        if number is None:
            self.named = self.uncounted = True
            return
        self.named = True
        milli = number * (10 if family == "mps" else 1000)
        if kind:
            types = self.typed.setdefault(family, {})
            label = kind.replace("+", "_").replace(":", "_")  # both are the signature's own signs
            types[label] = types.get(label, 0) + milli
        else:
            self.totals[family] = self.totals.get(family, 0) + milli

    def settle(self) -> tuple[int | None, str, bool]:
        """(milli or None, signature, whether the types contradict the total)."""
        if self.uncounted or not self.named:
            return None, "", False
        total, untyped, contradict = 0, 0, False
        merged: dict[str, int] = {}
        for family in sorted(self.totals.keys() | self.typed.keys()):
            types = self.typed.get(family, {})
            split = sum(types.values())
            whole = self.totals.get(family, split)
            total += whole
            if split > whole:
                contradict = True
                continue
            untyped += whole - split
            for kind, milli in types.items():
                merged[kind] = merged.get(kind, 0) + milli
        return total, "" if contradict else gpu_type(merged, untyped), contradict


def from_entries(entries: Iterable[tuple[str, str, int | None]]) -> Tres:
    """Resources from (type, name, count) entries as JSON has them: ("gres", "gpu:h100", 2), ("mem", "", MiB)."""
    stated = False
    plain: dict[str, int | None] = {}
    cards = _Cards()
    for kind, name, number in entries:
        stated = True
        if number is not None and not 0 <= number < _MOST:
            number = None
        if kind == "gres":
            cards.add(name, number)
        elif kind in ("cpu", "mem", "node"):
            plain[kind] = number
    milli, signature, contradict = cards.settle()
    return Tres(
        stated, plain.get("cpu"), plain.get("node"), plain.get("mem"), cards.named, milli, signature, contradict
    )


def read_tres(text: str) -> Tres:
    """Resources from `billing=4,cpu=1,gres/gpu:h100=2,gres/gpu=2,mem=4000M,node=1`; raises RecordFault."""
    return from_entries(_entries(text))


def _entries(text: str) -> Iterable[tuple[str, str, int | None]]:
    for entry in text.split(","):
        name, _, amount = entry.strip().partition("=")
        if not name or name.lower() in ("unknown", "n/a", "(null)"):
            continue
        kind, _, kind_name = name.partition("/")
        kind = kind.lower()
        if kind == "mem":
            yield kind, kind_name, memory(amount)
        elif kind in ("cpu", "node", "gres"):
            yield kind, kind_name, count(amount)
        else:
            yield kind, kind_name, None


def read_gres(text: str, nodes: int) -> Tres:
    """Cards from the older GRES fields, which count per node: `gpu:2`, `gpu:v100:4(S:0-1)`, `PER_NODE:gpu:8`.

    A bare `gpu` is one card, as in Slurm. Per socket or task the count is unknown.
    """
    stated = False
    cards = _Cards()
    for entry in re.sub(r"\([^)]*\)", "", text).split(","):
        words = [word for word in re.split(r"[:/]", entry.strip()) if word]
        if not words or words[0].lower() in ("unknown", "n/a", "(null)", "null", "none"):
            continue
        stated = True
        scope = words.pop(0).upper() if words[0].upper().startswith("PER_") else "PER_NODE"
        if words and words[0].lower() == "gres":
            words.pop(0)
        number: int | None = 1
        if len(words) > 1 and _COUNT.fullmatch(words[-1]):
            number = count(words.pop())
        times = {"PER_NODE": nodes, "PER_JOB": 1}.get(scope)
        cards.add(":".join(words), None if number is None or times is None else number * times)
    milli, signature, contradict = cards.settle()
    return Tres(stated, None, None, None, cards.named, milli, signature, contradict)
