"""One node: what it was on which days, the states it was in, and who ran on it on the last metered day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from billing.ledger import scope
from governance.access.actor import Actor
from governance.catalogue.models import Node, NodeState, NodeTerm
from governance.catalogue.reads import installation
from governance.tenants.rules import Mapping, Owners
from governance.usage.models import Run, Watermark
from governance.usage.ops.words import NODE_STATES, SOURCES, Tone
from governance.usage.rules import day_bounds, day_of

from .heat import node_lists

RECENT = timedelta(days=30)
STATES_SHOWN = 100
RUNS_SHOWN = 50


@dataclass(frozen=True)
class Interval:
    """A state with how long it held."""

    row: NodeState
    tone: Tone
    source: object
    seconds: float

    @property
    def is_open(self) -> bool:
        """Whether it holds still."""
        return self.row.to_at is None


@dataclass
class NodePage:
    """A node with its history. `share_in_service` is of the last 30 days' card time; None for a node that has no cards."""

    node: Node
    terms: list[NodeTerm]
    states: list[Interval]
    more_states: int
    share_in_service: Decimal | None
    metered_until: datetime | None

    @property
    def standing(self) -> Interval | None:
        """The state that holds now."""
        now = timezone.now()
        return next(
            (s for s in self.states if s.row.from_at <= now and (s.row.to_at is None or s.row.to_at > now)), None
        )

    @property
    def last_day(self) -> date | None:
        """The day in which the metered instant lies."""
        if self.metered_until is None:
            return None
        return day_of(self.metered_until - timedelta(microseconds=1), ZoneInfo(installation().time_zone))


def page_of(cluster: str, name: str) -> NodePage | None:
    """The node with this name, None where there is none."""
    metered = Watermark.objects.filter(cluster=OuterRef("cluster"), stage="metered").values("until_at")
    nodes: Any = Node.objects.select_related("cluster").annotate(metered_until=Subquery(metered))
    node = nodes.filter(cluster__code=cluster, name=name).first()
    if node is None:
        return None
    terms = list(
        NodeTerm.objects.filter(node=node).select_related("pool", "model", "place").order_by("-from_on", "model__code")
    )
    terms.sort(key=lambda term: term.from_on or date.min, reverse=True)
    rows = list(NodeState.objects.filter(node=node).order_by("-from_at"))
    now = timezone.now()
    shown = [_interval(row, now) for row in rows[:STATES_SHOWN]]
    cards = max((term.accelerators for term in terms if _holds(term, now)), default=0)
    share = _in_service(rows, cards, now) if cards else None
    return NodePage(node, terms, shown, max(len(rows) - STATES_SHOWN, 0), share, node.metered_until)


def _interval(row: NodeState, now: datetime) -> Interval:
    seconds = ((row.to_at or max(now, row.from_at)) - row.from_at).total_seconds()
    return Interval(row, NODE_STATES[row.state], SOURCES.get(row.source, ""), seconds)


def _holds(term: NodeTerm, now: datetime) -> bool:
    today = now.astimezone(ZoneInfo(installation().time_zone)).date()
    return (term.from_on is None or term.from_on <= today) and (term.to_on is None or today < term.to_on)


def _in_service(rows: list[NodeState], cards: int, now: datetime) -> Decimal:
    """The share of its cards' time in the last 30 days that no state took out."""
    since, lost = now - RECENT, 0.0
    for row in rows:
        if row.state == "in_service":
            continue
        seconds = (min(row.to_at or now, now) - max(row.from_at, since)).total_seconds()
        lost += max(seconds, 0) * min(cards if row.cards is None else row.cards, cards)
    return 1 - Decimal(lost) / (cards * int(RECENT.total_seconds()))


@dataclass(frozen=True)
class RunsOnNode:
    """The runs on a node that the reader may see, the last started first; nothing tells of others."""

    day: date
    shown: list[tuple[Run, int]]  # with the submit time as its address spells it
    more: int


def runs_on(page: NodePage, *, actor: Actor) -> RunsOnNode | None:
    """Runs that held cards on the node on its last metered day; None where no day is metered."""
    day = page.last_day
    if day is None:
        return None
    start, end = day_bounds(day, ZoneInfo(installation().time_zone))
    lists = [one for one in node_lists(page.node.cluster.code, start, end) if page.node.name in one.names]
    if not lists:
        return RunsOnNode(day, [], 0)
    found = Run.objects.filter(
        cluster=page.node.cluster,
        node_list__in=[one.text for one in lists],
        submit_at__gte=min(one.submit_at for one in lists),
        submit_at__lt=end,
        start_at__lt=end,
        stop_at__gt=start,
        gpu_milli__gt=0,
    )
    rows = list(found.defer("raw").order_by("-start_at"))
    seen = _visible(rows, page.node.cluster_id, day, actor)
    shown = [(run, int(run.submit_at.timestamp())) for run in seen[:RUNS_SHOWN]]
    return RunsOnNode(day, shown, max(len(seen) - RUNS_SHOWN, 0))


def _visible(rows: list[Run], cluster: int, day: date, actor: Actor) -> list[Run]:
    """Those of projects whose runs the actor may see, by that day's mappings and homes, and the actor's own."""
    if actor.may("run.view") or not rows or actor.person is None:
        return rows if actor.may("run.view") else []
    reach = scope.reach(actor, "run.view")
    with connection.cursor() as cursor:
        cursor.execute(WHOSE, {"cluster": cluster, "day": day, "person": actor.person.pk})
        found = cursor.fetchall()
    owners = Owners(Mapping(*row[1:5]) for row in found if row[0] == "mapping")
    own = {login for what, login, *_ in found if what == "login"}
    seen = {project for what, _, _, _, project, home in found if project in reach.projects or home in reach.departments}
    return [row for row in rows if row.user in own or owners.project(row.account, row.user, row.qos) in seen]


#: Mappings of a cluster on a day with the project's home of that day, and a person's own names there; one question.
WHOSE = """
    SELECT 'mapping', a.account, a."user", a.qos, p.code, d.code FROM account_mapping AS a JOIN project AS p ON p.id = a.project_id
    LEFT JOIN placement AS h ON h.project_id = p.id
        AND (h.from_on IS NULL OR h.from_on <= %(day)s) AND (h.to_on IS NULL OR h.to_on > %(day)s)
    LEFT JOIN department AS d ON d.id = h.department_id
    WHERE a.cluster_id = %(cluster)s AND (a.from_on IS NULL OR a.from_on <= %(day)s) AND (a.to_on IS NULL OR a.to_on > %(day)s)
    UNION ALL SELECT 'login', login, '', '', '', '' FROM login WHERE cluster_id = %(cluster)s AND person_id = %(person)s"""
