"""Approvals beside one another in real transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Barrier, Thread

import pytest
from django.db import IntegrityError, connections, transaction

from governance.approvals.actions import approve
from governance.approvals.models import Ask, Decision, Move
from governance.errors import DomainError
from governance.quotas.models import Quota
from tests.approvals.conftest import PEOPLE, D, asked, line, who
from tests.books import declare

ASKS = 50


def together(deeds: list[Callable[[], object]]) -> tuple[list[str], list[BaseException]]:
    """Do all at once, a thread each; answers the refusals in words, and faults."""
    start, refused, faults = Barrier(len(deeds)), list[str](), list[BaseException]()

    def do(deed: Callable[[], object]) -> None:
        try:
            start.wait(timeout=120)
            deed()
        except DomainError as error:
            refused.append(str(error))
        except BaseException as error:
            faults.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=do, args=(deed,)) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused, faults


def many_projects() -> None:
    projects = [
        {"code": f"p{n}", "name": {"zh": "项目", "en": "P"}, "placements": [{"department": "vision"}]}
        for n in range(ASKS)
    ]
    leads = [{"username": "lea", "roles": [{"role": "lead", "project": one["code"]} for one in projects]}]
    known = [person for person in PEOPLE if person["username"] in {"amy", "abe", "cap"}]
    declare(projects=projects, mappings=[], people=leads + known)


def test_fifty_approvals_at_once_never_promise_more_than_there_is(apart):
    """32 GPUs in reserve, fifty asks of 2: sixteen are awarded, all others are told that there is no room and stay in review."""
    many_projects()
    numbers = [asked("lea", "new", line(2), project=f"p{n}").number for n in range(ASKS)]
    amy, cap = who("amy"), who("cap")
    for number in numbers:
        approve(number, actor=amy)
    refused, faults = together([lambda n=number: approve(n, actor=cap) for number in numbers])
    assert faults == []
    assert sum(Quota.objects.held_on(D).values_list("guaranteed_gpus", flat=True)) == 32
    assert Counter(Ask.objects.values_list("state", flat=True)) == {"approved": 16, "in_review": 34}
    assert len(refused) == 34 and all("room for 0 of the 2" in words for words in refused)
    assert Decision.objects.filter(is_last=True).count() == 16


def test_of_two_approvers_at_the_same_moment_one_decides_and_the_other_is_told(apart):
    many_projects()
    ask = asked("lea", "new", line(2), project="p0")
    amy, abe = who("amy"), who("abe")
    refused, faults = together(
        [
            lambda: approve(ask.number, actor=amy, version=ask.version),
            lambda: approve(ask.number, actor=abe, version=ask.version),
        ]
    )
    assert faults == []
    assert Decision.objects.count() == 1
    assert len(refused) == 1 and "approved on this stage by another approver" in refused[0]


def test_what_was_decided_is_never_changed(company):
    approve(asked().number, actor=who("amy"))
    for change in (
        lambda: Decision.objects.update(verdict="reject"),
        lambda: Decision.objects.all().delete(),
        lambda: Move.objects.update(text="nothing"),
    ):
        with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
            change()
