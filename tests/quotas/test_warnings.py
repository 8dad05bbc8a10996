"""Holders are told 30, 14, 7 and 1 days before a quota ends, and when it has: a missed day still tells, a rerun does not."""

from __future__ import annotations

import pytest

from governance.notices.models import Notice
from governance.quotas import actions
from governance.quotas.warnings import warn
from tests.books import MACHINE, declare
from tests.quotas.test_actions import day, terms

PEOPLE = [
    {"username": "ann", "roles": [{"role": "member", "project": "ocr"}]},
    {"username": "amy", "roles": [{"role": "approver", "department": "vision"}]},
    {"username": "ric", "roles": [{"role": "approver", "department": "search"}]},
]


@pytest.fixture
def company(db):
    declare(people=PEOPLE)


def told() -> list[tuple[str, str, str]]:
    rows = Notice.objects.order_by("pk").values_list("person__username", "happening__event", "happening__threshold")
    return [(who, event, threshold.rpartition("/")[2]) for who, event, threshold in rows]


def test_warnings_before_the_end(company):
    actions.award(terms(), actor=MACHINE)
    assert [warn(day(n)) for n in (59, 60, 60, 61, 76, 89)] == [0, 1, 0, 0, 1, 1]
    assert told() == [("ann", "quota.expiring", n) for n in ("30", "14", "1")]  # the seventh was missed, and is past


def test_the_end_is_told_once_and_not_where_another_line_follows(company):
    quota = actions.award(terms(), actor=MACHINE)
    actions.lay(terms(gpus=8, from_on=day(10), to_on=day(20)), actor=MACHINE)
    assert warn(day(11)) == warn(day(21)) == 0
    last = actions.standing(f"Q-{quota.pk + 2:06}", day(30))
    actions.end(last.number, on=day(30), ended_as="returned", reason="done", actor=MACHINE)
    assert [warn(day(n)) for n in (29, 33, 34)] == [0, 1, 0]
    assert told() == [("ann", "quota.ended", str(day(30)))]


def test_who_approves_is_told_where_the_project_has_nobody(company):
    actions.award(terms("rank", 8, level="urgent"), actor=MACHINE)
    warn(day(60))
    assert told() == [("ric", "quota.expiring", "30")]
