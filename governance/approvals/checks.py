"""The six checks of an ask, for its form and again for who decides, and the faster ways beside it.

A check never blocks: it says what was found and what to change. What really refuses is in completeness and in quotas.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from governance.access.actor import Actor
from governance.errors import N_
from governance.money import NOT_SET, Estimate, Wanted, money
from governance.quotas import rules as quotas
from governance.quotas.rooms import above
from governance.quotas.rules import Days
from governance.tenants.models import Department, day_of_today

from . import rules
from .completeness import limit_faults, offering_of
from .evidence import Evidence
from .figures import BAD, DAY, GPU, MONEY, OK, PERCENT, UNKNOWN, WARN, Alternative, Check, Figure, gpus, percent, worst
from .models import Ask, AskLine
from .rules import Kind
from .submitting import added, home_of, wanted

#: The present quota counts as used from this share of its guarantee on, by the 95th percentile of its days.
WELL_USED_PERCENT = 65
#: More idle GPUs than this share of what is held are to be given back before more is asked for.
IDLE_PERCENT = 5

ROOM, IDLE, USE, BUDGET, LIMITS, WAITING = "room", "own_idle", "use", "budget", "limits", "waiting"
TITLES = {
    ROOM: N_("Room in the pool"),
    IDLE: N_("Idle of your own"),
    USE: N_("Use of the present quota"),
    BUDGET: N_("Budget"),
    LIMITS: N_("Limits of the offering"),
    WAITING: N_("Waiting now"),
}


@dataclass
class Grounds:
    """An ask with all that its checks stand on. Made once, asked by checks, consequences and the recommendation."""

    ask: Ask
    lines: list[AskLine]
    actor: Actor
    evidence: Evidence
    estimates: list[Estimate] | None  # None: nobody answers for money
    estimated: list[Wanted] = field(default_factory=list)
    budget: Decimal | None = None  # None: not set

    @property
    def cost(self) -> Decimal | None:
        """What the ask would cost; None where a day has no price, or nobody answers."""
        if self.estimates is None or any(one.amount is None for one in self.estimates):
            return None
        return sum((one.amount or Decimal(0) for one in self.estimates), Decimal(0))

    @property
    def currency(self) -> str:
        """Of the amounts; "" where there are none."""
        return self.estimates[0].currency if self.estimates else ""

    def sees_department(self) -> bool:
        """Whether the reader may be told of the department's other projects, as a sum."""
        return self.evidence.home is not None and self.actor.may("ask.view", Department(pk=self.evidence.home))


def grounds(ask: Ask, lines: list[AskLine], *, actor: Actor, home: int | None = None) -> Grounds:
    """Read what the checks need: the pools by one question, the prices by two. Works for an ask that is not saved, too."""
    home = home_of(ask.project) if home is None else home
    evidence = Evidence([line.pool_id for line in lines], ask.project_id, home, day_of_today())
    asked = [_with_model(one, evidence) for one in wanted(ask, lines)]
    found = money().estimates(asked)
    departments = above(home)
    left = money().budget_left(ask.project.code, departments[0] if departments else "", day_of_today())
    return Grounds(
        ask,
        lines,
        actor,
        evidence,
        None if found is NOT_SET else found,
        asked,
        None if left is NOT_SET else left,
    )


def _with_model(one: Wanted, evidence: Evidence) -> Wanted:
    """With the pool's model where it has one alone, so that nobody has to look it up again."""
    models = evidence.models(one.pool)
    return replace(one, model=models[0]) if not one.model and len(models) == 1 else one


def checks(on: Grounds) -> list[Check]:
    """The six, in their order; of an ask with several lines the one that wants most of the reader."""
    found = []
    for of in (_room, _idle, _use):
        each = [of(on, line) for line in on.lines]
        if each:
            found.append(worst(each))
    found.append(_budget(on))
    for of in (_limits, _waiting):
        each = [of(on, line) for line in on.lines]
        if each:
            found.append(worst(each))
    return found


def _check(code: str, line: AskLine | None, verdict: str, says: str, **more: Any) -> Check:
    return Check(code, TITLES[code], verdict, says, line=line.position if line else None, **more)


def window_of(on: Grounds, line: AskLine) -> Days:
    """The days that the line is about, from today on."""
    left = line.left
    return Days(max(left.from_on or on.evidence.today, on.evidence.today), left.to_on)


def room_left(on: Grounds, line: AskLine) -> int | None:
    """GPUs that the pool could guarantee on the line's days, its own quota left out; None where none are wanted."""
    window = window_of(on, line)
    if not line.left.guaranteed_gpus or (window.to_on is not None and window.to_on <= window.from_on):
        return None
    without = (line.quota_id,) if line.quota_id and on.ask.kind != Kind.EXTEND else ()
    model = line.model.code if line.model else ""
    return on.evidence.room(line.pool_id, window, model=model, without=without).gpus


def _room(on: Grounds, line: AskLine) -> Check:
    left = room_left(on, line)
    if left is None or on.ask.kind in (Kind.RETURN, Kind.KEEP):
        return _check(ROOM, line, OK, N_("Nothing is guaranteed, so no room is taken."))
    most = line.left.guaranteed_gpus
    held = line.before.guaranteed_gpus if on.ask.kind != Kind.EXTEND else 0
    figures = (Figure("room", left, GPU, "available"), Figure("guaranteed", most, GPU))
    params = {
        "pool": line.pool.name,
        "room": max(left, 0),
        "wanted": most,
        "short": most - left,
        "free": max(left - held, 0),
    }
    if most <= left:
        says = N_(
            "The pool “%(pool)s” could guarantee %(room)s GPUs to the project on these days; %(wanted)s are wanted."
        )
        return _check(ROOM, line, OK, says, params=params, figures=figures)
    return _check(
        ROOM,
        line,
        WARN if left > held else BAD,
        N_("The pool “%(pool)s” lacks %(short)s of the %(wanted)s GPUs on the tightest of these days."),
        params=params,
        advice=N_("Ask for %(room)s at most, accept a partial award, or take later days, elastic or another pool."),
        figures=figures,
    )


def _idle(on: Grounds, line: AskLine) -> Check:
    own = on.evidence.idle(line.pool_id, on.ask.project_id)
    if own is None:
        return _check(IDLE, line, UNKNOWN, N_("Use of the pool is not metered, so idle GPUs are not known."))
    held = on.evidence.guaranteed(line.pool_id, on.ask.project_id)
    as_of = on.evidence.as_of(line.pool_id)
    figures = [Figure("own_idle", own.quantize(Decimal("0.1")), GPU, "", as_of), Figure("held", held, GPU)]
    department = on.evidence.idle_of_department(line.pool_id) if on.sees_department() else None
    if department is not None:
        figures.append(Figure("department_idle", department.quantize(Decimal("0.1")), GPU, "", as_of))
    idle, of_whom = (own, "own") if department is None else (department, "department")
    params = {"idle": int(idle), "held": held, "pool": line.pool.name}
    if int(idle) < 1 or (held and own * 100 <= held * IDLE_PERCENT and of_whom == "own"):
        return _check(IDLE, line, OK, N_("What is held of the pool is used."), figures=tuple(figures))
    says = (
        N_("The project leaves %(idle)s of its %(held)s guaranteed GPUs of “%(pool)s” unused on its busiest days.")
        if of_whom == "own"
        else N_("The department leaves %(idle)s guaranteed GPUs of “%(pool)s” unused on their busiest days.")
    )
    return _check(
        IDLE,
        line,
        WARN,
        says,
        params=params,
        advice=N_("Use or return those %(idle)s first; the ask becomes smaller by as many."),
        figures=tuple(figures),
    )


def _use(on: Grounds, line: AskLine) -> Check:
    held = on.evidence.guaranteed(line.pool_id, on.ask.project_id)
    as_of = on.evidence.as_of(line.pool_id)
    if not held:
        return _check(USE, line, OK, N_("The project holds no guarantee of this pool yet."))
    if as_of is None:
        return _check(USE, line, UNKNOWN, N_("Use of the pool is not metered, so nothing is known of it."))
    use = on.evidence.use(line.pool_id, on.ask.project_id)
    share = percent(gpus(use.p95), held)
    figures = (
        Figure("used_p95", gpus(use.p95), GPU, "", as_of),
        Figure("used_percent", share, PERCENT, "", as_of),
        Figure("threshold", WELL_USED_PERCENT, PERCENT),
    )
    params = {"share": share, "held": held, "threshold": WELL_USED_PERCENT, "pool": line.pool.name}
    says = N_("On 95 days of a hundred, at most %(share)s%% of the %(held)s guaranteed GPUs of “%(pool)s” are in use.")
    if share is not None and share >= WELL_USED_PERCENT:
        return _check(USE, line, OK, says, params=params, figures=figures)
    advice = N_(
        "Below %(threshold)s%% the present quota has to be used before it grows; say why more is needed in spite of it."
    )
    return _check(USE, line, WARN, says, params=params, advice=advice, figures=figures)


def _budget(on: Grounds) -> Check:
    cost = on.cost
    if not on.estimated:
        return _check(BUDGET, None, OK, N_("It adds no cost."))
    if on.estimates is None:
        return _check(BUDGET, None, UNKNOWN, N_("There are no prices in this installation, so the cost is not known."))
    figures = (Figure("cost", cost, MONEY, "amount"), Figure("budget_left", on.budget, MONEY, "budget_year"))
    params: dict[str, Any] = {"cost": cost, "left": on.budget, "currency": on.currency}
    if cost is None:
        params["days"] = max(one.unpriced_days for one in on.estimates)
        says = N_("On %(days)s of the days the pool has no price, so the cost is not known.")
        advice = N_("Have finance enter the price; until then whoever decides does so without the cost.")
        return _check(BUDGET, None, UNKNOWN, says, params=params, advice=advice, figures=figures)
    if on.budget is None:
        says = N_("In full use it costs %(cost)s %(currency)s. No budget is set.")
        return _check(BUDGET, None, UNKNOWN, says, params=params, figures=figures)
    params["after"] = on.budget - cost
    if cost <= on.budget:
        says = N_("In full use it costs %(cost)s %(currency)s; %(after)s are left of the budget then.")
        return _check(BUDGET, None, OK, says, params=params, figures=figures)
    says = N_("In full use it costs %(cost)s %(currency)s; %(left)s are left of the budget.")
    advice = N_("Ask for fewer GPUs or days, for elastic, or have the budget raised first.")
    return _check(BUDGET, None, BAD, says, params=params, advice=advice, figures=figures)


def _limits(on: Grounds, line: AskLine) -> Check:
    if on.ask.kind in (Kind.RETURN, Kind.KEEP):
        return _check(LIMITS, line, OK, N_("No offering limits it."))
    params: dict[str, Any]
    offering, any_offered = line.offering, True
    if offering is None and on.ask.round:  # it was submitted under none: what matters is whether there is one by now
        any_offered = on.evidence.offers_anything(line.pool_id)
    elif offering is None:
        offering, any_offered = offering_of(line, line.left.from_on or on.evidence.today, on.evidence.departments)
    if offering is None:
        if not any_offered:
            return _check(LIMITS, line, OK, N_("The pool has no offering, so nothing limits it."))
        params = {"pool": line.pool.name, "level": line.level}
        says = N_("The pool “%(pool)s” does not offer the level “%(level)s” to this department.")
        return _check(LIMITS, line, BAD, says, params=params, advice=N_("Take a level or a pool that is offered."))
    faults = limit_faults(on.ask.kind, line.position, offering, line.left, line.before)
    days = rules.days_of(line.left)
    figures = (
        Figure("days", days, DAY),
        Figure("most_days", offering.max_days, DAY),
        Figure("most_gpus", offering.max_gpus, GPU),
    )
    if faults:
        params, advice = dict(faults[0].params), N_("Keep to the limits of the offering.")
        return _check(LIMITS, line, BAD, faults[0].message, params=params, advice=advice, figures=figures)
    params = {"offering": offering.name}
    return _check(LIMITS, line, OK, N_("It keeps to the limits of “%(offering)s”."), params=params, figures=figures)


def _waiting(on: Grounds, line: AskLine) -> Check:
    found = on.evidence.waiting(line.pool_id)
    if found.as_of is None:
        return _check(
            WAITING, line, UNKNOWN, N_("The queue of the pool is not sampled, so what waits now is not known.")
        )
    waiting = found.milli.get("capacity", 0) // 1000
    figures = (
        Figure("waiting_jobs", found.jobs, "job", "", found.as_of),
        Figure("waiting_gpus", waiting, GPU, "wait_capacity", found.as_of),
        Figure("waiting_quota_gpus", found.milli.get("quota", 0) // 1000, GPU, "wait_quota", found.as_of),
    )
    params = {"waiting": waiting, "jobs": found.jobs, "pool": line.pool.name}
    if not waiting:
        says = N_("Nothing waits for free GPUs of “%(pool)s” now.")
        return _check(WAITING, line, OK, says, params=params, figures=figures)
    says = N_("Jobs for %(waiting)s GPUs wait for capacity of “%(pool)s” now.")
    advice = N_("More quota alone brings no GPUs: count on waiting, or take elastic or another pool.")
    return _check(WAITING, line, WARN, says, params=params, advice=advice, figures=figures)


def alternatives(on: Grounds) -> list[Alternative]:
    """Faster ways: give back or use what lies idle, elastic in the same pool, another pool that has room now."""
    found: list[Alternative] = []
    if on.ask.kind in (Kind.RETURN, Kind.KEEP, Kind.EXTEND):
        return found
    options: list[tuple[Alternative, Wanted]] = []
    for line in on.lines:
        own = on.evidence.idle(line.pool_id, on.ask.project_id)
        if own is not None and int(own) >= 1:
            says = N_("Use the %(gpus)s idle GPUs of your own first: today, and at no further cost.")
            params = {"gpus": int(own), "pool": line.pool.name}
            found.append(
                Alternative("return_idle", says, params, int(own), line.pool.code, line.level, cost=Decimal(0))
            )
        options += _offers(on, line)
    estimates = money().estimates([one for _, one in options]) if options else []
    costs = [None] * len(options) if estimates is NOT_SET else [one.amount for one in estimates]
    for (one, _), cost in zip(options, costs, strict=True):
        found.append(Alternative(one.code, one.says, one.params, one.gpus, one.pool, one.level, cost=cost))
    return found


def _offers(on: Grounds, line: AskLine) -> list[tuple[Alternative, Wanted]]:
    window, need = window_of(on, line), added(on.ask, line)
    if need <= 0 or window.to_on is None or window.to_on <= window.from_on:
        return []
    found = []
    for offer in on.evidence.offered():
        params = {"gpus": need, "pool": offer.pool_name, "offering": offer.name}
        cost_of = Wanted(offer.pool_code, need, window.from_on, window.to_on, qos=offer.qos)
        if offer.pool == line.pool_id and offer.level == quotas.ELASTIC and line.level != quotas.ELASTIC:
            says = N_("Take “%(offering)s”: no approval of room, but jobs may be preempted.")
            found.append((Alternative("elastic", says, params, need, offer.pool_code, offer.level), cost_of))
        elif offer.pool != line.pool_id and offer.level == line.level and line.left.guaranteed_gpus:
            room = on.evidence.room(offer.pool, window).gpus
            if room >= need:
                params["room"] = room
                says = N_("Take “%(pool)s”, which has room for %(room)s GPUs on these days.")
                found.append((Alternative("other_pool", says, params, need, offer.pool_code, offer.level), cost_of))
    return found
