"""Run the whole portal on this machine until Ctrl-C."""

import os
from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import translation

from portal.management.terminal import terminal_language
from portal.supervisor.instance import CannotStart
from portal.supervisor.run import Options, demo_arguments, up


class Command(BaseCommand):
    """`up`: database, broker, tables, messages, demo, then web, worker and beat under one supervisor."""

    help = "Run the whole portal on this machine until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=os.environ.get("PORT", "8000"), help="default: PORT or 8000")
        parser.add_argument(
            "--demo",
            action=BooleanOptionalAction,
            default=None,
            help="make the demo company when the books are empty (default: with the embedded database only)",
        )
        parser.add_argument("--demo-gpus", type=int)
        parser.add_argument("--demo-months", type=int)
        parser.add_argument("--demo-until", metavar="DAY")
        parser.add_argument("--demo-seed", type=int)
        parser.add_argument("--demo-runs-per-day", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run; the status is 1 when it did not come to run."""
        demo = options["demo"] if options["demo"] is not None else not os.environ.get("DATABASE_URL")
        with translation.override(terminal_language()):
            try:
                up(Options(options["port"], demo, demo_arguments(options)))
            except CannotStart as fault:
                raise CommandError(str(fault)) from fault
