"""What the commands share: a machine actor, the language, progress bars, and errors in words with exit status 1."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import translation
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from governance.access.actor import Actor
from governance.errors import DomainError
from portal.errors import details


def terminal_language() -> str:
    """The language of the person at the terminal: STEELYARD_LANGUAGE, else what the locale asks for, else the portal's own."""
    if named := os.environ.get("STEELYARD_LANGUAGE"):
        return named
    wanted = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    language = wanted.partition(".")[0].partition("_")[0].lower()
    if language in ("", "c", "posix"):
        return settings.LANGUAGE_CODE
    return "zh-hans" if language == "zh" else "en"


class TerminalCommand(BaseCommand):
    """A command that answers in the operator's language, as text or JSON, and ends with words on a DomainError."""

    actor = Actor.machine("command line")
    requires_system_checks: list[str] = []  # the pages are no business of a command's; it starts in half the time

    def add_arguments(self, parser: CommandParser) -> None:
        """Every command answers JSON when asked."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="answer JSON on standard output")

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run in the language; a DomainError becomes its words on standard error and exit status 1."""
        with translation.override(terminal_language()):
            try:
                return super().execute(*args, **options)
            except DomainError as error:
                raise CommandError("\n".join(details(error)), returncode=1) from error

    def answer(self, value: Any) -> None:
        """Print a value as JSON."""
        self.stdout.write(json.dumps(value, ensure_ascii=False, indent=1, default=str))

    def table(self) -> Console:
        """A console on the command's own output."""
        out: IO[str] = self.stdout._out  # type: ignore[assignment]
        return Console(file=out, highlight=False)


@contextmanager
def bytes_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error that is told of bytes; silent where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(label, total=total or None)
        yield lambda count: progress.advance(task, count)


@contextmanager
def steps_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error that is told (done, of); silent where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def an_instant(text: str) -> datetime:
    """An ISO instant with an offset, or epoch seconds; aware UTC. Raises ValueError, which argparse words."""
    if text.isdigit():
        return datetime.fromtimestamp(int(text), UTC)
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("an offset is needed, such as 2026-06-01T00:00:00+08:00")
    return found.astimezone(UTC)


def a_day(text: str) -> date:
    """An ISO day."""
    return date.fromisoformat(text)
