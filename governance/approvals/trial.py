"""Trying an ask out while its form is filled in: cost, budget, checks, faster ways, and who would decide. Nothing is kept."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from governance.access.actor import Actor

from . import checks, drafts, policy
from .drafts import Given
from .figures import Alternative, Check
from .models import ApprovalPolicy
from .policy import Plan
from .submitting import facts_of, home_of


@dataclass(frozen=True)
class Trial:
    """What an ask comes to: amounts of money (None: not known, or no budget set), GPU-hours in full use, the plan it would go by."""

    cost: Decimal | None
    currency: str
    gpu_hours: int
    unit_price: Decimal | None
    budget_left: Decimal | None
    checks: list[Check]
    alternatives: list[Alternative]
    plan: Plan | None

    @property
    def budget_after(self) -> Decimal | None:
        """What is left of the budget then."""
        return None if self.budget_left is None or self.cost is None else self.budget_left - self.cost


def trial(given: Given, *, actor: Actor) -> Trial:
    """Of an ask as it is given. Raises what saving it would raise."""
    ask, lines = drafts.unsaved(given, actor=actor)
    home = home_of(ask.project)
    on = checks.grounds(ask, lines, actor=actor, home=home)
    active = ApprovalPolicy.objects.filter(state=ApprovalPolicy.ACTIVE).first()
    plans = policy.plans(active.document, facts_of(ask, lines, home)) if active and lines else []
    priced = [one.unit_price for one in on.estimates or [] if one.unit_price is not None]
    return Trial(
        cost=on.cost if on.estimated else Decimal(0),
        currency=on.currency,
        gpu_hours=sum(one.gpu_hours for one in on.estimates or []),
        unit_price=priced[0] if len(set(priced)) == 1 else None,
        budget_left=on.budget,
        checks=checks.checks(on),
        alternatives=checks.alternatives(on),
        plan=plans[0] if plans else None,
    )
