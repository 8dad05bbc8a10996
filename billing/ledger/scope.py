"""What of the ledger an actor may see: facts by the home department of their day, money by the department of its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg

from governance.access.actor import Actor
from governance.access.memory import remembered
from governance.errors import N_, NotFound
from governance.tenants.models import (
    Project,
    codes_below,
    department_tree,
    held_departments,
    held_today,
    logins_of,
    with_descendants,
)

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
    held_below = held_departments(actor, capability)
    tree = department_tree() if held_below else {}
    departments = [tree[pk].code for pk in held_below]
    projects = {held.code for held in held_today(actor) if held.gives(capability, "project")}
    return Reach(False, sorted(departments), sorted(projects))


def own_logins(actor: Actor) -> list[str]:
    """The actor's own names on the clusters."""
    return sorted({login for _, login in logins_of(actor)})


def subtree(actor: Actor, code: str) -> list[str]:
    """The department and all below it, as codes. Raises NotFound where the actor may not see it.

    Somebody who holds only projects sees the department they are at home in, and in it their own projects.
    """
    tree = department_tree()
    found = next((one.pk for one in tree.values() if one.code == code), None)
    if found is None or not _may_open(actor, found):
        raise NotFound(NO_DEPARTMENT, code=code)
    return sorted(codes_below(code))


def _may_open(actor: Actor, department: int) -> bool:
    if actor.may("usage.view") or department in held_departments(actor, "usage.view"):
        return True
    below = with_descendants({department})
    if below & set(held_departments(actor, "usage.view")):
        return True
    return any(held.gives("usage.view", "project") and below & set(held.homes) for held in held_today(actor))


@remembered
def project_of(code: str) -> Any:
    """The project with this code and, as `homes`, the departments it was ever at home in; None where there is none."""
    return Project.objects.filter(code=code).annotate(homes=ArrayAgg("placements__department", default=[])).first()


def require_project(actor: Actor, code: str) -> None:
    """Raises NotFound where the actor may not see the project, by itself or by a department that ever was its home."""
    project = project_of(code)
    if project is not None:
        if actor.may("usage.view"):
            return
        if any(held.gives("usage.view", "project") and held.node == project.pk for held in held_today(actor)):
            return
        if set(project.homes) & set(held_departments(actor, "usage.view")):
            return
    raise NotFound(NO_PROJECT, code=code)
