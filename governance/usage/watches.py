"""What is told of usage that no single action tells: quarantine that grows, use that no project claims."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Q, Sum

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.notices.outbox import publish
from governance.notices.registry import holders_of
from governance.tenants.models import UNATTRIBUTED

from .models import QuarantinedRecord, UsageDay

#: Below this share of the last week use that nobody claims is on its page, and told to nobody.
TOLD_FROM_PERCENT = 1
MILLI_SECONDS_PER_GPU_HOUR = 3_600_000
WEEK = timedelta(days=7)


def quarantine_grew(now: datetime) -> None:
    """Records that went into quarantine today are told once a day and cluster."""
    day = now.astimezone(ZoneInfo(installation().time_zone)).date()
    midnight = datetime.combine(day, time(), ZoneInfo(installation().time_zone))
    held = QuarantinedRecord.objects.filter(resolved_at__isnull=True, first_at__gte=midnight)
    grown = held.values("cluster__code").annotate(count=Count("pk")).order_by("cluster__code")
    told = holders_of("operations.view") if grown else []
    for row in grown:
        code = row["cluster__code"]
        publish("usage.quarantine_grew", code, told, day.isoformat(), {"cluster": code, "count": row["count"]})


def unattributed_use(now: datetime) -> None:
    """Use that no project claims is told once a week and cluster, of the seven days up to the last one metered."""
    told = None
    for code in Cluster.objects.order_by("code").values_list("code", flat=True):
        of_cluster = UsageDay.objects.filter(cluster_id=code)
        last = of_cluster.aggregate(day=Max("day"))["day"]
        if last is None:
            continue
        sums = of_cluster.filter(day__gt=last - WEEK).aggregate(
            total=Sum("milligpu_seconds"), open=Sum("milligpu_seconds", filter=Q(project=UNATTRIBUTED))
        )
        total, unclaimed = int(sums["total"] or 0), int(sums["open"] or 0)
        if not unclaimed or unclaimed * 100 < total * TOLD_FROM_PERCENT:
            continue
        told = holders_of("operations.view") if told is None else told
        year, week, _day = last.isocalendar()
        facts = {
            "cluster": code,
            "hours": unclaimed // MILLI_SECONDS_PER_GPU_HOUR,
            "share": f"{unclaimed * 100 / total:.1f}",
            "day": last.isoformat(),
        }
        publish("usage.unattributed", code, told, f"{year}-W{week:02d}", facts)
