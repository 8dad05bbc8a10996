"""What follows from an award, for the page on which it is decided: free after it, who waits, idle, cost, budget; earlier awards and
similar asks; what the figures speak for, and by which rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Subquery, Sum

from governance.access.actor import Actor
from governance.errors import N_
from governance.tenants.models import UNATTRIBUTED, ProjectGrant, held_departments, held_nodes

from . import rules
from .checks import IDLE_PERCENT, WELL_USED_PERCENT, Grounds, checks, grounds, room_left
from .figures import BAD, GPU, MONEY, OK, PERCENT, Check, Figure, Recommendation, gpus, percent
from .models import Ask, AskLine, Decision, Score
from .rules import Kind
from .submitting import added

PRECEDENTS = 5


@dataclass(frozen=True)
class EarlierAward:
    """What became of an award that the project has had of one of the pools: GPUs, and the share of them in use by the 95th percentile."""

    quota: str
    ask: str
    guaranteed: int
    from_on: Any
    to_on: Any
    used_percent: Decimal | None


@dataclass(frozen=True)
class Precedent:
    """A similar ask that was decided: what was asked and awarded in GPUs, and how the award turned out."""

    number: str
    kind: str
    gpus: int
    awarded: int
    state: str
    score: str  # "" where it is not scored yet


@dataclass
class Consequences:
    """All of it, with the checks."""

    figures: list[Figure] = field(default_factory=list)
    waits_longer: list[tuple[str, int]] = field(
        default_factory=list
    )  # (project, "" for those the reader does not see; GPUs)
    checks: list[Check] = field(default_factory=list)
    days: list[tuple[Any, Decimal | None, Decimal | None]] = field(
        default_factory=list
    )  # (day, used, of it active), GPUs
    earlier: list[EarlierAward] = field(default_factory=list)
    precedents: list[Precedent] = field(default_factory=list)
    recommendation: Recommendation | None = None
    grounds: Grounds | None = None


def consequences(ask: Ask, lines: list[AskLine], *, actor: Actor, home: int | None = None) -> Consequences:
    """The grounds of a decision, in few questions however many asks and projects there are."""
    on = grounds(ask, lines, actor=actor, home=home)
    found = Consequences(checks=checks(on), grounds=on)
    for line in lines[:1]:
        found.figures += _after(on, line)
        found.days = [(day, gpus(milli), gpus(active)) for day, milli, active in on.evidence.own_days(line.pool_id)]
    found.figures += _money(on)
    found.waits_longer = _waits_longer(on, actor)
    found.earlier = _earlier(on)
    found.precedents = _precedents(ask, lines, actor)
    found.recommendation = recommend(on, found.checks)
    return found


def _after(on: Grounds, line: AskLine) -> list[Figure]:
    evidence, pool, project = on.evidence, line.pool_id, on.ask.project_id
    as_of = evidence.as_of(pool)
    left, more = room_left(on, line), added(on.ask, line)
    held = sum(one.guaranteed or one.ceiling for one in evidence.held(pool, project))
    use, capacity = evidence.use(pool, project), evidence.capacity(pool)
    waiting = evidence.waiting(pool)
    free = None if left is None else left - line.left.guaranteed_gpus
    found = [
        Figure("held", held, GPU),
        Figure("held_after", held + more, GPU),
        Figure("room_after", free, GPU, "available"),
        Figure("healthy", sum(one.gpus for one in capacity if one.days.has(evidence.today)), GPU, "available"),
        Figure(
            "waiting_gpus",
            waiting.milli.get("capacity", 0) // 1000 if waiting.as_of else None,
            GPU,
            "wait_capacity",
            waiting.as_of,
        ),
        Figure("used_p95", gpus(use.p95) if as_of else None, GPU, "gpu_hours", as_of),
        Figure(
            "effective_percent", _effective(use.milli, use.active, use.idle), PERCENT, "effective_utilisation", as_of
        ),
        Figure("run_success_percent", percent(use.judged - use.lost, use.judged), PERCENT, "run_success", as_of),
        Figure("wait_capacity_hours", _mean_wait(use.waited, use.started), "hour", "wait_capacity", as_of),
    ]
    if on.sees_department():
        idle = evidence.idle_of_department(pool)
        found.append(Figure("department_idle", None if idle is None else idle.quantize(Decimal("0.1")), GPU, "", as_of))
    return found


def _effective(milli: int, active: int, idle: int) -> Decimal | None:
    """Active of what was held, where telemetry covers 95 % of it."""
    covered = percent(active + idle, milli)
    return percent(active, milli) if covered is not None and covered >= 95 else None


def _mean_wait(seconds: int, started: int) -> Decimal | None:
    return (Decimal(seconds) / 3600 / started).quantize(Decimal("0.01")) if started else None


def _money(on: Grounds) -> list[Figure]:
    cost = on.cost if on.estimated else Decimal(0)
    after = None if on.budget is None or cost is None else on.budget - cost
    return [
        Figure("cost", cost, MONEY, "amount"),
        Figure("budget_left", on.budget, MONEY, "budget_year"),
        Figure("budget_after", after, MONEY, "budget_year"),
    ]


def _waits_longer(on: Grounds, actor: Actor) -> list[tuple[str, int]]:
    """GPUs that wait for capacity of the pools now, by project: whoever gets more is before them. The asking project is left out."""
    everything = actor.may("ask.view")
    departments, projects = (
        set(held_departments(actor, "ask.view")),
        held_nodes(ProjectGrant, actor, "ask.view", "project"),
    )
    sums: dict[str, int] = {}
    for pool in {line.pool_id: line.pool for line in on.lines}.values():
        sees_pool = everything or actor.may("ask.view", pool)
        for payer, milli in on.evidence.waiting(pool.pk).by_project.items():
            if payer.project == on.ask.project_id:
                continue
            seen = sees_pool or payer.home in departments or payer.project in projects
            code = payer.code if seen and payer.code != UNATTRIBUTED else ""
            sums[code] = sums.get(code, 0) + milli
    return sorted(((code, milli // 1000) for code, milli in sums.items()), key=lambda one: (-one[1], one[0]))


def _earlier(on: Grounds) -> list[EarlierAward]:
    pools = {line.pool_id for line in on.lines}
    rows = [one for one in on.evidence.lines if one.pool in pools and one.project == on.ask.project_id and one.ask]
    rows = [one for one in rows if one.days.from_on <= on.evidence.today and one.ask != on.ask.number]
    found = []
    for one in sorted(rows, key=lambda one: one.days.from_on, reverse=True)[:PRECEDENTS]:
        in_force = one.days.has(on.evidence.today) and on.evidence.as_of(one.pool) is not None
        share = (
            percent(gpus(on.evidence.use(one.pool, one.project).p95), one.guaranteed or one.ceiling)
            if in_force
            else None
        )
        found.append(
            EarlierAward(
                f"Q-{one.pk:06}", one.ask, one.guaranteed or one.ceiling, one.days.from_on, one.days.to_on, share
            )
        )
    return found


def _precedents(ask: Ask, lines: list[AskLine], actor: Actor) -> list[Precedent]:
    """Decided asks of the kind for one of the pools that the reader sees, the nearest in size first."""
    pools = {line.pool_id for line in lines}
    settled = (rules.State.APPROVED, rules.State.REJECTED)
    awarded = AskLine.objects.filter(ask=OuterRef("ask")).values("ask")
    rows = (
        Decision.objects.filter(is_last=True, ask__kind=ask.kind, ask__state__in=settled)
        .filter(ask__in=AskLine.objects.filter(pool__in=pools).values("ask"))
        .filter(ask__in=Ask.objects.visible_to(actor).values("pk"))
        .exclude(ask=ask.pk)
        .annotate(
            awarded_gpus=Subquery(awarded.annotate(total=Sum("awarded_guaranteed_gpus")).values("total")),
            turned_out=Subquery(
                Score.objects.filter(decision=OuterRef("pk")).order_by("-after_days").values("verdict")[:1]
            ),
        )
        .select_related("ask")
        .order_by("-pk")[:50]
    )
    nearest = sorted(rows, key=lambda one: abs(one.ask.gpus - ask.gpus))[:PRECEDENTS]
    return [
        Precedent(
            one.ask.number,
            one.ask.kind,
            one.ask.gpus,
            (one.awarded_gpus or 0) if one.verdict == "approve" else 0,
            one.ask.state,
            one.turned_out or "",
        )
        for one in nearest
    ]


def recommend(on: Grounds, found: list[Check]) -> Recommendation | None:
    """What the figures speak for; the first rule that fits. None for a draft without lines."""
    if not on.lines:
        return None
    by_code = {one.code: one for one in found}
    if on.ask.kind in (Kind.RETURN, Kind.KEEP):
        return Recommendation("approve", "gives_back", N_("It takes nothing from anybody."))
    if by_code["limits"].verdict == BAD:
        return Recommendation(
            "return", "limits", N_("It does not keep to what is offered, so it cannot be awarded as it is.")
        )
    if by_code["budget"].verdict == BAD:
        return Recommendation("return", "over_budget", N_("It costs more than is left of the budget."))
    awards, rule, said = _fitting(on)
    if rule and not any(awards.values()):
        return Recommendation("return", rule, said, {"gpus": 0})
    if rule:
        total = sum(awards.values())
        return Recommendation("less", rule, said, {"gpus": total}, awards)
    if by_code["use"].verdict != OK and by_code["use"].figures:
        says = N_("The present quota is used below %(threshold)s%%: it should be used before it grows.")
        return Recommendation("return", "unused", says, {"threshold": WELL_USED_PERCENT})
    return Recommendation("approve", "all_well", N_("There is room for all of it, and what is held is used."))


def _fitting(on: Grounds) -> tuple[dict[int, int], str, str]:
    """GPUs added by line that room and idle GPUs leave, in the offering's steps; and the rule where that is less than asked."""
    awards: dict[int, int] = {}
    rule, said = "", ""
    for line in on.lines:
        wanted = added(on.ask, line)
        most = wanted
        left = room_left(on, line)
        free = None if left is None else left - line.before.guaranteed_gpus
        if free is not None and free < most and on.ask.kind != Kind.EXTEND:
            most, rule = max(free, 0), "room"
            said = N_("There is room for %(gpus)s GPUs only.")
        idle = on.evidence.idle(line.pool_id, on.ask.project_id)
        held = on.evidence.guaranteed(line.pool_id, on.ask.project_id)
        if idle is not None and held and idle * 100 > held * IDLE_PERCENT and wanted - int(idle) < most:
            most, rule = max(wanted - int(idle), 0), "idle_first"
            said = N_("More than a twentieth of what is held lies idle: that comes first, so %(gpus)s GPUs are enough.")
        step = line.offering.step_gpus if line.offering else 1
        awards[line.position] = most if most == wanted else most // step * step
    return awards, rule, said
