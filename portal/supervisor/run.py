"""The story of `make up`, in order: prepare, start, watch, stop."""

import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from types import FrameType
from typing import Any

from django.db import connections
from django.utils.translation import gettext as _
from rich.markup import escape
from rich.text import Text

from portal import embedded
from portal.supervisor import children, instance, steps
from portal.supervisor.children import Child
from portal.supervisor.database import Database
from portal.supervisor.log import Log

READY_SECONDS = 90
SAME_PRESS_SECONDS = 1.0  # make and a terminal may both pass on one Ctrl-C


class StopAsked(BaseException):
    """Ctrl-C or SIGTERM while there is something to interrupt."""


@dataclass
class Options:
    """What `manage.py up` was asked for; `demo_arguments` go to `manage.py demo` as they are."""

    port: int
    demo: bool
    demo_arguments: list[str]


@dataclass
class Stop:
    """What the person has asked for so far: the first signal stops in order, a later one stops at once."""

    asked_at: float | None = None
    forced: bool = False

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Handle one signal."""
        if self.asked_at is None:
            self.asked_at = monotonic()
            raise StopAsked
        self.forced = self.forced or monotonic() - self.asked_at > SAME_PRESS_SECONDS

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear SIGINT, SIGTERM and the terminal's hang-up for the block."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self.heard) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class Supervisor:
    """The children of one run, in the order of their start."""

    options: Options
    home: Path
    log: Log
    running: list[Child] = field(default_factory=list)
    database: Database = field(default_factory=Database)
    stop: Stop = field(default_factory=Stop)

    @property
    def address(self) -> str:
        """Where the portal answers."""
        return f"http://127.0.0.1:{self.options.port}"

    def run(self) -> int:
        """Run until it is stopped; the exit status. CannotStart and EmbeddedError when it never came to run."""
        with self.stop.listening():
            try:
                self._prepare()
                self._start()
                self._welcome()
                while True:
                    self._look()
                    sleep(0.2)
            except StopAsked:
                return 0
            finally:
                self.stop.asked_at = self.stop.asked_at or monotonic()  # from here on a signal only hurries
                self._stop_all()

    def _prepare(self) -> None:
        with self.log.step(_("Messages")):
            steps.messages(self.log)
        theirs = bool(os.environ.get("DATABASE_URL"))
        with self.log.step(_("Database (of DATABASE_URL)") if theirs else _("Database (embedded)")):
            steps.database()
        if not os.environ.get("BROKER_URL"):
            with self.log.step(_("Broker (embedded)")):
                self._launch(children.broker())
        with self.log.step(_("Tables")):
            steps.migrations()
        with self.log.step(_("Static files")):
            steps.static_files(self.home)
        if self.options.demo and steps.demo_is_wanted():
            self.log.line("up", _("The demo company is made now, once; this takes a few minutes."))
            with self.log.step(_("Demo company")):
                steps.demo(self.log, self.options.demo_arguments)

    def _launch(self, child: Child) -> None:
        self.running.append(child)
        child.launch(self.log)

    def _start(self) -> None:
        for child in (children.web(self.options.port), children.worker(), children.beat(self.home)):
            self._launch(child)
        with self.log.step(_("Web, worker and beat")):
            deadline = monotonic() + READY_SECONDS
            while not self._answers():
                self._look()
                if monotonic() > deadline or any(child.failures >= 3 for child in self.running):
                    raise instance.CannotStart(
                        _("The portal does not answer at %(address)s; the log says why: %(log)s")
                        % {"address": self.address, "log": self.log.file}
                    )
                sleep(0.25)

    def _look(self) -> None:
        moved = not os.environ.get("DATABASE_URL") and self.database.look(self.log)
        for child in self.running:
            if moved and child.name != "broker" and child.process is not None:
                child.process.terminate()  # it looks for the database where that no longer is
            child.look(self.log)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.address + "/health/live", timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except urllib.error.HTTPError as answer:
            return answer.code < 500
        except OSError:
            return False

    def _welcome(self) -> None:
        people = steps.sign_ins()
        connections.close_all()
        show = self.log.show
        show()
        show(Text.assemble("  ", (_("Steelyard 权衡 is ready:"), "bold"), " ", (self.address, "bold cyan")))
        if people:
            password = embedded.demo_password()
            show("  " + _("Sign in with the password [bold]%(password)s[/] as") % {"password": escape(password)})
            width = max(len(role) for role, username in people)
            for role, username in people:
                show(f"    {role:<{width}}  [bold]{escape(username)}[/]")
        show("  " + _("Log: %(log)s") % {"log": escape(str(self.log.file))})
        show("  " + _("Ctrl-C stops everything in order."))
        show()
        self.log.line("up", _("ready at %(address)s") % {"address": self.address})

    def _stop_all(self) -> None:
        """Web, beat, worker, broker, database: who asks goes before who answers."""
        order = {"web": 0, "beat": 1, "worker": 2, "broker": 3}
        for child in sorted(self.running, key=lambda child: order[child.name]):
            if child.process is not None:
                self.log.line("up", _("stopping %(name)s") % {"name": child.name})
            # The broker has only to write down what it holds: it is never hurried.
            child.stop(self.log, (lambda: False) if child.name == "broker" else (lambda: self.stop.forced))
        connections.close_all()
        if not os.environ.get("DATABASE_URL"):
            stopped = embedded.release_database()
            self.log.line("up", _("database stopped") if stopped else _("database left to its other users"))


def up(options: Options) -> int:
    """Run everything until it is stopped; CannotStart and EmbeddedError say why it does not run."""
    home = embedded.home()
    with instance.only_one(home, f"http://127.0.0.1:{options.port}"):
        instance.require_free_port(options.port)
        return Supervisor(options, home, Log(home / "logs")).run()


def demo_arguments(options: dict[str, Any]) -> list[str]:
    """The arguments for `manage.py demo` among those of `manage.py up`."""
    names = ("gpus", "months", "until", "seed", "runs_per_day")
    given = ((name, options.get(f"demo_{name}")) for name in names)
    return [f"--{name.replace('_', '-')}={value}" for name, value in given if value is not None]
