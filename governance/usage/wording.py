"""Words for what a source or a record cannot be read for; the parsers only give codes."""

from __future__ import annotations

from governance.errors import N_, BadData
from governance.schedulers.errors import UnreadableSource

SOURCE_FAULTS: dict[str, str] = {
    "empty": N_("%(name)s is empty. Nothing was imported; check that the export ran."),
    "is_a_directory": N_("%(name)s is a directory. Name the files in it one by one, or with a pattern."),
    "not_found": N_("%(name)s does not exist. Check the path; nothing was imported."),
    "not_permitted": N_("%(name)s may not be read by this user. Give it read permission; nothing was imported."),
    "unreadable": N_("%(name)s cannot be read (%(reason)s). Nothing was imported."),
    "binary": N_("%(name)s is no text: it looks like a binary file. Nothing was imported; export it with sacct -P or --json."),
    "broken_gzip": N_("%(name)s is a damaged gzip file (%(reason)s). Nothing was imported; copy it again."),
    "truncated_gzip": N_("%(name)s ends in the middle of its gzip data. Nothing was imported; copy it again."),
    "no_known_columns": N_(
        "The first line of %(name)s names no columns of sacct. Export with sacct -P and its header line, or say the order with --fields."
    ),
    "missing_columns": N_("%(name)s lacks columns without which no run can be told: %(missing)s. Export them as well; nothing was imported."),
    "not_json": N_("%(name)s is not JSON (%(reason)s). Nothing was imported."),
    "truncated_json": N_("%(name)s ends in the middle of its JSON. Nothing was imported; export it again."),
    "no_jobs": N_("%(name)s has no list of jobs: it is JSON, but not an answer about jobs. Nothing was imported."),
    "scheduler_errors": N_("%(name)s holds an error of the scheduler instead of jobs: %(errors)s"),
    "unknown_time_zone": N_("“%(time_zone)s” is no time zone. Use a name such as Asia/Shanghai or UTC."),
    "unknown_format": N_("“%(format)s” is no format that is read here. Use auto, sacct, sacct-json or slurmrestd."),
}
UNKNOWN_FAULT = N_("%(name)s cannot be read (%(code)s: %(detail)s). Nothing was imported.")

#: Reasons of quarantine that the import itself gives, beside the parsers' own.
OTHER_CLUSTER = "other_cluster"
OUT_OF_RANGE = "out_of_range"


def worded(fault: UnreadableSource, name: str) -> BadData:
    """The source's fault as an error a person can act on."""
    detail: dict[str, object] = {"name": name, "reason": "", "code": fault.code, "detail": str(fault.detail), **fault.detail}
    message = SOURCE_FAULTS.get(fault.code, UNKNOWN_FAULT)
    try:
        message % detail
    except KeyError:
        message = UNKNOWN_FAULT
    return BadData(message, **detail)
