"""What checks and evidence are said in: figures with their definition and freshness, verdicts with what to change. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

OK, WARN, BAD, UNKNOWN = "ok", "warn", "bad", "unknown"
VERDICTS = (OK, WARN, BAD, UNKNOWN)
_ORDER = {BAD: 3, WARN: 2, UNKNOWN: 1, OK: 0}

GPU, GPU_HOUR, HOUR, PERCENT, MONEY, JOB, DAY, TEXT = (
    "gpu",
    "gpu_hour",
    "hour",
    "percent",
    "money",
    "job",
    "day",
    "text",
)


@dataclass(frozen=True)
class Figure:
    """A figure: its name, value and unit; the entry of the metric dictionary that defines it ("" where it is a plain count);
    `as_of`, up to when it knows. None is not known, which is not zero."""

    code: str
    value: Decimal | int | str | date | None
    unit: str
    metric: str = ""
    as_of: datetime | None = None


@dataclass(frozen=True)
class Check:
    """A check: its verdict, what was found (`says % params`), and what to change (`advice % params`; "" where nothing is to be)."""

    code: str
    title: str
    verdict: str
    says: str
    params: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    figures: tuple[Figure, ...] = ()
    line: int | None = None


@dataclass(frozen=True)
class Alternative:
    """A faster way: what it would give, of what, at which cost (None: not known)."""

    code: str  # return_idle, elastic, other_pool
    says: str
    params: dict[str, Any] = field(default_factory=dict)
    gpus: int = 0
    pool: str = ""
    level: str = ""
    quota: str = ""
    cost: Decimal | None = None


@dataclass(frozen=True)
class Recommendation:
    """What the figures speak for, and the rule that says so: approve, less (with GPUs by line) or return."""

    verdict: str
    rule: str
    says: str
    params: dict[str, Any] = field(default_factory=dict)
    awards: dict[int, int] = field(default_factory=dict)  # line -> GPUs added, where it is less


def worst(checks: list[Check]) -> Check:
    """The check that wants most of the reader; the first of equals."""
    return max(checks, key=lambda one: _ORDER[one.verdict])


def gpus(milligpu_seconds: int | None, days: int = 1) -> Decimal | None:
    """Mean GPUs over so many days, one decimal; None of None."""
    if milligpu_seconds is None:
        return None
    return (Decimal(milligpu_seconds) / (86_400_000 * days)).quantize(Decimal("0.1"))


def percent(part: Decimal | int | None, whole: Decimal | int | None) -> Decimal | None:
    """A share in percent, one decimal; None where the whole is nothing or not known."""
    if part is None or not whole:
        return None
    return (Decimal(part) * 100 / Decimal(whole)).quantize(Decimal("0.1"))
