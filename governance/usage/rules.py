"""Days and bands of the billing time zone, and how the wait of a run is classed. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

DEFAULT_BAND = "day"


class Slice(NamedTuple):
    """A stretch of one day that belongs to one band, half-open, aware UTC."""

    band: str
    from_at: datetime
    until_at: datetime


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The instants [start, end) of `day` in `zone`: 23 or 25 hours apart where the clock changes."""
    start = datetime.combine(day, time(), zone)
    end = datetime.combine(day + timedelta(days=1), time(), zone)
    return start.astimezone(UTC), end.astimezone(UTC)


def day_of(instant: datetime, zone: ZoneInfo) -> date:
    """The day of the billing zone an instant lies in."""
    return instant.astimezone(zone).date()


def band_slices(day: date, zone: ZoneInfo, bands: Sequence[dict[str, str]]) -> list[Slice]:
    """The day cut by the time bands. A band without `from` and `to` takes what the others leave; no bands: one band "day".

    Raises ValueError where bands overlap or leave a gap.
    """
    start, end = day_bounds(day, zone)
    timed = [b for b in bands if b.get("from")]
    rest = [b["code"] for b in bands if not b.get("from")] or ([] if timed else [DEFAULT_BAND])
    if len(rest) > 1:
        raise ValueError("only one band may be without hours")
    cuts: list[Slice] = []
    for band in timed:
        low, high = _at(day, band["from"], zone), _at(day, band["to"], zone)
        if high > low:
            cuts.append(Slice(band["code"], low, high))
        else:  # over midnight
            cuts += [Slice(band["code"], start, high), Slice(band["code"], low, end)]
    cuts = sorted((c for c in cuts if c.until_at > c.from_at), key=lambda c: c.from_at)
    return _filled(cuts, rest[0] if rest else "", start, end)


def _filled(cuts: list[Slice], rest: str, start: datetime, end: datetime) -> list[Slice]:
    found: list[Slice] = []
    at = start
    for cut in [*cuts, Slice("", end, end)]:
        if cut.from_at < at:
            raise ValueError("bands overlap")
        if cut.from_at > at:
            if not rest:
                raise ValueError("bands leave a gap")
            found.append(Slice(rest, at, cut.from_at))
        if cut.band:
            found.append(cut)
        at = max(at, cut.until_at)
    return found


def _at(day: date, clock: str, zone: ZoneInfo) -> datetime:
    if clock == "24:00":
        return day_bounds(day, zone)[1]
    return datetime.combine(day, time.fromisoformat(clock), zone).astimezone(UTC)


def counted_milli(gpu_milli: int | None, gpu_type: str) -> int:
    """Thousandths of a card that a run is counted with in all: those of its typed parts where it has several.

    The same whichever pools and models they are counted in.
    """
    if not gpu_milli or ("+" not in gpu_type and ":" not in gpu_type):
        return gpu_milli or 0
    return sum(int(piece.rpartition(":")[2]) for piece in gpu_type.split("+"))


#: Reasons, by their beginnings, that say a run waited for its own quota or for something else than capacity.
#: From Slurm's reason codes; the last reason other than Resources and Priority stands in the accounting record.
QUOTA_REASONS = (
    "Assoc",
    "QOS",
    "MaxMem",
    "MaxCpu",
    "MaxGRES",
    "MaxTRES",
    "MaxBilling",
    "MaxNode",
    "InvalidAccount",
    "InvalidQOS",
)
OTHER_REASONS = (
    "Dependency",
    "BeginTime",
    "JobHeld",
    "JobArrayTaskLimit",
    "Licenses",
    "DeadLine",
    "JobLaunchFailure",
    "Cleaning",
    "Prolog",
)
CAPACITY_REASONS = (
    "None",
    "Resources",
    "Priority",
    "NodeDown",
    "PartitionNodeLimit",
    "ReqNodeNotAvail",
    "Nodes_required",
    "PartitionDown",
    "Reservation",
)


def waits_for(reason: str) -> str:
    """What a pending job with this reason waits for: "quota", "capacity" or "other". A reason nobody knows is "other"."""
    if reason.startswith(QUOTA_REASONS):
        return "quota"
    if reason.startswith(OTHER_REASONS):
        return "other"
    return "capacity" if reason.startswith(CAPACITY_REASONS) else "other"
