"""Ask, claim, finish, fail: what one statement each promises."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from governance.access.actor import Actor
from governance.audit.models import AuditLine
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.work import actions, correlation, rules
from governance.work.models import DONE, FAILED, RUNNING, WAITING, WorkItem
from governance.work.sweeping import sweep
from tests.cast import Cast
from tests.work.helpers import KEY, KIND, age, item, seconds_until_due

pytestmark = pytest.mark.django_db
MACHINE = Actor.machine("test")


def ask(**more: datetime) -> str:
    return actions.ask(KIND, KEY, actor=MACHINE, **more)


def claim(owner: str = "one", lease: float = 60) -> actions.Held:
    held = actions.claim(KIND, KEY, owner, lease)
    assert held is not None
    return held


def test_asking_twice_makes_one_row() -> None:
    assert ask() == WAITING
    assert ask() == WAITING
    assert WorkItem.objects.count() == 1


def test_a_kind_without_a_queue_is_refused() -> None:
    with pytest.raises(ValueError, match="no queue"):
        actions.ask("usage.nonsense", KEY, actor=MACHINE)


def test_what_is_claimed_cannot_be_claimed_again_before_its_lease_is_over() -> None:
    ask()
    assert claim("one").attempt == 1
    assert actions.claim(KIND, KEY, "two", 60) is None
    age(61, "lease_until_at", "heartbeat_at")
    assert claim("two").attempt == 2
    assert item().owner == "two"


def test_work_is_not_claimed_before_it_is_due() -> None:
    ask(due_at=datetime.now(UTC) + timedelta(minutes=5))
    assert actions.claim(KIND, KEY, "one", 60) is None
    age(301, "due_at")
    claim()


def test_of_two_requests_the_earlier_counts() -> None:
    ask(due_at=datetime.now(UTC) + timedelta(hours=1))
    ask()
    assert seconds_until_due() <= 0


def test_who_has_lost_the_lease_changes_nothing() -> None:
    ask()
    old = claim("one")
    age(61, "lease_until_at", "heartbeat_at")
    claim("two")
    assert not actions.heartbeat(old)
    assert not actions.finish(old)
    assert not actions.fail(old, ValueError("late"))
    assert not actions.release(old)
    assert (item().state, item().owner, item().last_error) == (RUNNING, "two", rules.SILENT)


def test_who_takes_over_before_the_sweep_says_that_the_lease_ran_out() -> None:
    ask()
    claim("host:one:1")
    age(61, "lease_until_at", "heartbeat_at")
    held = claim("host:two:2")
    assert (item().owner, item().attempt, item().state) == ("host:two:2", 2, RUNNING)
    assert (item().last_error_code, item().last_error) == ("lease_expired", rules.SILENT)
    assert item().last_error_params == {"owner": "host:one", "attempt": "1"}
    assert item().last_error_at is not None
    assert actions.finish(held)
    assert item().last_error_code == ""


def test_a_lease_that_is_over_is_not_extended() -> None:
    ask()
    held = claim()
    age(61, "lease_until_at", "heartbeat_at")
    assert not actions.heartbeat(held)


def test_a_heartbeat_extends_the_lease_and_shows_the_progress() -> None:
    ask()
    held = claim()
    age(30, "lease_until_at", "heartbeat_at")
    before = item().lease_until_at
    held.progress.done, held.progress.of = 3, 10
    assert actions.heartbeat(held)
    now = item()
    assert before is not None and now.lease_until_at is not None and now.lease_until_at > before
    assert (now.progress_done, now.progress_of) == (3, 10)


def test_asked_for_while_it_runs_it_runs_once_more() -> None:
    ask()
    held = claim()
    assert ask() == RUNNING
    assert ask() == RUNNING
    assert actions.finish(held)
    assert item().state == WAITING
    assert actions.finish(claim("two"))
    assert (item().state, item().asked_again, item().due_at) == (DONE, False, None)


def test_asked_for_later_while_it_runs_it_waits_until_then() -> None:
    ask()
    held = claim()
    ask(due_at=datetime.now(UTC) + timedelta(minutes=10))
    actions.finish(held)
    assert 590 < seconds_until_due() <= 600


def test_each_fault_makes_the_pause_longer_and_a_success_forgets_them() -> None:
    ask()
    for attempt, low, high in ((1, 12, 18), (2, 24, 36), (3, 48, 72)):
        held = claim()
        assert held.attempt == attempt
        assert actions.fail(held, BadData("No day “%(day)s”.", day="x"))
        assert low - 1 <= seconds_until_due() <= high
        assert (item().state, item().last_error_code, item().last_error_params) == (FAILED, "BadData", {"day": "x"})
        age(100, "due_at")
    assert actions.finish(claim())
    assert (item().state, item().attempt, item().last_error, item().last_error_at) == (DONE, 0, "", None)


def test_the_pause_is_capped_and_spread() -> None:
    assert rules.delay_seconds(40, 0.5) == rules.LONGEST_DELAY_SECONDS
    assert rules.delay_seconds(10_000, 0.999) < rules.LONGEST_DELAY_SECONDS * 1.2
    assert rules.delay_seconds(1, 0.0) == pytest.approx(12) and rules.delay_seconds(1, 0.999) == pytest.approx(
        18, abs=0.1
    )


def test_a_schedule_does_not_cut_the_pause_after_a_fault_short() -> None:
    ask()
    actions.fail(claim(), ValueError("no"))
    assert ask() == FAILED
    assert seconds_until_due() > 10


def test_a_released_item_is_due_at_once_and_the_attempt_does_not_count() -> None:
    ask()
    assert actions.release(claim())
    assert (item().state, item().attempt) == (WAITING, 0)
    claim("two")


@pytest.mark.parametrize(
    ("said", "hidden"),
    [
        ("cannot reach postgresql://steelyard:s3cret@db/x", "s3cret"),
        ("http://user:pa55@prometheus:9090 refused", "pa55"),
        ("header Authorization: Bearer eyJhbGciOi.abc", "eyJhbGciOi"),
        ("SLURM_JWT_TOKEN=eyJabc123 was refused", "eyJabc123"),
        ('{"password": "hunter2", "user": "x"}', "hunter2"),
    ],
)
def test_no_secret_stands_in_an_error(said: str, hidden: str) -> None:
    ask()
    actions.fail(claim(), RuntimeError(said))
    assert hidden not in str(item().last_error_params)
    assert "***" in str(item().last_error_params)


def test_an_error_is_bounded() -> None:
    ask()
    actions.fail(claim(), RuntimeError("x" * 100_000))
    assert len(str(item().last_error_params)) < 1200


def test_a_silent_worker_s_work_goes_to_another_at_once_and_the_next_time_after_a_pause() -> None:
    ask()
    claim("here:1:a")
    assert sweep().expired == 0
    age(61, "lease_until_at", "heartbeat_at")
    assert sweep().expired == 1
    assert (item().state, item().last_error_code, item().last_error_params["owner"]) == (
        FAILED,
        "lease_expired",
        "here:1",
    )
    assert seconds_until_due() <= 0
    claim("here:2:b")
    age(61, "lease_until_at", "heartbeat_at")
    sweep()
    assert seconds_until_due() > 10


def test_two_sweeps_count_an_expired_lease_once() -> None:
    ask()
    claim()
    age(61, "lease_until_at", "heartbeat_at")
    assert (sweep().expired, sweep().expired) == (1, 0)


def test_without_a_broker_the_request_stays_and_says_so(
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        ask()
    assert (item().state, item().enqueued_at) == (WAITING, None)
    assert not sweep().broker


def test_the_request_keeps_the_id_of_what_led_to_it() -> None:
    with correlation.using("req-1"):
        ask()
    with correlation.using("req-2"):
        ask()
    assert claim().correlation_id == "req-1"


def test_an_operator_may_retry_and_leaves_an_audit_line(cast: Cast) -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    actions.fail(claim(), ValueError("no"))
    actions.retry(KIND, KEY, actor=cast.actor("operator"))
    assert (item().state, item().attempt) == (WAITING, 0)
    assert seconds_until_due() <= 0
    line = AuditLine.objects.get(action="work.retried")
    assert (line.actor, line.object_code, line.before["last_error_code"]) == ("operator", f"{KIND} {KEY}", "ValueError")


def test_nobody_else_may_retry_nor_what_is_not_there_nor_what_runs(cast: Cast) -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    with pytest.raises(NotAllowed):
        actions.retry(KIND, KEY, actor=cast.actor("member"))
    with pytest.raises(NotFound):
        actions.retry(KIND, "nowhere", actor=cast.actor("operator"))
    claim()
    with pytest.raises(NotTheMoment):
        actions.retry(KIND, KEY, actor=cast.actor("operator"))


@pytest.mark.parametrize(
    "change",
    [
        "state = 'lost'",
        "state = 'running'",
        "state = 'running', due_at = NULL, owner = 'x', lease_until_at = now(), heartbeat_at = now()",
        "state = 'done', due_at = NULL",
        "state = 'failed'",
        "due_at = NULL",
        "lease_until_at = now()",
        "asked_again = true",
        "progress_done = 5, progress_of = 4",
        "key = ''",
    ],
)
def test_the_database_refuses_what_no_action_would_write(change: str) -> None:
    ask()
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE work_item SET {change}")
