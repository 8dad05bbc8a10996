"""Intervals of days: what holds when, what overlaps, and on which days two tellings differ. Plain Python.

Days are half-open [from_on, to_on); an open bound is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

Span = tuple[date | None, date | None]


class Interval(NamedTuple):
    """Values that hold on the days [from_on, to_on)."""

    from_on: date | None
    to_on: date | None
    values: dict[str, Any]

    @property
    def span(self) -> Span:
        """Its days."""
        return (self.from_on, self.to_on)


def in_order(intervals: Iterable[Interval]) -> list[Interval]:
    """The intervals by their first day."""
    return sorted(intervals, key=lambda one: (one.from_on or date.min, one.to_on or date.max))


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans share a day."""
    return (one[0] is None or other[1] is None or one[0] < other[1]) and (
        other[0] is None or one[1] is None or other[0] < one[1]
    )


def clashes(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Positions (earlier, later) in `spans` of neighbours by first day that share a day; empty where none do."""
    order = sorted(range(len(spans)), key=lambda i: spans[i][0] or date.min)
    found = []
    widest = order[0] if order else 0
    for position in order[1:]:
        if overlap(spans[widest], spans[position]):
            found.append((min(widest, position), max(widest, position)))
        if (spans[position][1] or date.max) > (spans[widest][1] or date.max):
            widest = position
    return found


def ended(intervals: Iterable[Interval], on: date) -> list[Interval]:
    """What is left of the intervals when nothing holds from the day `on`."""
    return [
        one._replace(to_on=on if one.to_on is None or one.to_on > on else one.to_on)
        for one in intervals
        if one.from_on is None or one.from_on < on
    ]


def changed_days(
    before: Sequence[Interval], after: Sequence[Interval], of: Callable[[dict[str, Any]], Any] = lambda values: values
) -> list[Span]:
    """The spans on which `before` and `after` say something else, looking at `of(values)` alone."""
    cuts = sorted({day for one in [*before, *after] for day in one.span if day is not None})
    found: list[Span] = []
    for span in pairwise([None, *cuts, None]):
        if _on(before, span, of) != _on(after, span, of):
            found.append(span)
    return merged(found)


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same days in as few spans as possible, in order."""
    found: list[Span] = []
    for low, high in sorted(set(spans), key=lambda span: (span[0] or date.min, span[1] or date.max)):
        if found and (found[-1][1] is None or low is None or low <= found[-1][1]):
            top = found[-1][1]
            found[-1] = (found[-1][0], None if top is None or high is None else max(top, high))
        else:
            found.append((low, high))
    return found


def _on(intervals: Sequence[Interval], span: Span, of: Callable[[dict[str, Any]], Any]) -> tuple[Any, ...]:
    """What holds all through `span`, which no bound of an interval cuts."""
    return tuple(of(one.values) for one in intervals if _covers(one.span, span))


def _covers(outer: Span, inner: Span) -> bool:
    return (outer[0] is None or (inner[0] is not None and outer[0] <= inner[0])) and (
        outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    )
