"""What may be done to a line by hand: its words, its form, who may, and the action behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from governance.access.actor import Actor

from . import actions, forms, rules
from .models import Quota

Act = Callable[[str, dict[str, Any], Actor], Any]


@dataclass(frozen=True)
class Move:
    """One of them. `states`: in which a line must be; `said`: what is told when it is done."""

    verb: str
    label: str | Promise
    means: str | Promise
    said: str | Promise
    form: type[forms.QuotaForm]
    right: str
    states: tuple[str, ...]
    act: Act

    def open_to(self, actor: Actor, line: Quota) -> bool:
        """Whether the actor holds the right on what it is held on."""
        return actor.may(self.right, line.project if self.right == "quota.return" else line.pool)

    def begin(self, line: Quota, on: date) -> dict[str, Any]:
        """What its form begins with."""
        if self.form is forms.ChangeForm:
            return forms.amounts_of(line, max(on, line.from_on))
        return {"on": on, "from_on": max(on, line.from_on)}


def _change(number: str, given: dict[str, Any], actor: Actor) -> Any:
    return actions.change(number, actor=actor, **given)


def _end(ended_as: str) -> Act:
    return lambda number, given, actor: actions.end(number, ended_as=ended_as, actor=actor, **given)


STANDING = (rules.SCHEDULED, rules.ACTIVE, rules.SUSPENDED, rules.GRACE)
MOVES: dict[str, Move] = {
    move.verb: move
    for move in (
        Move(
            "change",
            _("Change"),
            _("A new line begins on the day you say; the present one ends as replaced."),
            _("The quota is changed."),
            forms.ChangeForm,
            "quota.award",
            STANDING,
            _change,
        ),
        Move(
            "suspend",
            _("Suspend"),
            _("It stays held, and nothing may start on it. What runs goes on."),
            _("The quota is suspended."),
            forms.SuspendForm,
            "quota.award",
            (rules.SCHEDULED, rules.ACTIVE),
            lambda number, given, actor: actions.suspend(number, actor=actor, **given),
        ),
        Move(
            "resume",
            _("Resume"),
            _("Jobs may start on it again."),
            _("The quota is resumed."),
            forms.ResumeForm,
            "quota.award",
            (rules.SUSPENDED,),
            lambda number, given, actor: actions.resume(number, actor=actor, **given),
        ),
        Move(
            "return",
            _("Return"),
            _("The project gives it back. What runs goes on, nothing new starts."),
            _("The quota is returned."),
            forms.EndForm,
            "quota.return",
            STANDING,
            _end(rules.RETURNED),
        ),
        Move(
            "revoke",
            _("Revoke"),
            _("It ends by your decision. What runs goes on, nothing new starts."),
            _("The quota is revoked."),
            forms.EndForm,
            "quota.award",
            STANDING,
            _end(rules.REVOKED),
        ),
    )
}


def moves_of(line: Quota, state: str, actor: Actor) -> list[Move]:
    """What the actor may do to the line in its state."""
    return [move for move in MOVES.values() if state in move.states and move.open_to(actor, line)]
