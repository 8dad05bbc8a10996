"""A policy's document: is it sound, which of its rules an ask falls under, which stages that gives. Plain Python.

The form is policy.schema.json. What is checked beyond the form: roles that exist and can be held on that scope, codes that
are used once, a last rule without conditions, and no rule that an earlier one always goes before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from governance.access.rules import SCOPES, Role
from governance.errors import N_, BadData, BadItems

from .rules import ANY, SOME

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("policy.schema.json").read_text(encoding="utf-8"))
HOURS, EXPIRES_DAYS = 16.0, 30
HOME, PARENT, DEPARTMENT, PROJECT, POOL, SITE = "home_department", "parent_department", "department", "project", "pool", "site"  # fmt: skip
#: The kind of node that a scope's roles are held on.
NODES = {
    HOME: "department",
    PARENT: "department",
    DEPARTMENT: "department",
    PROJECT: "project",
    POOL: "pool",
    SITE: "site",
}
BOUNDS = ("gpus", "gpu_hours", "days", "cost")
SETS = ("kinds", "levels", "pools", "departments")


class Who(NamedTuple):
    """role@scope; `code` names the department where the scope does."""

    role: str
    scope: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.role}@{self.scope}{':' + self.code if self.code else ''}"

    @classmethod
    def read(cls, text: str) -> Who:
        """From role@scope."""
        role, _, scope = text.partition("@")
        scope, _, code = scope.partition(":")
        return cls(role, scope, code)


@dataclass(frozen=True)
class Facts:
    """What conditions are asked of. `gpus` are added to what is held (given back: how many); cost and over_budget None: not known."""

    kind: str
    pools: frozenset[str]
    levels: frozenset[str]
    departments: frozenset[str]  # the home department and all above it
    gpus: int = 0
    gpu_hours: int = 0
    days: int = 0
    cost: Decimal | None = None
    over_budget: bool | None = None


@dataclass(frozen=True)
class StagePlan:
    """A stage as the policy wants it."""

    code: str
    who: Who
    name: Mapping[str, str] = field(default_factory=dict)
    rule: str = ANY
    k: int = 1
    hours: float = HOURS
    escalate: Who | None = None
    another_hand: bool = False


@dataclass(frozen=True)
class Plan:
    """What a policy says of an ask: the rule, and its stages; none where the rule itself approves."""

    rule: str
    is_auto: bool
    stages: tuple[StagePlan, ...]
    inform: tuple[Who, ...] = ()


def holds(when: Mapping[str, Any], facts: Facts) -> bool:
    """Whether all conditions hold. A cost that is not known lies beyond any bound."""
    for name, wanted in when.items():
        if name == "kinds":
            fits = facts.kind in wanted
        elif name == "levels":
            fits = facts.levels <= set(wanted)
        elif name == "pools":
            fits = facts.pools <= set(wanted)
        elif name == "departments":
            fits = bool(facts.departments & set(wanted))
        elif name == "over_budget":
            fits = bool(facts.over_budget) == wanted
        else:
            fits = _within(wanted, getattr(facts, name))
        if not fits:
            return False
    return True


def _within(bounds: Mapping[str, float], value: Decimal | int | None) -> bool:
    if value is None:
        return "at_most" not in bounds
    low, high = bounds.get("at_least"), bounds.get("at_most")
    return (low is None or value >= Decimal(str(low))) and (high is None or value <= Decimal(str(high)))


def plans(document: Mapping[str, Any], facts: Facts) -> list[Plan]:
    """The rules that fit, in order; the first decides, and what follows is for an automatic one that finds no room.

    A rule with stages of which none applies to these facts is passed over.
    """
    found = []
    for rule in document["rules"]:
        if not holds(rule.get("when", {}), facts):
            continue
        stages = tuple(_stage(one) for one in rule.get("stages", ()) if holds(one.get("when", {}), facts))
        if stages or rule.get("auto"):
            inform = tuple(Who.read(one) for one in rule.get("inform", ()))
            found.append(Plan(rule["code"], bool(rule.get("auto")), stages, inform))
    return found


def _stage(given: Mapping[str, Any]) -> StagePlan:
    return StagePlan(
        code=given["code"],
        who=Who.read(given["who"]),
        name=given.get("name", {}),
        rule=given.get("rule", ANY),
        k=given.get("k", 1),
        hours=float(given.get("hours", HOURS)),
        escalate=Who.read(given["escalate"]) if "escalate" in given else None,
        another_hand=given.get("another_hand", False),
    )


NO_FORM = N_("%(where)s: %(words)s")
NO_ROLE = N_("%(where)s: there is no role “%(role)s”.")
NOT_HELD_THERE = N_("%(where)s: the role “%(role)s” cannot be held on “%(scope)s”.")
TWICE = N_("%(where)s: the code “%(code)s” is used twice.")
UNREACHABLE = N_("Rule “%(rule)s” is never reached: rule “%(earlier)s” before it takes every ask that it fits.")
NO_LAST = N_("The last rule must have no conditions, and a stage without conditions: some asks would have no way.")
K_MISSING = N_("%(where)s: “k_of_n” needs k of at least 1; other rules have none.")
BOUNDS_TURNED = N_("%(where)s: “at_least” lies above “at_most”.")


def faults(document: Any) -> list[BadData]:
    """Everything that is wrong with a document; nothing where it is sound."""
    if "\\u0000" in json.dumps(document):  # no database keeps it
        return [BadData(NO_FORM, where="policy", words="NUL")]
    formal = sorted(Draft202012Validator(SCHEMA).iter_errors(document), key=lambda one: [str(p) for p in one.path])
    if formal:
        return [
            BadData(NO_FORM, where="/".join(str(p) for p in one.path) or "policy", words=one.message[:300])
            for one in formal[:20]
        ]
    rules: list[dict[str, Any]] = document["rules"]
    found = list(_faults_of_codes([rule["code"] for rule in rules], "rules"))
    for rule in rules:
        found += _faults_of_rule(rule)
    for position, rule in enumerate(rules):
        earlier = next((one for one in rules[:position] if _covers(one, rule)), None)
        if earlier is not None:
            found.append(BadData(UNREACHABLE, rule=rule["code"], earlier=earlier["code"]))
    last = rules[-1]
    if last.get("when") or not any(not one.get("when") for one in last.get("stages", ())):
        found.append(BadData(NO_LAST))
    return found


def want_sound(document: Any) -> None:
    """Raise BadItems with everything that is wrong with a document."""
    found = faults(document)
    if found:
        raise BadItems(found)


def _faults_of_codes(codes: Sequence[str], where: str) -> list[BadData]:
    return [BadData(TWICE, where=where, code=code) for code in sorted({c for c in codes if codes.count(c) > 1})]


def _faults_of_rule(rule: Mapping[str, Any]) -> list[BadData]:
    where = f"rules/{rule['code']}"
    found = _faults_of_when(rule.get("when", {}), where)
    stages = rule.get("stages", ())
    found += _faults_of_codes([one["code"] for one in stages], where)
    for one in stages:
        at = f"{where}/{one['code']}"
        found += _faults_of_when(one.get("when", {}), at)
        found += [fault for name in ("who", "escalate") if name in one for fault in _faults_of_who(one[name], at)]
        if (one.get("rule") == SOME) != ("k" in one):
            found.append(BadData(K_MISSING, where=at))
    return found + [fault for one in rule.get("inform", ()) for fault in _faults_of_who(one, where)]


def _faults_of_who(text: str, where: str) -> list[BadData]:
    who = Who.read(text)
    if who.role not in {str(role) for role in Role}:
        return [BadData(NO_ROLE, where=where, role=who.role)]
    if NODES[who.scope] not in SCOPES[Role(who.role)]:
        return [BadData(NOT_HELD_THERE, where=where, role=who.role, scope=who.scope)]
    return []


def _faults_of_when(when: Mapping[str, Any], where: str) -> list[BadData]:
    return [
        BadData(BOUNDS_TURNED, where=f"{where}/{name}")
        for name in BOUNDS
        if name in when and when[name].get("at_least", 0) > when[name].get("at_most", float("inf"))
    ]


def _covers(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether an earlier rule takes every ask that a later one fits. One whose stages all have conditions may pass an ask on."""
    always = any(not one.get("when") for one in earlier.get("stages", ()))
    # An automatic rule that finds no room passes the ask on, so it hides nothing but another automatic rule.
    if not always and not (earlier.get("auto") and later.get("auto")):
        return False
    mine, other = earlier.get("when", {}), later.get("when", {})
    for name, wanted in mine.items():
        if name not in other:
            return False
        if name in SETS:
            if not set(other[name]) <= set(wanted):
                return False
        elif name == "over_budget":
            if other[name] != wanted:
                return False
        elif not _wider(wanted, other[name]):
            return False
    return True


def _wider(bounds: Mapping[str, float], other: Mapping[str, float]) -> bool:
    low = "at_least" not in bounds or other.get("at_least", float("-inf")) >= bounds["at_least"]
    high = "at_most" not in bounds or other.get("at_most", float("inf")) <= bounds["at_most"]
    return low and high
