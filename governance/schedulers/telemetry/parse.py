"""From text to samples: Prometheus answers (matrix and vector), and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from io import TextIOWrapper
from typing import Any, BinaryIO, NamedTuple

import ijson

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.live import SourceFault
from governance.schedulers.records import MAX_RAW, BadRecord

from .activity import Point, is_blank
from .labels import LabelMap, Owner

#: CSV: the columns that must be there, and what each measure's column holds (kind, factor).
CSV_KEYS = ("time", "node", "card")
CSV_MEASURES = {
    "activity": ("activity", 1.0),
    "activity_percent": ("activity", 0.01),
    "memory_mib": ("memory", 1.0),
    "power_w": ("power", 1.0),
    "temperature_c": ("temperature", 1.0),
    "energy_j": ("energy", 1.0),  # a counter that grows
}


class Series(NamedTuple):
    """One series of an answer: its labels and its points, in the order of time."""

    labels: Mapping[str, str]
    points: list[Point]


class Sample(NamedTuple):
    """One measure of one card at one instant, in the kind's unit. `rank` 0 is the metric the map prefers for the kind."""

    owner: Owner
    kind: str
    rank: int
    at: float
    value: float


class Blank(NamedTuple):
    """A value that is none: a sentinel of the exporter, not a number, or negative."""

    metric: str


def answer(body: bytes) -> list[Series]:
    """The series of an answer of `/api/v1/query` or `/api/v1/query_range`; raises SourceFault "bad_answer" or "failed"."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise SourceFault("bad_answer", reason=str(fault)[:200]) from None
    if not isinstance(found, dict) or found.get("status") != "success":
        reason = found.get("error", "") if isinstance(found, dict) else ""
        raise SourceFault("failed", reason=str(reason)[:500])
    data = found.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise SourceFault("bad_answer", reason="no result")
    if data.get("resultType") in ("scalar", "string"):
        return [Series({}, [_point(data["result"])])]
    return [series(item) for item in data["result"]]


def series(item: Any) -> Series:
    """One entry of an answer's result; raises SourceFault "bad_answer"."""
    try:
        points = [_point(item["value"])] if "value" in item else [_point(pair) for pair in item.get("values", ())]
        return Series(item["metric"], points)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise SourceFault("bad_answer", reason=f"a series cannot be read: {fault}") from None


def _point(pair: Any) -> Point:
    at, value = pair
    return float(at), float(value)


def series_in(source: BinaryIO) -> Iterator[Series]:
    """The series of a file of Prometheus answers, one by one. Raises UnreadableSource where it is none or is cut off."""
    found = 0
    try:
        for item in ijson.items(source, "data.result.item", multiple_values=True, use_float=True):
            found += 1
            yield series(item)
    except ijson.IncompleteJSONError as fault:
        raise UnreadableSource("truncated_json" if found else "not_json", reason=str(fault)[:200]) from None
    except ijson.JSONError as fault:
        raise UnreadableSource("not_json", reason=str(fault)[:200]) from None
    except SourceFault as fault:
        raise UnreadableSource("unreadable", reason=str(fault)[:200]) from None
    if not found:
        raise UnreadableSource("no_series")


def samples_of(found: Iterable[Series], by: LabelMap) -> Iterator[Sample | Blank | BadRecord]:
    """The samples of series that name their metric; a series the map cannot place is a BadRecord, whole."""
    measures = by.measures()
    for labels, points in found:
        metric = labels.get("__name__", "")
        if metric not in measures:
            yield _unplaced(
                labels, "unknown_metric", f"the label map {by.name} has no metric {metric or 'without a name'}"
            )
            continue
        owner = by.owner(labels)
        if owner is None:
            yield _unplaced(labels, "no_owner", "the labels name no node or no card")
            continue
        kind, rank, factor = measures[metric]
        for at, value in points:
            scaled = value * factor
            yield Blank(metric) if is_blank(kind, scaled) else Sample(owner, kind, rank, at, scaled)


def _unplaced(labels: Mapping[str, str], code: str, reason: str) -> BadRecord:
    return BadRecord(json.dumps(dict(labels), sort_keys=True)[:MAX_RAW], code, reason)


def csv_samples(source: BinaryIO) -> Iterator[Sample | Blank | BadRecord]:
    """The samples of a CSV file with a header line (docs/telemetry.md). Raises UnreadableSource where a column is missing."""
    rows = csv.reader(TextIOWrapper(source, encoding="utf-8-sig", errors="replace", newline=""))
    header = [name.strip().lower() for name in next(rows, [])]
    missing = [name for name in CSV_KEYS if name not in header]
    measured = [name for name in CSV_MEASURES if name in header]
    if missing or not measured:
        raise UnreadableSource("missing_columns", columns=", ".join(missing or CSV_MEASURES))
    try:
        for row in rows:
            if row:
                yield from _csv_row(dict(zip(header, row, strict=False)), row, len(header), measured)
    except csv.Error as fault:
        raise UnreadableSource("unreadable", reason=str(fault)) from None


def _csv_row(
    named: dict[str, str], row: list[str], width: int, measured: list[str]
) -> Iterator[Sample | Blank | BadRecord]:
    raw = ",".join(row)[:MAX_RAW]
    if len(row) != width:
        yield BadRecord(raw, "wrong_column_count", f"{width} columns expected, {len(row)} found")
        return
    try:
        at = _instant(named["time"].strip())
    except ValueError:
        yield BadRecord(raw, "bad_time", f"not a time with an offset, nor epoch seconds: {named['time'][:40]!r}")
        return
    owner = Owner(named["node"].strip(), named["card"].strip(), named.get("job", "").strip())
    if not owner.node or not owner.card:
        yield BadRecord(raw, "no_owner", "the row names no node or no card")
        return
    for column in measured:
        kind, factor = CSV_MEASURES[column]
        if not (text := named[column].strip()):
            continue
        try:
            value = float(text) * factor
        except ValueError:
            yield BadRecord(raw, "bad_number", f"{column} is no number: {text[:40]!r}")
            continue
        yield Blank(column) if is_blank(kind, value) else Sample(owner, kind, 0, at, value)


def _instant(text: str) -> float:
    try:
        at = float(text)
    except ValueError:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            raise ValueError("an offset is needed") from None
        at = found.timestamp()
    if not 0 <= at < 4e9:
        raise ValueError("out of range")
    return at
