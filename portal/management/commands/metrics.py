"""The metric dictionary: what each figure means."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext
from rich.table import Table

from governance.usage.metrics.reads import definition, definitions, formula_of, name_of, option_of
from governance.usage.metrics.words import UNITS, WINDOWS
from governance.usage.models import MetricDefinition
from portal.management.terminal import TerminalCommand

COLUMNS = (
    "code", "version", "name_zh", "name_en", "formula_zh", "formula_en", "unit", "window", "denominator", "source",
    "option_zh", "option_en", "signed_by",
)  # fmt: skip


class Command(TerminalCommand):
    """metrics [CODE] [--edition N] [--json]."""

    help = "Show what each figure means: the whole metric dictionary, or one entry."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--version` is Django's own, so a version is asked for by --edition."""
        super().add_arguments(parser)
        parser.add_argument("code", nargs="?", help="of one entry, such as gpu_hours")
        parser.add_argument("--edition", type=int, metavar="N", help="its version; default: the last")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the entry, or the last version of each."""
        if options["code"]:
            found = [definition(options["code"], options["edition"])]
        else:
            found = definitions()
        if options["as_json"]:
            answers = [{name: getattr(row, name) for name in COLUMNS} for row in found]
            self.answer(answers[0] if options["code"] else answers)
        elif options["code"]:
            self._entry(found[0])
        else:
            self._list(found)

    def _entry(self, row: MetricDefinition) -> None:
        shown = [
            (gettext("unit"), gettext(UNITS[row.unit]) if row.unit else ""),
            (gettext("window"), gettext(WINDOWS[row.window]) if row.window else ""),
            (gettext("divided by"), name_of(definition(row.denominator)) if row.denominator else ""),
            (gettext("source"), row.source or gettext("not computed yet")),
            (gettext("may be set to"), option_of(row)),
            (gettext("signed by"), ", ".join(row.signed_by) or gettext("nobody yet")),
        ]
        self.stdout.write(f"{row.code}  {gettext('version %(version)s') % {'version': row.version}}")
        self.stdout.write(f"{name_of(row)}\n{formula_of(row)}")
        for label, value in shown:
            if value:
                self.stdout.write(gettext("%(label)s: %(value)s") % {"label": label, "value": value})

    def _list(self, found: list[MetricDefinition]) -> None:
        table = Table()
        for label in (gettext("code"), gettext("version"), gettext("name"), gettext("unit"), gettext("source")):
            table.add_column(label, no_wrap=label == gettext("code"), overflow="fold")
        for row in found:
            unit = gettext(UNITS[row.unit]) if row.unit else ""
            table.add_row(row.code, str(row.version), name_of(row), unit, row.source or gettext("not computed yet"))
        self.table().print(table)
