"""Idle, card by card: activity under 5 % for 60 minutes, after 20 minutes of grace, counted from the first idle minute.

A sample at t speaks for the step before it, (t - step, t]. Where no sample speaks the card is unknown, and an idle stretch ends: of what
nobody saw nothing is claimed. Samples come in the order of time; how they are cut into pieces changes nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from .labels import MOST, Owner

Point = tuple[float, float]  # epoch seconds, ratio


@dataclass(frozen=True)
class IdleRules:
    """The options of an installation (metric dictionary: idle_card)."""

    below: float = 0.05  # activity under this ratio is idle
    idle_after_s: int = 3600  # a shorter stretch is not idle
    grace_s: int = 1200  # after the start, when nothing is idle yet
    bridge_s: int = 120  # silence no longer than this is bridged

    @property
    def context_s(self) -> int:
        """How far before and after a day samples must be read to judge the stretches at its edges."""
        return self.idle_after_s + self.grace_s + self.bridge_s


class Attempt(NamedTuple):
    """When a run held its cards; `end_at` None: still. `is_known`: the run is in the books; else the samples are all there is."""

    submit_at: int
    start_at: int
    end_at: int | None
    job_id: str = ""  # the raw id, where the samples name the job otherwise
    is_known: bool = True


class RunActivity(NamedTuple):
    """What a run's cards on one node did on one day. Card time in thousandths of a card x seconds."""

    job_id: str
    submit_at: int
    is_known: bool
    day: int  # index into the days asked for
    node: str
    cards: int
    active_milligpu_seconds: int
    idle_milligpu_seconds: int
    measured_milligpu_seconds: int  # of which the mean activity is known
    busy_milligpu_seconds: int  # measured, weighted by activity
    memory_max_mib: int | None
    energy_joules: int | None
    samples: int
    clamped: int  # samples above fully busy, taken as fully busy
    first_at: int
    last_at: int


@dataclass(slots=True)
class _Day:
    known: float = 0.0
    idle: float = 0.0
    busy: float = 0.0
    samples: int = 0
    clamped: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    memory: float | None = None
    energy: float | None = None


@dataclass(slots=True)
class Track:
    """One card of one attempt, fed with its samples in order."""

    attempt: Attempt
    bounds: Sequence[int]
    rules: IdleRules
    days: dict[int, _Day] = field(default_factory=dict)
    known_to: float | None = None
    low_from: float | None = None

    def feed(self, points: Iterable[Point], step: float) -> None:
        """Take samples in; those out of the attempt's time are left out, those already known are not counted twice."""
        begin, end = self.attempt.start_at, self.attempt.end_at
        grace_to, below, bridge = begin + self.rules.grace_s, self.rules.below, max(self.rules.bridge_s, 2 * step)
        known_to, low_from = self.known_to, self.low_from
        for at, ratio in points:
            since = at - step
            if known_to is not None:
                if since <= known_to + bridge:
                    since = known_to
                elif low_from is not None:
                    self._note_idle(low_from, known_to)
                    low_from = None
            if since < begin:
                since = begin
            until = at if end is None or at < end else end
            if until <= since:
                continue
            if ratio < below:
                if low_from is None and until > grace_to:
                    low_from = since if since > grace_to else grace_to
            elif low_from is not None:
                self._note_idle(low_from, since)
                low_from = None
            self._note_known(since, until, ratio)
            known_to = until
        self.known_to, self.low_from = known_to, low_from

    def close(self) -> None:
        """Judge the stretch that is open at the end."""
        if self.low_from is not None and self.known_to is not None:
            self._note_idle(self.low_from, self.known_to)
        self.low_from = None

    def _note_known(self, since: float, until: float, ratio: float) -> None:
        number = bisect_right(self.bounds, since) - 1
        if 0 <= number < len(self.bounds) - 1 and until <= self.bounds[number + 1]:
            self._add(number, since, until, ratio)
            return
        for piece, low, high in self._pieces(since, until):
            self._add(piece, low, high, ratio)

    def _add(self, number: int, since: float, until: float, ratio: float) -> None:
        day = self.days.get(number)
        if day is None:
            day = self.days[number] = _Day(first_at=since)
        if ratio > 1.0:
            ratio = 1.0
            day.clamped += 1
        seconds = until - since
        day.known += seconds
        day.busy += seconds * ratio
        day.samples += 1
        day.last_at = until

    def _note_idle(self, since: float, until: float) -> None:
        if until - since >= self.rules.idle_after_s:
            for number, low, high in self._pieces(since, until):
                self.days[number].idle += high - low

    def _pieces(self, since: float, until: float) -> Iterable[tuple[int, float, float]]:
        for number in range(len(self.bounds) - 1):
            low, high = max(since, self.bounds[number]), min(until, self.bounds[number + 1])
            if low < high:
                yield number, low, high


class Judge:
    """Judges the cards of many runs over some days. `bounds` are the days' edges, epoch seconds; `attempts` the known runs by job."""

    def __init__(
        self, bounds: Sequence[int], attempts: Mapping[str, Sequence[Attempt]], rules: IdleRules, step: float
    ) -> None:
        self._bounds, self._attempts, self._rules, self._step = list(bounds), attempts, rules, step
        self._tracks: dict[Owner, list[Track]] = {}

    def feed(self, owner: Owner, points: Sequence[Point]) -> None:
        """Samples of one card with one job, in the order of time, each time later ones."""
        if not points:
            return
        tracks = self._tracks.get(owner)
        if tracks is None:
            found = self._attempts.get(owner.job) or [_stand_in(points[0][0] - self._step)]
            tracks = self._tracks[owner] = [Track(attempt, self._bounds, self._rules) for attempt in found]
        for track in tracks:
            track.feed(points, self._step)

    def note(self, owner: Owner, kind: str, since: float, until: float, value: float) -> None:
        """A figure over a stretch: the most memory in MiB ("memory") or joules ("energy"), for the attempt with most of the stretch."""
        tracks = self._tracks.get(owner)
        if not tracks:
            return
        number = bisect_right(self._bounds, since) - 1
        day = max(tracks, key=lambda track: _overlap(track.attempt, since, until)).days.get(number)
        if day is None:
            return
        if kind == "memory":
            day.memory = value if day.memory is None else max(day.memory, value)
        else:
            day.energy = value + (day.energy or 0.0)

    def close(self) -> list[RunActivity]:
        """The judgement, by run, day and node, in the order of the keys."""
        cards: dict[tuple[str, Attempt, int, str], list[_Day]] = {}
        for owner, tracks in self._tracks.items():
            for track in tracks:
                track.close()
                for number, day in track.days.items():
                    cards.setdefault((owner.job, track.attempt, number, owner.node), []).append(day)
        self._tracks = {}
        merged: dict[tuple[str, int, int, str], list[tuple[Attempt, list[_Day]]]] = {}
        for (job, attempt, number, node), days in cards.items():
            # The cards of an unknown run were first seen at different instants: together they are one run.
            merged.setdefault((job, attempt.submit_at if attempt.is_known else -1, number, node), []).append(
                (attempt, days)
            )
        rows = [_summed(job, number, node, found) for (job, _, number, node), found in merged.items()]
        return sorted(rows, key=lambda row: (row.job_id, row.submit_at, row.day, row.node))


def _stand_in(first: float) -> Attempt:
    return Attempt(int(first), int(first), None, is_known=False)


def _overlap(attempt: Attempt, since: float, until: float) -> float:
    return min(until, attempt.end_at if attempt.end_at is not None else until) - max(since, attempt.start_at)


def _summed(job: str, number: int, node: str, found: list[tuple[Attempt, list[_Day]]]) -> RunActivity:
    days = [day for _, some in found for day in some]
    idle = sum(round(day.idle * 1000) for day in days)
    known = sum(round(day.known * 1000) for day in days)
    memory = [day.memory for day in days if day.memory is not None]
    energy = [day.energy for day in days if day.energy is not None]
    return RunActivity(
        job_id=found[0][0].job_id or job,
        submit_at=min(attempt.submit_at for attempt, _ in found),
        is_known=found[0][0].is_known,
        day=number,
        node=node,
        cards=len(days),
        active_milligpu_seconds=known - idle,
        idle_milligpu_seconds=idle,
        measured_milligpu_seconds=known,
        busy_milligpu_seconds=min(known, sum(round(day.busy * 1000) for day in days)),
        memory_max_mib=round(max(memory)) if memory else None,
        energy_joules=round(sum(energy)) if energy else None,
        samples=sum(day.samples for day in days),
        clamped=sum(day.clamped for day in days),
        first_at=int(min(day.first_at for day in days)),
        last_at=int(max(day.last_at for day in days)),
    )


def is_blank(kind: str, value: float) -> bool:
    """Whether a value in the kind's unit is none: not a number, negative, or a blank sentinel of the exporter."""
    return not isfinite(value) or value < 0 or value > MOST[kind]
