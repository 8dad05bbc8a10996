"""The schema against the doors: whatever it allows is answered as it says, whatever it forbids is refused, nothing fails.

Each operation is asked with made-up data by somebody who may do it, and by a member, who must meet nobody else's data.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from governance.access.actor import Actor
from governance.doors.throttling import COUNTS
from governance.tokens import actions as tokens
from portal.api.urls import DOORS
from portal.wsgi import application
from tests.api.test_access_matrix import words_in
from tests.cast import FOREIGN, Cast

pytestmark = [pytest.mark.api, pytest.mark.django_db, pytest.mark.usefixtures("one_connection")]
OPERATIONS = [
    (f"/api/v1/{address}".replace("<str:", "{").replace("<int:", "{").replace(">", "}"), method)
    for address, door in DOORS
    for method in ("get", "post")
    if hasattr(door, method)
]
#: Who may do what the administrator may not.
OTHERS = {
    "/api/v1/audit-lines": "auditor",
    "/api/v1/runs": "finance",
    "/api/v1/usage-days": "finance",
    "/api/v1/ledger": "finance",
    "/api/v1/pools/{pool}": "capacity_manager",
    "/api/v1/quotas": "capacity_manager",
    "/api/v1/offerings": "capacity_manager",
    "/api/v1/queue-rules": "capacity_manager",
    "/api/v1/pool-policies": "capacity_manager",
    "/api/v1/department-shares": "capacity_manager",
}
#: Well-formed is not yet meaningful: an unknown period or a cursor of nobody is refused in words, with 422.
UNCHECKED = ("positive_data_acceptance",)
EXAMPLES = int(os.environ.get("STEELYARD_API_EXAMPLES", 8))
quick = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], max_examples=EXAMPLES)


@cache
def described() -> Any:
    """The schema as the server gives it, with the server behind it."""
    return schemathesis.openapi.from_wsgi("/api/schema/", application)


def by(cast: Cast, who: str) -> dict[str, str]:
    """The headers of a program that may do all that the person may."""
    _token, secret = tokens.issue("test", ["read", "write", "import"], 1, actor=Actor.of(cast.people[who]))
    return {"Authorization": f"Bearer {secret}", "Accept-Language": "en"}


def answers(path: str, method: str, mode: GenerationMode, headers: dict[str, str]) -> list[Any]:
    """The answers to made-up requests, each of them checked against the schema."""
    found = []

    @quick
    @given(case=described()[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        COUNTS.clear()
        checks = [schemathesis.checks.CHECKS.get_one(name) for name in UNCHECKED]
        found.append(case.call_and_validate(headers=headers, excluded_checks=checks))

    ask()
    return found


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_who_may_do_it_is_answered_as_the_schema_says(cast: Cast, path: str, method: str, mode: GenerationMode) -> None:
    who = next((name for start, name in OTHERS.items() if path.startswith(start)), "administrator")
    found = answers(path, method, mode, by(cast, who))
    assert all(one.status_code < 500 for one in found)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_a_member_meets_nobody_elses_data_whatever_is_asked(cast: Cast, path: str, method: str) -> None:
    for one in answers(path, method, GenerationMode.POSITIVE, by(cast, "member")):
        assert one.status_code < 500
        met = words_in(one.json()) & set(FOREIGN) if one.status_code == 200 else set()
        assert not met
