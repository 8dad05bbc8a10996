"""Quotas in words: states with colour and icon, levels, policies, and the rules of a queue as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from . import rules
from .models import Offering
from .reads import QueueTerms


@dataclass(frozen=True)
class Tone:
    """How a state is shown: colour, icon and word."""

    tone: str
    icon: str
    word: str | Promise


STATES: dict[str, Tone] = {
    rules.SCHEDULED: Tone("info", "clock", gettext_lazy("Scheduled")),
    rules.ACTIVE: Tone("ok", "ok", gettext_lazy("In force")),
    rules.SUSPENDED: Tone("bad", "ban", gettext_lazy("Suspended")),
    rules.GRACE: Tone("warn", "warn", gettext_lazy("In grace")),
    rules.ENDED: Tone("", "x", gettext_lazy("Ended")),
}
ENDS: dict[str, str | Promise] = {
    rules.EXPIRED: gettext_lazy("Expired"),
    rules.RETURNED: gettext_lazy("Returned"),
    rules.RECLAIMED: gettext_lazy("Reclaimed"),
    rules.REPLACED: gettext_lazy("Replaced"),
    rules.REVOKED: gettext_lazy("Revoked"),
}
LEVELS: dict[str, str | Promise] = {
    rules.URGENT: gettext_lazy("Urgent"),
    rules.NORMAL: gettext_lazy("Normal"),
    rules.ELASTIC: gettext_lazy("Elastic"),
}
PERIODS: dict[str, str | Promise] = {
    rules.MONTH: gettext_lazy("a month"),
    rules.TOTAL: gettext_lazy("in total"),
}
POLICIES: dict[str, str | Promise] = {
    rules.RESERVE: gettext_lazy("Reserved"),
    rules.POOLED: gettext_lazy("Shared by departments"),
}


def level(code: str) -> str:
    """A level in words."""
    return str(LEVELS.get(code, code))


def policy_sentence(kind: str, factor: str, *, has_shares: bool) -> str:
    """What the policy of a pool means for who asks."""
    if kind == rules.POOLED and has_shares:
        return _("Each department may be guaranteed up to its share; the shares together may pass what the pool has.")
    if factor == "1":
        return _("No more is guaranteed than the pool has in healthy GPUs.")
    return _("Up to %(factor)s times the pool's healthy GPUs are guaranteed.") % {"factor": factor}


def duration(seconds: int) -> str:
    """Whole hours or minutes in words: 72 hours, 30 minutes."""
    if seconds % 3600 == 0:
        hours = seconds // 3600
        return ngettext("%(count)s hour", "%(count)s hours", hours) % {"count": hours}
    minutes = max(1, round(seconds / 60))
    return ngettext("%(count)s minute", "%(count)s minutes", minutes) % {"count": minutes}


def longest(terms: QueueTerms | Offering) -> str:
    """How long a job may run."""
    if terms.max_wall_s is None:
        return _("Jobs run as long as they need.")
    return _("A job runs for %(time)s at most.") % {"time": duration(terms.max_wall_s)}


def offering_sentences(one: Offering, departments: Sequence[str]) -> list[str]:
    """What an offering says to who asks: how much, how long, to whom (names) it is open, and its name in the scheduler."""
    asked = {"least": one.min_gpus, "most": one.max_gpus, "step": one.step_gpus}
    found = [
        _("An ask takes %(least)s GPUs or more, in steps of %(step)s.") % asked
        if one.max_gpus is None
        else _("An ask takes %(least)s to %(most)s GPUs, in steps of %(step)s.") % asked
    ]
    if one.max_days is not None:
        days = ngettext("It is held for %(count)s day at most.", "It is held for %(count)s days at most.", one.max_days)
        found.append(days % {"count": one.max_days})
    found.append(longest(one))
    if one.min_run_s is not None:
        found.append(_("A job runs for %(time)s before it may be displaced.") % {"time": duration(one.min_run_s)})
    if one.service_level is not None:
        found.append(_("Its service level is %(percent)s%% of the month.") % {"percent": one.service_level.normalize()})
    found.append(
        _("Only projects of %(departments)s and below may ask for it.") % {"departments": _(", ").join(departments)}
        if departments
        else _("Every project may ask for it.")
    )
    return [*found, _("The scheduler knows it as the QoS “%(qos)s”.") % {"qos": one.qos}]


def share_sentence(department: str, gpus: int) -> str:
    """What the share of a department (name) means."""
    said = ngettext(
        "Projects of %(department)s and of all below it are guaranteed %(count)s GPU together at most.",
        "Projects of %(department)s and of all below it are guaranteed %(count)s GPUs together at most.",
        gpus,
    )
    return said % {"department": department, "count": gpus}


def sentences(terms: QueueTerms, all_terms: Sequence[QueueTerms]) -> list[str]:
    """A level's rules as sentences: its place, whom it displaces and who displaces it, how much and how long."""
    return [
        _place(terms, all_terms),
        *_displaces(terms),
        *_displaced(terms, all_terms),
        longest(terms),
        *(
            [_("Together its jobs take %(gpus)s GPUs at most, %(share)s%% of the pool.")
             % {"gpus": terms.pool_share_gpus, "share": terms.pool_share_percent}]
            if terms.pool_share_percent < 100
            else []
        ),
    ]  # fmt: skip


def _place(terms: QueueTerms, all_terms: Sequence[QueueTerms]) -> str:
    behind = [level(one.level) for one in all_terms if one.priority < terms.priority]
    ahead = [level(one.level) for one in all_terms if one.priority > terms.priority]
    if behind and not ahead:
        return _("Goes first, before %(levels)s.") % {"levels": _listed(behind)}
    if ahead and behind:
        return _("Goes after %(ahead)s and before %(behind)s.") % {"ahead": _listed(ahead), "behind": _listed(behind)}
    if ahead:
        return _("Goes after %(levels)s.") % {"levels": _listed(ahead)}
    return _("Waits in the order of the scheduler.")


def _displaces(terms: QueueTerms) -> list[str]:
    if not terms.preempts:
        return []
    levels = _listed([level(one) for one in terms.preempts])
    if terms.preempted_jobs == "requeue":
        return [_("May displace jobs of %(levels)s; a displaced job is queued again.") % {"levels": levels}]
    return [_("May displace jobs of %(levels)s; a displaced job ends.") % {"levels": levels}]


def _displaced(terms: QueueTerms, all_terms: Sequence[QueueTerms]) -> list[str]:
    by = [level(one.level) for one in all_terms if terms.level in one.preempts]
    if not by:
        return [_("Its jobs are not displaced.")]
    if terms.min_run_s is None:
        return [_("Its jobs may be displaced by %(levels)s at any time.") % {"levels": _listed(by)}]
    given = {"levels": _listed(by), "time": duration(terms.min_run_s)}
    return [_("Its jobs may be displaced by %(levels)s once they have run for %(time)s.") % given]


def _listed(words: Sequence[str]) -> str:
    """One level, or two: there is no third beside the one that is spoken of."""
    return words[0] if len(words) == 1 else _("%(first)s and %(second)s") % {"first": words[0], "second": words[1]}
