"""Reading reclaim: one case, the balance of what was gained and what was wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from governance.access.actor import Actor
from governance.errors import N_, NotFound

from . import rules
from .models import ReclaimCase

NO_CASE = N_("There is no reclaim case “%(number)s”.")


@dataclass(frozen=True)
class Balance:
    """Of cases opened since an instant: GPUs taken back and measured free, and how many were false, as openly as what was gained."""

    opened: int
    applied: int
    taken_gpus: int
    freed_gpus: Decimal
    false: int

    @property
    def false_rate(self) -> Decimal | None:
        """False reclaims of those applied or upheld; None where there was none."""
        ended = self.applied + self.false
        return Decimal(self.false) / ended if ended else None


def case_of(number: str, actor: Actor) -> ReclaimCase:
    """The case with this number. Raises NotFound where there is none, or none that the actor may see."""
    digits = number.removeprefix("R-")
    found = None
    if digits.isdecimal() and len(digits) < 18:
        rows = ReclaimCase.objects.visible_to(actor).select_related("rule", "project", "pool", "quota", "made")
        found = rows.filter(pk=int(digits)).first()
    if found is None:
        raise NotFound(NO_CASE, number=number)
    return found


def balance(actor: Actor, since: datetime) -> Balance:
    """What came of the cases that the actor may see."""
    opened = applied = taken = false = 0
    freed = Decimal(0)
    for outcome, gpus, effect, was_applied in (
        ReclaimCase.objects.visible_to(actor)
        .filter(detected_at__gte=since)
        .values_list("outcome", "gpus", "effect", "applied_at")
    ):
        opened += 1
        if outcome in rules.FALSE_OUTCOMES:
            false += 1
        elif was_applied is not None:
            applied += 1
            taken += gpus
            freed += Decimal(effect["freed_gpus"]) if effect else Decimal(0)
    return Balance(opened, applied, taken, freed, false)
