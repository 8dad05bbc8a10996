"""Read quarantined records again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext

from governance.usage import actions
from portal.management.terminal import TerminalCommand


class Command(TerminalCommand):
    """retry_quarantined CLUSTER."""

    help = "Read a cluster's quarantined records again, after the cause was mended; what can be read becomes runs, the rest stays."

    def add_arguments(self, parser: CommandParser) -> None:
        """One cluster."""
        super().add_arguments(parser)
        parser.add_argument("cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        """Retry; print what became of the records."""
        counts = actions.retry_quarantined(options["cluster"], actor=self.actor)
        if options["as_json"]:
            self.answer(vars(counts))
        else:
            words = gettext(
                "%(read)s records tried: %(new)s new runs, %(changed)s changed, %(quarantined)s still in quarantine."
            )
            self.stdout.write(words % vars(counts))
