"""Records for the bench: varied sacct text, written fast; the same arguments give the same bytes."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Generic, NamedTuple, TypeVar

from portal.demo.sacct import FIELDS, OFFSET_S, lasting, local

ACCOUNTS, USERS = 40, 300
FIRST_ON, DAYS = date(2026, 1, 1), 181
MONTH = "2026-02"  # what is posted and read: a whole one that is not the first
NODES = 256  # of each pool


class Pool(NamedTuple):
    """A pool as its records show it."""

    partition: str
    kind: str
    prefix: str  # of its nodes' names
    cards_per_node: int


POOLS = (Pool("train", "h800", "tr", 8), Pool("infer", "l20", "in", 4), Pool("dev", "a800", "dv", 8))
QOS = (("normal", 85), ("high", 10), ("low", 5))
ENDS = (
    ("COMPLETED", "0:0", 78), ("FAILED", "1:0", 10), ("CANCELLED by 1002", "0:15", 6), ("TIMEOUT", "0:0", 4), ("NODE_FAIL", "1:0", 1),
    ("OUT_OF_MEMORY", "0:125", 1),
)  # fmt: skip
REASONS = (("None", 60), ("Resources", 15), ("Priority", 15), ("QOSMaxGRESPerUser", 6), ("Dependency", 4))
CARDS = ((1, 50), (2, 15), (4, 12), (8, 18), (16, 3), (0, 2))


Thing = TypeVar("Thing")


class Draw(Generic[Thing]):
    """One of several things by weight."""

    def __init__(self, weighted: Iterable[tuple[Thing, int]]) -> None:
        self.things, weights = zip(*weighted, strict=True)
        self.sums = list(accumulate(weights))

    def __call__(self, rng: Random) -> Thing:
        """The next one."""
        return self.things[bisect(self.sums, rng.random() * self.sums[-1])]


_END = Draw(((state, code), weight) for state, code, weight in ENDS)
_REASON, _CARDS, _QOS = Draw(REASONS), Draw(CARDS), Draw(QOS)


def midnight(day: date) -> int:
    """Epoch seconds of the local midnight that begins the day."""
    return (day - date(1970, 1, 1)).days * 86400 - OFFSET_S


def write_records(path: Path, rows: int, days: int = DAYS, *, seed: int = 1) -> None:
    """Write `rows` runs submitted in `days` days to a file, in the order of their submit times, as sacct lists them.

    Memory is bounded.
    """
    with path.open("w", encoding="utf-8") as out:
        out.write(FIELDS + "\n")
        out.writelines(_lines(rows, days, Random(seed)))


def _lines(rows: int, days: int, rng: Random) -> Iterator[str]:
    begin = midnight(FIRST_ON)
    step = days * 86400 / rows
    tres: dict[tuple[int, int], tuple[str, int, int]] = {}
    for number in range(rows):
        job = 1_000_000 + number
        submit = begin + int(number * step)
        user = int(rng.random() ** 2.5 * USERS)  # a few submit most
        account = (user if rng.random() < 0.9 else user + 1) % ACCOUNTS
        at = (user if rng.random() < 0.8 else int(rng.random() * 3)) % 3  # people keep to their pool, mostly
        pool = POOLS[at]
        cards, (state, code), reason, qos = _CARDS(rng), _END(rng), _REASON(rng), _QOS(rng)
        # Seconds to days: most are short, the long tail holds the hours.
        ran = int(min(rng.lognormvariate(7.2, 2.0), 5 * 86400)) + 1
        waited = int(rng.expovariate(1 / 900)) if reason != "None" else int(rng.random() * 20)
        start = submit + waited
        held = tres.get((at, cards)) or tres.setdefault((at, cards), _tres(pool, cards))
        asked, nodes, cpus = held
        first = 1 + int(rng.random() * (NODES - nodes))
        names = f"{pool.prefix}{first:03d}" if nodes == 1 else f"{pool.prefix}[{first:03d}-{first + nodes - 1:03d}]"
        submitted = local(submit)
        yield (
            f"{job}|{job}|bench|acc{account:02d}|user{user:03d}|{pool.partition}|{qos}|{state}|{code}|{submitted}"
            f"|{submitted}|{local(start)}|{local(start + ran)}|{ran}|{lasting(0)}|{(ran // 3600 + 1) * 60}|{nodes}|{cpus}|{asked}|{asked}"
            f"|{names}|{reason}|0|job-{account}-{number % 9973}\n"
        )


def _tres(pool: Pool, cards: int) -> tuple[str, int, int]:
    """What a run of so many cards holds: (resource text, nodes, CPUs)."""
    nodes, cpus = max(1, cards // pool.cards_per_node), (cards or 1) * 16
    gres = f"gres/gpu:{pool.kind}={cards},gres/gpu={cards}," if cards else ""
    return f"billing={cpus},cpu={cpus},{gres}mem={cpus * 8}G,node={nodes}", nodes, cpus
