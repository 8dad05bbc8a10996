"""Writes of reclaim: rules by version, cases opened, answered, carried out, undone, measured.

A case takes back a guarantee, never a running job: the line is lowered by `quotas.actions.lay` and what runs goes on. A case about a
run's idle GPUs tells its people and ends when the run does; only in a pool for interactive work, and where its rule says so, the run is
ended once it is due.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.approvals import drafts, submitting
from governance.approvals.models import Ask
from governance.audit.actions import record as audit
from governance.catalogue.models import Pool
from governance.errors import N_, BadData, DomainError, NotFound, NotTheMoment
from governance.quotas import actions as quotas
from governance.quotas.enforcement.models import EnforcedCluster
from governance.quotas.rules import RECLAIMED
from governance.schedulers.live import SourceFault
from governance.schedulers.registry import stop_run
from governance.tenants.models import Project, day_of_today
from governance.usage.models import Run

from . import rules, telling
from .detection import Books, Found, IdleRun, idle_runs
from .models import ReclaimCase, ReclaimRule
from .rules import Terms

log = logging.getLogger(__name__)

NO_RULE = N_("There is no reclaim rule “%(code)s”.")
NO_CASE = N_("There is no reclaim case “%(number)s”.")
NOT_NOW = N_("The case %(number)s is %(state)s: this can no longer be done, or not yet.")
SAY_WHY = N_("Say why: whoever reads the case later has only these words.")
TOO_LATE = N_(
    "What the case %(number)s took back may be given back within %(hours)s hours of it. Ask for the quota anew."
)


@transaction.atomic
def write_rule(
    code: str, terms: Terms, *, pool: str = "", name_zh: str = "", name_en: str = "", actor: Actor
) -> ReclaimRule:
    """Write a rule's next version, switched off. Raises BadData where the terms are no rule."""
    found = _pool(pool) if pool else None
    require(actor, "reclaim.manage", found)
    _check(code, terms)
    last = ReclaimRule.objects.select_for_update().filter(code=code).order_by("-version").first()
    rule = ReclaimRule.objects.create(
        code=code,
        version=last.version + 1 if last else 1,
        name_zh=name_zh or (last.name_zh if last else ""),
        name_en=name_en or (last.name_en if last else ""),
        pool=found,
        made_by=actor.name,
        **asdict(terms),
    )
    audit(actor, "reclaim.rule", "reclaim rule", f"{code} v{rule.version}", after={**asdict(terms), "pool": pool})
    return rule


@transaction.atomic
def switch(code: str, version: int | None, *, actor: Actor) -> None:
    """Switch this version of a rule on and all others off; None switches the rule off. Open cases keep their version."""
    versions = list(ReclaimRule.objects.select_for_update().filter(code=code).order_by("version"))
    wanted = next((rule for rule in versions if rule.version == version), None)
    if not versions or (version is not None and wanted is None):
        raise NotFound(NO_RULE, code=code if version is None else f"{code} v{version}")
    for rule in versions:
        if rule.is_on or rule is wanted:
            require(actor, "reclaim.manage", rule.pool)
    on_before = [rule.version for rule in versions if rule.is_on]
    ReclaimRule.objects.filter(code=code).update(is_on=False)
    if wanted is not None:
        ReclaimRule.objects.filter(pk=wanted.pk).update(is_on=True)
    audit(actor, "reclaim.switch", "reclaim rule", code, before={"on": on_before}, after={"on": version})


def detect(day: date, *, actor: Actor) -> int:
    """Open a case for all that the rules switched on find on the morning of `day`; answers how many. None is opened twice."""
    on = list(ReclaimRule.objects.filter(is_on=True).select_related("pool").order_by("code"))
    if not on:
        return 0
    longest = max(rule.window_days for rule in on)
    books = Books(day - timedelta(days=longest + 366), day)
    opened = 0
    for rule in on:
        opened += sum(_open(rule, found, day, actor) for found in books.find(rule, day))
        opened += sum(_open_for_run(rule, found, actor) for found in idle_runs(rule, day))
    return opened


def _open(rule: ReclaimRule, found: Found, day: date, actor: Actor) -> bool:
    """A case for a line, unless one is open or one about the same line ended in the rule's window."""
    since = timezone.now() - timedelta(days=rule.window_days)
    if ReclaimCase.objects.filter(quota=found.quota, detected_at__gte=since).exists():
        return False
    case = ReclaimCase(
        rule=rule,
        project=found.quota.project,
        pool=found.quota.pool,
        quota=found.quota,
        gpus=found.finding.gpus,
        evidence={**found.evidence, "rule": f"{rule.code} v{rule.version}", "on": day.isoformat()},
    )
    return _begin(case, actor)


def _open_for_run(rule: ReclaimRule, found: IdleRun, actor: Actor) -> bool:
    if ReclaimCase.objects.filter(run=found.run).exists():
        return False
    project = Project.objects.filter(code=found.project).first()
    pool = Pool.objects.filter(code=found.pool).first()
    if project is None or pool is None:
        return False  # nobody's: the page of unattributed use has it
    first, last = found.window
    case = ReclaimCase(
        rule=rule,
        project=project,
        pool=pool,
        run=found.run,
        gpus=found.gpus,
        evidence={
            "rule": f"{rule.code} v{rule.version}",
            "window": [first.isoformat(), last.isoformat()],
            "held": found.gpus,
            "idle_share": str(round(found.idle_share, 4)),
            "user": found.user,
        },
    )
    return _begin(case, actor)


def _begin(case: ReclaimCase, actor: Actor) -> bool:
    case.detected_at = timezone.now()
    case.due_at = case.detected_at + timedelta(hours=case.rule.notice_hours)
    try:
        with transaction.atomic():
            case.save()
            _note(case, "reclaim.open", actor, evidence=case.evidence)
            telling.tell("reclaim.opened", case)
    except IntegrityError:
        return False  # another worker was first
    return True


@transaction.atomic
def answer(number: str, what: str, *, reason: str = "", keep_until: date | None = None, actor: Actor) -> ReclaimCase:
    """A holder's answer while notice is given.

    agree: due at once; keep until a day: an ask is submitted and decides; dispute: the pool's manager decides.
    """
    case = _held(number, actor)
    require(actor, "reclaim.answer", case.project)
    if what not in rules.ANSWERS:
        raise BadData(N_("“%(value)s” is no answer."), value=what[:100])
    _want_state(case, rules.NOTIFIED)
    if what != rules.AGREE and not reason.strip():
        raise BadData(SAY_WHY)
    case.answer, case.answer_reason = what, reason[:500]
    case.answered_by, case.answered_at = actor.name, timezone.now()
    if what == rules.AGREE:
        case.state, case.due_at = rules.DUE, timezone.now()
    else:
        case.state = rules.ANSWERED
    if what == rules.KEEP:
        case.keep_ask = _ask_to_keep(case, keep_until, reason, actor)
    case.save()
    _note(case, "reclaim.answer", actor, answer=what, reason=reason, ask=case.keep_ask)
    telling.tell("reclaim.answered", case)
    return case


def _ask_to_keep(case: ReclaimCase, until: date | None, reason: str, actor: Actor) -> str:
    if until is None or case.quota is None:
        raise BadData(
            N_("Say until which day the quota is to be kept. Only quota can be kept, not the idle GPUs of a run.")
        )
    line = drafts.LineGiven(
        quota=case.quota.number,
        guaranteed_gpus=case.quota.guaranteed_gpus,
        ceiling_gpus=case.quota.ceiling_gpus,
        gpu_hours=case.quota.gpu_hours,
        to_on=until,
    )
    given = drafts.Given(kind="keep", project=case.project.code, lines=[line], goal=reason, basis=case.number)
    ask = drafts.save(given, actor=actor)
    return submitting.submit(ask.number, actor=actor).number


@transaction.atomic
def judge(number: str, *, was_right: bool, reason: str, actor: Actor) -> ReclaimCase:
    """The pool's manager on a dispute: it was right (a false reclaim, closed) or not (the case is due)."""
    case = _held(number, actor)
    require(actor, "reclaim.manage", case.pool)
    _want_state(case, rules.ANSWERED)
    if case.answer != rules.DISPUTE:
        raise NotTheMoment(NOT_NOW, number=case.number, state=case.state)
    if not reason.strip():
        raise BadData(SAY_WHY)
    _note(case, "reclaim.judge", actor, was_right=was_right, reason=reason)
    if was_right:
        return _close(case, rules.UPHELD, reason, actor)
    case.state, case.due_at = rules.DUE, timezone.now()
    case.save()
    telling.tell("reclaim.due", case)
    return case


def advance(*, actor: Actor) -> int:
    """Take every open case as far as time and its ask allow; answers how many moved.

    Each in its own transaction: one that the quotas refuse stays due, is logged, and does not hold up the rest.
    """
    moved = 0
    going_on = Q(state__in=rules.OPEN) | (Q(state=rules.APPLIED) & ~Q(run=""))
    for pk in ReclaimCase.objects.filter(going_on).order_by("pk").values_list("pk", flat=True):
        try:
            with transaction.atomic():
                case = ReclaimCase.objects.select_for_update(of=("self",)).select_related(*WITH).get(pk=pk)
                moved += _advance(case, actor)
        except (DomainError, SourceFault) as refusal:
            log.warning("reclaim case R-%06d stays as it is: %s", pk, refusal)
    return moved


WITH = ("rule", "project", "pool", "pool__cluster", "quota", "quota__project", "quota__pool", "quota__model")


def _advance(case: ReclaimCase, actor: Actor) -> bool:
    if case.run and case.state != rules.CLOSED and _run_of(case, end_at__isnull=False):
        _close(case, rules.FREED, "", actor)
        return True
    if case.state not in rules.OPEN:
        return False
    if case.state == rules.ANSWERED and case.answer == rules.KEEP:
        return _follow_ask(case, actor)
    if case.state == rules.NOTIFIED and case.due_at <= timezone.now():
        case.state = rules.DUE
        case.save()
    if case.state != rules.DUE:
        return False
    if case.run:
        return _stop(case, actor)
    apply(case, actor=actor)
    return True


def _run_of(case: ReclaimCase, **where: Any) -> bool:
    cluster, job, submit = case.run.rsplit("/", 2)
    at = datetime.fromtimestamp(int(submit), UTC)
    return Run.objects.filter(cluster__code=cluster, job_id=job, submit_at=at, **where).exists()


def _stop(case: ReclaimCase, actor: Actor) -> bool:
    """End the run, where its rule says so, its pool is for interactive work and the portal may write to the scheduler.

    Dying after the order and before the commit is no harm: the run is not there the next time.
    """
    cluster = case.pool.cluster
    may = EnforcedCluster.objects.filter(cluster=cluster, is_on=True).exists()
    if not (case.rule.stops_interactive and case.pool.purpose in rules.INTERACTIVE and may) or cluster is None:
        return False
    _, job, submit = case.run.rsplit("/", 2)
    names = [name for name in cluster.scheduler_names if name != "*"]
    done = stop_run(
        cluster.scheduler_kind,
        name=names[0] if names else cluster.code,
        connection=cluster.connection,
        job_id=job,
        submit_at=int(submit),
    )
    case.state, case.applied_at = rules.APPLIED, timezone.now()
    case.save()
    _note(case, "reclaim.stop", actor, command=done.command, was_there=done.was_there)
    telling.tell("reclaim.stopped", case)
    return True


def _follow_ask(case: ReclaimCase, actor: Actor) -> bool:
    ask = Ask.objects.filter(pk=int(case.keep_ask.removeprefix("A-"))).first()
    if ask is None or ask.decided_at is None:
        return False
    if ask.state == "approved":
        _close(case, rules.KEPT, ask.number, actor)
    else:
        case.state, case.due_at = rules.DUE, timezone.now()
        case.save()
        telling.tell("reclaim.due", case)
    return True


def apply(case: ReclaimCase, *, actor: Actor) -> None:
    """Lower the line by what the case found. Where the line has changed meanwhile so that nothing is left to take, the case lapses."""
    assert case.quota is not None
    today = day_of_today()
    line = case.quota
    if line.ended_as or line.is_void or line.state_on(today) != "active":
        _close(case, rules.LAPSED, line.ended_as or "", actor)
        return
    left = max(0, line.guaranteed_gpus - case.gpus)
    terms = quotas.terms_of(line)
    if left == 0 and line.ceiling_gpus == 0:
        _close(case, rules.LAPSED, "", actor)
        return
    lowered = {**terms.__dict__, "guaranteed_gpus": left, "from_on": max(today, line.from_on)}
    case.made = quotas.lay(quotas.Terms(**lowered), actor=actor, ask=case.number, note=case.number, ended_as=RECLAIMED)
    case.state, case.applied_at = rules.APPLIED, timezone.now()
    case.save()
    _note(case, "reclaim.apply", actor, quota=case.made.number, guaranteed_gpus=left)
    telling.tell("reclaim.applied", case)


@transaction.atomic
def undo(number: str, *, reason: str, actor: Actor) -> ReclaimCase:
    """Give back what a case took, within 72 hours, by a holder or the pool's manager. Counts as a false reclaim."""
    case = _held(number, actor)
    if not (actor.may("reclaim.answer", case.project) or actor.may("reclaim.manage", case.pool)):
        require(actor, "reclaim.answer", case.project)
    _want_state(case, rules.APPLIED)
    if not reason.strip():
        raise BadData(SAY_WHY)
    assert case.applied_at is not None and case.made is not None
    if timezone.now() > case.applied_at + timedelta(hours=rules.UNDO_HOURS):
        raise NotTheMoment(TOO_LATE, number=case.number, hours=rules.UNDO_HOURS)
    line = quotas.standing(case.made.number, day_of_today())
    back = {
        **quotas.terms_of(line).__dict__,
        "guaranteed_gpus": min(line.ceiling_gpus, line.guaranteed_gpus + case.gpus),
        "from_on": max(day_of_today(), line.from_on),
    }
    # It was the project's: room that somebody else was promised meanwhile does not stand against it, and the pool shows both.
    quotas.lay(quotas.Terms(**back), actor=actor, ask=case.number, note=reason, override=f"{case.number}: {reason}")
    return _close(case, rules.UNDONE, reason, actor)


@transaction.atomic
def withdraw(number: str, *, reason: str, actor: Actor) -> ReclaimCase:
    """The pool's manager lets an open case go."""
    case = _held(number, actor)
    require(actor, "reclaim.manage", case.pool)
    if case.state not in rules.OPEN:
        raise NotTheMoment(NOT_NOW, number=case.number, state=case.state)
    if not reason.strip():
        raise BadData(SAY_WHY)
    return _close(case, rules.LAPSED, reason, actor)


def _close(case: ReclaimCase, outcome: str, reason: str, actor: Actor) -> ReclaimCase:
    case.state, case.outcome, case.outcome_reason = rules.CLOSED, outcome, reason[:500]
    case.outcome_by, case.closed_at = actor.name, timezone.now()
    case.save()
    _note(case, "reclaim.close", actor, outcome=outcome, reason=reason)
    telling.tell("reclaim.closed", case)
    return case


def _held(number: str, actor: Actor) -> ReclaimCase:
    digits = number.removeprefix("R-")
    case = None
    if digits.isdecimal() and len(digits) < 18:
        visible = ReclaimCase.objects.visible_to(actor).filter(pk=int(digits))
        case = (
            ReclaimCase.objects.select_for_update(of=("self",))
            .select_related(*WITH)
            .filter(pk__in=visible.values("pk"))
            .first()
        )
    if case is None:
        raise NotFound(NO_CASE, number=number)
    return case


def _want_state(case: ReclaimCase, *states: str) -> None:
    if case.state not in states:
        raise NotTheMoment(NOT_NOW, number=case.number, state=case.state)


def _pool(code: str) -> Pool:
    pool = Pool.objects.filter(code=code, cluster__isnull=False).first()
    if pool is None:
        raise NotFound(N_("There is no pool “%(code)s”."), code=code)
    return pool


def _check(code: str, terms: Terms) -> None:
    if not code or len(code) > 48 or not code.replace("-", "").replace("_", "").isalnum() or not code.isascii():
        raise BadData(N_("A rule's code has letters, digits and hyphens, at most 48."))
    if terms.kind not in rules.KINDS:
        raise BadData(N_("“%(value)s” is no kind of reclaim rule."), value=terms.kind[:100])
    within = {
        "window_days": (1, 366), "below_percent": (0, 100), "keep_percent": (0, 100), "step_gpus": (1, 100_000),
        "min_gpus": (1, 100_000), "notice_hours": (1, 24 * 90),
    }  # fmt: skip
    if terms.stops_interactive and terms.kind != rules.IDLE_GPUS:
        raise BadData(N_("Only a rule that looks for idle GPUs of runs can end runs."))
    for name, (low, high) in within.items():
        if not low <= getattr(terms, name) <= high:
            raise BadData(N_("%(name)s lies between %(low)s and %(high)s."), name=name, low=low, high=high)


def _note(case: ReclaimCase, action: str, actor: Actor, **facts: Any) -> None:
    audit(actor, action, "reclaim case", case.number, after={"state": case.state, "gpus": case.gpus, **facts})
