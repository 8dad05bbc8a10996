"""Background steps of enforcement."""

from __future__ import annotations

from celery import shared_task

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.schedulers.registry import SCHEDULERS
from governance.work import actions as work
from governance.work.running import Claim, run

from .actions import ENFORCE
from .reconciling import reconcile


@shared_task(name="quotas.enforce_all")
def enforce_all() -> None:
    """Ask for a round on every live cluster."""
    kinds = sorted(SCHEDULERS)
    for code in Cluster.objects.filter(scheduler_kind__in=kinds).order_by("code").values_list("code", flat=True):
        work.ask(ENFORCE, code, actor=Actor.machine("schedule"))


@shared_task(name=ENFORCE)
def enforce(code: str) -> None:
    """One round on the cluster. Until what it told is seen in force it counts as failed, and is tried again after a pause."""

    def round_(claim: Claim) -> None:
        reconcile(code, actor=Actor.machine("enforce"), step=claim.step)

    run(ENFORCE, code, round_)
