"""When mail goes out and when a delivery is tried again. Plain Python."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

#: The ways of mail.
AT_ONCE, DIGEST, OFF = "at_once", "digest", "off"
#: The hour of the digest where a person has not chosen one.
DIGEST_HOUR = 9

#: Pauses between the attempts of one delivery, in seconds; after the last it is given up (a person may send it again).
PAUSES = (15, 60, 300, 1800, 7200, 6 * 3600, 12 * 3600, 24 * 3600, 24 * 3600)
#: A channel that does not get through is left alone for at most this long at once: what waits is not tried one by one.
LONGEST_CHANNEL_PAUSE = 900
JITTER = 0.2


def next_digest(now: datetime, zone: ZoneInfo, hour: int) -> datetime:
    """The next instant after `now` (aware) at which it is `hour` o'clock in `zone`.

    An hour that a change of clocks skips is the instant right after the change; one that it repeats is its first time.
    """
    day = now.astimezone(zone).date()
    utc = ZoneInfo("UTC")
    for later in range(3):
        on = day + timedelta(days=later)
        at = datetime(on.year, on.month, on.day, hour, tzinfo=zone).astimezone(utc)
        if at > now:
            return at
    raise AssertionError("a day has an hour")  # pragma: no cover


def mail_due_at(way: str, now: datetime, zone: ZoneInfo, hour: int) -> datetime | None:
    """When mail of this way is due; None for none."""
    if way == AT_ONCE:
        return now
    return next_digest(now, zone, hour) if way == DIGEST else None


def pause_seconds(attempt: int, roll: float) -> float | None:
    """Seconds until the next attempt after `attempt` (1, 2, …) failed, ±20 % by `roll` in [0, 1); None when it is given up."""
    if attempt > len(PAUSES):
        return None
    return PAUSES[max(attempt, 1) - 1] * (1 - JITTER + 2 * JITTER * roll)
