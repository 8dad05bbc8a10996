"""What of the ledger an actor may see: facts by the home department of their day, money by the department of its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from governance.access.actor import Actor
from governance.errors import N_, NotFound
from governance.tenants.models import Department, Login, Project, ProjectGrant, held_departments, held_nodes, with_descendants

NO_DEPARTMENT = N_("There is no department “%(code)s” that you may see.")
NO_PROJECT = N_("There is no project “%(code)s” that you may see.")


@dataclass
class Reach:
    """Departments and projects (codes) an actor holds a capability on; `everything` for the site."""

    everything: bool
    departments: list[str] = field(default_factory=list)
    projects: list[str] = field(default_factory=list)

    def condition(self, project: str, department: str) -> tuple[str, list[Any]]:
        """SQL for "the row is within reach", given the columns of its project and of its department."""
        if self.everything:
            return "TRUE", []
        return f"({project} = ANY(%s) OR {department} = ANY(%s))", [self.projects, self.departments]


def reach(actor: Actor, capability: str) -> Reach:
    """How far the actor's `capability` reaches today."""
    if actor.may(capability):
        return Reach(everything=True)
    departments = Department.objects.filter(pk__in=held_departments(actor, capability)).values_list("code", flat=True)
    projects = Project.objects.filter(pk__in=held_nodes(ProjectGrant, actor, capability, "project")).values_list("code", flat=True)
    return Reach(False, sorted(departments), sorted(projects))


def own_logins(actor: Actor) -> list[str]:
    """The actor's own names on the clusters."""
    if actor.person is None:
        return []
    return sorted(set(Login.objects.filter(person=actor.person).values_list("login", flat=True)))


def subtree(actor: Actor, code: str) -> list[str]:
    """The department and all below it, as codes. Raises NotFound where the actor may not see it.

    Somebody who holds only projects sees the department they are at home in, and in it their own projects.
    """
    department = Department.objects.filter(code=code).first()
    if department is None or not _may_open(actor, department):
        raise NotFound(NO_DEPARTMENT, code=code)
    return sorted(Department.objects.filter(pk__in=with_descendants({department.pk})).values_list("code", flat=True))


def _may_open(actor: Actor, department: Department) -> bool:
    if actor.may("usage.view", department):
        return True
    below = with_descendants({department.pk})
    return Project.objects.visible_to(actor).filter(placements__department__in=below).exists()


def require_project(actor: Actor, code: str) -> None:
    """Raises NotFound where the actor may not see the project, by itself or by a department that ever was its home."""
    if actor.may("usage.view"):
        if Project.objects.filter(code=code).exists():
            return
    elif Project.objects.visible_to(actor).filter(code=code).exists():
        return
    elif Project.objects.filter(code=code, placements__department__in=held_departments(actor, "usage.view")).exists():
        return
    raise NotFound(NO_PROJECT, code=code)
