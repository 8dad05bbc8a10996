"""The connection test of a telemetry source: what is there, what is missing, how far back, how much."""

from __future__ import annotations

from collections.abc import Iterator

from governance.schedulers.live import Finding, SourceFault

from . import queries
from .client import Prometheus
from .collect import node_label
from .labels import LabelMap, named_maps

RECENT_S = 600
DAY_S = 86_400


def probe(client: Prometheus, by: LabelMap, step: int, at: float | None = None) -> list[Finding]:
    """The findings, worst first. `at`: judge what was there then (epoch seconds), None: now. Raises SourceFault where nothing answers."""
    now = at if at is not None else client.clock()
    found = list(_findings(client, by, step, now))
    order = ("blocking", "warning", "info", "ok")
    return sorted(found, key=lambda finding: order.index(finding.severity))


def _findings(client: Prometheus, by: LabelMap, step: int, now: float) -> Iterator[Finding]:
    version = client.about("buildinfo").get("version", "")
    yield Finding("telemetry_answers", "ok", {"version": version, "clock": int(client.clock())})
    there = {m.name: _count(client, m.name, now) for kind in by.metrics.values() for m in kind}
    activity = [m.name for m in by.metrics["activity"] if there[m.name]]
    if not activity:
        others = [
            name
            for name, other in named_maps().items()
            if any(_count(client, m.name, now) for m in other.metrics["activity"])
        ]
        yield Finding(
            "telemetry_no_activity",
            "blocking",
            {"looked_for": [m.name for m in by.metrics["activity"]], "maps_that_fit": others},
        )
        return
    yield Finding("telemetry_series", "ok", {"metrics": {name: count for name, count in there.items() if count}})
    missing = [kind for kind in by.metrics if by.metrics[kind] and not any(there[m.name] for m in by.metrics[kind])]
    if missing:
        yield Finding("telemetry_kinds_missing", "info", {"kinds": missing})
    if len(by.metrics["activity"]) > 1 and activity == [by.metrics["activity"][-1].name]:
        yield Finding(
            "telemetry_coarse_activity", "info", {"only": activity[0], "better": by.metrics["activity"][0].name}
        )
    yield from _labels(client, by, activity[0], now)
    yield from _rhythm(client, activity[0], step, now)
    yield from _horizon(client, activity[0], now)


def _labels(client: Prometheus, by: LabelMap, metric: str, now: float) -> Iterator[Finding]:
    label, nodes = node_label(client, by, now - RECENT_S, now)
    named = [node for node in nodes if node]
    if label:
        yield Finding(
            "telemetry_nodes", "ok" if label != "instance" else "warning", {"label": label, "nodes": len(named)}
        )
    owners: dict[tuple[str, str], set[str]] = {}
    unplaced = with_job = doubled = total = 0
    for labels, _ in client.query(metric, now):
        total += 1
        owner = by.owner(labels)
        if owner is None:
            unplaced += 1
            continue
        with_job += bool(owner.job)
        jobs = owners.setdefault((owner.node, owner.card), set())
        doubled += owner.job in jobs
        jobs.add(owner.job)
    yield Finding("telemetry_cards", "ok", {"cards": len(owners), "series": total, "with_job": with_job})
    if unplaced:
        yield Finding("telemetry_unplaced", "warning", {"series": unplaced, "of": total})
    if doubled:
        yield Finding("telemetry_doubled", "warning", {"series": doubled, "of": total})
    if total and not with_job:
        yield Finding("telemetry_no_job_mapping", "warning", {"labels": ["/".join(group) for group in by.job]})


def _rhythm(client: Prometheus, metric: str, step: int, now: float) -> Iterator[Finding]:
    found = client.query(f"quantile(0.5, count_over_time({metric}{queries.window(RECENT_S)}))", now)
    usual = found[0].points[0][1] if found else 0
    if usual >= 1:
        every = round(RECENT_S / usual)
        yield Finding(
            "telemetry_scrape_interval", "ok" if every <= step else "warning", {"seconds": every, "step_seconds": step}
        )


def _horizon(client: Prometheus, metric: str, now: float) -> Iterator[Finding]:
    """The earliest sample, to a day (to ten minutes within the last two days), and how long the server keeps them."""
    earliest = []
    for reach, grain in ((400 * DAY_S, DAY_S), (2 * DAY_S, RECENT_S)):
        try:
            found = client.query(f"min_over_time(timestamp(count({metric}))[{reach}s:{grain}s])", now)
        except SourceFault:
            continue  # a server that will not look so far back says less, and that is all
        earliest += [points[0][1] for _, points in found]
    kept = client.about("runtimeinfo").get("storageRetention", "")
    yield Finding(
        "telemetry_horizon", "ok", {"earliest_at": int(min(earliest)) if earliest else None, "retention": kept}
    )


def _count(client: Prometheus, metric: str, now: float) -> int:
    found = client.query(f"count({metric})", now)
    return int(found[0].points[0][1]) if found else 0
