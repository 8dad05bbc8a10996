"""`/metrics` in Prometheus' text: what an alert needs to know of work, watermarks and quarantine, read from the database."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from governance.usage.models import QuarantinedRecord
from governance.work import reads
from governance.work.models import FAILED, RUNNING, WAITING

LOOPBACK = {"127.0.0.1", "::1"}


def metrics(request: HttpRequest) -> HttpResponse:
    """The figures, for a scraper with the token, or from this machine where no token is set; else there is nothing here."""
    if not _may_scrape(request):
        raise Http404
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures())
    try:
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
    except DatabaseError:
        return HttpResponse("steelyard_up 0\n", status=503, content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_scrape(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN
    if token:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), token.encode())
    # A proxy on this machine speaks for others: what came through one is not from here.
    forwarded = any(name in request.headers for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"))
    return request.META.get("REMOTE_ADDR") in LOOPBACK and not forwarded


class Figures:
    """The collector of one scrape."""

    def collect(self) -> Iterator[Any]:
        """Every family; one query each."""
        up = GaugeMetricFamily("steelyard_up", "1 while the portal reaches its database.")
        up.add_metric([], 1)
        yield up
        yield from self._work()
        yield from self._processes()
        yield self._lag()
        quarantine = GaugeMetricFamily(
            "steelyard_quarantined_records",
            "Records that could not be read and were not dealt with.",
            labels=["cluster"],
        )
        for code, count in _quarantined():
            quarantine.add_metric([code], count)
        yield quarantine

    def _work(self) -> Iterator[GaugeMetricFamily]:
        items = GaugeMetricFamily("steelyard_work_items", "Items of work by kind and state.", labels=["kind", "state"])
        waited = GaugeMetricFamily(
            "steelyard_work_oldest_waiting_seconds", "How far the oldest due item is past its time.", labels=["kind"]
        )
        ran = GaugeMetricFamily(
            "steelyard_work_longest_running_seconds", "How long the oldest running item runs.", labels=["kind"]
        )
        oldest: dict[tuple[str, str], float] = {}
        for count in reads.counts():
            items.add_metric([count.kind, count.state], count.items)
            if count.state in (WAITING, FAILED, RUNNING):
                name = ("running" if count.state == RUNNING else "waiting", count.kind)
                oldest[name] = max(oldest.get(name, 0.0), count.oldest_seconds)
        for (what, kind), seconds in sorted(oldest.items()):
            (ran if what == "running" else waited).add_metric([kind], seconds)
        attempts = GaugeMetricFamily(
            "steelyard_work_failed_attempts",
            "Attempts since the last success, of items that have failed.",
            labels=["kind", "key", "error"],
        )
        for item in reads.failed():
            attempts.add_metric([item.kind, item.key, item.last_error_code], item.attempt)
        yield from (items, waited, ran, attempts)

    def _processes(self) -> Iterator[GaugeMetricFamily]:
        alive = GaugeMetricFamily("steelyard_processes", "Workers and beats that live.", labels=["role"])
        seen = reads.processes()
        for role in ("worker", "beat"):
            alive.add_metric([role], sum(process.role == role and not process.is_silent for process in seen))
        yield alive

    def _lag(self) -> GaugeMetricFamily:
        lag = GaugeMetricFamily(
            "steelyard_watermark_lag_seconds",
            "How far a stage is behind the clock on a cluster.",
            labels=["cluster", "stage"],
        )
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT c.code, w.stage, EXTRACT(epoch FROM clock_timestamp() - w.until_at)::float8"
                " FROM watermark w JOIN cluster c ON c.id = w.cluster_id ORDER BY c.code, w.stage"
            )
            for code, stage, seconds in cursor.fetchall():
                lag.add_metric([code, stage], seconds)
        return lag


def _quarantined() -> list[tuple[str, int]]:
    held = QuarantinedRecord.objects.filter(resolved_at__isnull=True).values_list("cluster__code")
    return [(code, count) for code, count in held.annotate(count=Count("pk")).order_by("cluster__code")]
