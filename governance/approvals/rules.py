"""The machine of an ask, without a database: its states, its moves, when a stage has passed, how two revisions differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from governance.errors import N_, BadData, NotTheMoment


class Kind(StrEnum):
    """What is asked for."""

    NEW = "new"
    INCREASE = "increase"
    EXTEND = "extend"
    RETURN = "return"
    BURST = "burst"  # more for some days, after which the quota is as before
    KEEP = "keep"  # not to be reclaimed until a day


class State(StrEnum):
    """Where an ask stands."""

    DRAFT = "draft"
    SUBMITTED = "submitted"
    IN_REVIEW = "in_review"
    RETURNED = "returned"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


EDITABLE = frozenset({State.DRAFT, State.RETURNED})
OPEN = frozenset({State.SUBMITTED, State.IN_REVIEW})
FINAL = frozenset({State.APPROVED, State.REJECTED, State.WITHDRAWN, State.EXPIRED})
#: Kinds that change a quota which stands; `new` is for one that is not held yet, `burst` for either.
CHANGING = frozenset({Kind.INCREASE, Kind.EXTEND, Kind.RETURN, Kind.KEEP})
#: Kinds that may be awarded less than was asked.
DIVISIBLE = frozenset({Kind.NEW, Kind.INCREASE, Kind.EXTEND, Kind.BURST, Kind.KEEP})

ANY, ALL, SOME = "any", "all", "k_of_n"
STAGE_RULES = (ANY, ALL, SOME)

_OPEN_TO = {State.SUBMITTED: State.IN_REVIEW, State.IN_REVIEW: State.IN_REVIEW}
_SAME = {state: state for state in State}
#: move -> state before -> state after.
MOVES: dict[str, Mapping[State, State]] = {
    "save": {State.DRAFT: State.DRAFT, State.RETURNED: State.RETURNED},
    "submit": dict.fromkeys(EDITABLE, State.SUBMITTED),
    "approve": _OPEN_TO,
    "award": dict.fromkeys(OPEN, State.APPROVED),
    "return": dict.fromkeys(OPEN, State.RETURNED),
    "reject": dict.fromkeys(OPEN, State.REJECTED),
    "withdraw": dict.fromkeys((State.DRAFT, *OPEN, State.RETURNED), State.WITHDRAWN),
    "expire": dict.fromkeys((*OPEN, State.RETURNED), State.EXPIRED),
    "hand_over": {state: state for state in OPEN},
    "add": {state: state for state in OPEN},
    "assign": {state: state for state in OPEN},
    "remind": {state: state for state in OPEN},
    "escalate": {state: state for state in OPEN},
    "comment": {state: state for state in _SAME if state != State.DRAFT},
}
#: Moves that need the version of the ask that was looked at, and raise it.
DECIDING = frozenset({"approve", "return", "reject"})

#: Why a move is not possible in a state.
NOT_NOW: dict[State, str] = {
    State.DRAFT: N_("The ask %(number)s is a draft: its author submits it first."),
    State.SUBMITTED: N_("The ask %(number)s waits to be decided: this is not possible now."),
    State.IN_REVIEW: N_("The ask %(number)s is in review: this is not possible now."),
    State.RETURNED: N_("The ask %(number)s was returned to its author: it is decided once it is submitted again."),
    State.APPROVED: N_("The ask %(number)s is approved already."),
    State.REJECTED: N_("The ask %(number)s is rejected already."),
    State.WITHDRAWN: N_("The ask %(number)s was withdrawn: there is nothing left to do on it."),
    State.EXPIRED: N_("The ask %(number)s has expired: there is nothing left to do on it. Copy it to ask once more."),
}


def after(state: str, move: str, *, number: str) -> State:
    """The state after a move. Raises NotTheMoment where the state does not allow it."""
    found = MOVES[move].get(State(state))
    if found is None:
        raise NotTheMoment(NOT_NOW[State(state)], number=number)
    return found


def moves_from(state: str) -> list[str]:
    """The moves that a state allows at all, whoever asks."""
    return [move for move, states in MOVES.items() if State(state) in states]


def digits_of(number: str) -> int | None:
    """The id within a number such as A-000123; None for what is no number."""
    digits = number.removeprefix("A-")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 18 else None


@dataclass(frozen=True)
class Standing:
    """A stage as it is judged: ids of people. `candidates` may decide by role or in place of one, `added` must agree as well.

    `above`: those of them who were asked because it was escalated; where all must agree, one of these may settle it.
    """

    rule: str
    k: int
    candidates: frozenset[int]
    added: frozenset[int]
    agreed: frozenset[int]  # for whom an agreement was given, themselves or by an acting approver
    above: frozenset[int] = frozenset()

    @property
    def missing_added(self) -> frozenset[int]:
        """Who was added and has not agreed yet."""
        return self.added - self.agreed

    @property
    def is_passed(self) -> bool:
        """Whether nothing is missing. An agreement stands although its giver has lost the role since."""
        given = self.agreed - self.added
        if self.missing_added:
            return False
        if self.rule == ALL:
            own = self.candidates - self.above - self.added
            return bool(given & self.above) or (bool(given) and own <= self.agreed)
        return len(given) >= (self.k if self.rule == SOME else 1)

    @property
    def may_decide(self) -> frozenset[int]:
        """Whose decision the stage still wants."""
        return (self.candidates | self.added) - self.agreed


def seats(rule: str, k: int) -> int:
    """How many people a stage needs at least."""
    return k if rule == SOME else 1


@dataclass(frozen=True)
class Amounts:
    """What a line is about, in figures: whole GPUs, whole GPU-hours of a period (None: no limit), days [from_on, to_on)."""

    guaranteed_gpus: int = 0
    ceiling_gpus: int = 0
    gpu_hours: int | None = None
    from_on: date | None = None
    to_on: date | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "guaranteed_gpus": self.guaranteed_gpus,
            "ceiling_gpus": self.ceiling_gpus,
            "gpu_hours": self.gpu_hours,
            "from_on": self.from_on.isoformat() if self.from_on else None,
            "to_on": self.to_on.isoformat() if self.to_on else None,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Amounts:
        """Back from JSON."""
        low, high = kept.get("from_on"), kept.get("to_on")
        return cls(
            int(kept["guaranteed_gpus"]),
            int(kept["ceiling_gpus"]),
            kept.get("gpu_hours"),
            date.fromisoformat(low) if low else None,
            date.fromisoformat(high) if high else None,
        )


NOTHING = Amounts()
MORE_THAN_ASKED = N_("Line %(line)s can be awarded at most what was asked, or what an earlier stage left of it.")
AWARD_NOTHING = N_("Nothing is left to award. Reject the ask, or return it, and say why.")
NOT_DIVISIBLE = N_("What is given back is taken as it is, or the ask is returned.")
NO_DAYS_LEFT = N_("Line %(line)s would end before it begins.")


def want_less(kind: str, line: int, given: Amounts, left: Amounts) -> None:
    """Raise BadData unless `given` is at most `left`, the line's amounts as earlier stages left them."""
    if given == left:
        return
    if Kind(kind) not in DIVISIBLE:
        raise BadData(NOT_DIVISIBLE)
    fewer = 0 <= given.guaranteed_gpus <= left.guaranteed_gpus and 0 <= given.ceiling_gpus <= left.ceiling_gpus
    hours = left.gpu_hours is None or (given.gpu_hours is not None and given.gpu_hours <= left.gpu_hours)
    shorter = left.to_on is None or (given.to_on is not None and given.to_on <= left.to_on)
    if not (fewer and hours and shorter and given.guaranteed_gpus <= given.ceiling_gpus):
        raise BadData(MORE_THAN_ASKED, line=line)
    if given.to_on is not None and left.from_on is not None and given.to_on <= left.from_on:
        raise BadData(NO_DAYS_LEFT, line=line)


def added_gpus(kind: str, wanted: Amounts, base: Amounts) -> int:
    """GPUs that a line adds to what is held: of the guarantee, or of the ceiling where nothing is guaranteed. Negative: given back.

    An extension adds what it goes on holding; keeping adds nothing.
    """
    if kind == Kind.KEEP:
        return 0
    if kind == Kind.EXTEND:
        return wanted.guaranteed_gpus or wanted.ceiling_gpus
    if wanted.guaranteed_gpus or base.guaranteed_gpus:
        return wanted.guaranteed_gpus - base.guaranteed_gpus
    return wanted.ceiling_gpus - base.ceiling_gpus


def days_of(amounts: Amounts) -> int:
    """Days that a line is for; 0 where an end is open."""
    return (amounts.to_on - amounts.from_on).days if amounts.from_on and amounts.to_on else 0


Snapshot = Mapping[str, Any]


def differences(before: Snapshot, now: Snapshot) -> list[tuple[str, Any, Any]]:
    """What changed between two revisions, as (name, before, now); of a line as "lines.<position>.<name>", None where it is not there."""
    found: list[tuple[str, Any, Any]] = []
    for name in sorted((before.keys() | now.keys()) - {"lines"}):
        if before.get(name) != now.get(name):
            found.append((name, before.get(name), now.get(name)))
    old, new = _by_position(before.get("lines", ())), _by_position(now.get("lines", ()))
    for position in sorted(old.keys() | new.keys()):
        was, is_now = old.get(position, {}), new.get(position, {})
        for name in sorted((was.keys() | is_now.keys()) - {"position"}):
            if was.get(name) != is_now.get(name):
                found.append((f"lines.{position}.{name}", was.get(name), is_now.get(name)))
    return found


def _by_position(lines: Sequence[Snapshot]) -> dict[int, Snapshot]:
    return {int(line["position"]): line for line in lines}
