"""The identities of usage (blueprint, section 4), checked by other sums than those that made the facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from governance.catalogue.reads import installation
from governance.errors import N_

from . import sql


@dataclass
class Check:
    """One identity: its number in the blueprint, what it promises (a msgid), whether it holds, and its figures."""

    identity: int
    promise: str
    holds: bool
    figures: dict[str, Any] = field(default_factory=dict)


def usage_checks() -> list[Check]:
    """Identities 1 to 6."""
    return [
        _runs_are_one_row(),
        _content_is_whole(),
        _nothing_dropped(),
        _usage_closes(),
        _capacity_closes(),
        _running_to_observation(),
    ]


def _runs_are_one_row() -> Check:
    runs = _one("SELECT count(*) FROM run")
    doubled = _one(
        "SELECT count(*) FROM run a JOIN run b ON b.cluster_id = a.cluster_id AND b.job_id = a.job_id AND b.start_at = a.start_at"
        " WHERE NOT a.submit_known AND b.submit_known"
    )
    return Check(1, N_("a run is one row"), doubled == 0, {"runs": runs, "doubled": doubled})


def _content_is_whole() -> Check:
    altered = _one(sql.text("altered_runs"))
    return Check(2, N_("a run's content is what was read"), altered == 0, {"altered": altered})


def _nothing_dropped() -> Check:
    read, kept = _row(
        "SELECT coalesce(sum(read), 0), coalesce(sum(new + changed + unchanged + steps_skipped + quarantined), 0) FROM intake"
    )
    figures = {
        "read": int(read),
        "quarantined": _one("SELECT count(*) FROM quarantined_record WHERE resolved_at IS NULL"),
        "never_started": _one("SELECT count(*) FROM run WHERE start_at IS NULL AND outcome <> 'pending'"),
        "unattributed_gpu_hours": _hours("SELECT sum(milligpu_seconds) FROM usage_day WHERE project = 'unattributed'"),
        "unassigned_gpu_hours": _hours("SELECT sum(milligpu_seconds) FROM usage_day WHERE pool = 'unassigned'"),
        "unknown_gpu_runs": _one("SELECT coalesce(sum(unknown_gpu_runs), 0) FROM usage_day"),
    }
    return Check(3, N_("nothing is dropped in silence"), read == kept, figures)


def _usage_closes() -> Check:
    zone = installation().time_zone
    days, wrong, difference = _row(sql.text("usage_closes"), {"zone": zone})
    waiting, sums_off = _one("SELECT count(DISTINCT (cluster_id, day)) FROM dirty_day"), _one(sql.text("sums_off"))
    off = {"days_off": wrong, "milligpu_seconds_off": int(difference or 0), "sums_off": sums_off}
    return Check(
        4,
        N_("usage closes: day facts sum to the runs"),
        wrong == 0 and sums_off == 0,
        {"days": days, **off, "days_waiting": waiting},
    )


def _capacity_closes() -> Check:
    rows, wrong, over = _row(sql.text("capacity_closes"))
    return Check(
        5,
        N_("capacity closes: installed + over = its parts"),
        wrong == 0,
        {"rows": rows, "rows_off": wrong, "rows_over": over},
    )


def _running_to_observation() -> Check:
    beyond = _one(
        "SELECT count(*) FROM run r LEFT JOIN watermark w ON w.cluster_id = r.cluster_id AND w.stage = 'ingested'"
        " WHERE r.end_at IS NULL AND r.start_at IS NOT NULL AND (w.until_at IS NULL OR r.stop_at > w.until_at)"
    )
    figures = {
        "running": _one("SELECT count(*) FROM run WHERE end_at IS NULL AND start_at IS NOT NULL"),
        "beyond_watermark": beyond,
        "elapsed_mismatches": _one("SELECT count(*) FROM run WHERE flags LIKE '%%elapsed_mismatch%%'"),
    }
    return Check(6, N_("running jobs count to their last observation"), beyond == 0, figures)


def _row(statement: str, given: Any = None) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given or [])
        return tuple(cursor.fetchone())


def _one(statement: str) -> int:
    return int(_row(statement)[0])


def _hours(statement: str) -> str:
    return f"{int(_row(statement)[0] or 0) / 3_600_000:.4f}"
