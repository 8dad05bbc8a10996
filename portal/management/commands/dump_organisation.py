"""Write the organisation as a file that loads again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from governance.errors import N_, BadData
from portal.management.terminal import TerminalCommand
from portal.organisation import document
from portal.organisation.dump import dump


class Command(TerminalCommand):
    """`dump_organisation [FILE] [--json]`."""

    help = "Write the organisation in the form that load_organisation reads."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to."""
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", default="-", help="the file to write, - or nothing for standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it."""
        text = dump(actor=self.actor)
        if options["as_json"]:
            self.answer(document.read(text).content)
        elif options["file"] == "-":
            self.stdout.write(text, ending="")
        else:
            _write(Path(options["file"]), text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as fault:
        raise BadData(
            N_("%(path)s cannot be written: %(reason)s."), path=path, reason=fault.strerror or fault
        ) from fault
