"""Writing the trail."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection

from governance.access.actor import Actor

from .models import AuditLine


def record(
    actor: Actor,
    action: str,
    kind: str,
    code: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Write one audit line in the transaction of the change it tells of.

    Raises RuntimeError outside a transaction: a change and its line stand or fall together.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an audit line belongs into the transaction of its change")
    AuditLine.objects.create(
        actor=actor.name or "anonymous",
        is_machine=actor.is_machine,
        address=actor.address,
        action=action,
        object_kind=kind,
        object_code=code,
        before=_plain(before),
        after=_plain(after),
    )


def _plain(value: dict[str, Any] | None) -> Any:
    return None if value is None else json.loads(json.dumps(value, cls=DjangoJSONEncoder))
