"""Shifting an item in time instead of waiting: the database's clock is the only one that counts."""

from __future__ import annotations

from django.db import connection

from governance.work.models import WorkItem

KIND, KEY = "usage.meter", "bj"


def item(kind: str = KIND, key: str = KEY) -> WorkItem:
    """The item as it stands now."""
    return WorkItem.objects.get(kind=kind, key=key)


def age(seconds: float, *columns: str) -> None:
    """Move these instants of all items back by `seconds`."""
    moved = ", ".join(f"{column} = {column} - make_interval(secs => {float(seconds)})" for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE work_item SET {moved}")


def seconds_until_due() -> float:
    """Seconds from now to the item's due time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(epoch FROM due_at - clock_timestamp())::float8 FROM work_item")
        return float(cursor.fetchone()[0])
