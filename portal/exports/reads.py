"""Reading exports: one's own, the latest first, with how far those under way are."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.utils.translation import gettext

from governance.access.actor import Actor
from governance.errors import NotFound
from governance.work.models import WorkItem

from . import actions
from .kinds import KINDS
from .models import Export
from .rules import State

SHOWN = 100


@dataclass(frozen=True)
class Shown:
    """An export with its words. `done` of `of` steps, 0 of 0 where that is not known."""

    export: Export
    title: str
    filters: str
    done: int
    of: int
    error: str


def own(actor: Actor) -> list[Shown]:
    """The latest SHOWN of the actor's exports."""
    return shown(list(Export.objects.visible_to(actor).order_by("-asked_at", "-id")[:SHOWN]))


def one(number: str, actor: Actor) -> Export:
    """One of the actor's exports. Raises NotFound."""
    found = Export.objects.visible_to(actor).filter(pk=key_of(number)).first()
    if found is None:
        raise NotFound(actions.NO_EXPORT)
    return found


def key_of(number: str) -> uuid.UUID:
    """The key that an address names. Raises NotFound for what is none."""
    try:
        return uuid.UUID(number)
    except ValueError:
        raise NotFound(actions.NO_EXPORT) from None


def shown(rows: list[Export]) -> list[Shown]:
    """With progress, where they are under way, from the work that makes them."""
    keys = [str(row.pk) for row in rows if row.state == State.RUNNING]
    items = WorkItem.objects.filter(kind=actions.WORK, key__in=keys) if keys else []
    at = {item.key: (item.progress_done, item.progress_of) for item in items}
    return [_shown(row, *at.get(str(row.pk), (row.rows_done, row.rows_of))) for row in rows]


def error_words(row: Export) -> str:
    """Why it failed, in the active language."""
    if not row.error:
        return ""
    return gettext(row.error) % row.error_params if row.error_params else gettext(row.error)


def _shown(row: Export, done: int, of: int) -> Shown:
    filters = ", ".join(f"{name}={value}" for name, value in sorted(row.query.items()))
    title = KINDS[row.kind].title if row.kind in KINDS else row.kind
    return Shown(row, title, filters, done, of, error_words(row))
