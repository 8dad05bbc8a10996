"""Compile the message catalogues that are newer than their compiled form."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from portal.messages import Fault, compile_catalogues


class Command(BaseCommand):
    """`compile_messages`: needs neither GNU gettext nor the database."""

    help = "Compile locale/*/LC_MESSAGES/*.po to .mo where stale."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--force", action="store_true", help="compile also what is current")
        parser.add_argument("--strict", action="store_true", help="look at every catalogue, exit with 1 on any fault")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compile the folders of LOCALE_PATHS; say what was written and which translations were left out."""
        faults: list[Fault] = []
        for folder in settings.LOCALE_PATHS:
            done = compile_catalogues(Path(folder), force=options["force"] or options["strict"])
            faults += done.faults
            for path in done.written:
                self.stdout.write(_("Compiled %(path)s") % {"path": path.relative_to(folder)})
        for fault in faults:
            self.stderr.write(str(fault))
        if faults and options["strict"]:
            raise CommandError(_("%(count)d faults in the message catalogues.") % {"count": len(faults)})
