"""What governance asks of money, and nothing more: what something would cost, and what is left of a budget.

`billing` registers the implementation when Django starts. Until it does, and where nothing was set, the answer is NOT_SET,
which is neither zero nor unlimited. Plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Final, Literal, Protocol


class _NotSet(Enum):
    """There is no such figure: nobody has set one."""

    NOT_SET = "not_set"


NOT_SET: Final = _NotSet.NOT_SET
NotSet = Literal[_NotSet.NOT_SET]


@dataclass(frozen=True)
class Wanted:
    """So many GPUs of a pool in full use on the days [from_on, to_on). `model` "" is any of the pool's; `qos` "" any."""

    pool: str
    gpus: int
    from_on: date
    to_on: date
    model: str = ""
    qos: str = ""


@dataclass(frozen=True)
class Estimate:
    """What that comes to. `amount` is None where a day has no price; `unpriced_days` says how many have none.

    `unit_price`: of a GPU-hour on the first day, of all bands weighted by their length; None where that day has none.
    """

    gpu_hours: int
    amount: Decimal | None
    unpriced_days: int
    unit_price: Decimal | None
    currency: str


class Money(Protocol):
    """What billing answers."""

    def estimates(self, wanted: Sequence[Wanted]) -> list[Estimate] | NotSet:
        """One estimate for each, in few questions."""
        ...

    def budget_left(self, project: str, department: str, on: date) -> Decimal | NotSet:
        """What is left of the budget of a project, or of its home department where the project has none, on a day."""
        ...


class _Nobody:
    """Where no money is installed."""

    def estimates(self, wanted: Sequence[Wanted]) -> list[Estimate] | NotSet:
        """Nobody knows a price."""
        return NOT_SET

    def budget_left(self, project: str, department: str, on: date) -> Decimal | NotSet:
        """Nobody has set a budget."""
        return NOT_SET


_money: list[Money] = [_Nobody()]


def register(money: Money) -> None:
    """Say who answers; the last one does."""
    _money[:] = [money]


def money() -> Money:
    """Who answers."""
    return _money[0]
