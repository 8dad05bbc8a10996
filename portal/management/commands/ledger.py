"""The departmental compute ledger of a period."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext
from rich.table import Table

from billing.ledger.published import HOURS, as_json, figures
from billing.ledger.reads import statement
from billing.ledger.statement import Statement, Sums
from portal.management.terminal import TerminalCommand


class Command(TerminalCommand):
    """ledger PERIOD [--by DIM[,DIM]] [--department CODE] [--format table|json|csv]."""

    help = "Show the compute ledger of a period: YYYY-MM, YYYY or DAY..DAY (both inclusive)."

    def add_arguments(self, parser: CommandParser) -> None:
        """PERIOD, dimensions, department, format."""
        super().add_arguments(parser)
        parser.add_argument("period")
        parser.add_argument(
            "--by",
            default="department",
            help="department, project, account, user, pool, model, qos, day, outcome, cluster",
        )
        parser.add_argument("--department", help="only this department and those below it")
        parser.add_argument("--format", choices=("table", "json", "csv"), default="table", dest="answer_format")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the statement."""
        dimensions = tuple(name.strip() for name in options["by"].split(",") if name.strip())
        found = statement(options["period"], dimensions, actor=self.actor, department=options["department"])
        if options["as_json"] or options["answer_format"] == "json":
            self.answer(as_json(found))
        elif options["answer_format"] == "csv":
            writer = csv.writer(self.stdout)
            writer.writerow([*dimensions, "name", *HOURS, "runs_started", "runs_ended", "amount", "accrued"])
            for row in found.rows:
                writer.writerow([*row.keys.values(), row.name, *figures(row.sums).values()])
        else:
            self._table(found)

    def _table(self, found: Statement) -> None:
        table = Table(title=f"{found.period}  {found.currency}  {found.time_zone}")
        for name in (
            gettext("name"),
            gettext("GPU-hours"),
            gettext("CPU-hours"),
            gettext("runs ended"),
            gettext("amount"),
            gettext("accrued"),
        ):
            is_name = name == gettext("name")
            table.add_column(name, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
        for name, sums in _table_rows(found):
            shown = figures(sums)
            table.add_row(
                name,
                shown["gpu_hours"],
                shown["cpu_hours"],
                str(sums.runs_ended),
                shown["amount"] or "—",
                shown["accrued"] or "—",
            )
        console = self.table()
        console.width = max(console.width, 100)  # a figure is never cut
        console.print(table)
        console.print(
            gettext("Complete to %(through)s.") % {"through": found.through.isoformat() if found.through else "—"}
        )


def _table_rows(found: Statement) -> Iterator[tuple[str, Sums]]:
    for row in found.rows:
        yield row.name, row.sums
    yield gettext("total"), found.total
