"""How far a reader sees, kept with a file and compared before it is given out."""

from __future__ import annotations

from typing import Any

from billing.ledger import scope
from governance.access.actor import Actor

#: What rows of any kind are shown by. Site rights stand in it as "everything".
CAPABILITIES = ("usage.view", "money.view", "run.view", "capacity.view", "operations.view", "audit.view")


def reach_of(actor: Actor) -> dict[str, Any]:
    """What the actor may see today, as `rules.covers` compares it."""
    found: dict[str, Any] = {"logins": scope.own_logins(actor)}
    for capability in CAPABILITIES:
        held = scope.reach(actor, capability)
        found[capability] = {
            "everything": held.everything,
            "departments": held.departments,
            "projects": held.projects,
        }
    return found
