"""Who may decide a stage, asked when it is needed: role@scope against the grants of today, people named, people acting.

A stage asks the scopes of a ladder from its own upwards: of a project its home department, of a department the ones above it, of
a pool the site. It takes as many steps as it needs to find enough people, and one more for each escalation. Where the ladder
ends before that, the stage is stuck: it is on the administrators' list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connection

from governance.access.actor import Actor
from governance.access.rules import SCOPES, Role, roles_with
from governance.tenants.models import Placement, day_of_today, department_tree

from . import policy, rules
from .deciding_models import represented
from .models import Ask, AskLine, Decision, Named, Stage
from .policy import Who
from .rules import Standing

HOLDERS = """
SELECT g.scope, p.codename, g.node, g.user_id FROM (
    SELECT 'site' AS scope, permission_id, user_id, from_on, to_on, 0 AS node FROM site_grant
    UNION ALL SELECT 'department', permission_id, user_id, from_on, to_on, content_object_id FROM department_grant
    UNION ALL SELECT 'project', permission_id, user_id, from_on, to_on, content_object_id FROM project_grant
    UNION ALL SELECT 'pool', permission_id, user_id, from_on, to_on, content_object_id FROM pool_grant
) AS g JOIN auth_permission AS p ON p.id = g.permission_id JOIN person AS u ON u.id = g.user_id AND u.is_active
WHERE p.codename = ANY(%(roles)s) AND (g.from_on IS NULL OR g.from_on <= %(today)s) AND (g.to_on IS NULL OR g.to_on > %(today)s)
"""


class Step(NamedTuple):
    """A rung of the ladder: a role on a node (0 on the site)."""

    role: str
    scope: str  # department, project, pool, site
    node: int


@dataclass(frozen=True)
class Deciders:
    """Who may decide a stage now. `steps` of the ladder were asked; `is_short`: fewer people than the stage needs, and no further step."""

    standing: Standing
    roles: dict[int, str]  # person -> role, or handed, added, assigned
    steps: tuple[Step, ...]
    is_short: bool
    is_widened: bool  # whether more than the stage's own scope was asked

    @property
    def waiting_for(self) -> frozenset[int]:
        """Whose decision the stage still wants."""
        return self.standing.may_decide


class Seat(NamedTuple):
    """A person's right to decide a stage: for whom it counts, and in which role."""

    counts_for: int
    role: str
    is_acting: bool


@dataclass
class Where:
    """What the ladder needs of an ask."""

    project: int
    home: int | None
    asked_by: int
    kind: str


@dataclass
class Resolver:
    """Resolves any number of stages by few questions; a snapshot of the grants, so make one where it is needed."""

    stages: Collection[Stage]
    where: dict[int, Where] = field(default_factory=dict)  # by ask, where the caller has read it already
    _holders: dict[Step, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._read_asks()
        self._read_holders()
        ids = [stage.pk for stage in self.stages]
        self._named: dict[int, list[Named]] = {}
        for row in Named.objects.filter(stage__in=ids, ended_at__isnull=True).order_by("pk"):
            self._named.setdefault(row.stage_id, []).append(row)
        self._agreed: dict[int, set[int]] = {}
        self._rounds: dict[tuple[int, int], list[tuple[int, int]]] = {}
        rows = Decision.objects.filter(ask__in=self._where, stage__isnull=False)
        self.decisions = list(rows.select_related("by", "stage").order_by("pk"))
        for one in self.decisions:
            if one.verdict == "approve" and one.stage is not None and one.counts_for_id is not None:
                self._agreed.setdefault(one.stage.pk, set()).add(one.counts_for_id)
                self._rounds.setdefault((one.ask_id, one.stage.round), []).append(
                    (one.stage.position, one.counts_for_id)
                )
        self._pools: dict[int, list[int]] | None = None

    def _pools_of(self, ask: int) -> list[int]:
        """The pools of an ask's lines; read once, and only where somebody was named."""
        if self._pools is None:
            self._pools = {}
            for pk, pool in AskLine.objects.filter(ask__in=self._where).values_list("ask", "pool"):
                self._pools.setdefault(pk, []).append(pool)
        return self._pools.get(ask, [])

    def _read_asks(self) -> None:
        if self.where:
            self._where = self.where
            return
        asks = {stage.ask_id for stage in self.stages}
        rows = list(Ask.objects.filter(pk__in=asks).values_list("pk", "project", "asked_by", "kind"))
        homes = dict(
            Placement.objects.on(day_of_today())
            .filter(project__in={row[1] for row in rows})
            .values_list("project", "department")
        )
        self._where = {pk: Where(project, homes.get(project), by, kind) for pk, project, by, kind in rows}

    def _read_holders(self) -> None:
        roles = {stage.role for stage in self.stages} | {Who.read(s.escalate).role for s in self.stages if s.escalate}
        roles |= (
            roles_with("ask.view", "project") | roles_with("ask.view", "department") | roles_with("ask.view", "pool")
        )
        roles |= roles_with("ask.view", "site")
        with connection.cursor() as cursor:
            cursor.execute(HOLDERS, {"roles": sorted(str(role) for role in roles), "today": day_of_today()})
            for scope, role, node, person in cursor.fetchall():
                self._holders.setdefault(Step(role, scope, node), []).append(person)

    def of(self, stage: Stage) -> Deciders:
        """Who may decide the stage now."""
        where = self._where[stage.ask_id]
        named = self._named.get(stage.pk, ())
        valid = [row for row in named if self.sees(row.person_id, stage)]
        gone = {row.instead_of_id for row in valid if row.how == Named.HANDED}
        barred = {where.asked_by, *gone, *self._earlier(stage)}
        ladder = self._ladder(stage, where)
        own = self._rungs_of(stage, where)
        agreed = frozenset(self._agreed.get(stage.pk, ()))
        roles = {row.person_id: row.how for row in valid if row.person_id != where.asked_by}
        people = {row.person_id for row in valid if row.how != Named.ADDED} - {where.asked_by}
        need, asked, above = rules.seats(stage.rule, stage.k), 0, set[int]()
        for number, step in enumerate(ladder):
            if number >= own + stage.escalated and len(people | agreed) >= need:
                break
            asked = number + 1
            for person in self._holders.get(step, ()):
                if person not in barred:
                    if number >= own and person not in people:
                        above.add(person)
                    people.add(person)
                    roles.setdefault(person, step.role)
        added = frozenset(row.person_id for row in valid if row.how == Named.ADDED) - {where.asked_by}
        standing = Standing(stage.rule, stage.k, frozenset(people), added, agreed, frozenset(above))
        is_short = len((people | agreed) - added) < need
        return Deciders(standing, roles, tuple(ladder[:asked]), is_short, asked > own)

    def sees(self, person: int, stage: Stage) -> bool:
        """Whether a person named for the stage still sees asks of its project or pools by a role of today."""
        where = self._where[stage.ask_id]
        nodes = [("site", 0), ("project", where.project), *(("department", pk) for pk in _line(where.home))]
        nodes += [("pool", pk) for pk in self._pools_of(stage.ask_id)]
        return any(
            person in self._holders.get(Step(role, scope, node), ())
            for scope, node in nodes
            for role in roles_with("ask.view", scope)
        )

    def _earlier(self, stage: Stage) -> set[int]:
        """Who agreed on an earlier stage of the round, where another hand is wanted."""
        found = self._rounds.get((stage.ask_id, stage.round), ()) if stage.another_hand else ()
        return {person for position, person in found if position < stage.position}

    def _rungs_of(self, stage: Stage, where: Where) -> int:
        """How many steps of the ladder are the stage's own scope."""
        return 1 if _first(stage, where) else 0

    def _ladder(self, stage: Stage, where: Where) -> list[Step]:
        found = list(_steps(Who(stage.role, stage.scope, stage.scope_code), stage, where))
        if stage.escalate:
            found[1:1] = _steps(Who.read(stage.escalate), stage, where)
        return list(dict.fromkeys(found))


def _first(stage: Stage, where: Where) -> Step | None:
    return next(iter(_steps(Who(stage.role, stage.scope, stage.scope_code), stage, where)), None)


def _steps(who: Who, stage: Stage, where: Where) -> Iterable[Step]:
    """The ladder from a scope upwards."""
    if who.scope == policy.PROJECT:
        yield Step(who.role, "project", where.project)
        yield from (Step(Role.APPROVER.value, "department", pk) for pk in _line(where.home))
    elif who.scope in (policy.HOME, policy.PARENT, policy.DEPARTMENT):
        line = _line(_named_department(who.code) if who.scope == policy.DEPARTMENT else where.home)
        yield from (Step(who.role, "department", pk) for pk in line[1 if who.scope == policy.PARENT else 0 :])
    elif who.scope == policy.POOL:
        if stage.pool_id is not None:
            yield Step(who.role, "pool", stage.pool_id)
        if "site" in SCOPES[Role(who.role)]:
            yield Step(who.role, "site", 0)
    else:
        yield Step(who.role, "site", 0)


def _line(department: int | None) -> list[int]:
    """A department and all above it."""
    tree, found = department_tree(), list[int]()
    while department is not None and department not in found:
        found.append(department)
        department = tree[department].parent_id
    return found


def _named_department(code: str) -> int | None:
    return next((pk for pk, one in department_tree().items() if one.code == code), None)


def deciders(stage: Stage) -> Deciders:
    """Who may decide one stage now."""
    return Resolver([stage]).of(stage)


def absent(actor: Actor) -> list[int]:
    """Those for whom the actor may decide today."""
    return [one.person.pk for one in represented(actor) if one.person is not None]


def seat(found: Deciders, actor: Actor, *, asked_by: int, acting_for: Iterable[int], decided: bool) -> Seat | None:
    """The actor's seat on a stage: their own before that of somebody they act for; None without one.

    Nobody decides an own ask, neither by a role nor for another, and nobody twice.
    """
    if actor.person is None or not actor.person.is_active or actor.person.pk == asked_by or decided:
        return None
    me = actor.person.pk
    if me in found.waiting_for:
        return Seat(me, found.roles.get(me, ""), is_acting=False)
    for person in acting_for:
        if person in found.waiting_for and person != asked_by:
            return Seat(person, found.roles.get(person, ""), is_acting=True)
    return None
