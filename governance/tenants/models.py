"""Tables of tenants. Everything that can change over time is dated by day, half-open, in the billing time zone."""

from __future__ import annotations

from datetime import date
from typing import Any, ClassVar, NamedTuple

from django.conf import settings
from django.db import connection, models
from django.db.models import F, Q
from guardian.models import UserObjectPermissionBase

from governance.access.actor import Actor
from governance.access.memory import remembered
from governance.access.named import Named
from governance.access.rules import roles_with
from governance.catalogue.models import Cluster, Dated, Installation, Pool, days_in_order, never_overlap
from governance.catalogue.reads import installation, today

UNATTRIBUTED = "unattributed"  # the reserved project of use that no mapping claims


class DepartmentQuerySet(models.QuerySet["Department"]):
    """Departments, and who may see them."""

    def visible_to(self, actor: Actor, capability: str = "usage.view") -> DepartmentQuerySet:
        """Departments the actor holds `capability` on, by the site or by a grant on it or an ancestor."""
        if actor.may(capability):
            return self.all()
        return self.filter(pk__in=held_departments(actor, capability))


class Department(Named):
    """A node of the tree of departments."""

    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")
    cost_centre = models.CharField(max_length=64, blank=True)

    objects = DepartmentQuerySet.as_manager()

    class Meta:
        db_table = "department"
        constraints = [models.CheckConstraint(name="department_not_its_own_parent", condition=~Q(parent=F("id")))]
        permissions = [("approver", "approver"), ("viewer", "viewer")]
        default_permissions = ()


class ProjectQuerySet(models.QuerySet["Project"]):
    """Projects, and who may see them."""

    def visible_to(self, actor: Actor, capability: str = "usage.view") -> ProjectQuerySet:
        """Projects the actor holds `capability` on today: by the site, a grant on the project, or one on its home department's line."""
        if actor.may(capability):
            return self.all()
        today = day_of_today()
        homes = Placement.objects.on(today).filter(department__in=held_departments(actor, capability)).values("project")
        return self.filter(Q(pk__in=held_nodes(ProjectGrant, actor, capability, "project")) | Q(pk__in=homes))


class Project(Named):
    """What use and money belong to. The project *unattributed* holds what no mapping claims."""

    objects = ProjectQuerySet.as_manager()

    class Meta:
        db_table = "project"
        permissions = [("member", "member"), ("lead", "lead")]
        default_permissions = ()


class DatedQuerySet(models.QuerySet[Any]):
    """Rows that hold on some days."""

    def on(self, day: date) -> DatedQuerySet:
        """Those that hold on `day`."""
        return self.filter(Q(from_on__isnull=True) | Q(from_on__lte=day), Q(to_on__isnull=True) | Q(to_on__gt=day))


class Placement(Dated):
    """A project's home department on some days; it pays all unless payer shares say otherwise."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="placements")
    department = models.ForeignKey(Department, on_delete=models.PROTECT, related_name="placements")

    objects = DatedQuerySet.as_manager()

    class Meta:
        db_table = "placement"
        constraints = [never_overlap("placement_no_overlap", "project"), days_in_order("placement_days")]


class PayerShare(models.Model):
    """A department's share of a project's cost under one placement; its shares sum to 100 (a deferred trigger sees to it)."""

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="payers")
    department = models.ForeignKey(Department, on_delete=models.PROTECT)
    percent = models.DecimalField(max_digits=7, decimal_places=4)

    class Meta:
        db_table = "payer_share"
        constraints = [
            models.UniqueConstraint(name="payer_once", fields=["placement", "department"]),
            models.CheckConstraint(name="payer_percent", condition=Q(percent__gt=0, percent__lte=100)),
        ]


class AccountMapping(Dated):
    """Whose use it is: (cluster, account, user, QoS) -> project on some days; `*` stands for any."""

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="mappings")
    account = models.CharField(max_length=128, default="*")
    user = models.CharField(max_length=128, default="*")
    qos = models.CharField(max_length=128, default="*")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="mappings")

    objects = DatedQuerySet.as_manager()

    class Meta:
        db_table = "account_mapping"
        constraints = [
            never_overlap("account_mapping_no_overlap", "cluster", "account", "user", "qos"),
            days_in_order("account_mapping_days"),
        ]


class Login(models.Model):
    """A person's name on a cluster."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="logins")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    login = models.CharField(max_length=128)

    class Meta:
        db_table = "login"
        constraints = [models.UniqueConstraint(name="login_of_one_person", fields=["cluster", "login"])]


class DatedGrant(UserObjectPermissionBase, Dated):
    """A role on a node, from a day to a day, stored the guardian way: the role is the permission, the node the object."""

    granted_by = models.CharField(max_length=200, blank=True)

    objects: ClassVar[Any] = DatedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        abstract = True

    @property
    def role(self) -> str:
        """The role granted."""
        return self.permission.codename


def _grant_constraints(name: str) -> list[models.BaseConstraint]:
    return [never_overlap(f"{name}_no_overlap", "user", "permission", "content_object"), days_in_order(f"{name}_days")]


class SiteGrant(DatedGrant):
    """A role on the whole installation."""

    content_object = models.ForeignKey(Installation, on_delete=models.CASCADE)

    class Meta:
        db_table = "site_grant"
        constraints = _grant_constraints("site_grant")


class DepartmentGrant(DatedGrant):
    """A role on a department and all below it."""

    content_object = models.ForeignKey(Department, on_delete=models.CASCADE)

    class Meta:
        db_table = "department_grant"
        constraints = _grant_constraints("department_grant")


class ProjectGrant(DatedGrant):
    """A role on a project."""

    content_object = models.ForeignKey(Project, on_delete=models.CASCADE)

    class Meta:
        db_table = "project_grant"
        constraints = _grant_constraints("project_grant")


class PoolGrant(DatedGrant):
    """A role on a pool."""

    content_object = models.ForeignKey(Pool, on_delete=models.CASCADE)

    class Meta:
        db_table = "pool_grant"
        constraints = _grant_constraints("pool_grant")


GRANTS: dict[str, type[DatedGrant]] = {
    "site": SiteGrant,
    "department": DepartmentGrant,
    "project": ProjectGrant,
    "pool": PoolGrant,
}


def day_of_today() -> date:
    """Today in the billing time zone: the day that grants are judged by."""
    return today(installation())


def held_nodes(grants: type[DatedGrant], actor: Actor, capability: str, scope: str) -> set[int]:
    """Ids of the nodes of kind `scope` on which a grant gives the actor `capability` today."""
    return {held.node for held in held_today(actor) if GRANTS[held.scope] is grants and held.gives(capability, scope)}


class Held(NamedTuple):
    """A role held today, and on which node; the site has the code "". `homes`: departments a project was ever at home in."""

    scope: str
    role: str
    node: int
    code: str
    homes: list[int]

    def gives(self, capability: str, scope: str) -> bool:
        """Whether this grant gives the capability on a node of kind `scope`."""
        return self.scope == scope and self.role in roles_with(capability, scope)


HELD_TODAY = """
SELECT g.scope, p.codename, g.node, g.code,
    CASE g.scope WHEN 'project' THEN ARRAY(SELECT department_id FROM placement WHERE project_id = g.node) ELSE '{}' END
FROM (
    SELECT 'site' AS scope, permission_id, user_id, from_on, to_on, content_object_id AS node, '' AS code FROM site_grant
    UNION ALL
    SELECT 'department', permission_id, user_id, from_on, to_on, d.id, d.code FROM department_grant
    JOIN department AS d ON d.id = content_object_id
    UNION ALL
    SELECT 'project', permission_id, user_id, from_on, to_on, j.id, j.code FROM project_grant
    JOIN project AS j ON j.id = content_object_id
    UNION ALL
    SELECT 'pool', permission_id, user_id, from_on, to_on, o.id, o.code FROM pool_grant JOIN pool AS o ON o.id = content_object_id
) AS g JOIN auth_permission AS p ON p.id = g.permission_id
WHERE g.user_id = %(person)s AND (g.from_on IS NULL OR g.from_on <= %(today)s) AND (g.to_on IS NULL OR g.to_on > %(today)s)
UNION ALL SELECT 'login', '', cluster_id, login, '{}' FROM login WHERE person_id = %(person)s
"""
LOGIN = "login"  # no scope of a grant


def held_today(actor: Actor) -> tuple[Held, ...]:
    """Every role the actor holds today, by one question, which answers their logins too."""
    return () if actor.person is None else tuple(one for one in _held(actor.person.pk) if one.scope != LOGIN)


def logins_of(actor: Actor) -> frozenset[tuple[int, str]]:
    """The actor's own names on the clusters, each with the cluster's id."""
    held = () if actor.person is None else _held(actor.person.pk)
    return frozenset((one.node, one.code) for one in held if one.scope == LOGIN)


@remembered
def _held(person: int) -> tuple[Held, ...]:
    with connection.cursor() as cursor:
        cursor.execute(HELD_TODAY, {"person": person, "today": day_of_today()})
        return tuple(Held(*row) for row in cursor.fetchall())


def held_departments(actor: Actor, capability: str) -> list[int]:
    """Ids of the departments on which the actor holds `capability`, with all below them."""
    granted = {held.node for held in held_today(actor) if held.gives(capability, "department")}
    return sorted(with_descendants(granted)) if granted else []


@remembered
def department_tree() -> dict[int, Department]:
    """Every department by its id, by one question."""
    return {one.pk: one for one in Department.objects.all()}


def with_descendants(departments: set[int]) -> set[int]:
    """The ids given and those of every department below them."""
    children: dict[int | None, list[int]] = {}
    for one in department_tree().values():
        children.setdefault(one.parent_id, []).append(one.pk)
    found, todo = set(departments), list(departments)
    while todo:
        below = [pk for pk in children.get(todo.pop(), []) if pk not in found]
        found.update(below)
        todo.extend(below)
    return found


def codes_below(code: str) -> set[str]:
    """The codes of the department with this code and of every one below it; none where there is no such department."""
    tree = department_tree()
    own = {one.pk for one in tree.values() if one.code == code}
    return {tree[pk].code for pk in with_descendants(own)}
