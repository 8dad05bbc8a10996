"""Workers and beats as processes of their own, on the test's database and any broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from django.db import connection

PROJECT = Path(__file__).resolve().parents[2]
LEASE_SECONDS = 4
ASK = """
import sys
import django
django.setup()
from governance.access.actor import Actor
from governance.work import actions, correlation
with correlation.using("request-1"):
    actions.ask(*sys.argv[1:], actor=Actor.machine("test"))
"""


def until(what: Callable[[], object], seconds: float, why: Callable[[], str]) -> float:
    """Wait until `what()` holds; the seconds that it took. AssertionError with what `why` answers when it does not in time."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < seconds, why()
        time.sleep(0.05)
    return time.monotonic() - began


class Hosts:
    """The processes of one test; whatever is left ends with it."""

    def __init__(self, folder: Path, broker_url: str) -> None:
        given = connection.settings_dict
        login = f"{quote(given['USER'])}:{quote(given['PASSWORD'])}@{given['HOST']}:{given['PORT']}"
        self.folder = folder
        self.log = folder / "log"
        self.environment = {
            **os.environ,
            "DATABASE_URL": f"postgresql://{login}/{given['NAME']}",
            "BROKER_URL": broker_url,
            "SLOW_FOLDER": str(folder),
            "PYTHONPATH": str(PROJECT),
            "STEELYARD_LEASE_SECONDS": str(LEASE_SECONDS),
            "STEELYARD_SWEEP_SECONDS": "1",
            "STEELYARD_BEAT_LEASE_SECONDS": "3",
            "STEELYARD_LOG_FORMAT": "json",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def celery(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `celery -A portal …` in a session of its own."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-q", "-A", "portal", *arguments],
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def worker(self, name: str) -> subprocess.Popen[bytes]:
        """A worker of all queues with one child."""
        queues = ("-c", "1", "-Q", "celery,pull,meter,post,notify", "-n", f"{name}@test")
        return self.celery("worker", *queues, "-I", "tests.work.slow_kind", "--without-mingle", "--without-gossip")

    def beat(self) -> subprocess.Popen[bytes]:
        """A beat."""
        return self.celery("beat", "--pidfile=")

    def ask(self, kind: str, key: str) -> str:
        """Ask for work as a web process does, with a broker; answers the id of the request."""
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "portal.settings"}
        subprocess.run([sys.executable, "-c", ASK, kind, key], cwd=PROJECT, env=environment, check=True, timeout=60)
        return "request-1"

    def marks(self, what: str) -> list[int]:
        """The processes that have begun or ended the slow work."""
        return sorted(int(path.name.split("-")[1]) for path in self.folder.glob(f"{what}-*"))

    def kill(self, pid: int, *, with_its_worker: bool) -> None:
        """SIGKILL to the child that works, and before it to the worker that started it."""
        if with_its_worker:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            assert parent in [process.pid for process in self.processes]
            os.kill(parent, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)

    def said(self) -> str:
        """The end of what the processes wrote."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-6000:] if self.log.exists() else ""

    def close(self) -> None:
        """End every process and what it has left behind."""
        for process in self.processes:
            for number in (process.pid, *self._session(process.pid)):
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait()

    def _session(self, leader: int) -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                if int(path.read_text().rpartition(")")[2].split()[3]) == leader:
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found
