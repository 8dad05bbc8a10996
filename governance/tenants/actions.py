"""Writes of tenants: the tree of departments, projects and where they stand, whose use it is, people and their roles.

Rows are spoken of by codes. Facts and money stand on mappings and placements: whoever calls also marks the days to be
metered and priced again, which lies above this topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from itertools import combinations

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Model

from governance.access.actor import Actor, require
from governance.access.models import Person
from governance.access.rules import SCOPES, SEPARATED, Role
from governance.catalogue.intervals import Interval, ended, in_order, overlap
from governance.catalogue.models import Installation, Pool
from governance.catalogue.writing import Key, Parts, Table, Values, put, read_dated, replace
from governance.errors import N_, BadData, NotTheMoment

from .models import (
    GRANTS,
    AccountMapping,
    Department,
    Login,
    PayerShare,
    Placement,
    Project,
)

NAMES = {"name_zh": "name_zh", "name_en": "name_en"}
DEPARTMENTS = Table(
    "department", Department, ("code",), {**NAMES, "parent": "parent__code", "cost_centre": "cost_centre"}
)
PROJECTS = Table("project", Project, ("code",), NAMES)
PLACEMENTS = Table(
    "placement",
    Placement,
    ("project__code",),
    {"department": "department__code"},
    parts=Parts("payers", PayerShare, "placement", "department__code", "percent"),
)
PEOPLE = Table("person", Person, ("username",), {**NAMES, "email": "email"})
LOGINS = Table("login", Login, ("cluster__code", "login"), {"person": "person__username"})
MAPPINGS = Table("mapping", AccountMapping, ("cluster__code", "account", "user", "qos"), {"project": "project__code"})

SCOPE_MODELS: dict[str, type[Model]] = {
    "site": Installation,
    "department": Department,
    "project": Project,
    "pool": Pool,
}

#: Grants by the kind of node they are on; a key is (username, role, code), or (username, role) on the site.
GRANT_TABLES = {
    scope: Table(
        "grant",
        model,
        ("user__username", "permission__codename", *(() if scope == "site" else ("content_object__code",))),
        limits={
            "permission": {
                "content_type__app_label": SCOPE_MODELS[scope]._meta.app_label,
                "content_type__model": str(SCOPE_MODELS[scope]._meta.model_name),
            }
        },
    )
    for scope, model in GRANTS.items()
}


def put_departments(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change departments by code."""
    require(actor, "organisation.change")
    return put(DEPARTMENTS, rows, actor=actor)


def put_projects(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change projects by code."""
    require(actor, "organisation.change")
    return put(PROJECTS, rows, actor=actor)


def set_placements(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace the dated homes of each project; `payers` is {department: percent}, empty where the home pays all."""
    require(actor, "organisation.change")
    return replace(PLACEMENTS, rows, actor=actor)


def put_people(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Add or change people by username; who is new has no usable password."""
    require(actor, "organisation.change")
    return put(PEOPLE, rows, actor=actor, extra=lambda _: {"password": make_password(None)})


def put_logins(rows: Mapping[Key, Values], *, actor: Actor) -> int:
    """Say which person a login (cluster, login) is."""
    require(actor, "organisation.change")
    return put(LOGINS, rows, actor=actor)


def set_mappings(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace the dated projects of each pattern (cluster, account, user, qos); `*` stands for any."""
    require(actor, "organisation.change")
    return replace(MAPPINGS, rows, actor=actor)


@transaction.atomic
def set_grants(rows: Mapping[Key, list[Interval]], *, actor: Actor) -> int:
    """Replace the days of each grant (username, role, scope, code); on the scope "site" the code is empty."""
    require(actor, "grants.change")
    changed = 0
    for scope, table in GRANT_TABLES.items():
        mine = {_grant_key(*key): intervals for key, intervals in rows.items() if key[2] == scope}
        extra: Values = {"granted_by": actor.name}
        if scope == "site":
            extra["content_object_id"] = 1
        changed += replace(table, mine, actor=actor, extra=lambda _, extra=extra: extra) if mine else 0  # type: ignore[misc]
    return changed


def standing_grants() -> dict[Key, list[Interval]]:
    """The days of every grant, by (username, role, scope, code)."""
    found: dict[Key, list[Interval]] = {}
    for scope, table in GRANT_TABLES.items():
        for key, intervals in read_dated(table).items():
            found[(key[0], key[1], scope, key[2] if len(key) > 2 else "")] = intervals
    return found


@transaction.atomic
def grant(
    username: str,
    role: Role,
    scope: str,
    code: str = "",
    *,
    from_on: date | None = None,
    to_on: date | None = None,
    actor: Actor,
) -> None:
    """Give a person a role on a node (`scope` is site, department, project or pool) for the days [from_on, to_on).

    Raises BadData where the role is not held on such a node, the days are out of order, or some are granted already.
    """
    if scope not in SCOPES[role]:
        raise BadData(N_("The role %(role)s is not held on a %(scope)s."), role=str(role), scope=scope)
    if from_on is not None and to_on is not None and to_on <= from_on:
        raise BadData(N_("It would end before it begins."))
    key = (username, str(role), scope, code)
    standing = _standing(key)
    if any(overlap(one.span, (from_on, to_on)) for one in standing):
        raise BadData(
            N_("%(person)s already holds the role %(role)s on some of these days."), person=username, role=str(role)
        )
    if scope == "site":
        _refuse_combined(username, str(role), (from_on, to_on))
    set_grants({key: in_order([*standing, Interval(from_on, to_on, {})])}, actor=actor)


@transaction.atomic
def end_grant(username: str, role: Role, scope: str, code: str = "", *, on: date, actor: Actor) -> None:
    """End a grant: from the day `on` it is no longer held. One that would begin on or after that day never was.

    Raises NotTheMoment where nothing is held on or after the day.
    """
    key = (username, str(role), scope, code)
    standing = _standing(key)
    kept = ended(standing, on)
    if kept == standing:
        raise NotTheMoment(N_("%(person)s does not hold the role %(role)s then."), person=username, role=str(role))
    set_grants({key: kept}, actor=actor)


def combined(held: Mapping[str, list[Interval]]) -> tuple[str, str] | None:
    """Two of the separated roles that one person holds on one day; `held` is that person's roles with their days."""
    separated = [(role, one.span) for role, days in held.items() if role in SEPARATED for one in days]
    for (role, span), (other, other_span) in combinations(separated, 2):
        if role != other and overlap(span, other_span):
            return role, other
    return None


def may_combine() -> bool:
    """Whether this installation lets one person administer audit, system and security together."""
    return bool(getattr(settings, "STEELYARD_COMBINED_ADMINISTRATION", False))


def _refuse_combined(username: str, role: str, span: tuple[date | None, date | None]) -> None:
    held = {key[1]: days for key, days in read_dated(GRANT_TABLES["site"]).items() if key[0] == username}
    held[role] = [*held.get(role, []), Interval(*span, {})]
    both = combined(held)
    if both is not None and not may_combine():
        raise BadData(
            N_("%(person)s would hold %(role)s and %(other)s together; these are kept in different hands."),
            person=username,
            role=both[0],
            other=both[1],
        )


def _standing(key: Key) -> list[Interval]:
    short = _grant_key(*key)
    return read_dated(GRANT_TABLES[key[2]], {short}).get(short, [])


def _grant_key(username: str, role: str, scope: str, code: str) -> Key:
    return (username, role) if scope == "site" else (username, role, code)
