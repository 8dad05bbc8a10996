"""Working days and hours, with days off and shifted working days (调休) of mainland China from a well-kept list.

The list knows the years that were announced; beyond them a week has five working days, which `is_known` tells. A site's own
days (`own`: day -> whether people work) go before both. Plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import chinese_calendar
from chinese_calendar.constants import holidays, workdays

CHINA, WEEKDAYS = "cn", "weekdays"
LONGEST = timedelta(days=3660)
Own = Mapping[date, bool]


class Hours(NamedTuple):
    """The hours of a working day, such as 09:00 to 18:00; a pause at noon is not told apart."""

    begin: time = time(9)
    end: time = time(18)

    @property
    def seconds(self) -> int:
        """How long a working day is."""
        return (self.end.hour - self.begin.hour) * 3600 + (self.end.minute - self.begin.minute) * 60


@cache
def known_until() -> date:
    """The first day that the list does not know: the first of the year after the last announced one."""
    return date(max(max(holidays), max(workdays)).year + 1, 1, 1)


def is_known(day: date, of: str = CHINA, own: Own | None = None) -> bool:
    """Whether it is announced or said, and not guessed, that people work on the day."""
    return of != CHINA or day in (own or {}) or (min(holidays) <= day < known_until())


def is_working(day: date, of: str = CHINA, own: Own | None = None) -> bool:
    """Whether people work on the day."""
    if own and day in own:
        return own[day]
    if of == CHINA and is_known(day):
        return bool(chinese_calendar.is_workday(day))
    return day.weekday() < 5


def add_hours(
    start: datetime, hours: float, zone: ZoneInfo, *, of: str = CHINA, own: Own | None = None, working: Hours = Hours()
) -> datetime:
    """The instant at which so many working hours have passed since `start` (aware)."""
    left, at = hours * 3600, start.astimezone(zone)
    last = at + LONGEST
    while at < last:
        begin, end = (datetime.combine(at.date(), moment, zone) for moment in working)
        if at < end and is_working(at.date(), of, own):
            at = max(at, begin)
            room = (end - at).total_seconds()
            if left <= room:
                return (at + timedelta(seconds=left)).astimezone(ZoneInfo("UTC"))
            left -= room
        at = datetime.combine(at.date() + timedelta(days=1), working.begin, zone)
    return last.astimezone(ZoneInfo("UTC"))  # a calendar without a working day: late, and not never
