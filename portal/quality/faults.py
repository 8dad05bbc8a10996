"""Faults of data by kind, each with a count for the overview and its rows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from django.db import connection
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy

from billing.ledger import exceptions
from billing.ledger.reads import Query
from billing.ledger.rules import Span
from governance.access.actor import Actor
from governance.catalogue.models import UNKNOWN_MODEL
from governance.usage.models import PullFinding, QuarantinedRecord
from governance.usage.ops import words
from governance.usage.views import FLAGS

ROWS_SHOWN = 200
CAUSES: dict[str, Promise] = {
    "no_nodes": gettext_lazy("no node is entered for it"),
    "down_while_allocated": gettext_lazy("nodes were down or drained while runs held them"),
    "more_allocated_than_installed": gettext_lazy("more GPUs allocated than entered"),
}


class Row(NamedTuple):
    """One row behind a count: cells as the kind's columns have them, and where it leads ("" for nowhere)."""

    cells: tuple[Any, ...]
    url: str = ""


class Kind(NamedTuple):
    """A kind of fault: what it is, what it means for the figures, its columns."""

    name: str | Promise
    means: str | Promise
    columns: tuple[str | Promise, ...]
    tone: str = "warn"


DAY, CLUSTER, POOL = gettext_lazy("Day"), gettext_lazy("Cluster"), gettext_lazy("Pool")
MODEL, ACCOUNT, RUNS = gettext_lazy("GPU model"), gettext_lazy("Account"), gettext_lazy("Runs")
KINDS: dict[str, Kind] = {
    "quarantine": Kind(
        gettext_lazy("Records in quarantine"),
        gettext_lazy("They could not be read, so their use is not counted yet."),
        (CLUSTER, gettext_lazy("Reason"), gettext_lazy("Records")),
    ),
    "over": Kind(
        gettext_lazy("Days with more allocated than available"),
        gettext_lazy("The catalogue or the records are wrong on that day; nothing was clamped."),
        (DAY, CLUSTER, POOL, MODEL, gettext_lazy("Over (GPU-hours)"), gettext_lazy("Cause")),
        "bad",
    ),
    "unknown": Kind(
        gettext_lazy("Runs with an unknown number of GPUs"),
        gettext_lazy("They count as no GPU time; on their clusters GPUs are not tracked, or the record does not say."),
        (DAY, CLUSTER, POOL, ACCOUNT, RUNS),
    ),
    "unpriced": Kind(
        gettext_lazy("Use without a price"),
        gettext_lazy("The hours count, the amount is zero. It blocks closing the month."),
        (DAY, POOL, MODEL, gettext_lazy("QoS"), gettext_lazy("GPU-hours")),
        "bad",
    ),
    "flags": Kind(
        gettext_lazy("Runs whose record contradicts itself"),
        gettext_lazy("They are counted by the rule that the row says."),
        (gettext_lazy("Cluster"), gettext_lazy("What was found"), RUNS, gettext_lazy("Last of them")),
    ),
    "findings": Kind(
        gettext_lazy("Open findings of pulls"),
        gettext_lazy("Vanished and runaway runs, clocks that are off, sources that failed."),
        (CLUSTER, gettext_lazy("What was found"), gettext_lazy("Findings"), gettext_lazy("Last seen")),
    ),
}


class Count(NamedTuple):
    """A kind with how much of it there is."""

    code: str
    kind: Kind
    total: int


def counts(first_on: date, last_on: date) -> list[Count]:
    """Every kind with its count: quarantine and findings as they stand, the others in the days [first_on, last_on]."""
    days = [first_on, last_on]
    asked = """
        SELECT 'quarantine', count(*) FROM quarantined_record WHERE resolved_at IS NULL
        UNION ALL SELECT 'over', count(DISTINCT day) FROM capacity_day WHERE day BETWEEN %s AND %s AND over > 0
        UNION ALL SELECT 'unknown', coalesce(sum(unknown_gpu_runs), 0) FROM usage_site_day WHERE day BETWEEN %s AND %s
        UNION ALL SELECT 'flags', count(*) FROM run WHERE submit_at >= %s AND submit_at < %s::date + 1 AND flags <> ''
        UNION ALL SELECT 'findings', count(*) FROM pull_finding WHERE resolved_at IS NULL"""
    found = {code: int(count) for code, count in _rows(asked, [*days, *days, *days])}
    found["unpriced"] = len(_unpriced(first_on, last_on))
    return [Count(code, kind, found[code]) for code, kind in KINDS.items()]


def rows(kind: str, first_on: date, last_on: date) -> list[Row]:
    """The rows of a kind in the days, the latest or largest first, one more than are shown where there are more."""
    return {
        "quarantine": _quarantine,
        "over": _over,
        "unknown": _unknown,
        "unpriced": _unpriced_rows,
        "flags": _flags,
        "findings": _findings,
    }[kind](first_on, last_on)


def _quarantine(first_on: date, last_on: date) -> list[Row]:
    held = QuarantinedRecord.objects.filter(resolved_at__isnull=True).values_list("cluster__code", "code")
    found: dict[tuple[str, str], int] = {}
    for key in held.order_by("cluster__code", "code").iterator():
        found[key] = found.get(key, 0) + 1
    return [
        Row((cluster, code, count), f"{reverse('ops-cluster', args=[cluster])}?tab=quarantine")
        for (cluster, code), count in found.items()
    ]


def _over(first_on: date, last_on: date) -> list[Row]:
    asked = """
        SELECT day, cluster, pool, model, over / 3600000.0, cause FROM capacity_day
        WHERE day BETWEEN %s AND %s AND over > 0 ORDER BY day DESC, over DESC LIMIT %s"""
    return [
        Row(
            (day, cluster, pool, model, over, CAUSES.get(cause, cause)),
            _jobs(day, day, cluster=cluster, pool=pool, model=model),
        )
        for day, cluster, pool, model, over, cause in _rows(asked, [first_on, last_on, ROWS_SHOWN + 1])
    ]


def _unknown(first_on: date, last_on: date) -> list[Row]:
    asked = """
        SELECT day, cluster, pool, account, sum(unknown_gpu_runs)::bigint FROM usage_day
        WHERE day BETWEEN %s AND %s AND unknown_gpu_runs > 0 GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 5 DESC, 2, 3, 4 LIMIT %s"""
    return [
        Row(row, _jobs(row[0], row[0], cluster=row[1], pool=row[2], account=row[3], model=UNKNOWN_MODEL))
        for row in _rows(asked, [first_on, last_on, ROWS_SHOWN + 1])
    ]


def _unpriced(first_on: date, last_on: date) -> list[Any]:
    query = Query(Span(first_on, last_on), (), None, {})
    # Of the whole site: the view has seen to it that operations are the reader's to see.
    return exceptions.of_period(query, Actor.machine("quality")).unpriced_days


def _unpriced_rows(first_on: date, last_on: date) -> list[Row]:
    found = sorted(_unpriced(first_on, last_on), key=lambda one: (-one.day.toordinal(), one.pool, one.model, one.qos))
    return [
        Row(
            (one.day, one.pool, one.model, one.qos, one.gpu_hours),
            _jobs(one.day, one.day, pool=one.pool, model=one.model, qos=one.qos),
        )
        for one in found[: ROWS_SHOWN + 1]
    ]


def _flags(first_on: date, last_on: date) -> list[Row]:
    asked = """
        SELECT c.code, f.flag, count(*), max(r.submit_at), (array_agg(r.job_id ORDER BY r.submit_at DESC))[1]
        FROM run AS r CROSS JOIN LATERAL unnest(string_to_array(r.flags, ',')) AS f (flag) JOIN cluster AS c ON c.id = r.cluster_id
        WHERE r.submit_at >= %s AND r.submit_at < %s::date + 1 AND r.flags <> '' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"""
    return [
        Row((cluster, FLAGS.get(flag, flag), count, job), reverse("job", args=[cluster, job, int(at.timestamp())]))
        for cluster, flag, count, at, job in _rows(asked, [first_on, last_on])
    ]


def _findings(first_on: date, last_on: date) -> list[Row]:
    found: dict[tuple[str, str], list[PullFinding]] = {}
    standing = PullFinding.objects.filter(resolved_at__isnull=True).select_related("cluster").order_by("-last_at", "pk")
    for one in standing[:5000]:
        found.setdefault((one.cluster.code, one.code), []).append(one)
    return [
        Row(
            (cluster, words.of_pull(ones[0]).means, len(ones), ones[0].last_at),
            f"{reverse('ops-cluster', args=[cluster])}#findings",
        )
        for (cluster, _code), ones in found.items()
    ]


def _jobs(first_on: date, last_on: date, **filters: str) -> str:
    return f"{reverse('jobs')}?{urlencode({'from': first_on.isoformat(), 'to': last_on.isoformat(), **filters})}"


def _rows(statement: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())
