"""Background steps of usage."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.schedulers.registry import SCHEDULERS
from governance.work import actions as work
from governance.work.running import Claim, run

from . import actions, live
from .models import TelemetrySource
from .telemetry import actions as telemetry


@shared_task(name="usage.meter_all")
def meter_all() -> None:
    """Ask for metering of every cluster."""
    for code in Cluster.objects.order_by("code").values_list("code", flat=True):
        work.ask("usage.meter", code, actor=Actor.machine("schedule"))


@shared_task(name="usage.meter")
def meter(code: str) -> None:
    """Rebuild what is dirty on the cluster. May run twice or die anywhere: the marks and the watermark stay with the work."""

    def rebuild(claim: Claim) -> None:
        actions.meter(code, actor=Actor.machine("meter"), progress=claim.step)
        work.ask("ledger.post", "all", actor=Actor.machine("meter"))

    run("usage.meter", code, rebuild)


def _live_clusters() -> list[str]:
    return list(
        Cluster.objects.filter(scheduler_kind__in=sorted(SCHEDULERS)).order_by("code").values_list("code", flat=True)
    )


@shared_task(name="usage.pull_all")
def pull_all() -> None:
    """Ask for a pull of every live cluster."""
    for code in _live_clusters():
        work.ask("usage.pull", code, actor=Actor.machine("schedule"))


@shared_task(name="usage.reread_all")
def reread_all() -> None:
    """Ask for the nightly re-read of every live cluster."""
    for code in _live_clusters():
        work.ask("usage.reread", code, actor=Actor.machine("schedule"))


@shared_task(name="usage.pull")
def pull(code: str) -> None:
    """Pull the cluster, then ask for its metering. Each window stands with its watermark: a pull that died goes on where it was."""

    def fetch(claim: Claim) -> None:
        live.pull(code, actor=Actor.machine("pull"), progress=claim.step)
        work.ask("usage.meter", code, actor=Actor.machine("pull"))

    run("usage.pull", code, fetch)


@shared_task(name="usage.reread")
def reread(code: str) -> None:
    """Read the last eight days of the cluster again, and ask for its runaway jobs."""

    def fetch(claim: Claim) -> None:
        live.reread(code, actor=Actor.machine("reread"), progress=claim.step)
        work.ask("usage.meter", code, actor=Actor.machine("reread"))

    run("usage.reread", code, fetch)


@shared_task(name="usage.telemetry_all")
def telemetry_all() -> None:
    """Ask for the telemetry of every cluster that has a source."""
    for code in TelemetrySource.objects.order_by("cluster__code").values_list("cluster__code", flat=True):
        work.ask("usage.telemetry", code, actor=Actor.machine("schedule"))


@shared_task(name="usage.telemetry")
def pull_telemetry(code: str) -> None:
    """Pull the cluster's telemetry piece by piece, then ask for its metering."""

    def fetch(claim: Claim) -> None:
        telemetry.pull(code, actor=Actor.machine("telemetry"), progress=claim.step)
        work.ask("usage.meter", code, actor=Actor.machine("telemetry"))

    run("usage.telemetry", code, fetch)
