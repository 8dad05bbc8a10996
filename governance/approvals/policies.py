"""Versions of the approval policy: write a draft, see what it would have done to past asks, activate it.

The right `policy.change` is held by the site's capacity managers and the administrators: those who run the pools know who has to
decide, and neither decides for departments. Every version stays, and asks keep the one they were submitted under.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.errors import N_, BadData, NotFound, NotTheMoment
from governance.tenants.models import day_of_today, department_tree

from . import policy
from .models import ApprovalPolicy, Ask, Stage
from .resolving import HOLDERS
from .submitting import facts_read

NO_VERSION = N_("There is no version %(version)s of the approval policy.")
IS_ACTIVE = N_("Version %(version)s is active already.")
NO_DEPARTMENT = N_("%(where)s: there is no department “%(code)s”.")
NOBODY_HOLDS = N_(
    "Nobody holds %(who)s today: such asks would go to the scope above, and then to the administrators' list."
)
MOST_SIMULATED = 2000
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('approval_policy', 0))"


@dataclass(frozen=True)
class Way:
    """What a policy does with an ask: the rule it falls under, and who would decide, stage by stage."""

    ask: str
    kind: str
    project: str
    gpus: int
    rule: str
    is_auto: bool
    stages: tuple[str, ...]  # code: role@scope
    before: tuple[str, ...]  # as it went under its own version
    outcome: str


@dataclass
class Simulation:
    """A policy on past asks, the newest first: each one's way, and how many take which."""

    ways: list[Way] = field(default_factory=list)
    by_rule: dict[str, int] = field(default_factory=dict)
    changed: int = 0  # asks that would have gone another way than they did
    left_out: int = 0  # older than the newest ones that are looked at


def validate(document: Any) -> list[BadData]:
    """Everything that is wrong with a document; nothing where it is sound. Departments are those of today."""
    found = policy.faults(document)
    if found:
        return found
    known = {one.code for one in department_tree().values()}
    for rule in document["rules"]:
        for where, who in _whos(rule):
            if who.scope == policy.DEPARTMENT and who.code not in known:
                found.append(BadData(NO_DEPARTMENT, where=where, code=who.code))
        for code in rule.get("when", {}).get("departments", ()):
            if code not in known:
                found.append(BadData(NO_DEPARTMENT, where=f"rules/{rule['code']}", code=code))
    return found


def warnings(document: Mapping[str, Any]) -> list[BadData]:
    """What is sound and still wants a look: roles that nobody holds today on any node of the scope's kind."""
    wanted = {who for rule in document["rules"] for _, who in _whos(rule)}
    held = set()
    with connection.cursor() as cursor:
        cursor.execute(HOLDERS, {"roles": sorted({who.role for who in wanted}), "today": day_of_today()})
        held = {(scope, role) for scope, role, _, _ in cursor.fetchall()}
    return [
        BadData(NOBODY_HOLDS, who=str(who)) for who in sorted(wanted) if (policy.NODES[who.scope], who.role) not in held
    ]


def _whos(rule: Mapping[str, Any]) -> list[tuple[str, policy.Who]]:
    found = []
    for stage in rule.get("stages", ()):
        where = f"rules/{rule['code']}/{stage['code']}"
        found += [(where, policy.Who.read(stage[name])) for name in ("who", "escalate") if name in stage]
    return found + [(f"rules/{rule['code']}", policy.Who.read(one)) for one in rule.get("inform", ())]


@transaction.atomic
def add_version(document: Any, *, actor: Actor, note: str = "") -> ApprovalPolicy:
    """Keep a sound document as the next version, a draft. Raises BadItems with all that is wrong."""
    require(actor, "policy.change")
    policy.want_sound(document)
    faults = validate(document)
    if faults:
        raise faults[0]
    _lock()
    last = ApprovalPolicy.objects.aggregate(last=Max("version"))["last"] or 0
    made = ApprovalPolicy.objects.create(version=last + 1, document=document, note=note[:500], made_by=actor.name)
    audit(actor, "policy.add", "approval_policy", str(made), after={"document": document, "note": note})
    return made


@transaction.atomic
def activate(version: int, *, actor: Actor, reason: str = "") -> ApprovalPolicy:
    """Let a version count for what is submitted from now on; what is in review goes on as it began."""
    require(actor, "policy.change")
    _lock()
    found = version_of(version)
    if found.state == ApprovalPolicy.ACTIVE:
        raise NotTheMoment(IS_ACTIVE, version=version)
    policy.want_sound(found.document)
    now = timezone.now()
    before = ApprovalPolicy.objects.filter(state=ApprovalPolicy.ACTIVE).first()
    if before is not None:
        before.state, before.active_to_at = ApprovalPolicy.PAST, now
        before.save(update_fields=["state", "active_to_at"])
    found.state, found.active_from_at, found.active_to_at = ApprovalPolicy.ACTIVE, now, None
    found.save(update_fields=["state", "active_from_at", "active_to_at"])
    audit(
        actor,
        "policy.activate",
        "approval_policy",
        str(found),
        before={"active": str(before) if before else None},
        after={"active": str(found), "reason": reason, "document": found.document},
    )
    return found


def version_of(version: int) -> ApprovalPolicy:
    """A version. Raises NotFound."""
    found = ApprovalPolicy.objects.filter(version=version).first() if 0 < version < 2**31 else None
    if found is None:
        raise NotFound(NO_VERSION, version=version)
    return found


def simulate(document: Any, *, actor: Actor, most: int = 200) -> Simulation:
    """Which stages each past ask would have had, by what its conditions were asked of when it was submitted. Changes nothing.

    Only asks that the actor sees; the newest `most` of them, 2000 at most.
    """
    require(actor, "policy.view")
    policy.want_sound(document)
    asks = Ask.objects.visible_to(actor).filter(round__gt=0).select_related("project").order_by("-pk")
    found, most = Simulation(), max(1, min(most, MOST_SIMULATED))
    rows = list(asks[: most + 1])
    found.left_out = asks.count() - most if len(rows) > most else 0
    went: dict[tuple[int, int], list[str]] = {}
    stages = Stage.objects.filter(ask__in=[ask.pk for ask in rows[:most]]).order_by("position")
    for stage in stages.values_list("ask", "round", "code", "role", "scope", "scope_code"):
        way = went.setdefault((stage[0], stage[1]), [])
        text = f"{stage[2]}: {policy.Who(*stage[3:])}"
        if not way or way[-1] != text:  # made once for each pool
            way.append(text)
    for ask in rows[:most]:
        (plan, *_) = policy.plans(document, facts_read(ask.facts))
        now = tuple(f"{stage.code}: {stage.who}" for stage in plan.stages)
        before = tuple(went.get((ask.pk, ask.round), ()))
        found.ways.append(
            Way(ask.number, ask.kind, ask.project.code, ask.gpus, plan.rule, plan.is_auto, now, before, ask.state)
        )
    found.by_rule = dict(Counter(way.rule for way in found.ways))
    found.changed = sum(way.stages != way.before for way in found.ways)
    return found


def _lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute(LOCK)
