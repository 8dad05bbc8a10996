"""How far a capability reaches over rows of days, each of which has the home department of its own day."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from governance.access.actor import Actor

from .models import Placement, held_departments, held_today


def _at_home(departments: list[int], project: str, day: str) -> Q:
    """Placements (seen from a row with a project's code and a day) in one of the departments."""
    return Q(
        Q(from_on__isnull=True) | Q(from_on__lte=OuterRef(day)),
        Q(to_on__isnull=True) | Q(to_on__gt=OuterRef(day)),
        project__code=OuterRef(project),
        department__in=departments,
    )


def rows_within(actor: Actor, capability: str, *, project: str, day: str) -> Q:
    """Rows with a project's code and a day that the actor's capability reaches: by a role on the project, or on the
    department that the project was at home in on that day."""
    projects = [held.code for held in held_today(actor) if held.gives(capability, "project")]
    found = Q(**{f"{project}__in": projects})
    departments = held_departments(actor, capability)
    return found | Q(Exists(Placement.objects.filter(_at_home(departments, project, day)))) if departments else found
