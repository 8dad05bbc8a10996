"""The home page of each role answers its first question with what exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from billing.ledger import reads
from governance.work.models import WorkItem
from portal import home_month, home_reads
from tests import books
from tests.cast import EVERYBODY, FOREIGN, PERIOD, Cast

pytestmark = pytest.mark.django_db


def body_of(client: Client) -> str:
    answer = client.get("/")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("who", EVERYBODY)
def test_a_home_asks_the_database_a_dozen_times_at_most(
    cast: Cast, who: str, django_assert_max_num_queries: object
) -> None:
    client = cast.client(who)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        body_of(client)


def test_a_member_sees_own_jobs_that_run_and_wait_and_why(cast: Cast, tmp_path: Path) -> None:
    rows = [
        books.line(301, "2026-06-30T08:00", "2026-06-30T09:00", None),
        books.line(302, "2026-06-30T10:00", None, None, gpus=16, Reason="Resources"),
        books.line(303, "2026-06-30T10:00", None, None, gpus=4, User="bob", Reason="Priority"),
    ]
    books.bring(tmp_path, rows, observed_at="2026-07-02T00:00")
    body = body_of(cast.client("member"))
    assert ">301</a>" in body
    assert "The GPUs it asks for are not free yet." in body
    assert "1 d 14 h" in body
    assert "303" not in body


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "The GPUs it asks for are not free yet."),
        ("Priority", "Others are before it in the queue."),
        ("QOSMaxGRESPerUser", "A limit of its project, account or QoS is reached."),
        ("AssocGrpGRES", "A limit of its project, account or QoS is reached."),
        ("Dependency", "It waits for another job to end."),
        ("JobHeldUser", "It is held; whoever held it must release it."),
        ("SomethingNew", "The scheduler gives a reason of its own."),
        ("", "The records do not say why."),
    ],
)
def test_why_a_job_waits_is_said_in_plain_words(reason: str, words: str) -> None:
    assert str(home_reads.why_words(reason)) == words


def test_a_head_sees_the_month_six_months_and_projects(cast: Cast) -> None:
    body = body_of(cast.client("approver"))
    assert "Is this month unusual?" in body
    assert body.count("/ledger/?period=2026-") >= 5


def test_the_six_months_hold_what_the_reader_may_see_alone(cast: Cast) -> None:
    own = home_month.month(PERIOD, actor=cast.actor("approver")).bars
    everything = home_month.month(PERIOD, actor=cast.actor("finance")).bars
    assert 0 < own[-1].amount < everything[-1].amount
    assert [f"{bar.day:%m}" for bar in own] == ["01", "02", "03", "04", "05", "06"]
    assert [bar.height for bar in own] == [0, 0, 0, 0, 0, 92]


@pytest.mark.parametrize("who", ["member", "approver", "operator", "finance", "leadership", "outsider"])
def test_the_month_is_that_of_the_ledger(cast: Cast, tmp_path: Path, who: str) -> None:
    books.bring(
        tmp_path, [books.line(301, "2026-06-29T08:00", "2026-06-29T09:00", None)], observed_at="2026-07-01T06:00"
    )
    books.settle()
    actor = cast.actor(who)
    asked_once, of_ledger = home_month.month(PERIOD, actor=actor), reads.statement(PERIOD, ("project",), actor=actor)
    assert asked_once.statement == of_ledger


def test_finance_sees_whether_the_books_balance_and_what_is_not_posted(cast: Cast) -> None:
    body = body_of(cast.client("finance"))
    assert "Do the books balance?" in body
    assert "To the cent" in body
    assert "Days not posted yet" in body


def test_operations_see_lag_findings_and_failed_work(cast: Cast) -> None:
    now, why = timezone.now(), {"last_error_code": "Broken", "last_error": "It broke in the middle."}
    WorkItem.objects.create(
        kind="usage.meter", key="bj", state="failed", asked_at=now, due_at=now, last_error_at=now, **why
    )
    body = body_of(cast.client("operator"))
    assert "Can the numbers be trusted?" in body
    assert "It broke in the middle." in body
    assert "Work has failed" in body


def test_leadership_sees_four_figures_with_what_they_cover(cast: Cast) -> None:
    body = body_of(cast.client("leadership"))
    for words in ("Cost", "Allocation rate", "Waiting", "Unattributed", "of what was available, on "):
        assert words in body
    assert "No queue was ever looked at." in body


def test_a_capacity_manager_sees_the_own_pools_alone(cast: Cast) -> None:
    body = body_of(cast.client("capacity_manager"))
    assert "train" in body
    assert "infer" not in body
    assert "¥" not in body


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("administrator", "Can the numbers be trusted?"),
        ("administrator", "What you may open"),
        ("security", "What you may open"),
        ("auditor", "Is this month unusual?"),
    ],
)
def test_others_see_what_they_may_open(cast: Cast, who: str, words: str) -> None:
    assert words in body_of(cast.client(who))


@pytest.mark.parametrize("who", ["member", "lead", "approver", "viewer", "capacity_manager", "security", "former"])
def test_no_home_shows_another_department(cast: Cast, who: str) -> None:
    for language in ("zh-hans", "en"):
        body = body_of(cast.client(who, language=language))
        assert not [word for word in FOREIGN if f">{word}" in body]
