"""What pages show of asks: rows of checks and figures ready to be drawn, what a line was and is, the story of moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from governance.access.named import in_language
from governance.quotas import shown as charts
from governance.quotas.wording import LEVELS, Tone

from . import wording
from .figures import Check, Figure
from .models import Ask, AskLine, Move
from .policy import Plan
from .reads import AskShown
from .rules import Amounts, Kind
from .shapes import said


@dataclass(frozen=True)
class CheckRow:
    """A check in words: its verdict as tone, what was found, what to change, the figures behind it."""

    code: str
    title: str
    tone: Tone
    says: str
    advice: str
    figures: tuple[Figure, ...]

    @property
    def metric(self) -> str:
        """The definition of its first figure that has one."""
        return next((one.metric for one in self.figures if one.metric), "")

    @property
    def as_of(self) -> Any:
        """How fresh the oldest of its figures is; None for what is counted now."""
        return min((one.as_of for one in self.figures if one.as_of), default=None)

    @property
    def bullet(self) -> tuple[str, str, Any, Any] | None:
        """(percent, mark percent, value, threshold) where it has a value and what it is held against."""
        by = {one.code: one.value for one in self.figures}
        for value, mark in (("room", "guaranteed"), ("used_percent", "threshold"), ("days", "most_days")):
            if by.get(value) is not None and by.get(mark):
                have, want = Decimal(str(by[value])), Decimal(str(by[mark]))
                top = max(have, want, Decimal(1)) * Decimal("1.25")
                return f"{max(have, Decimal(0)) / top * 100:.1f}", f"{want / top * 100:.1f}", by[value], by[mark]
        return None


def check_rows(checks: Sequence[Check]) -> list[CheckRow]:
    """Checks in words."""
    return [
        CheckRow(
            one.code,
            said(one.title, {}),
            wording.VERDICTS[one.verdict],
            said(one.says, one.params),
            said(one.advice, one.params),
            one.figures,
        )
        for one in checks
    ]


@dataclass(frozen=True)
class LineRow:
    """A line as its page shows it: what stood before, what was asked, what is left of it, and what the figures speak for."""

    line: AskLine
    recommended: int

    @property
    def level(self) -> Any:
        """In words."""
        return LEVELS[self.line.level]

    @property
    def is_elastic(self) -> bool:
        """Whether it is about a ceiling alone."""
        return not self.line.left.guaranteed_gpus

    @property
    def most(self) -> int:
        """What may be awarded at most: of the guarantee, or of the ceiling where nothing is guaranteed."""
        return _gpus(self.line.left)

    @property
    def awarded(self) -> Amounts | None:
        """What was awarded; None while nobody has decided."""
        return self.line.left if self.line.awarded_guaranteed_gpus is not None else None


def _gpus(amounts: Amounts) -> int:
    return amounts.guaranteed_gpus or amounts.ceiling_gpus


def line_rows(ask: Ask, lines: Sequence[AskLine], added: dict[int, int]) -> list[LineRow]:
    """Lines with what is recommended to be held, from the GPUs that the recommendation adds by line."""
    rows = []
    for line in lines:
        most = _gpus(line.left)
        if line.position in added:
            base = 0 if ask.kind == Kind.EXTEND else _gpus(line.before)
            most = max(0, min(most, base + added[line.position]))
        rows.append(LineRow(line, most))
    return rows


@dataclass(frozen=True)
class MoveRow:
    """A move in the timeline."""

    move: Move
    word: Any
    is_machine: bool


def story(found: AskShown) -> list[MoveRow]:
    """The timeline, the first move first; saves after the first one are left out."""
    rows, saved = [], False
    for one in found.moves:
        if one.what == "save" and saved:
            continue
        saved = saved or one.what == "save"
        rows.append(MoveRow(one, wording.MOVES.get(one.what, one.what), one.by_id is None))
    return rows


def differences(found: AskShown) -> list[tuple[str, Any, Any]]:
    """What changed since the revision before, with names in words."""
    return [(wording.changed_name(name), before, now) for name, before, now in found.changed]


def use_chart(days: Sequence[tuple[Any, Decimal | None, Decimal | None]], held: int) -> dict[str, Any] | None:
    """Paths of used and active GPUs by day against what is held; None where no day is metered."""
    if not days:
        return None
    used = [one[1] or Decimal(0) for one in days]
    active = [one[2] or Decimal(0) for one in days]
    top = max([Decimal(1), Decimal(held), *used])
    return {
        "width": len(days),
        "used": f"{charts.steps(used, top)}V100H0Z",
        "active": charts.steps(active, top),
        "held": charts.steps([Decimal(held)] * len(days), top),
        "ticks": (top, top / 2, Decimal(0)),
        "first_on": days[0][0],
        "last_on": days[-1][0],
        "days": days,
    }


def way_words(plan: Plan | None) -> list[dict[str, Any]]:
    """The stages of a plan, named as the policy names them."""
    if plan is None:
        return []
    return [
        {"name": in_language(one.name.get("zh", ""), one.name.get("en", "")) or one.code, "hours": one.hours}
        for one in plan.stages
    ]
