"""Offering and awarding in the demo company, by the actions of the portal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from django.db import transaction

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.quotas import actions, pool_terms, rooms
from governance.quotas.actions import Terms
from governance.quotas.models import Offering
from governance.quotas.pool_terms import Offer
from governance.quotas.rules import Days
from governance.tenants.models import Placement, day_of_today
from portal.demo import company, quotas
from portal.demo.plan import DemoPlan

SMALL = 100  # cards of a pool


@transaction.atomic
def give(plan: DemoPlan, *, actor: Actor, progress: Callable[[int, int], None] | None = None) -> None:
    """Set the terms of the pools and award the quotas; nothing where something is offered already."""
    if Offering.objects.exists():
        return
    arguments = plan.arguments
    _offer(plan, actor)
    pools = {pool.code: pool for pool in Pool.objects.exclude(cluster=None)}
    homes = dict(Placement.objects.on(day_of_today()).values_list("project__code", "department"))
    lines = quotas.held(plan.pools, arguments.first_on, arguments.end_on)
    small = {pool.code for pool in plan.pools if pool.total_cards < SMALL}
    middle = company.middle_of(arguments.first_on, arguments.until)
    for number, line in enumerate(lines, 1):
        _award(line, pools[line.pool], homes.get(line.project), middle, actor, is_small=line.pool in small)
        if progress:
            progress(number, len(lines))


def _offer(plan: DemoPlan, actor: Actor) -> None:
    first_on = plan.arguments.first_on
    for one in quotas.offered(plan.pools):
        terms = Offer(
            one.code, one.pool, one.qos, one.level, one.zh, one.en, one.service_level, max_gpus=one.most, max_days=180,
            max_wall_s=one.wall_s, min_run_s=one.min_run_s, from_on=first_on,
        )  # fmt: skip
        pool_terms.offer(terms, actor=actor)
        pool_terms.set_queue_rule(
            one.pool, one.level, from_on=first_on, priority=one.priority, preempts=one.preempts,
            pool_share_percent=one.share_percent, actor=actor,
        )  # fmt: skip
    for pool, kind, factor in quotas.policies(plan.pools):
        pool_terms.set_policy(pool, kind, factor=factor, from_on=first_on, actor=actor)
    for pool, department, gpus in quotas.shares(plan.pools):
        pool_terms.set_share(pool, department, gpus, from_on=first_on, actor=actor)


def _award(line: quotas.Held, pool: Pool, home: int | None, middle: date, actor: Actor, *, is_small: bool) -> None:
    """As much as there is room for: in a small pool a node out of service takes it all. A large one has a fifth to spare."""
    gpus = line.guaranteed
    if gpus and is_small:
        gpus = min(gpus, max(0, rooms.room(pool, Days(line.from_on, line.to_on), home=home).gpus))
    if not gpus and line.level != "elastic":
        return
    first = min(line.raised_from or gpus, gpus)
    terms = Terms(
        line.project,
        line.pool,
        first,
        max(line.ceiling, gpus),
        line.from_on,
        line.to_on,
        level=line.level,
        gpu_hours=line.gpu_hours,
    )
    made = actions.award(terms, actor=actor, note=quotas.AWARDED)
    if first < gpus:
        made = actions.change(made.number, on=middle, guaranteed_gpus=gpus, actor=actor, note=quotas.RAISED_WHY)
    if line.suspended_on:
        actions.suspend(
            made.number,
            from_on=line.suspended_on,
            to_on=None,
            reason=quotas.SUSPENDED_WHY,
            actor=actor,
        )
