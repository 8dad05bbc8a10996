"""Reclaim in words: kinds of rules, states and outcomes of cases, answers."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from governance.quotas.wording import Tone

from . import rules

KINDS: dict[str, str | Promise] = {
    rules.HELD_UNUSED: _("Held, hardly used"),
    rules.NEVER_STARTED: _("Never started"),
    rules.GONE_QUIET: _("Gone quiet"),
    rules.IDLE_GPUS: _("Idle GPUs of a run"),
}
STATES: dict[str, Tone] = {
    rules.NOTIFIED: Tone("warn", "bell", _("Notice given")),
    rules.ANSWERED: Tone("info", "run", _("Answered")),
    rules.DUE: Tone("warn", "clock", _("Due")),
    rules.APPLIED: Tone("vio", "recycle", _("Taken back")),
    rules.MEASURED: Tone("ok", "ok", _("Measured")),
    rules.CLOSED: Tone("", "x", _("Closed")),
}
OUTCOMES: dict[str, str | Promise] = {
    rules.KEPT: _("kept by an ask"),
    rules.UPHELD: _("the dispute was right"),
    rules.UNDONE: _("given back"),
    rules.LAPSED: _("its ground went away"),
    rules.FREED: _("freed and measured"),
}
ANSWERS: dict[str, str | Promise] = {
    rules.AGREE: _("agreed"),
    rules.KEEP: _("keep"),
    rules.DISPUTE: _("disputed"),
}
DONE: dict[str, str | Promise] = {
    "answer": _("The answer is written."),
    "judge": _("The dispute is decided."),
    "undo": _("The GPUs are given back."),
    "withdraw": _("The case is let go."),
}
EFFECT: dict[str, str | Promise] = {
    "freed_gpus": _("GPUs freed"),
    "p95": _("In use since, P95"),
    "wait_quota_seconds": _("Seconds waited for quota since"),
}
