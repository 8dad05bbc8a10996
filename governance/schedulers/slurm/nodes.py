"""Nodes in what `scontrol show node` prints, on one line each or on many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from governance.schedulers.errors import RecordFault
from governance.schedulers.live import NodeRecord
from governance.schedulers.records import BadRecord
from governance.schedulers.slurm import node_states, tres
from governance.schedulers.slurm.record import bad
from governance.schedulers.slurm.times import Clock

_PAIR = re.compile(r"(?:^|\s)([A-Z][A-Za-z_:/]*)=")
_NAME = re.compile(r"NodeName=(\S+)")
# People write what follows these; nothing behind them may be taken for a field.
_FREE = re.compile(r"\s(?=(?:Reason|Comment|Extra)=)")
_REASON = re.compile(
    r"(?:^|\s)Reason=(?P<reason>.*?)(?:\s\[(?P<by>[^\[\]@\s]+)@(?P<at>[^\[\]\s]+)\])?"
    r"(?=\s+(?:Comment|Extra|ResumeAfterTime|InstanceId|InstanceType)=|\s*$)",
    re.DOTALL,
)
MOST_LINES = 200  # of one node
Gpus = tuple[tuple[str, int], ...]


def blocks(lines: Iterable[str]) -> Iterator[str]:
    """The text of each node, on one line: a new one begins with its name (a reason may hold newlines)."""
    held: list[str] = []
    for line in lines:
        if line.startswith("NodeName=") and held:
            yield " ".join(held)
            held = []
        if line.strip() and not line.startswith("CLUSTER:") and len(held) < MOST_LINES:
            held.append(line.strip())
    if held:
        yield " ".join(held)


def _gres_entries(text: str) -> Iterator[tuple[str, int]]:
    """(type or "", count) of each kind of card in `gpu:a100:8(S:0-1),npu:2`; shares of cards are none."""
    for entry in re.sub(r"\([^)]*\)", "", text).split(","):
        words = [word for word in re.split(r"[:=/]", entry.strip()) if word]
        if words and words[0].lower() == "gres":
            words.pop(0)
        if not words or words[0].lower() not in tres.DEVICES:
            continue
        number = tres.count(words.pop()) if len(words) > 1 and words[-1][0].isdigit() and _counts(words[-1]) else 1
        yield ":".join(words[1:]).lower(), number or 0


def _counts(word: str) -> bool:
    return re.fullmatch(r"\d+[KMGkmg]?", word, re.ASCII) is not None


def gpus_in(gres: str, cfg_tres: str) -> Gpus:
    """Cards of a node by type, sorted: from its GRES, or where that is silent from what is configured to be tracked."""
    found: dict[str, int] = {}
    for kind, number in _gres_entries(gres):
        found[kind] = found.get(kind, 0) + number
    if not found:
        tracked = tres.read_tres(cfg_tres)
        if tracked.gpu_milli:
            kinds = tracked.gpu_type if "+" in tracked.gpu_type else f"{tracked.gpu_type}:{tracked.gpu_milli}"
            for part in kinds.split("+"):
                kind, _, milli = part.rpartition(":")
                found[kind] = int(milli) // 1000
    return tuple(sorted((kind, number) for kind, number in found.items() if number))


def gpus_used_in(gres_used: str, cfg_tres: str, alloc_tres: str, gpus: Gpus) -> int | None:
    """Cards in use: from GresUsed, else from what is tracked; None where neither counts them, 0 for a node without.

    A cluster that does not track cards shows a full node as empty: that is not a zero.
    """
    if not gpus:
        return 0
    used = list(_gres_entries(gres_used))
    if used:
        return sum(number for _, number in used)
    if tres.read_tres(cfg_tres).names_gpus:
        return (tres.read_tres(alloc_tres).gpu_milli or 0) // 1000
    return None


def nodes(lines: Iterable[str], *, time_zone: str = "UTC") -> Iterator[NodeRecord | BadRecord]:
    """The nodes of `scontrol -a -d show node`; what cannot be read is a BadRecord."""
    clock = Clock(time_zone)
    for block in blocks(lines):
        try:
            yield _node(block, clock)
        except RecordFault as fault:
            yield bad(block, fault.code, fault.reason)


def fields(block: str) -> dict[str, str]:
    """The fields of a node's text before what people write; of a name that occurs twice the last counts (a kernel names itself, too)."""
    head = _FREE.split(block, maxsplit=1)[0]
    found: dict[str, str] = {}
    places = list(_PAIR.finditer(head))
    for at, match in enumerate(places):
        end = places[at + 1].start() if at + 1 < len(places) else len(head)
        found[match[1]] = head[match.end() : end].strip()
    return found


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _node(block: str, clock: Clock) -> NodeRecord:
    at = fields(block)
    named, state = _NAME.match(block), at.get("State", "")
    if named is None or not state:
        raise RecordFault("not_a_node", "a node's name or state is missing")
    base, flags = node_states.from_text(state)
    reason = _REASON.search(block)
    said = reason["reason"].strip() if reason else ""
    cfg_tres = at.get("CfgTRES", "")
    gpus = gpus_in(at.get("Gres", ""), cfg_tres)
    return NodeRecord(
        named[1],
        base,
        flags,
        "" if said.lower() in ("", "none", "(null)") else said,
        clock.instant(reason["at"]) if reason and reason["at"] else None,
        reason["by"] or "" if reason else "",
        gpus,
        gpus_used_in(at.get("GresUsed", ""), cfg_tres, at.get("AllocTRES", ""), gpus),
        _whole(at.get("CPUTot", "")),
        _whole(at.get("RealMemory", "")),
        tuple(part for part in at.get("Partitions", "").split(",") if part and part != "(null)"),
        clock.instant(at.get("BootTime", "")),
    )
