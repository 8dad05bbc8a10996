"""Who holds a capability today, for telling them something."""

from __future__ import annotations

from collections.abc import Iterable

from governance.access.rules import roles_with
from governance.notices.registry import Recipient

from .models import GRANTS, Department, Placement, Project, day_of_today, department_tree


def holders(capability: str, node: Department | Project | None = None) -> list[Recipient]:
    """Each active person who holds the capability today, with the role that gives it.

    On the whole site where `node` is None; on a project or department by a grant on it or on the line of departments above
    it, and not by one on the site, which would tell every administrator of everything.
    """
    if node is None:
        return _first([_granted("site", capability, None)])
    if isinstance(node, Department):
        return _first([_granted("department", capability, _line(node.pk))])
    placed = Placement.objects.on(day_of_today()).filter(project=node).values_list("department_id", flat=True)
    above = [pk for home in placed for pk in _line(home)]
    return _first([_granted("project", capability, [node.pk]), _granted("department", capability, above)])


def _line(pk: int | None) -> list[int]:
    """A department and all above it."""
    tree, found = department_tree(), list[int]()
    while pk is not None and pk not in found:
        found.append(pk)
        pk = tree[pk].parent_id
    return found


def _granted(scope: str, capability: str, nodes: list[int] | None) -> list[tuple[int, str]]:
    grants = (
        GRANTS[scope]
        .objects.on(day_of_today())
        .filter(permission__codename__in=roles_with(capability, scope), user__is_active=True)
    )
    if nodes is not None:
        grants = grants.filter(content_object__in=nodes)
    return list(grants.order_by("user_id", "permission__codename").values_list("user_id", "permission__codename"))


def _first(found: Iterable[list[tuple[int, str]]]) -> list[Recipient]:
    """Each person once, by the nearest grant."""
    told: dict[int, Recipient] = {}
    for grants in found:
        for person, role in grants:
            told.setdefault(person, Recipient(person, role))
    return list(told.values())
