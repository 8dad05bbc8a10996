"""Words for what a source or a record cannot be read for; the parsers only give codes."""

from __future__ import annotations

from governance.errors import N_, BadData, NotTheMoment
from governance.schedulers.errors import UnreadableSource
from governance.schedulers.live import SourceFault

SOURCE_FAULTS: dict[str, str] = {
    "empty": N_("%(name)s is empty. Nothing was imported; check that the export ran."),
    "is_a_directory": N_("%(name)s is a directory. Name the files in it one by one, or with a pattern."),
    "not_found": N_("%(name)s does not exist. Check the path; nothing was imported."),
    "not_permitted": N_("%(name)s may not be read by this user. Give it read permission; nothing was imported."),
    "unreadable": N_("%(name)s cannot be read (%(reason)s). Nothing was imported."),
    "binary": N_(
        "%(name)s is no text: it looks like a binary file. Nothing was imported; export it with sacct -P or --json."
    ),
    "broken_gzip": N_("%(name)s is a damaged gzip file (%(reason)s). Nothing was imported; copy it again."),
    "truncated_gzip": N_("%(name)s ends in the middle of its gzip data. Nothing was imported; copy it again."),
    "no_known_columns": N_(
        "The first line of %(name)s names no columns of sacct. Export with sacct -P and its header line, or say the order with --fields."
    ),
    "missing_columns": N_(
        "%(name)s lacks columns without which no run can be told: %(columns)s. Export them as well; nothing was imported."
    ),
    "not_json": N_("%(name)s is not JSON (%(reason)s). Nothing was imported."),
    "truncated_json": N_("%(name)s ends in the middle of its JSON. Nothing was imported; export it again."),
    "no_jobs": N_("%(name)s has no list of jobs: it is JSON, but not an answer about jobs. Nothing was imported."),
    "scheduler_errors": N_("%(name)s holds an error of the scheduler instead of jobs: %(errors)s"),
    "unknown_time_zone": N_("“%(time_zone)s” is no time zone. Use a name such as Asia/Shanghai or UTC."),
    "no_series": N_(
        "%(name)s holds no series: it is JSON, but no answer of Prometheus with a result. Nothing was imported."
    ),
    "too_many_days": N_(
        "The samples span %(days)s days; %(most)s can be read in one call. A clock is off, or give fewer files at once."
    ),
    "unknown_telemetry_format": N_(
        "“%(format)s” is no telemetry format that is read here. Use auto, prometheus-json, csv or clustercockpit."
    ),
    "unknown_format": N_(
        "“%(format)s” is no format that is read here. Use auto, sacct, sacct-json, slurmrestd or clustercockpit."
    ),
}
UNKNOWN_FAULT = N_("%(name)s cannot be read (%(code)s: %(detail)s). Nothing was imported.")

#: Reasons of quarantine that the import itself gives, beside the parsers' own.
OTHER_CLUSTER = "other_cluster"
OUT_OF_RANGE = "out_of_range"


def worded(fault: UnreadableSource, name: str) -> BadData:
    """The source's fault as an error a person can act on."""
    detail: dict[str, object] = {
        "name": name,
        "reason": "",
        "code": fault.code,
        "detail": str(fault.detail),
        **fault.detail,
    }
    message = SOURCE_FAULTS.get(fault.code, UNKNOWN_FAULT)
    try:
        message % detail
    except KeyError:
        message = UNKNOWN_FAULT
    return BadData(message, **detail)


LIVE_FAULTS: dict[str, str] = {
    "unreachable": N_(
        "The scheduler of “%(cluster)s” cannot be reached (%(detail)s). Check host, port and network; the next pull tries again."
    ),
    "host_key": N_(
        "The host of “%(cluster)s” shows another key than the one in known_hosts. Nothing was sent;"
        " check with its operator before you change it."
    ),
    "refused": N_(
        "The host of “%(cluster)s” refused the sign-in (%(detail)s). Check user and key; the next pull tries again."
    ),
    "command_missing": N_(
        "A command of the scheduler is missing on the host of “%(cluster)s” (%(detail)s). Install it or name another host."
    ),
    "unknown_field": N_(
        "The scheduler of “%(cluster)s” does not know a field it was asked for (%(detail)s). It may be too old; tell support."
    ),
    "timed_out": N_(
        "The scheduler of “%(cluster)s” did not answer in time (%(detail)s). What it did answer was not taken; the next pull tries again."
    ),
    "output_cut": N_(
        "The answer of “%(cluster)s” stopped in the middle (%(detail)s). Nothing of it was taken; the next pull tries again."
    ),
    "daemon_down": N_(
        "A daemon of “%(cluster)s” does not answer (%(detail)s). Records wait there; the next pull takes them."
    ),
    "not_permitted": N_(
        "The login on “%(cluster)s” may not ask this (%(detail)s). Make it an operator of the scheduler."
    ),
    "secret_missing": N_(
        "The secret that “%(cluster)s” refers to is not there (%(detail)s). Set the variable or the file it names."
    ),
    "version": N_("The scheduler of “%(cluster)s” speaks no version that is read here (%(detail)s)."),
    "bad_answer": N_("The scheduler of “%(cluster)s” answered something else than was asked (%(detail)s)."),
}
LIVE_FAILED = N_("The scheduler of “%(cluster)s” failed (%(code)s: %(detail)s). The next pull tries again.")


def fault_worded(fault: SourceFault, cluster: str) -> NotTheMoment:
    """A live scheduler's fault as an error a person can act on."""
    detail = ", ".join(f"{name} {value}" for name, value in fault.detail.items()) or "–"
    return NotTheMoment(LIVE_FAULTS.get(fault.code, LIVE_FAILED), cluster=cluster, code=fault.code, detail=detail)
