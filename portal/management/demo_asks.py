"""Asking and deciding in the demo company, by the actions of the portal and in the name of its people."""

from __future__ import annotations

from datetime import date, timedelta

from django.db import transaction

from governance.access.actor import Actor
from governance.access.models import Person
from governance.approvals import actions, drafts, submitting
from governance.approvals.actions import Award
from governance.approvals.drafts import Given, LineGiven
from governance.approvals.models import Ask
from governance.quotas.models import Quota
from governance.quotas.rules import ELASTIC
from governance.tenants.models import day_of_today
from portal.demo import quotas
from portal.demo.asks import ASKS, Asked, Said
from portal.demo.plan import DemoPlan

HOURS_OF_MONTH = 24 * 30


@transaction.atomic
def make(plan: DemoPlan) -> None:
    """Submit the asks and decide some; nothing where something was asked already.

    What wants a quota is left out where none stands: in a small company, or long after its records ended.
    """
    if Ask.objects.exists():
        return
    today = day_of_today()
    most = {(one.pool, one.level): one.most for one in quotas.offered(plan.pools)}
    for asked in ASKS:
        limit = most.get((asked.pool, asked.level))
        given = _given(asked, _standing(asked, today), min(asked.gpus, limit), today) if limit else None
        if given is None:
            continue
        author = _actor(asked.by)
        number = drafts.save(given, actor=author).number
        submitting.submit(number, actor=author)
        for said in asked.said:
            _decide(number, said)


def _actor(username: str) -> Actor:
    return Actor.of(Person.objects.get(username=username))


def _standing(asked: Asked, today: date) -> Quota | None:
    lines = Quota.objects.filter(project__code=asked.project, pool__code=asked.pool, level=asked.level, ended_as="")
    return next((one for one in lines.order_by("pk") if one.state_on(today) in ("active", "grace")), None)


def _given(asked: Asked, quota: Quota | None, gpus: int, today: date) -> Given | None:
    """The ask as its author writes it; None where there is nothing to extend or to give back."""
    if quota is None and asked.kind in ("extend", "return"):
        return None
    line = _fresh(asked, gpus, today) if quota is None else _changing(asked, quota, gpus, today)
    kind = "new" if quota is None and asked.kind == "increase" else asked.kind
    return Given(
        kind, asked.project, (line,), asked.goal, asked.basis, asked.confirmed_by, accepts_less=asked.accepts_less
    )


def _fresh(asked: Asked, gpus: int, today: date) -> LineGiven:
    return LineGiven(
        pool=asked.pool,
        level=asked.level,
        guaranteed_gpus=0 if asked.level == ELASTIC else gpus,
        ceiling_gpus=gpus,
        from_on=today,
        to_on=today + timedelta(days=asked.days or 60),
    )


def _changing(asked: Asked, quota: Quota, gpus: int, today: date) -> LineGiven:
    more = -min(gpus, quota.guaranteed_gpus) if asked.kind == "return" else gpus
    hours = quota.gpu_hours
    until = (quota.to_on if asked.kind == "extend" else today) if asked.days else None
    return LineGiven(
        quota=quota.number,
        guaranteed_gpus=quota.guaranteed_gpus + more,
        ceiling_gpus=quota.ceiling_gpus + more,
        gpu_hours=None if hours is None else max(0, hours + more * HOURS_OF_MONTH),
        to_on=until + timedelta(days=asked.days) if until else None,
    )


def _decide(number: str, said: Said) -> None:
    actor = _actor(said.by)
    if said.verdict == "return":
        actions.return_to_author(number, actor=actor, comment=said.comment)
    elif said.verdict == "reject":
        actions.reject(number, actor=actor, comment=said.comment)
    else:
        awards = _half(number) if said.verdict == "less" else ()
        actions.approve(number, actor=actor, awards=awards, comment=said.comment)


def _half(number: str) -> tuple[Award, ...]:
    lines = Ask.objects.get(pk=int(number.removeprefix("A-"))).lines.all()
    return tuple(
        Award(line.position, guaranteed_gpus=line.guaranteed_gpus // 2, ceiling_gpus=line.ceiling_gpus // 2)
        for line in lines
    )
