"""Real workers and a real broker, killed in the middle: another does the work within the lease."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governance.access.actor import Actor
from governance.work import actions, reads
from governance.work.models import DONE, FAILED, WAITING
from portal import embedded, health
from tests.work.hosts import LEASE_SECONDS, Hosts, until
from tests.work.rabbitmq import RabbitMQ, why_not
from tests.work.slow_kind import KIND

MACHINE = Actor.machine("test")
START_SECONDS = 60  # a busy machine takes its time to start Python


@pytest.fixture(autouse=True)
def the_kind_has_a_queue(settings: Any) -> None:
    settings.CELERY_TASK_ROUTES = {**settings.CELERY_TASK_ROUTES, KIND: {"queue": "celery"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of the test's own for the embedded broker."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def valkey(committed: None, home: Path) -> Iterator[Hosts]:
    """Hosts on the embedded broker."""
    broker = embedded.start_broker()
    hosts = Hosts(home, embedded.broker_url())
    try:
        yield hosts
    finally:
        hosts.close()
        embedded.stop_broker(broker)


@pytest.fixture
def rabbitmq(committed: None, tmp_path: Path) -> Iterator[Hosts]:
    """Hosts on a RabbitMQ node of the test's own."""
    with RabbitMQ(tmp_path / "rabbitmq") as url:
        hosts = Hosts(tmp_path, url)
        try:
            yield hosts
        finally:
            hosts.close()


def done(key: str) -> bool:
    item = reads.of(KIND, key)
    return item is not None and item.state == DONE


def killed_in_the_middle(hosts: Hosts, *, with_its_worker: bool) -> None:
    """One of two workers dies in the middle of its work; the other, or its own next child, does it."""
    hosts.worker("one")
    hosts.worker("two")
    hosts.beat()
    until(lambda: len(reads.processes("worker")) == 2 and reads.processes("beat"), START_SECONDS, hosts.said)
    actions.ask(KIND, "bj", actor=MACHINE)
    until(lambda: hosts.marks("begun"), START_SECONDS, hosts.said)
    (first,) = hosts.marks("begun")
    hosts.kill(first, with_its_worker=with_its_worker)
    # The lease, the next sweep, and the message on its way; a machine of two cores adds some.
    until(lambda: len(hosts.marks("begun")) == 2, LEASE_SECONDS + 10, hosts.said)
    item = reads.of(KIND, "bj")
    assert item is not None
    assert (item.attempt, item.last_error_code) == (2, "lease_expired")
    (hosts.folder / "go").touch()
    until(lambda: done("bj"), 10, hosts.said)
    assert len(hosts.marks("ended")) == 1
    assert first not in hosts.marks("ended")


def message_arrives(hosts: Hosts) -> None:
    """Without any beat, the message sent after commit reaches a worker; both write the request's id into their lines."""
    hosts.worker("one")
    until(lambda: reads.processes("worker"), START_SECONDS, hosts.said)
    asked = hosts.ask("usage.meter", "nowhere")
    until(lambda: getattr(reads.of("usage.meter", "nowhere"), "state", "") == FAILED, 15, hosts.said)
    item = reads.of("usage.meter", "nowhere")
    assert item is not None
    assert (item.attempt, item.last_error_code, item.correlation_id) == (1, "NotFound", asked)
    lines = [json.loads(line) for line in hosts.said().splitlines() if line.startswith('{"at"')]
    told = {line.get("correlation_id") for line in lines if line["message"].startswith("usage.meter nowhere: ")}
    assert told == {asked}


def test_a_request_reaches_a_worker_by_its_message_alone(valkey: Hosts) -> None:
    message_arrives(valkey)


@pytest.mark.parametrize("with_its_worker", [True, False], ids=["the whole worker", "its child alone"])
def test_a_killed_worker_s_work_is_done_by_another_within_the_lease(valkey: Hosts, with_its_worker: bool) -> None:
    killed_in_the_middle(valkey, with_its_worker=with_its_worker)


def test_a_worker_that_was_frozen_for_longer_than_its_lease_finds_its_work_given_away_and_stops(valkey: Hosts) -> None:
    valkey.worker("one")
    valkey.worker("two")
    valkey.beat()
    until(lambda: len(reads.processes("worker")) == 2, START_SECONDS, valkey.said)
    actions.ask(KIND, "bj", actor=MACHINE)
    until(lambda: valkey.marks("begun"), START_SECONDS, valkey.said)
    (first,) = valkey.marks("begun")
    os.kill(first, signal.SIGSTOP)
    until(lambda: len(valkey.marks("begun")) == 2, LEASE_SECONDS + 10, valkey.said)
    os.kill(first, signal.SIGCONT)
    until(lambda: "tests.slow bj: lost after" in valkey.said(), 10, valkey.said)
    (valkey.folder / "go").touch()
    until(lambda: done("bj"), 10, valkey.said)
    assert first not in valkey.marks("ended")


def test_what_was_asked_for_while_the_broker_was_away_is_done_when_it_is_back(committed: None, home: Path) -> None:
    broker = embedded.start_broker()
    hosts = Hosts(home, embedded.broker_url())
    (home / "go").touch()
    try:
        embedded.stop_broker(broker)
        actions.ask(KIND, "bj", actor=MACHINE)
        hosts.worker("one")
        hosts.beat()
        until(lambda: reads.processes("beat"), START_SECONDS, hosts.said)
        assert not done("bj")
        broker = embedded.start_broker()
        assert embedded.broker_url() == hosts.environment["BROKER_URL"]
        until(lambda: done("bj"), START_SECONDS, hosts.said)
    finally:
        hosts.close()
        if broker.poll() is None:
            embedded.stop_broker(broker)


def test_a_broker_that_is_frozen_holds_nobody_up_for_long(committed: None, home: Path) -> None:
    broker = embedded.start_broker()
    hosts = Hosts(home, embedded.broker_url())
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        hosts.ask("usage.meter", "nowhere")  # within its 60 s, Python's start among them
        item = reads.of("usage.meter", "nowhere")
        assert item is not None
        assert (item.state, item.enqueued_at) == (WAITING, None)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
        embedded.stop_broker(broker)


@pytest.mark.cluster
@pytest.mark.skipif(why_not() != "", reason=why_not())
def test_on_rabbitmq_a_frozen_broker_holds_nobody_up_for_long(rabbitmq: Hosts, tmp_path: Path) -> None:
    rabbitmq.ask("usage.meter", "nowhere")
    node = RabbitMQ(tmp_path / "rabbitmq").server()
    os.kill(node, signal.SIGSTOP)
    try:
        rabbitmq.ask("usage.meter", "elsewhere")
    finally:
        os.kill(node, signal.SIGCONT)
    asked = {key: reads.of("usage.meter", key) for key in ("nowhere", "elsewhere")}
    assert {key: item is not None and item.enqueued_at is not None for key, item in asked.items()} == {
        "nowhere": True,
        "elsewhere": False,
    }


@pytest.mark.cluster
@pytest.mark.skipif(why_not() != "", reason=why_not())
def test_on_rabbitmq_a_killed_worker_s_work_is_done_by_another_within_the_lease(rabbitmq: Hosts) -> None:
    killed_in_the_middle(rabbitmq, with_its_worker=True)


@pytest.mark.cluster
@pytest.mark.skipif(why_not() != "", reason=why_not())
def test_on_rabbitmq_a_confirmed_message_arrives_by_a_quorum_queue(
    rabbitmq: Hosts, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_arrives(rabbitmq)
    settings.CELERY_BROKER_URL = rabbitmq.environment["BROKER_URL"]
    monkeypatch.setenv("BROKER_URL", settings.CELERY_BROKER_URL)
    assert health.broker() == "ok"
    listed = RabbitMQ(tmp_path / "rabbitmq").control("list_queues", "--quiet", "--no-table-headers", "name", "type")
    kinds = dict(line.split("\t") for line in listed.splitlines())
    assert {name: kinds[name] for name in ("celery", "pull", "meter", "post", "notify")} == dict.fromkeys(
        ("celery", "pull", "meter", "post", "notify"), "quorum"
    )
