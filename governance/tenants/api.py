"""Doors of tenants: who asks, departments, projects, and whose use is whose."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.access.rules import CAPABILITIES, Role
from governance.doors.door import ListDoor, OneDoor
from governance.doors.query import Paged, narrowed, text

from .models import (
    AccountMapping,
    Department,
    Placement,
    Project,
    day_of_today,
    held_today,
)


class HeldRole(serializers.Serializer[Any]):
    """A role held today."""

    role = serializers.CharField()
    scope = serializers.ChoiceField(choices=("site", "department", "project", "pool"))
    code = serializers.CharField(help_text=_("Of the department, project or pool; empty for the site."))
    capabilities = serializers.ListField(child=serializers.CharField())


class Me(serializers.Serializer[Any]):
    """Who asks."""

    username = serializers.CharField()
    name = serializers.CharField()
    roles = HeldRole(many=True)
    scopes = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text=_("Of the token that was shown; null for a signed-in browser."),
    )


class MeDoor(OneDoor):
    """Who asks, and with which rights."""

    name = "api-me"
    title = _("Who I am")
    says = _("The person behind the token or the session, the roles held today, and what the token allows.")
    out = Me

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """From the grants of today."""
        person = actor.person
        roles = [
            {
                "role": held.role,
                "scope": held.scope,
                "code": held.code,
                "capabilities": sorted(CAPABILITIES[Role(held.role)]),
            }
            for held in sorted(held_today(actor), key=lambda held: (held.scope, held.code, held.role))
        ]
        return {
            "username": actor.name,
            "name": person.display_name if person else actor.name,
            "roles": roles,
            "scopes": None if actor.scopes is None else sorted(actor.scopes),
        }


class DepartmentRow(serializers.Serializer[Any]):
    """A department."""

    code = serializers.CharField()
    name = serializers.CharField()
    parent = serializers.CharField(source="parent_code", allow_null=True)
    cost_centre = serializers.CharField()


class DepartmentsQuery(Paged):
    """Filters of departments."""

    code = text(_("The department with this code."))
    parent = text(_("Departments right below the one with this code."))


def sees_organisation(actor: Actor) -> bool:
    """Who may change the organisation sees all of it, as in the file that they load."""
    return actor.may("organisation.change")


class DepartmentsDoor(ListDoor):
    """The tree of departments."""

    name = "api-departments"
    title = _("Departments")
    says = _("Departments that your roles show you, with those below them.")
    query, out, order = DepartmentsQuery, DepartmentRow, ("code",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Department]:
        """With the code of the parent, where that is visible too."""
        rows = Department.objects.all() if sees_organisation(actor) else Department.objects.visible_to(actor)
        return narrowed(rows.annotate(parent_code=_parent_code(rows)), asked, {"code": "code", "parent": "parent_code"})


def _parent_code(visible: QuerySet[Department]) -> Any:
    return Subquery(visible.filter(pk=OuterRef("parent")).values("code")[:1])


class ProjectRow(serializers.Serializer[Any]):
    """A project."""

    code = serializers.CharField()
    name = serializers.CharField()
    department = serializers.CharField(
        source="home_code", allow_null=True, help_text=_("Its home department today; null where it has none.")
    )


class ProjectsQuery(Paged):
    """Filters of projects."""

    code = text(_("The project with this code."))
    department = text(_("Projects at home today in the department with this code."))


class ProjectsDoor(ListDoor):
    """Projects."""

    name = "api-projects"
    title = _("Projects")
    says = _("Projects that your roles show you, with the department they are at home in today.")
    query, out, order = ProjectsQuery, ProjectRow, ("code",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Project]:
        """With the code of the home department."""
        rows = Project.objects.all() if sees_organisation(actor) else Project.objects.visible_to(actor)
        home = Placement.objects.on(day_of_today()).filter(project=OuterRef("pk")).values("department__code")[:1]
        return narrowed(rows.annotate(home_code=Subquery(home)), asked, {"code": "code", "department": "home_code"})


class MappingRow(serializers.Serializer[Any]):
    """A mapping: (cluster, account, user, QoS) to a project on some days."""

    cluster = serializers.CharField(source="cluster.code")
    account = serializers.CharField()
    user = serializers.CharField()
    qos = serializers.CharField()
    project = serializers.CharField(source="project.code")
    from_on = serializers.DateField(allow_null=True)
    to_on = serializers.DateField(allow_null=True, help_text=_("The first day on which it no longer holds."))


class MappingsQuery(Paged):
    """Filters of mappings."""

    cluster = text(_("The code of a cluster."))
    account = text(_("An account as the mapping spells it."))
    project = text(_("The code of a project."))
    on = serializers.DateField(required=False, help_text=_("Only what holds on this day."))


class MappingsDoor(ListDoor):
    """Whose use is whose."""

    name = "api-mappings"
    title = _("Account mappings")
    says = _("Which project the use of an account, user or QoS belongs to, on which days; “*” stands for any.")
    query, out, order = MappingsQuery, MappingRow, ("pk",)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Any]:
        """All for the organisation's and the operations' hands, else those of projects whose runs one sees."""
        rows: Any = AccountMapping.objects.select_related("cluster", "project")
        if not (sees_organisation(actor) or actor.may("operations.view")):
            rows = rows.filter(project__in=Project.objects.visible_to(actor, "run.view"))
        if "on" in asked:
            rows = rows.on(asked["on"])
        columns = {"cluster": "cluster__code", "account": "account", "project": "project__code"}
        return narrowed(rows, asked, columns)
