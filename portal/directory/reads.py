"""What the pages of projects and people show."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Prefetch, Q, QuerySet

from billing.ledger import scope
from billing.ledger.facts import facts_of, lines_of
from billing.ledger.rules import Span
from governance.access.actor import Actor
from governance.access.models import Person
from governance.access.named import in_language
from governance.tenants.models import (
    GRANTS,
    UNATTRIBUTED,
    AccountMapping,
    Login,
    PayerShare,
    Placement,
    Project,
    ProjectGrant,
    department_tree,
    with_descendants,
)

A_PAGE = 100
#: Rights that show the directory: who administers, who grants, who audits.
DIRECTORY = ("organisation.change", "grants.change", "audit.view")


def sees_directory(actor: Actor) -> bool:
    """Whether people's names, roles and logins are the actor's to see."""
    return any(actor.may(capability) for capability in DIRECTORY)


def visible_projects(actor: Actor) -> QuerySet[Project]:
    """Projects the actor may see, or declares; without the reserved one."""
    rows = Project.objects.exclude(code=UNATTRIBUTED)
    return (
        rows if actor.may("organisation.change") else rows.filter(pk__in=Project.objects.visible_to(actor).values("pk"))
    )


class Use(NamedTuple):
    """What a project or pool came to: milligpu_seconds, runs started, and what is posted of it."""

    name: str
    milligpu_seconds: int
    runs_started: int
    amount: Decimal

    @property
    def gpu_hours(self) -> Decimal:
        """GPU time in hours."""
        return Decimal(self.milligpu_seconds) / 3_600_000


def use(codes: list[str], span: Span, by: str, *, actor: Actor) -> dict[str, Use]:
    """What the projects with these codes came to in the days, by "project" or by "pool", as far as the actor may see it.

    The ledger's own conditions: hours by the home of their day, amounts by who pays them. One question.
    """
    hours, of_hours = scope.reach(actor, "usage.view").condition("f.project", "f.department")
    money, of_money = scope.reach(actor, "money.view").condition("l.project", "l.department")
    statement = f"""
        SELECT x.code, coalesce(p.name_zh, ''), coalesce(p.name_en, ''), sum(x.milli)::bigint, sum(x.runs)::bigint, sum(x.amount) FROM (
            SELECT f.{by} AS code, sum(f.milligpu_seconds) AS milli, sum(f.runs_started) AS runs, 0::numeric AS amount
            FROM ({facts_of(span, ())}) AS f WHERE f.project = ANY(%s) AND {hours} GROUP BY 1
            UNION ALL SELECT l.{by}, 0, 0, sum(l.amount) FROM ({lines_of(span, ())}) AS l
            WHERE l.project = ANY(%s) AND {money} GROUP BY 1
        ) AS x LEFT JOIN {by} AS p ON p.code = x.code GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1"""
    with connection.cursor() as cursor:
        cursor.execute(statement, [codes, *of_hours, codes, *of_money])
        rows = cursor.fetchall()
    return {code: Use(in_language(zh, en) or code, milli, runs, amount) for code, zh, en, milli, runs, amount in rows}


@dataclass
class ProjectList:
    """A page of projects with today's home and payers; `after` leads to the next."""

    rows: list[tuple[Project, Placement | None]]
    after: str


def projects(actor: Actor, *, on: date, q: str = "", department: str = "", after: str = "") -> ProjectList:
    """Projects by code behind `after`; those whose code or name has `q`, at home today in `department` or below."""
    rows = visible_projects(actor)
    if q:
        rows = rows.filter(Q(code__icontains=q) | Q(name_zh__icontains=q) | Q(name_en__icontains=q))
    if department:
        own = {pk for pk, one in department_tree().items() if one.code == department}
        rows = rows.filter(
            pk__in=Placement.objects.on(on).filter(department__in=with_descendants(own)).values("project")
        )
    payers = Prefetch("payers", PayerShare.objects.order_by("-percent", "pk"))
    homes = Prefetch("placements", Placement.objects.on(on).prefetch_related(payers), to_attr="homes_today")
    found = list(rows.filter(code__gt=after).order_by("code").prefetch_related(homes)[: A_PAGE + 1])
    shown: list[tuple[Project, Placement | None]] = [(one, next(iter(one.homes_today), None)) for one in found[:A_PAGE]]
    return ProjectList(shown, found[A_PAGE - 1].code if len(found) > A_PAGE else "")


def placements(project: Project) -> list[Placement]:
    """Its home departments with their payers, the last first."""
    payers = Prefetch("payers", PayerShare.objects.order_by("-percent", "pk"))
    rows = Placement.objects.filter(project=project).prefetch_related(payers)
    return sorted(rows, key=lambda one: one.from_on or date.min, reverse=True)


def mappings(project: Project) -> list[AccountMapping]:
    """Accounts that are its own, by cluster, account and day."""
    rows = AccountMapping.objects.filter(project=project).select_related("cluster")
    return list(rows.order_by("cluster__code", "account", "user", "qos", "from_on"))


def members(project: Project) -> list[Any]:
    """Roles held on the project, leads first, then by username; past ones too."""
    rows = ProjectGrant.objects.filter(content_object=project).select_related("user", "permission")
    return list(rows.order_by("permission__codename", "user__username", "from_on"))


class Role(NamedTuple):
    """A role of a person with its node and days."""

    scope: str
    role: str
    code: str
    name_zh: str
    name_en: str
    from_on: date | None
    to_on: date | None
    granted_by: str


@dataclass
class PersonRow:
    """A person of the directory."""

    person: Person
    roles: list[Role] = field(default_factory=list)
    logins: list[Login] = field(default_factory=list)


@dataclass
class People:
    """A page of the directory; `after` leads to the next."""

    rows: list[PersonRow]
    after: str


ROLES = """
    SELECT g.user_id, g.scope, p.codename, g.code, g.name_zh, g.name_en, g.from_on, g.to_on, g.granted_by FROM (
        SELECT user_id, permission_id, 'site' AS scope, '' AS code, '' AS name_zh, '' AS name_en, from_on, to_on, granted_by FROM site_grant
        UNION ALL SELECT user_id, permission_id, 'department', d.code, d.name_zh, d.name_en, from_on, to_on, granted_by
            FROM department_grant JOIN department AS d ON d.id = content_object_id
        UNION ALL SELECT user_id, permission_id, 'project', j.code, j.name_zh, j.name_en, from_on, to_on, granted_by
            FROM project_grant JOIN project AS j ON j.id = content_object_id
        UNION ALL SELECT user_id, permission_id, 'pool', o.code, o.name_zh, o.name_en, from_on, to_on, granted_by
            FROM pool_grant JOIN pool AS o ON o.id = content_object_id
    ) AS g JOIN auth_permission AS p ON p.id = g.permission_id
    WHERE g.user_id = ANY(%s) ORDER BY g.user_id, g.to_on NULLS FIRST, g.scope, g.code, p.codename"""


def people(*, q: str = "", role: str = "", after: str = "") -> People:
    """The directory by username behind `after`; who has `q` in username, name or login. No right is asked here."""
    rows = Person.objects.all()
    if q:
        login = Login.objects.filter(login__icontains=q).values("person")
        rows = rows.filter(
            Q(username__icontains=q) | Q(name_zh__icontains=q) | Q(name_en__icontains=q) | Q(pk__in=login)
        )
    if role:
        rows = rows.filter(pk__in=_holders(role))
    found = list(rows.filter(username__gt=after).order_by("username")[: A_PAGE + 1])
    shown = {person.pk: PersonRow(person) for person in found[:A_PAGE]}
    with connection.cursor() as cursor:
        cursor.execute(ROLES, [list(shown)])
        for person, *told in cursor.fetchall():
            shown[person].roles.append(Role(*told))
    for one in Login.objects.filter(person__in=shown).select_related("cluster").order_by("cluster__code", "login"):
        shown[one.person_id].logins.append(one)
    return People(list(shown.values()), found[A_PAGE - 1].username if len(found) > A_PAGE else "")


def _holders(role: str) -> Any:
    """Ids of those who hold or held the role somewhere, as a subquery."""
    parts = [grant.objects.filter(permission__codename=role).values("user_id") for grant in GRANTS.values()]
    return parts[0].union(*parts[1:])
