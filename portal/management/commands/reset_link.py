"""A link by which somebody sets a new password once."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils.translation import gettext

from portal.account import resets
from portal.management.terminal import TerminalCommand


class Command(TerminalCommand):
    """reset_link USERNAME."""

    help = "Issue a link by which a person sets a password, once and within an hour; it is audited. Hand it over in private."

    def add_arguments(self, parser: CommandParser) -> None:
        """One person."""
        super().add_arguments(parser)
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link; without STEELYARD_URL only its path is known."""
        link = resets.issue_link(options["username"], actor=self.actor)
        minutes = settings.PASSWORD_RESET_TIMEOUT // 60
        if options["as_json"]:
            self.answer({"link": link, "minutes": minutes})
        else:
            self.stdout.write(link)
            words = gettext("It opens once, for %(minutes)s minutes. Hand it over in private.")
            self.stderr.write(words % {"minutes": minutes})
