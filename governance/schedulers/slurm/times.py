"""Slurm's instants and durations: epoch seconds, ISO with and without an offset, `1-06:00:00`, and all words for none.

A naive time is read in the zone the caller names. An hour that exists twice (clocks set back) is taken with the offset
that was in force first, and the text is remembered in `Clock.folded`; an hour that does not exist is a fault.
"""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from governance.schedulers.errors import RecordFault, UnreadableSource

NOTHING = frozenset({"", "0", "unknown", "none", "none assigned", "n/a", "null", "(null)", "invalid", "nil"})
NO_LIMIT = frozenset({"unlimited", "partition_limit", "infinite", "not_set"})
# Slurm's NO_VAL and INFINITE, in 32 and 64 bits, as they leak into output.
SENTINELS = frozenset({2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1})
LATEST = 253_402_300_799  # the last second of the year 9999, beyond which neither Python nor PostgreSQL's clients go
# Shorter texts are half of an instant, cut off with their line; Slurm has no jobs from before September 2001.
EPOCH_DIGITS = 10
ISO_LENGTH = len("2026-12-01T04:30:18")
IN_THE_HOUR = {f":{second // 60:02d}:{second % 60:02d}": second for second in range(3600)}
HOURS_HELD = 100_000
DURATION = re.compile(r"(?:(\d+)-)?(\d+):(\d{1,2})(?::(\d{1,2}))?(?:\.\d+)?", re.ASCII)


def zone_named(name: str) -> ZoneInfo:
    """The zone with this IANA name; raises UnreadableSource("unknown_time_zone")."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnreadableSource("unknown_time_zone", time_zone=name) from None


def epoch(number: int) -> int | None:
    """Epoch seconds as an instant: zero, negatives and Slurm's sentinels mean none."""
    if number <= 0 or number in SENTINELS:
        return None
    if number > LATEST:
        raise RecordFault("bad_time", f"not an instant: {number}")
    return number


class Clock:
    """Reads instants as a scheduler in one zone prints them."""

    def __init__(self, time_zone: str) -> None:
        self.zone = zone_named(time_zone)
        self.folded: set[str] = set()  # texts met that exist twice in this zone
        self._hours: dict[str, int] = {}  # "2026-12-01T04" -> epoch seconds, for hours in which the offset is constant

    def instant(self, text: str) -> int | None:
        """Epoch seconds (UTC), None where the text says there is none; raises RecordFault."""
        try:
            return self._hours[text[:13]] + IN_THE_HOUR[text[13:]]
        except KeyError:
            return self._parse(text)

    def _parse(self, text: str) -> int | None:
        text = text.strip()
        if text.lower() in NOTHING:
            return None
        if text.isascii() and text.isdigit():
            if len(text) < EPOCH_DIGITS:
                raise RecordFault("bad_time", f"not an instant: {text!r}")
            return epoch(int(text[:20]))
        try:
            if len(text) < ISO_LENGTH:
                raise ValueError("cut short")
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise RecordFault("bad_time", f"not an instant: {text[:40]!r}") from None
        if moment.tzinfo is not None:
            return epoch(int(moment.timestamp()))
        return self._local(text, moment)

    def _local(self, text: str, naive: datetime) -> int | None:
        if not 1970 <= naive.year < 9999:  # at the edges of the calendar a zone's arithmetic overflows
            raise RecordFault("bad_time", f"not an instant: {text[:40]!r}")
        first = naive.replace(tzinfo=self.zone, fold=0, microsecond=0)
        seconds = int(first.timestamp())
        if datetime.fromtimestamp(seconds, self.zone).replace(tzinfo=None, fold=0) != first.replace(tzinfo=None):
            raise RecordFault("no_such_hour", f"{text} does not exist in {self.zone.key}")
        if first.utcoffset() != first.replace(fold=1).utcoffset():
            self.folded.add(text)
        elif len(text) == ISO_LENGTH and seconds >= 86_400:  # texts at the epoch itself must keep meaning "none"
            self._remember(text[:13], first)
        return epoch(seconds)

    def _remember(self, hour: str, moment: datetime) -> None:
        """Keep the hour, unless the offset changes within it (it does so at half past in some zones)."""
        begin, end = moment.replace(minute=0, second=0), moment.replace(minute=59, second=59)
        edges = (begin, begin.replace(fold=1), end, end.replace(fold=1))
        if len({edge.utcoffset() for edge in edges}) == 1:
            if len(self._hours) >= HOURS_HELD:
                self._hours.clear()
            self._hours[hour] = int(begin.timestamp())


def duration(text: str) -> int | None:
    """Whole seconds of `10-13:27:06`, `00:00:24`, `01:02.345` or plain seconds; None for none, unlimited, INVALID."""
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) < 12:
        seconds = int(plain)
        return None if seconds in SENTINELS else seconds
    if plain.lower() in NOTHING or plain.lower() in NO_LIMIT:
        return None
    match = DURATION.fullmatch(plain)
    if match is None or len(plain) > 30:
        raise RecordFault("bad_duration", f"not a duration: {text[:40]!r}")
    days, first, second, third = match.groups()
    if third is None and days is not None:  # D-HH:MM
        first, second, third = first, second, "0"
    elif third is None:  # MM:SS
        first, second, third = "0", first, second
    total = int(days or 0) * 86_400 + int(first) * 3_600 + int(second) * 60 + int(third)
    if total > LATEST:
        raise RecordFault("bad_duration", f"not a duration: {text[:40]!r}")
    return total


def minutes(text: str) -> int | None:
    """A limit in whole minutes (TimelimitRaw), or printed as a duration, in seconds; None for none."""
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) < 12:
        number = int(plain)
        return None if number in SENTINELS else number * 60
    return duration(plain)
