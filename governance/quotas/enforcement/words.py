"""Enforcement in words: states, kinds of drift, what an object is to people, values of limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.errors import N_
from governance.schedulers.findings import FINDINGS
from governance.schedulers.limit_findings import LIMIT_FINDINGS
from governance.schedulers.limits import ACCOUNT, QOS, USER
from governance.usage.ops.words import SEVERITIES, Said, Tone

from . import rules
from .models import ADOPTED, DRAINING, DRIFTED, DRY, FAILED, GONE, IN_FORCE, RESTORED, WAITING

REFUSED, UNSEEN = "refused", "unseen"
STATES: dict[str, Tone] = {
    IN_FORCE: Tone("ok", "ok", gettext_lazy("Holds in the scheduler")),
    WAITING: Tone("info", "clock", gettext_lazy("On its way")),
    FAILED: Tone("bad", "bad", gettext_lazy("Not taken")),
    DRAINING: Tone("warn", "warn", gettext_lazy("Over, draining")),
    DRIFTED: Tone("warn", "warn", gettext_lazy("Changed there")),
    DRY: Tone("", "run", gettext_lazy("Dry run only")),
    REFUSED: Tone("bad", "ban", gettext_lazy("Cannot be enforced")),
    UNSEEN: Tone("", "clock", gettext_lazy("Not looked at yet")),
}
#: The worst first: of several limits that carry a quota, it stands as the worst does.
ORDER = (REFUSED, FAILED, DRIFTED, WAITING, DRY, DRAINING, IN_FORCE, UNSEEN)
DRIFTS: dict[str, Tone] = {
    rules.MISSING: Tone("bad", "bad", gettext_lazy("Missing")),
    rules.CHANGED: Tone("warn", "warn", gettext_lazy("Changed")),
    rules.EXTRA: Tone("warn", "warn", gettext_lazy("Extra")),
    rules.UNMANAGED: Tone("", "run", gettext_lazy("Unmanaged")),
}
RESOLVED: dict[str, str | Promise] = {
    ADOPTED: gettext_lazy("Adopted"),
    RESTORED: gettext_lazy("Restored"),
    GONE: gettext_lazy("Gone by itself"),
}
KINDS: dict[str, str | Promise] = {
    ACCOUNT: gettext_lazy("account"),
    QOS: gettext_lazy("QOS"),
    USER: gettext_lazy("user"),
}
UNKNOWN = (N_("The scheduler cannot be asked: %(words)s"), N_("Test the cluster's connection first."))
FAILED_THERE = N_("The scheduler did not take it. Platform operations see its answer, and it is tried again.")
NO_LIMIT = gettext_lazy("no limit")


class _Given(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "–"


def finding(code: str, severity: str, detail: Mapping[str, Any]) -> Said:
    """One finding of a preflight."""
    means, todo = LIMIT_FINDINGS.get(code) or FINDINGS.get(code) or UNKNOWN
    given = _Given(detail)
    return Said(
        SEVERITIES.get(severity, SEVERITIES["warning"]), code, _(means) % given, _(todo) % given if todo else ""
    )


def said(message: str, params: Mapping[str, Any]) -> str:
    """A msgid with its particulars in the reader's language; "" for none."""
    return _(message) % _Given(params) if message else ""


def refused(reason: Sequence[Any]) -> str:
    """Why nothing carries a quota."""
    code, params = reason
    return said(rules.REFUSALS.get(code, ""), params)


def note(reason: Sequence[Any]) -> str:
    """What a quota does not hold."""
    code, params = reason
    return said(rules.NOTES.get(code, ""), params)


def value(key: str, given: Any) -> str:
    """A value of a limit; nothing there is no limit for counts of GPUs, a dash for all else."""
    if given is None or given == "":
        return str(NO_LIMIT) if key.startswith(("GrpTRES:", "GrpTRESMins:")) else "—"
    return str(given)
