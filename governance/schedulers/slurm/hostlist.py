"""Slurm's compressed node lists: `gpu[001-003,007],b3`."""

from __future__ import annotations

import re
from itertools import product

MOST_NODES = 65_536
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
NO_NODES = frozenset({"", "none assigned", "none", "(null)", "null", "n/a", "unknown"})


def _parts(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
        if depth not in (0, 1):
            raise ValueError(f"brackets do not match in {text[:80]!r}")
    if depth:
        raise ValueError(f"brackets do not match in {text[:80]!r}")
    parts.append(text[begin:])
    return parts


def _numbers(inner: str) -> list[str]:
    """`001-003,007` as its numbers, zeros kept."""
    numbers: list[str] = []
    for piece in inner.split(","):
        match = _RANGE.fullmatch(piece)
        if match is None:
            raise ValueError(f"not a range: {piece[:40]!r}")
        first, last = match[1], match[2] or match[1]
        if len(first) > 18 or len(last) > 18 or int(last) < int(first) or int(last) - int(first) >= MOST_NODES:
            raise ValueError(f"range too wide or reversed: {piece[:40]!r}")
        numbers.extend(str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
    return numbers


def expand(text: str) -> list[str]:
    """Every node name of the list, in order.

    Raises ValueError for brackets that do not match or are nested, empty names, and more than 65,536 nodes.
    """
    if text.strip().lower() in NO_NODES:
        return []
    names: list[str] = []
    for part in _parts(text.strip()):
        pieces = re.split(r"\[([^\[\]]*)\]", part)
        if not part:
            raise ValueError(f"an empty name in {text[:80]!r}")
        choices, count = [], 1
        for index, piece in enumerate(pieces):
            choices.append(_numbers(piece) if index % 2 else [piece])
            count *= len(choices[-1])
            if len(names) + count > MOST_NODES:
                raise ValueError(f"more than {MOST_NODES} nodes in {text[:80]!r}")
        names.extend("".join(chosen) for chosen in product(*choices))
    return names
