"""The parts of the bench that look at live schedulers and at several workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.bench.live_backfill import backfill
from tests.bench.live_reconcile import reconcile
from tests.bench.live_repull import repull
from tests.bench.live_workers import two_workers
from tests.bench.measures import Bench
from tests.bench.report import Figure

LIVE_PARTS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "repull": repull,
    "backfill": backfill,
    "two_workers": two_workers,
    "reconcile": reconcile,
}
