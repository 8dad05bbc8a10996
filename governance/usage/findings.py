"""Findings about a cluster's records: opened when they show, closed when they are gone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from governance.catalogue.models import Cluster

from .live_models import PullFinding


@transaction.atomic
def replace(cluster: Cluster, code: str, subjects: Mapping[str, dict[str, Any]], *, at: datetime) -> None:
    """Make `subjects` the open findings of this code: new ones open, those that are gone are resolved, the others stay open.

    One that stays takes the latest particulars: what stopped the pull yesterday may not be what stops it now.
    """
    standing = {
        f.subject: f
        for f in PullFinding.objects.select_for_update().filter(cluster=cluster, code=code, resolved_at__isnull=True)
    }
    PullFinding.objects.filter(pk__in=[f.pk for name, f in standing.items() if name not in subjects]).update(
        resolved_at=at
    )
    stay = [finding for name, finding in standing.items() if name in subjects]
    for finding in stay:
        finding.last_at, finding.detail = at, subjects[finding.subject]
    PullFinding.objects.bulk_update(stay, ["last_at", "detail"], batch_size=1000)
    PullFinding.objects.bulk_create(
        [
            PullFinding(cluster=cluster, code=code, subject=name, detail=detail, first_at=at, last_at=at)
            for name, detail in subjects.items()
            if name not in standing
        ],
        ignore_conflicts=True,
    )


def open_findings(cluster: Cluster | None = None) -> list[PullFinding]:
    """The open findings, of one cluster or all, newest first."""
    found = (
        PullFinding.objects.filter(resolved_at__isnull=True)
        .select_related("cluster")
        .order_by("-last_at", "code", "subject")
    )
    return list(found.filter(cluster=cluster) if cluster else found)
