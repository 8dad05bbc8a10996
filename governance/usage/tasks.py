"""Background steps of usage."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.work import actions as work
from governance.work.running import Claim, run

from . import actions


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

    run("usage.meter", code, rebuild)
