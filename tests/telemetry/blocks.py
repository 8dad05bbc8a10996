"""Made-up telemetry as OpenMetrics text with timestamps, and a real Prometheus on blocks made of it.

`openmetrics` writes what exporters would have been scraped for; `promtool` turns it into blocks; `serve` starts a Prometheus on them.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

needs_prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="Debian's package prometheus is not installed"
)


class Gauge(NamedTuple):
    """One series: its metric, labels, and (epoch second, value) of each scrape."""

    metric: str
    labels: dict[str, str]
    points: Iterable[tuple[int, float]]


def scrapes(since: int, until: int, value: float | Callable[[int], float], every: int = 60) -> list[tuple[int, float]]:
    """A value, or a function of the instant, at every scrape after `since` up to `until`."""
    told = value if callable(value) else lambda _: value
    return [(at, told(at)) for at in range(since + every, until + 1, every)]


def openmetrics(gauges: Iterable[Gauge]) -> Iterator[str]:
    """The lines, grouped by metric as the format wants it."""
    by_metric: dict[str, list[Gauge]] = {}
    for gauge in gauges:
        by_metric.setdefault(gauge.metric, []).append(gauge)
    for metric, found in by_metric.items():
        yield f"# TYPE {metric} gauge\n"
        for gauge in found:
            labels = ",".join(f'{name}="{value}"' for name, value in gauge.labels.items())
            for at, value in gauge.points:
                yield f"{metric}{{{labels}}} {value!r} {at}\n"
    yield "# EOF\n"


def fleet(nodes: int, cards: int, since: int, until: int, every: int = 60) -> Iterator[Gauge]:
    """A fleet of `nodes` x `cards` with a job a node every six hours, one card in eight idle: SM activity, memory, power, temperature."""
    for node in range(nodes):
        for card in range(cards):
            for begun in range(since, until, 21_600):
                labels = {
                    "Hostname": f"gpu{node:04}",
                    "UUID": f"GPU-{node:04}-{card}",
                    "hpc_job": str(1 + node * 100 + (begun - since) // 21_600),
                }
                ended = min(begun + 21_600, until)
                busy = 0.01 if card % 8 == 7 else 0.85
                yield Gauge("DCGM_FI_PROF_SM_ACTIVE", labels, scrapes(begun, ended, busy, every))
                yield Gauge("DCGM_FI_DEV_FB_USED", labels, scrapes(begun, ended, 40_000.0, every))
                yield Gauge("DCGM_FI_DEV_POWER_USAGE", labels, scrapes(begun, ended, 600.0 * busy, every))
                yield Gauge("DCGM_FI_DEV_GPU_TEMP", labels, scrapes(begun, ended, 60.0, every))


def make_blocks(gauges: Iterable[Gauge], folder: Path) -> Path:
    """Blocks of a Prometheus in `folder`/data."""
    text = folder / "scraped.om"
    with text.open("w", encoding="utf-8") as out:
        out.writelines(openmetrics(gauges))
    data = folder / "data"
    made = subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert made.returncode == 0, made.stderr
    return data


@contextmanager
def serve(data: Path, *flags: str) -> Iterator[str]:
    """A Prometheus on these blocks, on a free port of 127.0.0.1; answers its address. It ends with the context."""
    (data.parent / "prometheus.yml").write_text("global:\n  scrape_interval: 60s\n", encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = [
        f"--config.file={data.parent / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address=127.0.0.1:{port}",
        *flags,
    ]
    with (data.parent / "prometheus.log").open("w") as log:
        process = subprocess.Popen(["prometheus", *given], stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/-/ready", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(150):
        assert process.poll() is None, "prometheus ended"
        try:
            if httpx.get(url, timeout=1).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise AssertionError("prometheus is not ready after 30 s")
