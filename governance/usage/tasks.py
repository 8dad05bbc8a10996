"""Background steps of usage."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.catalogue.models import Cluster

from . import actions


@shared_task(name="usage.meter")
def meter() -> None:
    """Rebuild what is dirty, cluster by cluster. May run twice or die anywhere: the marks and the watermark stay with the work."""
    for code in Cluster.objects.order_by("code").values_list("code", flat=True):
        actions.meter(code, actor=Actor.machine("meter"))
