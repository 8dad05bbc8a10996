"""`manage.py up`: one of it per home, on a free port, its children kept alive and stopped in order."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portal.embedded.folder import free_port
from portal.supervisor import children
from portal.supervisor.log import Log

from .conftest import House

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc and the tie to a parent are Linux's")


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def ready(port: int) -> bool:
    """Whether pages can be served, database and all."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_until(what: Callable[[], bool], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


def descendants(pid: int) -> dict[int, str]:
    """Process ids and command lines of the children of `pid`; read from /proc, since small machines have no `ps`."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found[int(stat.parent.name)] = (stat.parent / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def test_a_taken_port_is_named_and_nothing_is_left_running(house: House, taken_port: int) -> None:
    said = house.run("manage.py", "up", "--port", str(taken_port), "--no-demo")
    assert said.returncode == 1
    assert f"Port {taken_port} is taken" in said.stderr and "--port" in said.stderr
    assert house.server() is None
    assert not (house.path / "broker.json").exists()


@on_linux
def test_up_serves_restarts_what_dies_refuses_a_second_one_and_stops_in_order(house: House) -> None:
    port = free_port()
    up = house.start("manage.py", "up", "--port", str(port), "--no-demo")
    wait_until(lambda: answers(port) and len(descendants(up.pid)) == 4)
    second = house.run("manage.py", "up", "--port", str(free_port()), "--no-demo")
    assert second.returncode == 1
    assert f"already runs at http://127.0.0.1:{port}" in second.stderr

    web = next(pid for pid, command in descendants(up.pid).items() if "gunicorn" in command)
    os.kill(web, signal.SIGKILL)
    wait_until(lambda: web not in descendants(up.pid) and answers(port))
    alive = descendants(up.pid)
    assert len(alive) == 4

    database = house.server()
    assert database is not None
    os.kill(database, signal.SIGKILL)
    wait_until(lambda: house.server() not in (None, database) and ready(port))

    up.send_signal(signal.SIGTERM)
    said, _ = up.communicate(timeout=60)
    assert up.returncode == 0
    stops = [line.split("│ ")[1] for line in said.splitlines() if "│ stopping" in line]
    assert stops == ["stopping web", "stopping beat", "stopping worker", "stopping broker"]
    assert not [pid for pid in alive if Path(f"/proc/{pid}").exists()]
    assert house.server() is None
    log = (house.path / "logs" / "steelyard.log").read_text()
    assert "web ended with status -9" in log and "the database had died" in log and "database stopped" in log


@on_linux
def test_a_child_ends_when_its_supervisor_is_killed(house: House) -> None:
    code = """
import subprocess, sys, time
from portal.supervisor.children import spawn
child = spawn(["-c", "import time; time.sleep(60)"])
time.sleep(0.5)
print(child.pid, flush=True)
time.sleep(60)
"""
    parent = house.start("-c", code)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()

    def ended() -> bool:
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        return state == "Z"

    wait_until(ended, seconds=10)


def test_the_pauses_between_restarts_grow() -> None:
    class Said:
        lines: list[str] = []

        def line(self, source: str, text: str) -> None:
            self.lines.append(text)

    broken = children.Child("broken", lambda: subprocess.Popen(["/no/such/program"]), stop_seconds=1)
    pauses = []
    for _ in range(7):
        broken.not_before = 0
        before = time.monotonic()
        broken.look(Said())  # type: ignore[arg-type]
        pauses.append(round(broken.not_before - before))
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert "No such file" in Said.lines[0]


@pytest.mark.parametrize("hurried, stop_seconds", [(True, 60.0), (False, 0.3)])
def test_a_child_that_does_not_end_is_killed_when_hurried_or_when_its_time_is_over(
    hurried: bool, stop_seconds: float, tmp_path: Path
) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf'); time.sleep(60)"
    log = Log(tmp_path / "logs")
    child = children.Child("deaf", lambda: children.spawn(["-c", code]), stop_seconds)
    child.launch(log)
    wait_until(lambda: "| deaf" in log.file.read_text())
    began = time.monotonic()
    child.stop(log, lambda: hurried)
    assert child.process is None and time.monotonic() - began < 5
    assert "deaf is killed" in log.file.read_text()
