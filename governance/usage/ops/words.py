"""Codes in words: findings with what they mean and what to do, states of nodes and work, kinds of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.errors import N_
from governance.schedulers.findings import FINDINGS
from governance.schedulers.live import Finding
from governance.schedulers.telemetry.words import FINDINGS as TELEMETRY

from ..discovery import DIFFERS, GONE, NEW, UNCLAIMED, UNKNOWN_TYPE
from ..live_models import PullFinding
from ..telemetry import wording as telemetry

MISSING = "–"


@dataclass(frozen=True)
class Tone:
    """How a state is shown: colour, icon and word."""

    tone: str
    icon: str
    word: str | Promise


@dataclass(frozen=True)
class Said:
    """A finding in the reader's language: how bad, what it means, what to do ("" for nothing)."""

    tone: Tone
    code: str
    means: str
    todo: str
    subject: str = ""


SEVERITIES: dict[str, Tone] = {
    "ok": Tone("ok", "ok", gettext_lazy("In order")),
    "info": Tone("info", "run", gettext_lazy("To know")),
    "warning": Tone("warn", "warn", gettext_lazy("Wants a look")),
    "blocking": Tone("bad", "bad", gettext_lazy("In the way")),
}
KINDS: dict[str, Promise] = {
    "files": gettext_lazy("Files"),
    "slurm": gettext_lazy("Slurm by its commands"),
    "slurmrestd": gettext_lazy("Slurm by slurmrestd"),
    "kubernetes": gettext_lazy("Kubernetes"),
}
STAGES: dict[str, Promise] = {
    "ingested": gettext_lazy("Records in"),
    "metered": gettext_lazy("Metered"),
    "posted": gettext_lazy("Posted to the ledger"),
    "telemetry": gettext_lazy("Telemetry"),
}
WORK: dict[str, Promise] = {
    "usage.pull": gettext_lazy("Pull records"),
    "usage.pull_all": gettext_lazy("Ask for every pull"),
    "usage.reread": gettext_lazy("Read eight days again"),
    "usage.reread_all": gettext_lazy("Ask for every re-read"),
    "usage.meter": gettext_lazy("Meter days"),
    "usage.meter_all": gettext_lazy("Ask for all metering"),
    "usage.telemetry": gettext_lazy("Pull telemetry"),
    "usage.telemetry_all": gettext_lazy("Ask for all telemetry"),
    "quotas.enforce": gettext_lazy("Set limits"),
    "quotas.enforce_all": gettext_lazy("Ask for every round of limits"),
    "ledger.post": gettext_lazy("Post days"),
    "ledger.post_all": gettext_lazy("Ask for all posting"),
    "notices.mail": gettext_lazy("Mail to a person"),
    "notices.deliver": gettext_lazy("Send to a channel"),
    "account.reset": gettext_lazy("Mail links for a new password"),
    "exports.make": gettext_lazy("Make a file"),
}
WORK_STATES: dict[str, Tone] = {
    "waiting": Tone("", "clock", gettext_lazy("Waiting")),
    "running": Tone("info", "run", gettext_lazy("Running")),
    "done": Tone("ok", "ok", gettext_lazy("Done")),
    "failed": Tone("bad", "bad", gettext_lazy("Failed")),
}
ROLES: dict[str, Promise] = {"worker": gettext_lazy("Worker"), "beat": gettext_lazy("Beat")}
WAITS_FOR: dict[str, Tone] = {
    "quota": Tone("warn", "clock", gettext_lazy("Quota")),
    "capacity": Tone("info", "clock", gettext_lazy("Capacity")),
    "other": Tone("", "clock", gettext_lazy("Other")),
}
NODE_STATES: dict[str, Tone] = {
    "in_service": Tone("ok", "ok", gettext_lazy("In service")),
    "drained": Tone("warn", "ban", gettext_lazy("Drained")),
    "down": Tone("bad", "bad", gettext_lazy("Down")),
    "repair": Tone("vio", "warn", gettext_lazy("In repair")),
    "spare": Tone("", "clock", gettext_lazy("Spare")),
    "burn_in": Tone("vio", "run", gettext_lazy("Burn-in")),
    "reserved": Tone("info", "clock", gettext_lazy("Reserved")),
}
NOT_KNOWN = Tone("", "x", gettext_lazy("Not in the catalogue"))
SOURCES: dict[str, Promise] = {
    "hand": gettext_lazy("entered by hand"),
    "event": gettext_lazy("the scheduler's history"),
    "snapshot": gettext_lazy("seen by a pull"),
}
PROPOSALS: dict[str, Tone] = {
    NEW: Tone("info", "plus", gettext_lazy("New node")),
    GONE: Tone("warn", "warn", gettext_lazy("No longer shown")),
    DIFFERS: Tone("warn", "warn", gettext_lazy("Cards differ")),
    UNKNOWN_TYPE: Tone("bad", "bad", gettext_lazy("Unknown GPU model")),
    UNCLAIMED: Tone("warn", "warn", gettext_lazy("In no pool")),
}
#: What to do about a proposal that cannot simply be accepted.
WAYS_OUT: dict[str, Promise] = {
    GONE: gettext_lazy("End its term in the organisation file, or find out why the scheduler forgot it."),
    DIFFERS: gettext_lazy("Correct its cards in the organisation file from the day they changed."),
    UNKNOWN_TYPE: gettext_lazy("Add the printed type to a model's aliases in the organisation file."),
    UNCLAIMED: gettext_lazy("Let a pool claim its partition in the organisation file."),
}

#: Findings of pulls, and faults of a connection that the test's own table does not name.
PULLED: dict[str, tuple[str, str]] = {
    "vanished_run": (
        N_("Run %(subject)s has not ended, and the scheduler no longer shows it. It was last seen at %(last_seen)s."),
        N_("Ask sacct for it by hand. It is counted up to when it was last seen, and no further."),
    ),
    "runaway_job": (
        N_("Job %(subject)s runs in the accounting and not in the controller: its use grows for ever."),
        N_("Let an administrator run sacctmgr show runaway, and answer y to mend it."),
    ),
    "bad_connection": (
        N_("The connection cannot be used: “%(what)s” is missing or wrong."),
        N_("Correct it on this page and save; then test again."),
    ),
    "unknown_kind": (
        N_("There is no scheduler of the kind “%(kind)s”."),
        N_("Choose another kind on this page and save."),
    ),
    "test_too_long": (
        N_("The test was not over after %(seconds)s seconds, so nothing is known but that."),
        N_("Look at the load of the host and of slurmctld (sdiag), and test again. Pulls wait longer than this page."),
    ),
}
UNKNOWN = (
    N_("%(code)s: %(words)s"),
    N_("Look at the scheduler's log, and at the portal's for the time of the finding."),
)


class _Given(dict[str, Any]):
    """Particulars of a finding; what a text asks for and nobody gave is a dash."""

    def __missing__(self, key: str) -> str:
        return MISSING


def of_test(found: Finding) -> Said:
    """A connection test's finding."""
    means, todo = _texts(found.code, found.detail)
    return Said(SEVERITIES.get(found.severity, SEVERITIES["warning"]), found.code, means, todo)


def of_pull(found: PullFinding) -> Said:
    """A standing finding about a cluster's records."""
    detail = {**found.detail, "subject": found.subject}
    if found.code == "telemetry_fault":
        words = ", ".join(f"{name} {value}" for name, value in found.detail.items()) or MISSING
        given = {"cluster": found.cluster.code, "code": found.subject, "detail": words}
        return Said(
            SEVERITIES["blocking"], found.subject, _(telemetry.FAULTS.get(found.subject, telemetry.FAILED)) % given, ""
        )
    code = found.subject if found.code == "source_fault" else found.code
    means, todo = _texts(code, detail)
    if found.code == "source_fault":
        return Said(SEVERITIES["blocking"], code, means, todo)
    return Said(SEVERITIES["warning"], code, means, todo, found.subject)


def of_work(kind: str) -> str | Promise:
    """A kind of work; its own name where there is no word for it."""
    return WORK.get(kind, kind)


def _texts(code: str, detail: Mapping[str, Any]) -> tuple[str, str]:
    if code == "daemon_down":
        code = "accounting_down" if detail.get("daemon") == "slurmdbd" else "controller_down"
    means, todo = FINDINGS.get(code) or PULLED.get(code) or TELEMETRY.get(code) or UNKNOWN
    plain = ", ".join(f"{name} {value}" for name, value in detail.items() if name not in {"subject", "words"})
    given = _Given({"code": code, **detail})
    given["words"] = detail.get("words") or plain or MISSING
    return _(means) % given, (_(todo) % given if todo else "")
