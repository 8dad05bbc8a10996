"""Check the identities of the books."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext

from billing.ledger.checks import ledger_checks
from governance.usage.checks import usage_checks
from portal.management.terminal import TerminalCommand, steps_bar


class Command(TerminalCommand):
    """check_books: one line an identity, exit status 1 where one does not hold."""

    help = "Check the identities that the books promise, by other sums than those that made them."

    def handle(self, *args: Any, **options: Any) -> None:
        """Check; print a line an identity with its figures."""
        with steps_bar("check_books") as bar:
            checks = [*usage_checks(), *ledger_checks(bar)]
        if options["as_json"]:
            self.answer([{**asdict(check), "promise": gettext(check.promise)} for check in checks])
        else:
            for check in checks:
                figures = ", ".join(f"{name} {value}" for name, value in check.figures.items())
                word = gettext("holds") if check.holds else gettext("DOES NOT HOLD")
                self.stdout.write(f"{check.identity}  {word}  {gettext(check.promise)}: {figures}")
        broken = [check for check in checks if not check.holds]
        if broken:
            words = gettext("%(count)s identities do not hold: %(numbers)s.")
            raise CommandError(
                words % {"count": len(broken), "numbers": ", ".join(str(c.identity) for c in broken)}, returncode=1
            )
