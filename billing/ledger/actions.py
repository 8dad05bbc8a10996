"""Writes of the ledger: posting by difference. Pages, tasks and commands call these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Sum

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Cluster
from governance.usage import watermarks

from .accruals import accrue
from .models import AccruedDay, Line, PostedDay, Terms
from .posting import Rating, post_day, postable_days

Progress = Callable[[int, int], None]


@dataclass
class Posted:
    """What a posting call did."""

    days: int = 0
    entries: int = 0
    lines: int = 0
    amount: Decimal = Decimal(0)

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {**asdict(self), "amount": f"{self.amount:.6f}"}


def post(*, actor: Actor, cluster_code: str | None = None, progress: Progress | None = None) -> Posted:
    """Post the difference of every day that lies wholly behind the metered instant plus the grace and is not posted as it stands.

    Each day is a transaction of its own; running again posts nothing. Raises NotAllowed, and NotTheMoment when no period is open.
    """
    require(actor, "ledger.post")
    clusters = Cluster.objects.order_by("code")
    if cluster_code:
        clusters = clusters.filter(code=cluster_code)
    rating = Rating()
    todo = [(cluster, day) for cluster in clusters for day in postable_days(cluster)]
    done = Posted()
    for number, (cluster, day) in enumerate(todo, start=1):
        entry = post_day(cluster, day, rating, by=actor.name)
        done.days += 1
        if entry is not None:
            lines = Line.objects.filter(entry=entry, account_kind="department")
            done.entries += 1
            done.lines += lines.count()
            done.amount += lines.aggregate(total=Sum("amount"))["total"] or Decimal(0)
        if progress:
            progress(number, len(todo))
    _note(actor, clusters, done)
    for cluster in clusters:
        accrue(cluster, rating)
    return done


def _note(actor: Actor, clusters: Any, done: Posted) -> None:
    with transaction.atomic():
        for cluster in clusters:
            metered = watermarks.reached(cluster, "metered")
            if metered and not postable_days(cluster):
                watermarks.move(cluster, "posted", metered)
        if done.entries:
            audit(actor, "ledger.posted", "ledger", "journal", after=done.as_dict())


def mark_stale(from_on: date | None, to_on: date | None) -> int:
    """Mark the posted and accrued days in [from_on, to_on) as priced or paid differently since; answers how many. An open bound is None."""
    # First: it waits for a posting that is writing, and the marks then see its day.
    Terms.objects.update_or_create(pk=1, defaults={"revision": F("revision") + 1}, create_defaults={"revision": 1})
    marked = 0
    for table in (PostedDay, AccruedDay):
        days = table.objects.filter(is_stale=False)
        if from_on is not None:
            days = days.filter(day__gte=from_on)
        if to_on is not None:
            days = days.filter(day__lt=to_on)
        marked += days.update(is_stale=True)
    return marked
