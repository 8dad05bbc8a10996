"""Reading enforcement: how a quota stands in its scheduler, a cluster's whole page, and its desired state for sites that pull."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from governance.access.actor import Actor
from governance.catalogue.models import AcceleratorModel, Cluster
from governance.catalogue.reads import installation, today
from governance.schedulers.limits import ACCOUNT, QOS, USER
from governance.schedulers.registry import SCHEDULERS
from governance.usage.ops.words import Tone
from governance.work import reads as work_reads
from governance.work.models import FAILED, WorkItem

from .. import rules as quota_rules
from ..models import Quota
from . import rules, words
from .actions import ENFORCE
from .lines import lines_of
from .models import DRAINING, IN_FORCE, EnforcedCluster, EnforcedLimit, LimitDrift, LimitOrder
from .models import FAILED as FAILED_LIMIT
from .rules import CARD

FORMAT = 1  # of the desired state
LOG_SHOWN = 50
ROWS_SHOWN = 200
RESOLVED_SHOWN = 20


@dataclass(frozen=True)
class Standing:
    """How one quota stands in its scheduler: wanted, told and seen are three facts with three times."""

    state: str
    says: str = ""
    note: str = ""
    cluster: str = ""
    wanted_at: datetime | None = None
    told_at: datetime | None = None
    command: str = ""
    answer: str = ""
    held_at: datetime | None = None  # since when it holds
    seen_at: datetime | None = None
    next_at: datetime | None = None
    clear_at: datetime | None = None
    limits: list[EnforcedLimit] = field(default_factory=list)

    @property
    def tone(self) -> Tone:
        """Colour, icon and word."""
        return words.STATES[self.state]


def standing_of(numbers: Iterable[str]) -> dict[str, Standing]:
    """How each quota stands, by its number; a quota of a cluster known from files only has none.

    Five questions for any number of quotas.
    """
    wanted = set(numbers)
    keys = [int(number.removeprefix("Q-")) for number in wanted]
    lines = {
        line.number: line.pool.cluster
        for line in Quota.objects.filter(pk__in=keys).select_related("pool__cluster")
        if line.pool.cluster is not None and line.pool.cluster.scheduler_kind in SCHEDULERS
    }
    if not lines:
        return {}
    clusters = {cluster.pk for cluster in lines.values()}
    setups = {setup.cluster_id: setup for setup in EnforcedCluster.objects.filter(cluster__in=clusters)}
    limits: dict[str, list[EnforcedLimit]] = {}
    rows = EnforcedLimit.objects.filter(cluster__in=clusters, quotas__overlap=list(lines)).select_related("told")
    for row in rows:
        for number in row.quotas:
            limits.setdefault(number, []).append(row)
    codes = [cluster.code for cluster in lines.values()]
    due = dict(WorkItem.objects.filter(kind=ENFORCE, key__in=codes).values_list("key", "due_at"))
    return {
        number: _standing(number, cluster, setups.get(cluster.pk), limits.get(number, []), due.get(cluster.code))
        for number, cluster in lines.items()
    }


def standing_for(actor: Actor, line: Quota, day: date) -> Standing | None:
    """How a line stands, for somebody who sees it; None of a line that is not in force, or where there is no scheduler.

    Commands and answers may name others' objects: those are shown to whoever sees operations.
    """
    if line.state_on(day) not in (quota_rules.ACTIVE, quota_rules.SUSPENDED, quota_rules.GRACE):
        return None
    cluster = line.pool.cluster
    if cluster is None or cluster.scheduler_kind not in SCHEDULERS:
        return None  # said without a question: the page has a dozen
    found = standing_of([line.number]).get(line.number)
    if found is None or actor.may("operations.view"):
        return found
    says = _(words.FAILED_THERE) if found.state == FAILED_LIMIT else found.says
    return replace(found, command="", answer="", says=says)


def _standing(
    number: str,
    cluster: Cluster,
    setup: EnforcedCluster | None,
    limits: list[EnforcedLimit],
    next_at: datetime | None,
) -> Standing:
    if setup is not None and number in setup.refused:
        return Standing(
            words.REFUSED, words.refused(setup.refused[number]), cluster=cluster.code, seen_at=setup.read_at
        )
    if not limits:
        says = words.said(setup.error, setup.error_params) if setup else ""
        return Standing(words.UNSEEN, says, cluster=cluster.code, next_at=next_at)
    worst = min(limits, key=lambda row: words.ORDER.index(row.state))
    note = words.note(setup.notes[number]) if setup is not None and number in setup.notes else ""
    return Standing(
        worst.state,
        words.said(worst.words, worst.words_params),
        note,
        cluster.code,
        wanted_at=max(row.wanted_at for row in limits),
        told_at=worst.told_at,
        command=worst.told.command if worst.told else "",
        answer=worst.told.answer if worst.told else "",
        held_at=max((row.held_at for row in limits if row.held_at), default=None) if worst.state == IN_FORCE else None,
        seen_at=worst.seen_at,
        next_at=next_at,
        clear_at=max((row.clear_at for row in limits if row.clear_at), default=None),
        limits=sorted(limits, key=lambda row: (row.kind != QOS, row.name)),
    )


@dataclass(frozen=True)
class ClusterState:
    """Everything on the page of a cluster."""

    cluster: Cluster
    setup: EnforcedCluster
    is_live: bool
    item: WorkItem | None
    counts: dict[str, int]
    limits: list[EnforcedLimit]
    more: int
    drifts: list[LimitDrift]
    settled: list[LimitDrift]
    orders: list[LimitOrder]
    error: str

    @property
    def total(self) -> int:
        """Objects that carry quotas."""
        return sum(self.counts.values())

    @property
    def held(self) -> int:
        """Those that stand as they should."""
        return self.counts[IN_FORCE] + self.counts[DRAINING]

    @property
    def bypass(self) -> float | None:
        """Percent of the limits in force that were not born here; None where there are none."""
        return 100 * self.setup.foreign_limits / self.setup.limits if self.setup.limits else None


def cluster_state(cluster: Cluster) -> ClusterState:
    """The page's facts. A cluster nobody has set up is off."""
    setup = EnforcedCluster.objects.filter(cluster=cluster).first() or EnforcedCluster(cluster=cluster)
    rows = list(limits_of(cluster))
    rows.sort(key=lambda row: (words.ORDER.index(row.state), row.kind, row.name))
    counts = dict.fromkeys(words.STATES, 0)
    for row in rows:
        counts[row.state] += 1
    drifts, resolved = _drifts(cluster)
    item = work_reads.of(ENFORCE, cluster.code)
    error = words.said(setup.error, setup.error_params)
    if not error and item is not None and item.state == FAILED:
        error = work_reads.error_words(item)
    return ClusterState(
        cluster,
        setup,
        cluster.scheduler_kind in SCHEDULERS,
        item,
        counts,
        rows[:ROWS_SHOWN],
        max(0, len(rows) - ROWS_SHOWN),
        drifts,
        resolved,
        list(LimitOrder.objects.filter(cluster=cluster)[:LOG_SHOWN]),
        error,
    )


def limits_of(cluster: Cluster) -> QuerySet[EnforcedLimit]:
    """The objects of a cluster that carry quotas."""
    return EnforcedLimit.objects.filter(cluster=cluster).select_related("told")


def difference(row: EnforcedLimit) -> list[tuple[str, str, str]]:
    """(key, wanted, seen) of what is to be changed: the dry run of an object."""
    seen = row.seen or {}
    return [
        (key, words.value(key, row.wanted[key]), words.value(key, seen.get(key)))
        for key in sorted(row.wanted)
        if seen.get(key) != row.wanted[key]
    ]


def _drifts(cluster: Cluster) -> tuple[list[LimitDrift], list[LimitDrift]]:
    """What stands, in its order, and the last that was settled, by one question."""
    of_cluster = LimitDrift.objects.filter(cluster=cluster)
    standing = of_cluster.filter(resolved_at__isnull=True).values("pk")[:ROWS_SHOWN]
    settled = of_cluster.filter(resolved_at__isnull=False).order_by("-resolved_at").values("pk")[:RESOLVED_SHOWN]
    found = list(LimitDrift.objects.filter(Q(pk__in=standing) | Q(pk__in=settled)))
    resolved = [one for one in found if one.resolved_at is not None]
    resolved.sort(key=lambda one: one.resolved_at or one.last_at, reverse=True)
    return [one for one in found if one.resolved_at is None], resolved


def desired_document(cluster: Cluster) -> dict[str, Any]:
    """What the cluster should carry, for a site that applies it with its own hands: see docs/enforcement.md for the form."""
    setup = EnforcedCluster.objects.filter(cluster=cluster).first()
    if setup is not None and setup.read_at is not None:
        limits = [
            (row.kind, row.name, row.project, row.quotas, row.wanted, row.wanted_at) for row in limits_of(cluster)
        ]
        refused = {number: tuple(reason) for number, reason in setup.refused.items()}
    else:
        limits, refused = _by_the_catalogue(cluster)
    names = ("kind", "name", "project", "quotas", "values", "since")
    order = (QOS, ACCOUNT, USER)
    return {
        "steelyard": FORMAT,
        "cluster": cluster.code,
        "as_of": setup.read_at if setup else None,
        "is_enforced": bool(setup and setup.is_on),
        "limits": [
            dict(zip(names, one, strict=True)) for one in sorted(limits, key=lambda one: (order.index(one[0]), one[1]))
        ],
        "refused": [
            {"quota": number, "code": reason[0], "words": words.refused(reason)}
            for number, reason in sorted(refused.items())
        ],
    }


def _by_the_catalogue(cluster: Cluster) -> tuple[list[tuple[Any, ...]], dict[str, tuple[Any, ...]]]:
    """Of a scheduler that the portal has never read: its types are taken to be named as the models in the catalogue."""
    models = AcceleratorModel.objects.filter(pool__cluster=cluster).distinct().order_by("code")
    types = tuple(models.values_list("code", flat=True))
    lines = lines_of(cluster, today(installation()), types, ())
    found = rules.desired(lines, rules.Site(types))
    limits = [(*key, one.project, list(one.quotas), dict(one.values), None) for key, one in found.limits.items()]
    return limits, dict(found.refused)


def gpus_of(row: EnforcedLimit) -> tuple[int, int | None]:
    """(GPUs in use, limit) of an object."""
    return row.used.get(CARD, 0), row.wanted.get(f"GrpTRES:{CARD}")
