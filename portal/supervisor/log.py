"""The one log: each line with its time and the process that said it, on the terminal and in `logs/steelyard.log`."""

import contextlib
import logging
import logging.handlers
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import IO

from rich.console import Console
from rich.text import Text

FILE_BYTES = 10_000_000
FILES_KEPT = 5
COLOURS = {"web": "cyan", "worker": "green", "beat": "magenta", "broker": "blue", "demo": "yellow", "up": "bold"}


class _Terminal(logging.Handler):
    """Lines to a console that may have gone away with its terminal or its pipe."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        line = Text.assemble(
            (f"{record.__dict__['source']:<7}", COLOURS.get(record.__dict__["source"], "")), "│ ", record.getMessage()
        )
        with contextlib.suppress(OSError):
            self.console.print(line, soft_wrap=True)


class Log:
    """Where the supervisor and its children speak."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show 权 shows a question mark
        self.file = folder / "steelyard.log"
        self.console = Console(highlight=False)
        self._logger = logging.Logger("steelyard", logging.INFO)
        to_file = logging.handlers.RotatingFileHandler(
            self.file, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8", errors="replace"
        )
        to_file.setFormatter(logging.Formatter("%(asctime)s %(source)-7s| %(message)s"))
        self._logger.addHandler(to_file)
        self._logger.addHandler(_Terminal(self.console))

    def line(self, source: str, text: str) -> None:
        """One line said by `source`."""
        self._logger.info("%s", text, extra={"source": source})

    def show(self, text: str | Text = "") -> None:
        """Text for the person at the terminal alone: it is kept out of the file (it may hold a password)."""
        with contextlib.suppress(OSError):
            self.console.print(text, soft_wrap=True)

    def follow(self, source: str, pipe: IO[bytes]) -> threading.Thread:
        """Copy what a child says, line by line, until it closes the pipe."""

        def copy() -> None:
            with pipe:
                for line in pipe:
                    if text := line.decode("utf-8", "replace").rstrip():
                        self.line(source, text)

        thread = threading.Thread(target=copy, name=f"log of {source}", daemon=True)
        thread.start()
        return thread

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A step of the start: shown while it runs, one line with its seconds when it is done."""
        began = monotonic()
        with self.console.status(title) if self.console.is_terminal else contextlib.nullcontext():
            yield
        self.line("up", f"{title} · {monotonic() - began:.1f} s")
