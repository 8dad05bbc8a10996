"""What a change would do, found by doing it and taking it back: the same action, the same rules, the same words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from governance.catalogue.models import Pool
from governance.errors import BadData, DomainError, NotTheMoment

from . import listing
from .models import Quota
from .outlook import Outlook, outlook

Seen = TypeVar("Seen")


class _TakenBack(Exception):
    """Ends the transaction of a trial."""


@dataclass(frozen=True)
class Consequences:
    """A trial: the pool's room and the project's lines before and after, or why it does not go through ("" where it does)."""

    refusal: str
    before: Outlook
    after: Outlook
    lines_before: list[Quota]
    lines_after: list[Quota]

    @property
    def is_short(self) -> bool:
        """Whether the pool is promised beyond its limit afterwards on some day."""
        return self.after.tightest.room < 0


def consequences(act: Callable[[], Any], pool: Pool, project: str, day: date) -> Consequences:
    """What `act` would change for the pool and for the project (code) in it. NotAllowed and NotFound go through to the caller."""
    refusal, (before, held), (after, then) = tried(act, lambda: (outlook(pool, day), _lines(pool, project, day)))
    return Consequences(refusal, before, after, held, then)


def tried(act: Callable[[], Any], look: Callable[[], Seen]) -> tuple[str, Seen, Seen]:
    """(why it does not go through or "", what `look` sees before, and after `act`); what `act` did is taken back."""
    before = look()
    after, refusal = before, ""
    try:
        with transaction.atomic():
            act()
            after = look()
            raise _TakenBack
    except _TakenBack:
        pass
    except (NotTheMoment, BadData) as error:
        refusal = in_words(error)
    return refusal, before, after


def in_words(error: DomainError) -> str:
    """An error in the reader's language."""
    return _(error.message) % error.params if error.params else _(error.message)


def _lines(pool: Pool, project: str, day: date) -> list[Quota]:
    rows = Quota.objects.filter(pool=pool, project__code=project).select_related("model").prefetch_related("pauses")
    return list(listing.in_state(rows, listing.STANDING, day).order_by("level", "model", "from_on"))
