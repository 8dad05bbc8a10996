"""Writes of the ledger: posting by difference."""

from __future__ import annotations

from datetime import date

from .models import PostedDay


def mark_stale(from_on: date | None, to_on: date | None) -> int:
    """Mark the posted days in [from_on, to_on) as priced or paid differently since; answers how many. An open bound is None."""
    days = PostedDay.objects.filter(is_stale=False)
    if from_on is not None:
        days = days.filter(day__gte=from_on)
    if to_on is not None:
        days = days.filter(day__lt=to_on)
    return days.update(is_stale=True)
