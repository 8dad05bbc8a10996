"""Three worker hosts on a network of their own, RabbitMQ and PostgreSQL on a fourth address; one is cut off in the middle of its work."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from portal import embedded
from tests.work import network, rabbitmq
from tests.work.database import Database
from tests.work.fake_slurm import FakeSlurm
from tests.work.four_clusters import CLOCK, DAY, FILES, LIVE
from tests.work.hosts import PROJECT, until
from tests.work.network import Network
from tests.work.rabbitmq import RabbitMQ

WHY_NOT = rabbitmq.why_not() or network.why_not()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(WHY_NOT != "", reason=WHY_NOT)]

LEASE, SWEEP, BEAT_LEASE, REACH = 4.0, 1.0, 3.0, 6.0  # seconds
START, SLACK = 60.0, 10.0  # a busy machine takes its time
ONE, TWO, THREE = "host1", "host2", "host3"


class Driver:
    """`hosts_driver` on one of the databases."""

    def __init__(self, environment: dict[str, str], database_url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.work.hosts_driver"],
            cwd=PROJECT,
            env={**environment, "DATABASE_URL": database_url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, *line: str) -> Any:
        """What it answers."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the driver broke at {line}"  # its words are on standard error
        return json.loads(answer)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


class Site:
    """The hosts, their processes, and what the test looks at from outside."""

    def __init__(self, folder: Path, net: Network, database: Database, broker_url: str) -> None:
        self.folder, self.net = folder, net
        self.slurm = FakeSlurm(folder / "bin")
        self.database = database
        self._processes: list[subprocess.Popen[bytes]] = []
        self.environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith(("STEELYARD_", "DJANGO_"))},
            "PATH": f"{self.slurm.folder}:{os.environ['PATH']}",
            "DATABASE_URL": database.url("site"),
            "BROKER_URL": broker_url,
            "STEELYARD_HOME": str(folder / "home"),
            "STEELYARD_LEASE_SECONDS": str(LEASE),
            "STEELYARD_SWEEP_SECONDS": str(SWEEP),
            "STEELYARD_BEAT_LEASE_SECONDS": str(BEAT_LEASE),
            "STEELYARD_REACH_SECONDS": str(REACH),
            "STEELYARD_POST_SECONDS": "1",
            "STEELYARD_LOG_FORMAT": "json",
        }

    def start(self, host: str, *arguments: str) -> None:
        """`celery -A portal …` on the host."""
        command = self.net.on(host, sys.executable, "-m", "celery", "-q", "-A", "portal", *arguments)
        with self.log(host, arguments[0]).open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    command,
                    cwd=PROJECT,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def worker(self, host: str) -> None:
        """A worker of all queues with two children."""
        queues = ("-c", "2", "-Q", "celery,pull,meter,post,notify", "-n", f"worker@{host}")
        self.start(host, "worker", *queues, "--without-mingle", "--without-gossip")

    def beat(self, host: str) -> None:
        """A beat."""
        self.start(host, "beat", "--pidfile=")

    def rows(self, statement: str, *given: object) -> list[tuple[Any, ...]]:
        """What the database answers."""
        with psycopg.connect(self.database.url("site"), autocommit=True) as connection:
            return connection.execute(statement, given).fetchall()

    def item(self, kind: str, key: str) -> tuple[str, str, int]:
        """(state, host, attempt) of a piece of work; empty texts before it was asked for."""
        found = self.rows(
            "SELECT state, split_part(owner, ':', 1), attempt FROM work_item WHERE kind = %s AND key = %s", kind, key
        )
        return found[0] if found else ("", "", 0)

    def seen(self, role: str) -> set[str]:
        """Hosts whose process of this role has said in the last 15 seconds that it lives."""
        return {
            row[0]
            for row in self.rows(
                "SELECT host FROM work_process WHERE role = %s AND seen_at > clock_timestamp() - interval '15 s'", role
            )
        }

    def log(self, host: str, role: str) -> Path:
        """What the host's process writes into."""
        return self.folder / f"{host}-{role}.log"

    def lines(self, host: str, role: str) -> list[dict[str, Any]]:
        """The lines that it has written."""
        path = self.log(host, role)
        found = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        return [json.loads(line) for line in found if line.startswith('{"at"') and line.endswith("}")]

    def said(self) -> str:
        """The end of what all processes wrote, and where the work stands."""
        logs = "\n".join(
            f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in self.folder.glob("*.log")
        )
        return f"{logs}\n{self.rows('SELECT kind, key, state, owner, attempt, due_at FROM work_item')}"

    def close(self) -> None:
        """End what runs on the hosts."""
        deadline = time.monotonic() + 20
        while pids := self.net.processes():
            assert time.monotonic() < deadline, pids
            for pid in pids:
                subprocess.run(["kill", "-KILL", str(pid)], capture_output=True, check=False)
            time.sleep(0.05)
        for process in self._processes:
            process.wait(20)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Network, PostgreSQL, RabbitMQ; no table and no worker yet."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    embedded.home()
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        net = stack.enter_context(Network(3))
        node = RabbitMQ(tmp_path / "rabbitmq", net.address)
        starting = pool.submit(stack.enter_context, node)
        database = Database(tmp_path / "postgres", net.address, f"{net.subnet}.0/24")
        with database:
            database.make("site")
            made = Site(tmp_path, net, database, node.url)
            try:
                yield made
            finally:
                made.close()
                starting.result()
    assert network.left_behind() == []


@pytest.fixture
def books(site: Site) -> Iterator[Driver]:
    """The driver of the hosts' database, which has the company and its records."""
    driver = Driver(site.environment, site.database.url("site"))
    try:
        driver.do("prepare", str(site.folder))
        yield driver
    finally:
        driver.close()


@pytest.fixture
def undisturbed(site: Site, books: Driver) -> Iterator[Future[dict[str, list[Any]]]]:
    """The content of the books, to be had later, when one process alone does all the work on a copy of the database."""
    site.database.make("alone", like="site")
    driver = Driver(site.environment, site.database.url("alone"))

    def work() -> dict[str, list[Any]]:
        driver.do("alone")
        found: dict[str, list[Any]] = driver.do("content")
        return found

    site.slurm.hold(LIVE[0], CLOCK - 4 * DAY)
    site.slurm.let_go(LIVE[0], socket.gethostname())
    with ThreadPoolExecutor() as pool:
        yield pool.submit(work)
        driver.close()


def moved(site: Site, kind: str, key: str) -> Callable[[], bool]:
    """Whether the work was begun a second time, by another host than the first."""

    def has() -> bool:
        _, host, attempt = site.item(kind, key)
        return attempt == 2 and host != ONE

    return has


def in_the_middle(site: Site, books: Driver, day: str) -> psycopg.Connection[Any]:
    """Bring host 1 into the middle of a pull and of metering: Slurm keeps it waiting, and so does the lock of a day, which we hold."""
    held = psycopg.connect(site.database.url("site"), autocommit=True)
    held.execute(
        "SELECT pg_advisory_lock(hashtextextended('day:' || id || ':' || %s, 0)) FROM cluster WHERE code = %s",
        [day, FILES[0]],
    )
    site.worker(ONE)
    site.beat(ONE)
    until(lambda: site.seen("worker") == {ONE} and site.seen("beat") == {ONE}, START, site.said)
    books.do("ask", "usage.pull", LIVE[0])
    books.do("ask", "usage.meter", FILES[0])
    until(lambda: site.slurm.waits(LIVE[0], ONE), START, site.said)
    until(lambda: site.rows("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"), START, site.said)
    return held


def sent(site: Site) -> list[tuple[datetime, str]]:
    """When which host's beat sent something."""
    return sorted(
        (datetime.fromisoformat(line["at"]), host)
        for host in (ONE, TWO)
        for line in site.lines(host, "beat")
        if line["message"].startswith("beat: sent")
    )


def lost(site: Site, work: str) -> bool:
    """Whether host 1 has found the lease of this work lost."""
    return any(line["message"].startswith(f"{work}: lost after") for line in site.lines(ONE, "worker"))


def settled(site: Site) -> bool:
    """Whether everything pulled is metered, and everything metered is posted."""
    ((is_settled,),) = site.rows(
        "SELECT NOT EXISTS (SELECT FROM dirty_day) AND count(*) FILTER (WHERE kind = 'usage.meter') = %s"
        " AND bool_and(kind LIKE 'ledger.%%' OR state = 'done')"
        " AND max(done_at) FILTER (WHERE kind = 'usage.meter') < max(done_at) FILTER (WHERE kind = 'ledger.post') FROM work_item",
        len(LIVE) + len(FILES),
    )
    return bool(is_settled)


def test_work_of_a_host_that_is_cut_off_moves_on_and_the_books_are_those_of_an_undisturbed_worker(
    site: Site, books: Driver, undisturbed: Future[dict[str, list[Any]]]
) -> None:
    pull, meter = ("usage.pull", LIVE[0]), ("usage.meter", FILES[0])
    with in_the_middle(site, books, "2026-03-07"):  # the day stays locked until the host is cut off
        for host in (TWO, THREE):
            site.slurm.let_go(LIVE[0], host)
            site.worker(host)
        site.beat(TWO)
        until(
            lambda: site.seen("worker") == {ONE, TWO, THREE} and site.seen("beat") == {ONE, TWO}, 2 * START, site.said
        )
        for kind, key in (*(("usage.pull", code) for code in LIVE), *(("usage.meter", code) for code in FILES)):
            books.do("ask", kind, key)
        assert site.item(*pull)[:2] == site.item(*meter)[:2] == ("running", ONE)

        site.net.cut(ONE)
        cut_at = datetime.now(UTC)
    # Its leading beat is gone as well: the other takes the lead first, then sweeps.
    within = BEAT_LEASE + LEASE + 2 * SWEEP + SLACK
    until(moved(site, *pull), within, site.said)
    until(moved(site, *meter), within, site.said)
    # The day is locked by the session of the host that is away until the server gives that up, and the messages that
    # host had taken and not begun come to others when the broker does.
    until(lambda: settled(site), 3 * REACH + 3 * SLACK, site.said)
    assert ONE not in {host for (host,) in site.rows("SELECT split_part(owner, ':', 1) FROM work_item")}

    site.net.join(ONE)
    joined_at = datetime.now(UTC)
    assert not lost(site, " ".join(pull))
    site.slurm.let_go(LIVE[0], ONE)
    until(lambda: lost(site, " ".join(pull)) and lost(site, " ".join(meter)), REACH + SLACK, site.said)
    until(lambda: site.seen("worker") == {ONE, TWO, THREE}, 15 + SLACK, site.said)

    until(lambda: settled(site), SLACK, site.said)
    expected = undisturbed.result()
    assert min(len(expected[part]) for part in ("runs", "facts", "capacity", "balances", "watermarks")) > 0
    assert books.do("content") == expected

    senders = [host for _, host in sent(site)]
    assert senders == sorted(senders), sent(site)
    assert set(senders) == {ONE, TWO}
    assert max(at for at, host in sent(site) if host == ONE) < cut_at + timedelta(seconds=BEAT_LEASE)
    assert max(at for at, host in sent(site) if host == TWO) > joined_at
