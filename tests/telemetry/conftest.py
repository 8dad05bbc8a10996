"""A cluster with three runs, and what exporters told of them: gaps, a doubled exporter, slices above one, blanks, wrong labels."""

from __future__ import annotations

import pytest

from tests.books import at, bring, declare, line
from tests.telemetry.blocks import Gauge, make_blocks, needs_prometheus, scrapes, serve

EVENING, MIDNIGHT, MORNING = at("2026-06-01T20:00"), at("2026-06-02T00:00"), at("2026-06-02T04:00")
HOUR = 3600
SM, UTIL = "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
BLANK = 9223372036854775794.0


def card(number: int, job: str = "1", node: str = "gpu001", **more: str) -> dict[str, str]:
    labels = {"Hostname": node, "UUID": f"GPU-{node}-{number}", "gpu": str(number), "instance": f"{node}:9400", **more}
    return {**labels, "hpc_job": job} if job else labels


def told() -> list[Gauge]:
    """Run 1 has eight cards of gpu001 from 20:00 to 04:00, run 2 two slices of one card, run 3 a card of which only GPU_UTIL is told."""
    busy = [Gauge(SM, card(n), scrapes(EVENING, MORNING, 0.8)) for n in (0, 1, 2, 4, 6)]
    doubled = Gauge(SM, card(0, instance="gpu001:9401"), scrapes(EVENING, MORNING, 0.2))
    gap = [p for p in scrapes(EVENING, MORNING, 0.8) if not MIDNIGHT + HOUR < p[0] <= MIDNIGHT + 2 * HOUR]
    blank = scrapes(EVENING, MORNING, lambda t: BLANK if MIDNIGHT + 3 * HOUR < t <= MIDNIGHT + 3 * HOUR + 600 else 0.8)
    rest = scrapes(EVENING, MORNING, lambda t: 0.01 if EVENING + 2 * HOUR < t <= MIDNIGHT + 2 * HOUR else 0.8)
    slices = [
        Gauge(SM, card(0, "2", "gpu002", GPU_I_ID=part), scrapes(EVENING, EVENING + HOUR, 1.07)) for part in ("1", "2")
    ]
    percent = Gauge(
        UTIL,
        card(1, "3", "gpu002"),
        scrapes(EVENING, EVENING + 2 * HOUR, lambda t: 50.0 if t <= EVENING + HOUR else 4.0),
    )
    unassigned = Gauge(SM, card(2, "", "gpu002"), scrapes(EVENING, MORNING, 0.0))
    stranger = Gauge(SM, card(3, "999", "gpu002"), scrapes(EVENING, EVENING + HOUR, 0.5))
    nameless = Gauge(SM, {"Hostname": "gpu003", "hpc_job": "1"}, scrapes(EVENING, EVENING + HOUR, 0.5))
    memory = [
        Gauge(
            "DCGM_FI_DEV_FB_USED",
            card(0),
            scrapes(EVENING, MORNING, lambda t: 70_000.0 if t == MIDNIGHT + 1800 else 40_000.0),
        ),
        Gauge(
            "DCGM_FI_DEV_FB_USED",
            card(1),
            scrapes(EVENING, MORNING, lambda t: 2147483632.0 if t == MIDNIGHT + 1800 else 30_000.0),
        ),
    ]
    power = [Gauge("DCGM_FI_DEV_POWER_USAGE", card(n), scrapes(EVENING, MORNING, 500.0 + 10 * n)) for n in (0, 1)]
    power.append(Gauge("DCGM_FI_DEV_POWER_USAGE", card(0, instance="gpu001:9401"), scrapes(EVENING, MORNING, 500.0)))
    heat = [Gauge("DCGM_FI_DEV_GPU_TEMP", card(n), scrapes(EVENING, MORNING, 50.0 + n)) for n in (0, 1)]
    # Card 4 has a counter of 300 W in millijoules that starts again from zero at 02:30.
    reset = MIDNIGHT + 2 * HOUR + 1800
    counter = scrapes(EVENING, MORNING, lambda t: 300_000.0 * (t - (reset if t > reset else EVENING)))
    energy = Gauge("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", card(4), counter)
    whole = [Gauge(SM, card(3), gap), Gauge(SM, card(5), blank), Gauge(SM, card(7), rest)]
    return [*busy, doubled, *whole, *slices, percent, unassigned, stranger, nameless, *memory, *power, *heat, energy]


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory):
    """The address of a real Prometheus that holds `told()`."""
    with serve(make_blocks(told(), tmp_path_factory.mktemp("prometheus"))) as url:
        yield url


@pytest.fixture
def three_runs(db, tmp_path):
    """The runs the exporters speak of, and their records read until the morning of 3 June."""
    declare()
    rows = [
        line(1, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-02T04:00", gpus=8),
        line(2, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-01T21:00", gpus=2, NodeList="gpu002"),
        line(3, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-01T22:00", gpus=1, NodeList="gpu002"),
        line(4, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-01T22:00", gpus=1, NodeList="gpu004"),
    ]
    bring(tmp_path, rows, observed_at="2026-06-03T06:00")


__all__ = ["needs_prometheus"]
