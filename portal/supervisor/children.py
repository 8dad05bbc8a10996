"""The child processes: started, kept alive, stopped in order."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from django.utils.translation import gettext as _

from portal.embedded import PROJECT_ROOT, EmbeddedError, start_broker
from portal.supervisor.log import Log

LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0  # a child that lived this long starts afresh in the count of failures
CELERY = ("-m", "celery", "-q", "-A", "portal")
QUEUES = "celery,pull,meter,post,notify,export,enforce"


def tether() -> tuple[str, ...]:
    """What goes before a command so that it dies with this process."""
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("tether.py")), str(os.getpid()))


def spawn(arguments: list[str]) -> "subprocess.Popen[bytes]":
    """Start a Python module of the project as a child of its own session, so that Ctrl-C reaches it through us only."""
    return subprocess.Popen(
        [*tether(), sys.executable, *arguments],
        cwd=PROJECT_ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


@dataclass
class Child:
    """One kept process. `stop_seconds` is how long it may take to end in order."""

    name: str
    start: Callable[[], "subprocess.Popen[bytes]"]
    stop_seconds: float
    process: "subprocess.Popen[bytes] | None" = None
    reader: threading.Thread | None = None
    started_at: float = 0.0
    failures: int = 0
    not_before: float = 0.0

    def launch(self, log: Log) -> None:
        """Start it, and let the log follow it. EmbeddedError or OSError when it cannot be started."""
        self.started_at = monotonic()
        self.process = self.start()
        if self.process.stdout is not None:
            self.reader = log.follow(self.name, self.process.stdout)

    def look(self, log: Log) -> None:
        """Start it again, after a growing pause, when it has died."""
        if self.process is not None:
            status = self.process.poll()
            if status is None:
                return
            self._end_session()
            self._failed(log, _("ended with status %(status)d") % {"status": status})
        elif monotonic() >= self.not_before:
            try:
                self.launch(log)
            except (EmbeddedError, OSError) as fault:
                self._failed(log, str(fault))

    def _end_session(self) -> None:
        """End what the process has left behind: workers of its own that may still hold its port."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _failed(self, log: Log, reason: str) -> None:
        if monotonic() - self.started_at > STEADY_SECONDS:
            self.failures = 0
        pause = min(LONGEST_PAUSE_SECONDS, 2.0**self.failures)
        self.failures += 1
        self.not_before = monotonic() + pause
        self.process = None
        log.line("up", _("%(name)s %(reason)s; again in %(pause)d s") % _words(self.name, reason, pause))

    def stop(self, log: Log, forced: Callable[[], bool]) -> None:
        """End it in order; at once when `forced` says so or its time is over. Nothing of its session stays."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
        deadline = monotonic() + self.stop_seconds
        while self.process.poll() is None and monotonic() < deadline and not forced():
            sleep(0.02)
        if self.process.poll() is None:
            log.line("up", _("%(name)s is killed") % {"name": self.name})
        self._end_session()
        self.process.wait()
        if self.reader is not None:
            self.reader.join(2)
        self.process = None


def _words(name: str, reason: str, pause: float) -> dict[str, object]:
    return {"name": name, "reason": reason, "pause": pause}


def broker() -> Child:
    """The embedded broker."""
    return Child("broker", lambda: start_broker(tether(), subprocess.PIPE), stop_seconds=30)


def web(port: int) -> Child:
    """The web server: two processes of four threads each."""
    return Child(
        "web",
        lambda: spawn(
            ["-m", "gunicorn", "portal.wsgi:application", "--bind", f"127.0.0.1:{port}", "--worker-class", "gthread"]
            + ["--workers", "2", "--threads", "4", "--timeout", "120", "--graceful-timeout", "20"]
            + ["--no-control-socket", "--log-level", "warning"]
        ),
        stop_seconds=30,
    )


def worker() -> Child:
    """The Celery worker; stopping it waits for the tasks that it has begun."""
    return Child(
        "worker",
        lambda: spawn(
            [
                "-m",
                "celery",
                "-q",
                "-A",
                "portal",
                "worker",
                "-c",
                "2",
                "-Q",
                QUEUES,
                "--without-mingle",
                "--without-gossip",
            ]
            + ["--loglevel", "INFO"]
        ),
        stop_seconds=300,
    )


def beat(home: Path) -> Child:
    """The clock that enqueues what is due."""
    (home / "beat").mkdir(mode=0o700, exist_ok=True)
    return Child(
        "beat",
        lambda: spawn([*CELERY, "beat", "-s", str(home / "beat" / "schedule"), "--pidfile="]),
        stop_seconds=15,
    )
