"""When nodes fail and when they are taken out: planned before the queue runs, since hardware does not wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from portal.demo import estate
from portal.demo.estate import Pool
from portal.demo.queueing import PoolQueue
from portal.demo.rhythm import Durations

DOWN_PER_MILLION = 4000  # of node-days: 4 hardware failures per 1,000 node-days
DRAIN_PER_MILLION = 3000
LEMON_PART, LEMON_FACTOR = 0.02, 6
REPAIR = Durations(5 * 3600, 1.2)
DRAIN = Durations(20 * 3600, 0.6)
DOWN_REASONS = (
    "NHC:xid79",
    "NHC:xid48",
    "NHC:xid64",
    "slurm:not-responding",
    "NHC:ib-link",
    "NHC:ecc",
    "ops:power-supply",
)
DRAIN_REASONS = ("ops:firmware", "ops:driver", "NHC:xid63", "ops:cable", "ops:inspection")


def plan(queue: PoolQueue, start_at: int, days: int, rng: Random) -> None:
    """Hand the queue its outages of `days` days from `start_at` (epoch seconds of a midnight)."""
    pool = queue.pool
    lemons = {node for node in range(len(pool.names)) if rng.random() < LEMON_PART}
    serial = 0
    for day in range(days):
        for node in range(len(pool.names)):
            factor = LEMON_FACTOR if node in lemons else 1
            draw = int(rng.random() * 1_000_000)
            if draw >= (DOWN_PER_MILLION + DRAIN_PER_MILLION) * factor:
                continue
            down = draw < DOWN_PER_MILLION * factor
            at = start_at + day * 86400 + int(rng.random() * 86400)
            lasts = int((REPAIR if down else DRAIN).draw(rng))
            checks = DOWN_REASONS if down else DRAIN_REASONS
            serial += 1
            reason = f"{checks[int(rng.random() * len(checks))]}:{'INC' if down else 'CHG'}-{pool.code}-{serial:04d}"
            queue.fail_node(at, node, "down" if down else "drained", at + lasts, reason)
    for node, at, lasts in _power_cut(pool, start_at, days, rng):
        queue.fail_node(at, node, "down", at + lasts, f"ops:rack-power:INC-{pool.code}-0000")


def _power_cut(pool: Pool, start_at: int, days: int, rng: Random) -> Iterator[tuple[int, int, int]]:
    """Once in the period a whole rack of a pool that has several loses power for some hours."""
    racks = estate.racks([pool])
    at = start_at + int(days * 86400 * (0.3 + 0.4 * rng.random()))
    rack = racks[int(rng.random() * len(racks))]
    if len(racks) > 3:
        for node in range(rack.first, rack.first + rack.count):
            yield node, at, 3 * 3600
