"""Write a Python client of the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from portal.api.client import source
from portal.api.schema import document


class Command(BaseCommand):
    """`api_client [FILE]`."""

    help = "Write a Python client made of the API's schema; it needs httpx and nothing else."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to."""
        parser.add_argument("file", nargs="?", default="-", help="the file to write, - or nothing for standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it."""
        made = source(document("en"))
        if options["file"] == "-":
            self.stdout.write(made, ending="")
        else:
            Path(options["file"]).write_text(made, "utf-8")
