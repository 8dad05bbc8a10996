"""Posting by difference: a cluster's day as it should be charged, less what stands in the journal, as one new entry."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connection, transaction

from billing.prices.reads import PriceHistory
from billing.prices.rules import MEASURES
from governance.catalogue.history import holds
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.errors import N_, NotTheMoment
from governance.tenants.models import UNATTRIBUTED, PayerShare, Placement
from governance.usage import watermarks
from governance.usage.ingest import copy_rows

from . import sql
from .models import Entry, Period, PostedDay
from .rules import USE, Share, month_of

LATE_RECORDS, CHANGED_TERMS = "late_records", "changed_terms"


class Difference(NamedTuple):
    """What a key is still owed (or owed back): quantities in the fact's units, the amount with six places."""

    band: str
    project: str
    department: str
    user: str
    pool: str
    model: str
    qos: str
    measure: str
    quantity: Decimal
    percent: Decimal
    unit_price: Decimal
    amount: Decimal


#: A line as it is written: what its entry's lines share, then a Difference's fields in their order.
LINE_COLUMNS = (
    "entry_id", "used_on", "cluster", "charge_kind", "account_kind", "band", "project", "department", "user", "pool", "model", "qos",
    "measure", "quantity", "share_percent", "unit_price", "amount",
)  # fmt: skip
LINE_TYPES = ("int8", "date", "text", "text", "text", *("text",) * 8, *("numeric",) * 4)


class PayerHistory:
    """Who pays for which project on which days, read once. A snapshot."""

    def __init__(self) -> None:
        shares: dict[int, list[Share]] = {}
        for placement, department, percent in PayerShare.objects.order_by("department__code").values_list(
            "placement", "department__code", "percent"
        ):
            shares.setdefault(placement, []).append(Share(department, percent))
        placements = Placement.objects.values_list("pk", "from_on", "to_on", "project__code", "department__code")
        self._spans = [
            ((low, high), project, shares.get(pk, [Share(home, Decimal(100))]))
            for pk, low, high, project, home in placements
        ]

    def on(self, day: date) -> dict[str, list[Share]]:
        """Project -> the shares of those who pay for it on `day`; a project without a home that day is not in it."""
        return {project: shares for span, project, shares in self._spans if holds(span, day)}


class Rating:
    """Prices and payers, read once, laid beside a day's facts on demand."""

    def __init__(self) -> None:
        self._terms = terms_revision()  # before what it counts, so that a change in between is noticed
        self.prices = PriceHistory()
        self.payers = PayerHistory()

    def is_outdated(self) -> bool:
        """Whether prices or payers changed since they were read; asked inside a transaction, it keeps them as they are until its end."""
        return terms_revision(hold=True) != self._terms

    def differences(self, cluster: str, day: date) -> list[Difference]:
        """What the journal lacks for the cluster's day. Call it inside a transaction, after the day's lock where it will be posted."""
        with connection.cursor() as cursor:
            cursor.execute(sql.text("tariff_tables"))
            where: list[Any] = [day, cluster]
            cursor.execute(
                "SELECT DISTINCT pool, model, qos, band FROM usage_day WHERE day = %s AND cluster = %s", where
            )
            tariff = self.prices.on(day)
            priced = [
                (*kind, measure, price)
                for kind in cursor.fetchall()
                for measure in MEASURES
                if (price := tariff.unit_price(measure, *kind)) is not None
            ]
            columns = ("pool", "model", "qos", "band", "measure", "unit_price")
            copy_rows(cursor, "tariff", columns, ("text",) * 5 + ("numeric",), priced)
            cursor.execute("SELECT DISTINCT project FROM usage_day WHERE day = %s AND cluster = %s", where)
            payers = list(_payer_rows(self.payers.on(day), [project for (project,) in cursor.fetchall()]))
            paid = ("project", "department", "percent", "paid_before", "paid_to")
            copy_rows(cursor, "payer", paid, ("text", "text", "numeric", "numeric", "numeric"), payers)
            cursor.execute(sql.text("difference"), {"day": day, "cluster": cluster})
            return [Difference(*row) for row in cursor.fetchall()]


def terms_revision(*, hold: bool = False) -> int:
    """How often prices, payers or factors have changed. Who changes them raises it in the same transaction."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT revision FROM terms WHERE id = 1{' FOR SHARE' if hold else ''}")
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _payer_rows(payers: dict[str, list[Share]], projects: list[str]) -> Iterator[tuple[Any, ...]]:
    for project in projects:
        paid = Decimal(0)
        for share in payers.get(project, [Share(UNATTRIBUTED, Decimal(100))]):
            yield (project, share.department, share.percent, paid, paid + share.percent)
            paid += share.percent


def postable_days(cluster: Cluster) -> list[date]:
    """Days whose journal does not stand on their present facts, prices and payers, and that lie wholly behind
    the metered instant plus the grace."""
    metered = watermarks.reached(cluster, "metered")
    if metered is None:
        return []
    zone = ZoneInfo(installation().time_zone)
    behind = (metered - timedelta(seconds=settings.POSTING_GRACE_SECONDS)).astimezone(zone).date()
    return [day for day in open_days(cluster) if day < behind]


def open_days(cluster: Cluster | None = None) -> list[date]:
    """Days (of one cluster, or of any) whose facts, prices or payers changed since they were posted, or that never were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT f.day FROM fact_day f LEFT JOIN posted_day p ON p.cluster_id = f.cluster_id AND p.day = f.day"
            " WHERE (%s::bigint IS NULL OR f.cluster_id = %s)"
            " AND (p.day IS NULL OR p.is_stale OR p.fact_revision <> f.revision) ORDER BY 1",
            [cluster.pk if cluster else None] * 2,
        )
        return [day for (day,) in cursor.fetchall()]


def fact_revision(cluster: Cluster, day: date) -> int:
    """The present revision of a day's facts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT revision FROM fact_day WHERE cluster_id = %s AND day = %s", [cluster.pk, day])
        (revision,) = cursor.fetchone()
    return int(revision)


def post_day(cluster: Cluster, day: date, rating: Rating, *, by: str) -> Entry | None:
    """Post the difference of one day, in a transaction; None where nothing differs. Raises NotTheMoment when no period is open.

    A day priced by terms that changed meanwhile stays marked, and the next posting brings the difference.
    """
    with transaction.atomic():
        watermarks.lock_day(cluster.pk, day)
        outdated = rating.is_outdated()
        revision = fact_revision(cluster, day)
        found = rating.differences(cluster.code, day)
        entry = _write(cluster, day, found, by) if found else None
        PostedDay.objects.bulk_create(
            [PostedDay(cluster=cluster, day=day, fact_revision=revision, is_stale=outdated)],
            update_conflicts=True,
            unique_fields=["cluster", "day"],
            update_fields=["fact_revision", "is_stale"],
        )
        return entry


def _write(cluster: Cluster, day: date, found: list[Difference], by: str) -> Entry:
    last = Entry.objects.filter(cluster=cluster, used_on=day).order_by("-revision").first()
    first = Entry.objects.filter(cluster=cluster, used_on=day, revision=1).first()
    entry = Entry.objects.create(
        cluster=cluster,
        used_on=day,
        revision=last.revision + 1 if last else 1,
        kind="correction" if last else USE,
        period=_booking_period(day),
        reason=_reason(cluster, day) if last else "",
        corrects=first,
        posted_by=by,
    )
    _write_lines(entry, cluster, found)
    return entry


def _write_lines(entry: Entry, cluster: Cluster, found: list[Difference]) -> None:
    """What each department owes and what the pools recover; by COPY, since a day has thousands of lines and objects cost more than rows."""
    common = (entry.pk, entry.used_on, cluster.code, USE)
    recovered: dict[str, Decimal] = {}
    rows: list[tuple[Any, ...]] = []
    for d in found:
        recovered[d.pool] = recovered.get(d.pool, Decimal(0)) + d.amount
        rows.append((*common, "department", *d))
    nobody = ("",) * 4  # band, project, department, user
    for pool, amount in recovered.items():
        rows.append((*common, "pool", *nobody, pool, "", "", "", Decimal(0), None, None, -amount))
    with connection.cursor() as cursor:
        copy_rows(cursor, "line", LINE_COLUMNS, LINE_TYPES, rows)


def _reason(cluster: Cluster, day: date) -> str:
    """Why a posted day is corrected: its terms changed, or its records did."""
    stale = PostedDay.objects.filter(cluster=cluster, day=day, is_stale=True).exists()
    return CHANGED_TERMS if stale else LATE_RECORDS


def _booking_period(day: date) -> Period:
    """The month of the day while that is open, else the first open month after it; months are made as they come."""
    code = month_of(day)
    own, _ = Period.objects.get_or_create(code=code)
    if own.state == "open":
        return own
    later = Period.objects.filter(code__gt=code, state="open").order_by("code").first()
    if later is None:
        last = Period.objects.order_by("-code").first()
        assert last is not None
        year, month = int(last.code[:4]), int(last.code[5:])
        following = f"{year + month // 12:04d}-{month % 12 + 1:02d}"
        later, _ = Period.objects.get_or_create(code=following)
        if later.state != "open":
            raise NotTheMoment(N_("No period after %(period)s is open: open one before posting."), period=code)
    return later
