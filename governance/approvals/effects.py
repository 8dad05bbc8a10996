"""What an approved ask does: lay, extend, end or exempt, by the actions of quotas, in the transaction of the last decision.

Pools are locked in the order of their ids before anything is laid, so that two asks about the same pools cannot wait for each
other. Room is asked again there. Whatever is refused here undoes the decision, which is told in words.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.errors import N_, BadData, NotTheMoment
from governance.quotas import actions as quotas
from governance.quotas import rules as quota_rules
from governance.quotas.actions import Terms
from governance.quotas.models import Quota

from .completeness import base_of, limit_faults, still_offered
from .models import Ask, AskLine, ReclaimExemption
from .rules import Amounts, Kind

BASE_MOVED = N_(
    "The quota %(quota)s is not any more as it was when the ask %(number)s was submitted."
    " Return the ask: its author bases it on the quota of today."
)
OFFERING_GONE = N_(
    "The offering of line %(line)s is not open any more. Return the ask, so that its author takes another one."
)
DAYS_OVER = N_("The days of line %(line)s lie behind: they ended on %(day)s. Return the ask, or reject it.")


def apply(ask: Ask, lines: list[AskLine], *, actor: Actor, today: date) -> list[Quota]:
    """Give the ask its effect; answers the quotas that were made or changed, and notes them on the lines.

    Raises NotTheMoment where a base has moved, an offering is gone, days are over or there is no room; BadData for amounts
    that the offering does not come in.
    """
    pools = sorted({line.pool_id for line in lines})
    list(Pool.objects.select_for_update(no_key=True).filter(pk__in=pools).order_by("pk"))
    made = []
    for line in lines:
        found = _line(ask, line, actor=actor, today=today)
        if found is not None:
            line.made = found
            made.append(found)
        line.save()
    return made


def _line(ask: Ask, line: AskLine, *, actor: Actor, today: date) -> Quota | None:
    amounts = line.left
    kind = Kind(ask.kind)
    if kind != Kind.RETURN and not amounts.ceiling_gpus:
        return None  # this line was refused
    quota = _base(ask, line, today)
    from_on = max(amounts.from_on or today, today)
    if amounts.to_on is not None and amounts.to_on <= from_on:
        raise NotTheMoment(DAYS_OVER, line=line.position, day=amounts.to_on)
    if kind not in (Kind.RETURN, Kind.KEEP):
        _want_offering(ask, line, amounts, from_on)
    if kind == Kind.KEEP:
        _exempt(ask, line, amounts, from_on)
        return quota
    if kind == Kind.RETURN and not amounts.ceiling_gpus:
        assert quota is not None
        return quotas.end_decided(
            quota.number, on=from_on, ended_as=quota_rules.RETURNED, reason=_why(ask), actor=actor, source=ask.number
        )
    return quotas.lay(
        _terms(ask, line, amounts, from_on),
        actor=actor,
        ask=ask.number,
        note=_why(ask),
        override=ask.override_reason,
        may_replace=quota is not None and kind != Kind.EXTEND,
        ended_as=quota_rules.RETURNED if kind == Kind.RETURN else quota_rules.REPLACED,
    )


def _why(ask: Ask) -> str:
    return f"{ask.number} {ask.goal}".strip()[:300]


def _base(ask: Ask, line: AskLine, today: date) -> Quota | None:
    """The quota that the line changes, if it still is what it was at submit."""
    if line.quota_id is None:
        return None
    number = Quota(pk=line.quota_id).number
    moved = NotTheMoment(BASE_MOVED, quota=number, number=ask.number)
    try:
        quota = quotas.standing(number, today, lock=True)
    except NotTheMoment:
        raise moved from None
    if base_of(quota) != line.before or quota.is_void:
        raise moved
    return quota


def _want_offering(ask: Ask, line: AskLine, amounts: Amounts, day: date) -> None:
    if not still_offered(line, day):
        raise NotTheMoment(OFFERING_GONE, line=line.position)
    if line.offering is not None:
        faults = limit_faults(ask.kind, line.position, line.offering, replace(amounts, from_on=day), line.before)
        if faults:
            raise BadData(faults[0].message, **faults[0].params)


def _terms(ask: Ask, line: AskLine, amounts: Amounts, from_on: date) -> Terms:
    return Terms(
        project=ask.project.code,
        pool=line.pool.code,
        model=line.model.code if line.model else "",
        level=line.level,
        guaranteed_gpus=amounts.guaranteed_gpus,
        ceiling_gpus=amounts.ceiling_gpus,
        gpu_hours=amounts.gpu_hours,
        hours_period=line.hours_period,
        from_on=from_on,
        to_on=amounts.to_on,
    )


def _exempt(ask: Ask, line: AskLine, amounts: Amounts, from_on: date) -> None:
    ReclaimExemption.objects.create(
        project=ask.project,
        pool=line.pool,
        model=line.model,
        level=line.level,
        ask=ask,
        reason=ask.goal[:500],
        from_on=from_on,
        to_on=amounts.to_on,
    )


def left_of(lines: list[AskLine]) -> list[dict[str, object]]:
    """The lines as the stages so far have left them, as JSON keeps it."""
    return [{"position": line.position, **line.left.as_dict()} for line in lines]


def is_less(lines: list[AskLine]) -> bool:
    """Whether less than was asked is left of any line."""
    return any(line.left != line.asked for line in lines)
