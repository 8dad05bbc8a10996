"""What notices know of tenants: who holds a capability, and the nodes that a channel may be bound to."""

from __future__ import annotations

from typing import Any

from governance.access.actor import Actor
from governance.notices.registry import Scope, register, register_holders

from .audience import holders
from .models import Department, Project


def _choices(rows: Any) -> list[tuple[str, str]]:
    return [(one.code, one.name) for one in rows.order_by("code")]


def _departments(actor: Actor, capability: str) -> list[tuple[str, str]]:
    return _choices(Department.objects.visible_to(actor, capability))


def _projects(actor: Actor, capability: str) -> list[tuple[str, str]]:
    return _choices(Project.objects.visible_to(actor, capability))


register_holders(holders)
register(
    Scope("department", lambda code: Department.objects.filter(code=code).first(), _departments),
    Scope("project", lambda code: Project.objects.filter(code=code).first(), _projects),
)
