"""Telling people what happened to an ask, in the transaction of the change. Who may decide is one thing, who wants mail another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from governance.notices.outbox import publish
from governance.notices.registry import Recipient
from governance.tenants.audience import holders
from governance.tenants.models import day_of_today

from .models import ActingGrant, Ask, AskLine, Move, Stage
from .policy import Who
from .resolving import Deciders, Resolver

AUTHOR, ACTING, INFORMED = "author", "acting", "informed"


def asked(ask: Ask, stage: Stage, found: Deciders) -> None:
    """Tell those who may decide that a stage asks them; the administrators, where it asks nobody."""
    publish("ask.to_decide", ask.number, deciding(found), f"{stage.pk}", facts(ask, due_at=stage.due_at))
    if found.is_short:
        stuck(ask, stage)


def stuck(ask: Ask, stage: Stage) -> None:
    """Tell the administrators that nobody can decide."""
    who = f"{stage.role}@{stage.scope}"
    publish("ask.without_approver", ask.number, holders("ask.assign"), f"{stage.pk}", facts(ask, who=who))


def escalated(ask: Ask, stage: Stage, found: Deciders) -> None:
    """Tell those who are asked from now on, and the author."""
    told = [*deciding(found), author(ask)]
    publish("ask.escalated", ask.number, told, f"{stage.pk}/{stage.escalated}", facts(ask, due_at=stage.due_at))
    if found.is_short:
        stuck(ask, stage)


def settled(ask: Ask, how: str, lines: list[AskLine], *, comment: str = "") -> None:
    """Tell the author what came of it, and whom the policy wants informed of an award."""
    given = facts(ask, comment=comment, gpus=sum(line.left.guaranteed_gpus or line.left.ceiling_gpus for line in lines))
    publish(f"ask.{how}", ask.number, [author(ask)], f"{ask.round}", given)
    if how == "approved":
        publish("ask.informed", ask.number, informed(ask, lines), f"{ask.round}", given)


def reminded(ask: Ask, stage: Stage, found: Deciders, threshold: str) -> int:
    """Tell those who may decide that it waits for them."""
    return publish("ask.reminded", ask.number, deciding(found), threshold, facts(ask, due_at=stage.due_at))


def expired(ask: Ask, told: Iterable[Recipient]) -> None:
    """Tell the author and those it waited for that it is closed."""
    publish("ask.expired", ask.number, told, f"{ask.round}", facts(ask))


def rehomed(ask: Ask, stage: Stage, found: Deciders) -> None:
    """Tell those it is with again."""
    publish(
        "ask.rehomed", ask.number, deciding(found), f"{stage.pk}/{ask.moves.count()}", facts(ask, due_at=stage.due_at)
    )


def named(event: str, ask: Ask, person_id: int, role: str, threshold: str, reason: str) -> None:
    """Tell somebody that a decision is theirs by name from now on."""
    publish(event, ask.number, [Recipient(person_id, role)], threshold, facts(ask, reason=reason))


def commented(ask: Ask, move: Move, found: Deciders | None) -> None:
    """Tell the author and those who may decide, but not the one who said it."""
    told = [author(ask), *(deciding(found) if found else ())]
    told = [one for one in told if one.person_id != move.by_id]
    publish("ask.commented", ask.number, told, f"{move.pk}", facts(ask, comment=move.text))


def author(ask: Ask) -> Recipient:
    """The author, as a recipient."""
    return Recipient(ask.asked_by_id, AUTHOR)


def deciding(found: Deciders) -> list[Recipient]:
    """Whose decision a stage wants, and who acts for them today; each once, in the nearest role."""
    told = {person: Recipient(person, found.roles.get(person, "")) for person in sorted(found.waiting_for)}
    acting = ActingGrant.objects.on(day_of_today()).filter(
        person__in=list(told), ended_at__isnull=True, deputy__is_active=True
    )
    for deputy in acting.order_by("deputy").values_list("deputy", flat=True):
        told.setdefault(deputy, Recipient(deputy, ACTING))
    return list(told.values())


def informed(ask: Ask, lines: Iterable[AskLine]) -> list[Recipient]:
    """Whom the rule of the policy wants informed."""
    rules = ask.policy.document["rules"] if ask.policy else []
    wanted: list[str] = next((rule.get("inform", []) for rule in rules if rule["code"] == ask.policy_rule), [])
    pools = {line.pool_id: line.pool for line in lines}.values()
    asked = [Who.read(one) for one in wanted]
    shapes = [
        Stage(ask=ask, round=ask.round, position=0, role=who.role, scope=who.scope, scope_code=who.code, pool=pool)
        for who in asked
        for pool in (pools if who.scope == "pool" else [None])
    ]
    if not shapes:
        return []
    resolver = Resolver(shapes)
    people = {person for shape in shapes for person in resolver.of(shape).standing.candidates}
    return [Recipient(person, INFORMED) for person in sorted(people)]


def facts(ask: Ask, **more: Any) -> dict[str, Any]:
    """The plain values that the words of every event may use."""
    return {"number": ask.number, "project": ask.project.name, "kind": ask.kind, **more}
