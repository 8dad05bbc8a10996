"""The backend that answers `person.has_perm(capability, node)` from dated grants, when it is asked: nothing happens at midnight."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from governance.access.actor import Actor
from governance.access.models import Person
from governance.catalogue.models import Pool

from .models import Department, Placement, Project, day_of_today, held_departments, held_today


class GrantBackend:
    """A project's capabilities come from its own grants, its home department's line today, or the site."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        """Signs nobody in; another backend does."""
        return

    def has_perm(self, person: Person, capability: str, node: Model | None = None) -> bool:
        """Whether the person holds `capability` on `node`, or on the whole site when `node` is None."""
        if not person.is_active or not person.is_authenticated or "." not in capability:
            return False
        actor = Actor.of(person)
        held = held_today(actor)
        if any(one.gives(capability, "site") for one in held):
            return True
        if isinstance(node, Project):
            return self._on_project(actor, capability, node)
        if isinstance(node, Department):
            return node.pk in held_departments(actor, capability)
        if isinstance(node, Pool):
            return any(one.gives(capability, "pool") and one.node == node.pk for one in held)
        return False

    def _on_project(self, actor: Actor, capability: str, project: Project) -> bool:
        if any(one.gives(capability, "project") and one.node == project.pk for one in held_today(actor)):
            return True
        home = (
            Placement.objects.on(day_of_today()).filter(project=project).values_list("department_id", flat=True).first()
        )
        return home is not None and home in held_departments(actor, capability)
