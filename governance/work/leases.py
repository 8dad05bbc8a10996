"""Named leases: what only one process may do, among all hosts, until its lease is over."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from .models import ScheduleMark


def hold(name: str, owner: str, seconds: float) -> bool:
    """Take or renew the lease for `seconds`; False while another holds it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO work_lease AS l (name, owner, taken_at, until_at)"
            " VALUES (%(name)s, %(owner)s, clock_timestamp(), clock_timestamp() + make_interval(secs => %(seconds)s))"
            " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until_at = excluded.until_at,"
            " taken_at = CASE WHEN l.owner = excluded.owner THEN l.taken_at ELSE excluded.taken_at END"
            " WHERE l.owner = excluded.owner OR l.until_at <= clock_timestamp()",
            {"name": name, "owner": owner, "seconds": seconds},
        )
        return bool(cursor.rowcount)


def give_up(name: str, owner: str) -> None:
    """End our lease so that another may take it at once."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE work_lease SET until_at = clock_timestamp() WHERE name = %s AND owner = %s", [name, owner]
        )


def marks() -> dict[str, datetime]:
    """When each entry of the schedule was last sent, by any beat."""
    return dict(ScheduleMark.objects.values_list("name", "sent_at"))


def mark(name: str, sent_at: datetime) -> None:
    """Note that the entry was sent; an earlier instant than the known one changes nothing."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO work_schedule_mark AS m (name, sent_at) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET sent_at = excluded.sent_at WHERE m.sent_at < excluded.sent_at",
            [name, sent_at],
        )
