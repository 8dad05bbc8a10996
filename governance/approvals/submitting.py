"""Submitting: what the policy is asked of, the revision, and the way an ask goes from there."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor
from governance.catalogue.reads import installation, today
from governance.errors import N_, NotTheMoment
from governance.money import NOT_SET, Wanted, money
from governance.quotas.rooms import above
from governance.tenants.models import Placement, Project, day_of_today

from . import effects, policy, rules, stages, telling
from .completeness import complete
from .drafts import want_author
from .locking import lines_of, locked, note, want_version
from .models import ApprovalPolicy, Ask, AskLine, Decision, Revision
from .policy import Facts, Plan

NO_POLICY = N_("No approval policy is active, so nobody could decide. The administrators have to activate one.")


@transaction.atomic
def submit(number: str, *, actor: Actor, version: int | None = None) -> Ask:
    """Hand a draft, or what was returned, to those who decide; by rule it may be approved at once.

    The active policy of this moment counts for this round. Raises BadItems with all that is missing.
    """
    ask = locked(number, actor)
    want_author(ask, actor)
    want_version(ask, version)
    before = ask.state
    state = rules.after(before, "submit", number=ask.number)
    lines, home = lines_of(ask), home_of(ask.project)
    complete(ask, lines, today=day_of_today(), departments=above(home))
    active = ApprovalPolicy.objects.filter(state=ApprovalPolicy.ACTIVE).first()
    if active is None:
        raise NotTheMoment(NO_POLICY)
    for line in lines:
        line.awarded_guaranteed_gpus = line.awarded_ceiling_gpus = line.awarded_gpu_hours = line.awarded_to_on = None
        line.save()
    _settle(ask, lines, home, active)
    ask.state = state
    Revision.objects.create(ask=ask, number=ask.round, snapshot=snapshot(ask, lines))
    note(ask, "submit", actor=actor, before=before, policy=active.version, facts=ask.facts)
    _send(ask, lines, policy.plans(active.document, facts_read(ask.facts)), actor=actor)
    return ask


def _settle(ask: Ask, lines: list[AskLine], home: int | None, active: ApprovalPolicy) -> None:
    """What is fixed for the round."""
    facts = facts_of(ask, lines, home)
    now = timezone.now()
    ask.policy, ask.round = active, ask.round + 1
    ask.facts, ask.cost, ask.gpus = facts_kept(facts), facts.cost, sum(added(ask, line) for line in lines)
    ask.override_reason = ask.override_by = ""
    ask.submitted_at = now
    ask.expires_at = now + timedelta(days=active.document.get("expires_days", policy.EXPIRES_DAYS))


def _send(ask: Ask, lines: list[AskLine], plans: list[Plan], *, actor: Actor) -> None:
    """Take the first rule that fits; an automatic one that finds no room gives way to the next."""
    for plan in plans:
        ask.policy_rule = plan.rule
        if not plan.is_auto:
            first = stages.make(ask, plan.stages, lines)[0]
            ask.save()
            telling.asked(ask, first, stages.open_stage(first))
            return
        if _approve_by_rule(ask, lines, plan):
            telling.settled(ask, "approved", lines)
            return
    raise NotTheMoment(NO_POLICY)


def _approve_by_rule(ask: Ask, lines: list[AskLine], plan: Plan) -> bool:
    """Approve by the rule itself, which is recorded; False where quotas refuse it. It all stands, or nothing of it."""
    machine = Actor.machine("policy")
    rule = f"{plan.rule} v{ask.policy.version if ask.policy else 0}"
    try:
        with transaction.atomic():
            effects.apply(ask, lines, actor=machine, today=day_of_today())
    except NotTheMoment:
        return False
    before, ask.state, ask.decided_at = ask.state, rules.after(ask.state, "award", number=ask.number), timezone.now()
    Decision.objects.create(ask=ask, verdict="approve", rule=rule, awarded=effects.left_of(lines), is_last=True)
    note(ask, "award", actor=machine, before=before, rule=rule, awarded=effects.left_of(lines))
    return True


def home_of(project: Project) -> int | None:
    """The department that the project is at home in today."""
    rows = Placement.objects.on(today(installation())).filter(project=project)
    return rows.values_list("department", flat=True).first()


def added(ask: Ask, line: AskLine) -> int:
    """GPUs that a line adds, as the stages have left it."""
    return rules.added_gpus(ask.kind, line.left, line.before)


def wanted(ask: Ask, lines: list[AskLine]) -> list[Wanted]:
    """What the lines would cost: the GPUs they add in full use on their days; of an open end, a year."""
    found = []
    for line in lines:
        gpus, days = added(ask, line), line.left
        if gpus > 0 and days.from_on is not None:
            until = days.to_on or days.from_on + timedelta(days=365)
            qos = line.offering.qos if line.offering else ""
            model = line.model.code if line.model else ""
            found.append(Wanted(line.pool.code, gpus, days.from_on, until, model, qos))
    return found


def facts_of(ask: Ask, lines: list[AskLine], home: int | None) -> Facts:
    """What the policy's conditions are asked of."""
    cost, over = _money_of(ask, lines, above(home))
    gpus = [added(ask, line) for line in lines]
    days = [rules.days_of(line.left) for line in lines]
    hours = [24 * max(one, 0) * length for one, length in zip(gpus, days, strict=True)]
    return Facts(
        kind=ask.kind,
        pools=frozenset(line.pool.code for line in lines),
        levels=frozenset(line.level for line in lines),
        departments=frozenset(above(home)),
        gpus=abs(sum(gpus)),
        gpu_hours=sum(hours),
        days=max(days, default=0),
        cost=cost,
        over_budget=over,
    )


def _money_of(ask: Ask, lines: list[AskLine], departments: list[str]) -> tuple[Decimal | None, bool | None]:
    """(estimated cost, whether it is beyond the budget); None for what is not known."""
    estimates = money().estimates(wanted(ask, lines))
    if estimates is NOT_SET:
        return None, None
    amounts = [one.amount for one in estimates]
    known = [amount for amount in amounts if amount is not None]
    cost = sum(known, Decimal(0)).quantize(Decimal("0.01")) if len(known) == len(amounts) else None
    left = money().budget_left(ask.project.code, departments[0] if departments else "", day_of_today())
    return cost, None if left is NOT_SET or cost is None else cost > left


def facts_kept(facts: Facts) -> dict[str, object]:
    """As JSON keeps it."""
    sets = {name: sorted(getattr(facts, name)) for name in ("pools", "levels", "departments")}
    cost = None if facts.cost is None else str(facts.cost)
    rest = {name: getattr(facts, name) for name in ("kind", "gpus", "gpu_hours", "days", "over_budget")}
    return {**rest, **sets, "cost": cost}


def facts_read(kept: dict[str, object]) -> Facts:
    """Back from JSON."""
    given: dict[str, object] = dict(kept)
    for name in ("pools", "levels", "departments"):
        given[name] = frozenset(given[name])  # type: ignore[call-overload]
    given["cost"] = None if given["cost"] is None else Decimal(str(given["cost"]))
    return Facts(**given)  # type: ignore[arg-type]


def snapshot(ask: Ask, lines: list[AskLine]) -> dict[str, object]:
    """The ask as a revision keeps it."""
    return {
        "kind": ask.kind,
        "goal": ask.goal,
        "basis": ask.basis,
        "confirmed_by": ask.confirmed_by,
        "accepts_less": ask.accepts_less,
        "lines": [
            {
                "position": line.position,
                "pool": line.pool.code,
                "model": line.model.code if line.model else "",
                "level": line.level,
                "hours_period": line.hours_period,
                "quota": line.quota.number if line.quota else "",
                **line.asked.as_dict(),
            }
            for line in lines
        ],
    }
