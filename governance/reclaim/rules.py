"""Rules of reclaim, without a database: what a rule finds in what was held and used, and the way of a case.

A finding stands on whole days that were metered. Where one is missing there is no finding: a gap in the data is never idleness.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

from governance.quotas.rules import nearest_rank

HELD_UNUSED, NEVER_STARTED, GONE_QUIET, IDLE_GPUS = "held_unused", "never_started", "gone_quiet", "idle_gpus"
KINDS = (HELD_UNUSED, NEVER_STARTED, GONE_QUIET, IDLE_GPUS)
#: Kinds that take quota back; the last one tells about GPUs that a run holds.
QUOTA_KINDS = (HELD_UNUSED, NEVER_STARTED, GONE_QUIET)

NOTIFIED, ANSWERED, DUE, APPLIED, MEASURED, CLOSED = "notified", "answered", "due", "applied", "measured", "closed"
STATES = (NOTIFIED, ANSWERED, DUE, APPLIED, MEASURED, CLOSED)
#: States in which the case is somebody's to answer, decide or carry out.
OPEN = (NOTIFIED, ANSWERED, DUE)

AGREE, KEEP, DISPUTE = "agree", "keep", "dispute"
ANSWERS = (AGREE, KEEP, DISPUTE)

KEPT, UPHELD, UNDONE, LAPSED, FREED = "kept", "upheld", "undone", "lapsed", "freed"
#: How a case ends: exempted by an ask; the dispute was right; taken back; its ground went away before it was due; done and measured.
OUTCOMES = (KEPT, UPHELD, UNDONE, LAPSED, FREED)
#: Ends that say the case should not have been.
FALSE_OUTCOMES = (UPHELD, UNDONE)

#: Purposes of pools in which a rule may have an idle run ended after notice. Anywhere else nothing that runs is ever stopped.
INTERACTIVE = frozenset({"development", "dev", "interactive", "notebook"})

UNDO_HOURS = 72
MEASURE_DAYS = 7
PREVIEW_DAYS = 90


@dataclass(frozen=True)
class Terms:
    """What a rule looks for. Days and hours are whole, percentages of what is guaranteed."""

    kind: str
    window_days: int = 14
    below_percent: int = 30  # held_unused: p95 of daily use below this share of the guarantee
    keep_percent: int = 20  # held_unused: what is left above the p95
    step_gpus: int = 1  # what is left is rounded up to whole steps, such as nodes of 8
    min_gpus: int = 1  # smaller findings are let be
    notice_hours: int = 24
    stops_interactive: bool = False  # idle_gpus: end the run once it is due, in pools for interactive work alone


class Held(NamedTuple):
    """A line that guarantees something on a day, since `since`."""

    guaranteed: int
    since: date


class Finding(NamedTuple):
    """What could come back, and what it was found from. GPUs; `p95` and `peak` are of mean GPUs a day in the window."""

    gpus: int
    held: int
    window: tuple[date, date]  # [first, last + 1)
    p95: Decimal
    peak: Decimal


def find(terms: Terms, held: Held, use: Mapping[date, Decimal], metered: Collection[date], day: date) -> Finding | None:
    """What the rule finds on the morning of `day` for one line; None where there is nothing, or not enough data to say.

    `use` is mean GPUs by day (absent: none were used), `metered` the days whose facts are whole. The window is the last
    `window_days` whole days before `day`; the line must have been held on all of them.
    """
    first = day - timedelta(days=terms.window_days)
    if held.since > first or held.guaranteed <= 0:
        return None
    start = held.since if terms.kind == NEVER_STARTED else first
    days = [start + timedelta(days=n) for n in range((day - start).days)]
    if any(one not in metered for one in days):
        return None
    values = [use.get(one, Decimal(0)) for one in days]
    p95, peak = nearest_rank(values, 95) or Decimal(0), max(values)
    if terms.kind == HELD_UNUSED:
        left = _kept(terms, p95) if p95 * 100 < terms.below_percent * held.guaranteed else held.guaranteed
    elif terms.kind == NEVER_STARTED:
        left = 0 if peak == 0 else held.guaranteed
    elif terms.kind == GONE_QUIET:
        used_before = any(gpus > 0 for one, gpus in use.items() if held.since <= one < first)
        left = 0 if peak == 0 and used_before else held.guaranteed
    else:
        return None
    gpus = held.guaranteed - min(left, held.guaranteed)
    return Finding(gpus, held.guaranteed, (start, day), p95, peak) if gpus >= max(1, terms.min_gpus) else None


def _kept(terms: Terms, p95: Decimal) -> int:
    """p95 and `keep_percent` more, rounded up to whole steps."""
    wanted = p95 * (100 + terms.keep_percent) / 100
    steps = (wanted / terms.step_gpus).to_integral_value(rounding=ROUND_CEILING)
    return int(steps) * terms.step_gpus


class Idle(NamedTuple):
    """GPU time of one running run over the window, thousandths of a card x seconds."""

    allocated: int
    idle: int
    unknown: int


def find_idle(terms: Terms, run: Idle, gpus: int) -> bool:
    """Whether a run's GPUs idle for long: idle time at least 100 - `below_percent` of what it held in the window.

    Unknown time speaks for the run: it counts as busy.
    """
    return (
        gpus >= max(1, terms.min_gpus)
        and run.allocated > 0
        and run.idle * 100 >= (100 - terms.below_percent) * run.allocated
    )


WAY: dict[str, tuple[str, ...]] = {
    NOTIFIED: (ANSWERED, DUE, CLOSED),
    ANSWERED: (DUE, CLOSED),
    DUE: (APPLIED, CLOSED),
    APPLIED: (MEASURED, CLOSED),
    MEASURED: (CLOSED,),
    CLOSED: (),
}


def may_follow(state: str, then: str) -> bool:
    """Whether a case may go from one state to the other."""
    return then in WAY[state]
