"""Asks in words: states with colour and icon, kinds, moves, figures, and an ask said in one line."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from governance.errors import BadItems, DomainError
from governance.quotas.wording import Tone

from . import figures, rules
from .models import Ask, AskLine
from .rules import Kind, State

STATES: dict[str, Tone] = {
    State.DRAFT: Tone("", "file", gettext_lazy("Draft")),
    State.SUBMITTED: Tone("info", "run", gettext_lazy("Waits for a decision")),
    State.IN_REVIEW: Tone("info", "run", gettext_lazy("In review")),
    State.RETURNED: Tone("warn", "warn", gettext_lazy("Sent back")),
    State.APPROVED: Tone("ok", "ok", gettext_lazy("Approved")),
    State.REJECTED: Tone("bad", "ban", gettext_lazy("Rejected")),
    State.WITHDRAWN: Tone("", "x", gettext_lazy("Withdrawn")),
    State.EXPIRED: Tone("", "clock", gettext_lazy("Lapsed")),
}
KINDS: dict[str, str | Promise] = {
    Kind.NEW: gettext_lazy("New quota"),
    Kind.INCREASE: gettext_lazy("Increase"),
    Kind.EXTEND: gettext_lazy("Extend"),
    Kind.BURST: gettext_lazy("Burst"),
    Kind.RETURN: gettext_lazy("Return"),
    Kind.KEEP: gettext_lazy("Keep from reclaim"),
}
KIND_HELP: dict[str, str | Promise] = {
    Kind.NEW: gettext_lazy("What the project does not hold yet."),
    Kind.INCREASE: gettext_lazy("More than a quota has; say what shall be held then."),
    Kind.EXTEND: gettext_lazy("The same amounts until a later day."),
    Kind.BURST: gettext_lazy("More for some days, then as before."),
    Kind.RETURN: gettext_lazy("Fewer GPUs from a day on; say what is left."),
    Kind.KEEP: gettext_lazy("Not to be reclaimed until a day, with the reason."),
}
MOVES: dict[str, str | Promise] = {
    "save": gettext_lazy("Saved"),
    "submit": gettext_lazy("Submitted"),
    "approve": gettext_lazy("Agreed"),
    "award": gettext_lazy("Approved"),
    "return": gettext_lazy("Sent back"),
    "reject": gettext_lazy("Rejected"),
    "withdraw": gettext_lazy("Withdrawn"),
    "expire": gettext_lazy("Lapsed"),
    "hand_over": gettext_lazy("Handed over"),
    "add": gettext_lazy("Approver added"),
    "assign": gettext_lazy("Approver assigned"),
    "remind": gettext_lazy("Reminded"),
    "escalate": gettext_lazy("Escalated"),
    "comment": gettext_lazy("Comment"),
    "attach": gettext_lazy("File attached"),
    "detach": gettext_lazy("File taken off"),
}
VERDICTS: dict[str, Tone] = {
    figures.OK: Tone("ok", "ok", gettext_lazy("met")),
    figures.WARN: Tone("warn", "warn", gettext_lazy("wants a look")),
    figures.BAD: Tone("bad", "bad", gettext_lazy("not met")),
    figures.UNKNOWN: Tone("", "clock", gettext_lazy("not known")),
}
ADVICE: dict[str, str | Promise] = {
    "approve": gettext_lazy("Approve all of it"),
    "less": gettext_lazy("Approve less"),
    "return": gettext_lazy("Send it back"),
}
SCORES: dict[str, Tone] = {
    "as_foreseen": Tone("ok", "ok", gettext_lazy("used as foreseen")),
    "below": Tone("warn", "warn", gettext_lazy("used less than foreseen")),
    "above": Tone("info", "chart", gettext_lazy("used more than foreseen")),
    "unknown": Tone("", "clock", gettext_lazy("not known")),
}
FIGURES: dict[str, str | Promise] = {
    "effective_percent": gettext_lazy("Effective utilisation"),
    "run_success_percent": gettext_lazy("Job success rate"),
    "wait_capacity_hours": gettext_lazy("Mean wait for capacity"),
    "department_idle": gettext_lazy("Idle of the department"),
    "used_p95": gettext_lazy("In use, P95 of 30 days"),
    "waiting_gpus": gettext_lazy("GPUs waited for now"),
    "healthy": gettext_lazy("Healthy GPUs of the pool"),
}
CHANGED: dict[str, str | Promise] = {
    "kind": gettext_lazy("Kind"),
    "goal": gettext_lazy("Goal and due day"),
    "basis": gettext_lazy("Basis of the estimate"),
    "confirmed_by": gettext_lazy("Confirmed by"),
    "accepts_less": gettext_lazy("Accepts less"),
    "pool": gettext_lazy("Pool"),
    "model": gettext_lazy("GPU model"),
    "level": gettext_lazy("Level"),
    "hours_period": gettext_lazy("GPU-hours are"),
    "quota": gettext_lazy("Quota"),
    "guaranteed_gpus": gettext_lazy("Guaranteed GPUs"),
    "ceiling_gpus": gettext_lazy("Ceiling"),
    "gpu_hours": gettext_lazy("GPU-hours"),
    "from_on": gettext_lazy("From"),
    "to_on": gettext_lazy("Until"),
}


def one_line(ask: Ask, lines: Sequence[AskLine]) -> str:
    """Who asks for what: the first line, and how many more there are."""
    if not lines:
        return _("%(project)s: nothing is asked for yet") % {"project": ask.project.name}
    line = lines[0]
    words = {
        "project": ask.project.name,
        "pool": line.pool.name,
        "gpus": line.guaranteed_gpus or line.ceiling_gpus,
        "before": line.before.guaranteed_gpus or line.before.ceiling_gpus,
        "until": line.to_on.isoformat() if line.to_on else "—",
    }
    said = _said(ask.kind) % words
    more = len(lines) - 1
    if not more:
        return said
    return said + ngettext(", and %(count)s more line", ", and %(count)s more lines", more) % {"count": more}


def _said(kind: str) -> str:
    if kind == Kind.INCREASE:
        return _("%(project)s asks to go from %(before)s to %(gpus)s GPUs of %(pool)s")
    if kind == Kind.EXTEND:
        return _("%(project)s asks to hold %(gpus)s GPUs of %(pool)s until %(until)s")
    if kind == Kind.RETURN:
        return _("%(project)s goes back from %(before)s to %(gpus)s GPUs of %(pool)s")
    if kind == Kind.BURST:
        return _("%(project)s asks for %(gpus)s GPUs of %(pool)s until %(until)s, then as before")
    if kind == Kind.KEEP:
        return _("%(project)s asks to keep its GPUs of %(pool)s from reclaim until %(until)s")
    return _("%(project)s asks for %(gpus)s GPUs of %(pool)s")


def changed_name(name: str) -> str:
    """The name of what changed between two revisions, in words."""
    if name.startswith("lines."):
        _lines, position, field = name.split(".", 2)
        return _("Line %(line)s: %(name)s") % {"line": position, "name": CHANGED.get(field, field)}
    return str(CHANGED.get(name, name))


def state_order() -> list[str]:
    """States in the order in which one's own asks are listed."""
    first = (State.RETURNED, State.DRAFT, State.SUBMITTED, State.IN_REVIEW)
    return [str(one) for one in (*first, *(s for s in rules.State if s not in first))]


def words_of(fault: DomainError) -> list[str]:
    """What is wrong, in the reader's language: a sentence for each fault."""
    faults = fault.faults if isinstance(fault, BadItems) else [fault]
    return [_(one.message) % one.params if one.params else _(one.message) for one in faults]
