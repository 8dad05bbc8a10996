"""Running under a lease, seen by other threads and processes: heartbeat, loss, crash, and the message after commit."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from celery import current_app
from django.db import connection, transaction

from governance.access.actor import Actor
from governance.work import actions, correlation, leases, presence, reads
from governance.work.models import DONE, FAILED, RUNNING, WAITING, WorkItem
from governance.work.running import Claim, LeaseLost, Ran, run
from governance.work.sweeping import sweep
from portal.beat import LeasedScheduler
from tests.work.helpers import KEY, KIND, age, item

MACHINE = Actor.machine("test")
pytestmark = pytest.mark.usefixtures("committed")


def test_of_many_who_claim_at_once_one_wins() -> None:
    for _round in range(5):
        actions.ask(KIND, KEY, actor=MACHINE)
        start, won = threading.Barrier(4), []

        def compete(name: str, start: threading.Barrier = start, won: list[str] = won) -> None:
            try:
                start.wait(10)
                if actions.claim(KIND, KEY, name, 60):
                    won.append(name)
            finally:
                connection.close()

        threads = [threading.Thread(target=compete, args=(f"worker {n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert item().owner == won[0]
        WorkItem.objects.all().delete()


def test_work_is_done_once_and_then_there_is_nothing_to_do() -> None:
    done: list[str] = []
    actions.ask(KIND, KEY, actor=MACHINE)
    assert run(KIND, KEY, lambda claim: done.append(claim.key)) is Ran.DONE
    assert run(KIND, KEY, lambda claim: done.append(claim.key)) is Ran.NOTHING
    assert done == [KEY]
    assert item().state == DONE


def test_a_fault_in_the_work_is_kept_for_the_page_and_not_raised() -> None:
    def work(claim: Claim) -> None:
        claim.step(3, 10)
        raise OSError("slurmdbd is away")

    actions.ask(KIND, KEY, actor=MACHINE)
    assert run(KIND, KEY, work) is Ran.FAILED
    assert (item().state, item().progress_done, item().progress_of) == (FAILED, 3, 10)
    assert "slurmdbd is away" in reads.error_words(item())


def test_the_heartbeat_keeps_a_lease_that_is_shorter_than_the_work() -> None:
    def work(claim: Claim) -> None:
        for step in range(12):
            time.sleep(0.3)
            claim.step(step + 1, 12)

    actions.ask(KIND, KEY, actor=MACHINE)
    assert run(KIND, KEY, work, lease=2.0) is Ran.DONE
    assert item().attempt == 0


def test_whoever_loses_the_lease_stops_at_the_next_checkpoint_and_leaves_the_item_to_the_other() -> None:
    def work(claim: Claim) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE work_item SET owner = 'another'")
        for _step in range(100):
            time.sleep(0.05)
            claim.check()
        raise AssertionError("it was never told")

    actions.ask(KIND, KEY, actor=MACHINE)
    assert run(KIND, KEY, work, lease=1.0) is Ran.LOST
    assert (item().owner, item().state) == ("another", RUNNING)


def test_out_of_touch_for_a_whole_lease_is_lost_without_being_told() -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    held = actions.claim(KIND, KEY, "one", 0.05)
    assert held is not None
    claim = Claim(held)
    time.sleep(0.06)
    with pytest.raises(LeaseLost):
        claim.check()


def test_a_worker_that_is_told_to_stop_gives_the_work_back() -> None:
    def work(claim: Claim) -> None:
        raise SystemExit(0)

    actions.ask(KIND, KEY, actor=MACHINE)
    with pytest.raises(SystemExit):
        run(KIND, KEY, work)
    assert (item().state, item().attempt) == (WAITING, 0)


def test_work_asked_for_by_itself_while_it_runs_runs_again() -> None:
    rounds: list[int] = []

    def work(claim: Claim) -> None:
        rounds.append(claim.attempt)
        if len(rounds) == 1:
            actions.ask(KIND, KEY, actor=MACHINE)

    actions.ask(KIND, KEY, actor=MACHINE)
    run(KIND, KEY, work)
    assert item().state == WAITING
    run(KIND, KEY, work)
    assert (item().state, len(rounds)) == (DONE, 2)


def test_a_crash_between_finish_and_commit_leaves_the_work_to_be_done_again() -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    held = actions.claim(KIND, KEY, "one", 60)
    assert held is not None
    with transaction.atomic():
        assert actions.finish(held)
        transaction.set_rollback(True)
    assert item().state == RUNNING
    age(61, "lease_until_at", "heartbeat_at")
    sweep()
    assert run(KIND, KEY, lambda claim: None) is Ran.DONE


def test_inside_a_transaction_no_work_is_claimed() -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    with transaction.atomic(), pytest.raises(RuntimeError):
        run(KIND, KEY, lambda claim: None)
    assert item().state == WAITING


def test_a_request_that_is_rolled_back_was_never_made() -> None:
    with transaction.atomic():
        actions.ask(KIND, KEY, actor=MACHINE)
        transaction.set_rollback(True)
    assert WorkItem.objects.count() == 0


def test_the_work_is_done_under_the_id_of_the_request() -> None:
    seen: list[str] = []
    with correlation.using("req-7"):
        actions.ask(KIND, KEY, actor=MACHINE)
    run(KIND, KEY, lambda claim: seen.append(correlation.current()))
    assert (seen, correlation.current()) == (["req-7"], "")


def test_a_broker_that_is_away_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with current_app.connection_for_write("redis://127.0.0.1:9/0") as away:
        monkeypatch.setattr(current_app.conf, "broker_url", away.as_uri(include_password=True))
        monkeypatch.setattr(current_app.conf, "broker_write_url", away.as_uri(include_password=True))
        monkeypatch.setattr(current_app.amqp, "_producer_pool", None)
        monkeypatch.setattr(current_app, "_pool", None)
        began = time.monotonic()
        actions.ask(KIND, KEY, actor=MACHINE)
        assert time.monotonic() - began < 5
    assert (item().state, item().enqueued_at) == (WAITING, None)


def test_one_of_two_beats_leads_and_the_other_takes_over_when_its_lease_is_over() -> None:
    assert leases.hold("beat", "one", 60)
    assert not leases.hold("beat", "two", 60)
    assert leases.hold("beat", "one", 60)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE work_lease SET until_at = clock_timestamp()")
    assert leases.hold("beat", "two", 60)
    assert not leases.hold("beat", "one", 60)
    leases.give_up("beat", "two")
    assert leases.hold("beat", "one", 60)


def scheduler(sent: list[str]) -> LeasedScheduler:
    """A beat with one entry, whose messages are kept instead of sent."""

    class Kept(LeasedScheduler):
        def setup_schedule(self) -> None:
            self.schedule = {}
            self.update_from_dict({"meter": {"task": "usage.meter_all", "schedule": 300.0}})

        def apply_async(self, entry, producer=None, advance=True, **given):  # type: ignore[no-untyped-def]
            sent.append(entry.task)

    return Kept(current_app, lazy=False)


def test_beat_ticks_only_while_it_leads_and_goes_on_where_the_other_stood() -> None:
    sent: list[str] = []
    leases.mark("meter", datetime.now(UTC) - timedelta(seconds=301))
    first, second = scheduler(sent), scheduler(sent)
    first.tick()
    second.tick()
    assert (sent, first.leads, second.leads) == (["usage.meter_all"], True, False)
    first.close()
    second.tick()
    assert (sent, second.leads) == (["usage.meter_all"], True)
    second.schedule["meter"].last_run_at -= timedelta(seconds=301)
    second.tick()
    assert len(sent) == 2
    assert [seen.role for seen in reads.processes("beat")] == ["beat"]


def test_an_entry_that_no_broker_takes_is_not_marked_as_sent() -> None:
    class Away(LeasedScheduler):
        def setup_schedule(self) -> None:
            self.schedule = {}
            self.update_from_dict({"meter": {"task": "elsewhere.meter_all", "schedule": 300.0}})

        def send_task(self, *args, **given):  # type: ignore[no-untyped-def]
            raise OSError("away")

    beat = Away(current_app, lazy=False)
    was = datetime.now(UTC) - timedelta(seconds=301)
    leases.mark("meter", was)
    beat.tick()
    assert leases.marks() == {"meter": was}


def test_beat_sweeps_by_itself() -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    actions.claim(KIND, KEY, "gone:1:x", 60)
    age(61, "lease_until_at", "heartbeat_at")
    scheduler([]).tick()
    assert (item().state, item().last_error_code) == (FAILED, "lease_expired")


def test_a_worker_is_seen_until_it_ends_or_goes_silent() -> None:
    presence.seen("worker", ["pull", "meter"])
    presence.seen("worker", ["pull", "meter"])
    (seen,) = reads.processes("worker")
    assert (seen.queues, seen.is_silent) == (("meter", "pull"), False)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE work_process SET seen_at = seen_at - interval '1 minute'")
    assert reads.processes("worker")[0].is_silent
    presence.gone("worker")
    assert reads.youngest_seconds("worker") is None


def test_the_counts_say_how_long_the_oldest_has_waited() -> None:
    actions.ask(KIND, KEY, actor=MACHINE)
    actions.ask(KIND, "sh", actor=MACHINE)
    age(90, "due_at")
    (count,) = reads.counts()
    assert (count.kind, count.state, count.items) == (KIND, WAITING, 2)
    assert 89 < count.oldest_seconds < 120


def test_every_connection_asks_the_server_to_notice_soon_when_its_host_is_cut_off() -> None:
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting::int FROM pg_settings WHERE name LIKE 'tcp_keepalives%'")
        assert dict(cursor.fetchall()) == {
            "tcp_keepalives_idle": 10,
            "tcp_keepalives_interval": 5,
            "tcp_keepalives_count": 3,
        }
