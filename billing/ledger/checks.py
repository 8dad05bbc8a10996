"""The identities of the ledger (blueprint, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from billing.prices.models import Price
from governance.catalogue.models import Cluster
from governance.errors import N_
from governance.usage.checks import Check

from .models import PostedDay
from .posting import Rating

Progress = Callable[[int, int], None]


def ledger_checks(progress: Progress | None = None) -> list[Check]:
    """Identities 7 to 9."""
    return [_entries_balance(), _posted_is_priced(progress), _prices_are_of_their_day()]


def _entries_balance() -> Check:
    entries, wrong, total = _row(
        "SELECT count(*), count(*) FILTER (WHERE coalesce(total, 0) <> 0 OR total IS NULL), coalesce(sum(total), 0)"
        " FROM entry LEFT JOIN (SELECT entry_id, sum(amount) AS total FROM line GROUP BY 1) l ON l.entry_id = entry.id"
    )
    return Check(
        7,
        N_("every entry balances"),
        wrong == 0 and total == 0,
        {"entries": entries, "entries_off": wrong, "sum": str(total)},
    )


def _posted_is_priced(progress: Progress | None) -> Check:
    """Every posted day is priced again, from its facts, prices and payers, and must leave no difference."""
    rating, wrong, standing = Rating(), 0, 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.cluster_id, p.day FROM posted_day p JOIN fact_day f USING (cluster_id, day)"
            " WHERE NOT p.is_stale AND p.fact_revision = f.revision ORDER BY 1, 2"
        )
        days = cursor.fetchall()
    codes = dict(Cluster.objects.values_list("pk", "code"))
    for number, (cluster, day) in enumerate(days, start=1):
        with transaction.atomic():
            wrong += bool(rating.differences(codes[cluster], day))
        standing += 1
        if progress:
            progress(number, len(days))
    waiting = PostedDay.objects.count() - standing
    return Check(
        8,
        N_("what is posted is the priced usage"),
        wrong == 0,
        {"days": standing, "days_off": wrong, "days_waiting": waiting},
    )


def _prices_are_of_their_day() -> Check:
    overlaps = _row(
        "SELECT count(*) FROM price a JOIN price b ON a.id < b.id"
        " AND (a.pool, a.accelerator, a.qos, a.band) = (b.pool, b.accelerator, b.qos, b.band)"
        " AND daterange(a.from_on, a.to_on) && daterange(b.from_on, b.to_on)"
    )[0]
    return Check(
        9, N_("a price is the price of its day"), overlaps == 0, {"prices": Price.objects.count(), "overlaps": overlaps}
    )


def _row(statement: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return tuple(cursor.fetchone())
