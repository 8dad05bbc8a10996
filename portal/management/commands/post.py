"""Post the ledger by difference."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext

from billing.ledger import actions
from portal.management.terminal import TerminalCommand, steps_bar


class Command(TerminalCommand):
    """post [--cluster CODE]."""

    help = (
        "Post every day that is wholly behind the metered instant plus the grace; running again posts only differences."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One cluster or all."""
        super().add_arguments(parser)
        parser.add_argument("--cluster", help="only this cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        """Post; print what was posted."""
        with steps_bar("post") as bar:
            done = actions.post(actor=self.actor, cluster_code=options["cluster"], progress=bar)
        if options["as_json"]:
            self.answer(done.as_dict())
        else:
            words = gettext(
                "%(days)s days looked at: %(entries)s entries with %(lines)s lines posted, %(amount)s in all."
            )
            self.stdout.write(words % done.as_dict())
