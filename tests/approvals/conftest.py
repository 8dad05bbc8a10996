"""A small company in which people ask and decide: members and leads ask, approvers and capacity managers decide."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from governance.access.actor import Actor
from governance.access.models import Person
from governance.approvals import drafts
from governance.approvals.drafts import Given, LineGiven
from governance.approvals.models import Ask
from governance.approvals.submitting import submit
from tests.books import declare

D = date.today() + timedelta(days=1)  # noqa: DTZ011 - any day near will do

PEOPLE: list[dict[str, Any]] = [
    {"username": "ann", "roles": [{"role": "member", "project": "ocr"}]},
    {"username": "lea", "roles": [{"role": "lead", "project": "ocr"}]},
    {"username": "amy", "roles": [{"role": "approver", "department": "vision"}]},
    {"username": "abe", "roles": [{"role": "approver", "department": "vision"}]},
    {"username": "top", "roles": [{"role": "approver", "department": "research"}]},
    {"username": "cap", "roles": [{"role": "capacity_manager", "pool": "train-h800"}]},
    {"username": "ric", "roles": [{"role": "approver", "department": "search"}]},
    {"username": "fin", "roles": [{"role": "finance"}]},
    {"username": "adm", "roles": [{"role": "administrator"}]},
    {"username": "out", "roles": [{"role": "member", "project": "rank"}]},
]


def day(n: int) -> date:
    """Days from tomorrow."""
    return D + timedelta(days=n)


def who(name: str) -> Actor:
    """Somebody of the company."""
    return Actor.of(Person.objects.get(username=name))


def line(gpus: int = 8, **other: Any) -> LineGiven:
    """A line for the training pool, for ninety days from tomorrow."""
    values: dict[str, Any] = {"pool": "train-h800", "guaranteed_gpus": gpus, "from_on": D, "to_on": day(90), **other}
    return LineGiven(**values)


def draft(by: str = "ann", kind: str = "new", *lines: LineGiven, project: str = "ocr", **other: Any) -> Ask:
    """A draft."""
    given = Given(kind, project, lines or (line(),), **{"goal": "Inspection line, due in September", **other})
    return drafts.save(given, actor=who(by))


def asked(by: str = "ann", kind: str = "new", *lines: LineGiven, **other: Any) -> Ask:
    """A submitted ask."""
    return submit(draft(by, kind, *lines, **other).number, actor=who(by))


def people(**changes: Any) -> None:
    """The company with these people."""
    declare(people=PEOPLE, **changes)


@pytest.fixture
def company(db: None) -> Callable[..., None]:
    """The company with these people."""
    people()
    return people
