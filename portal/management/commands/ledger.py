"""The departmental compute ledger of a period."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext
from rich.table import Table

from billing.ledger.reads import statement
from billing.ledger.statement import Exceptions, Statement, Sums, money
from portal.management.terminal import TerminalCommand

HOURS = ("gpu_hours", "card_hours", "cpu_hours", "node_hours", "wall_hours", "memory_gib_hours")


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


def figures(sums: Sums) -> dict[str, Any]:
    """A row's figures as decimal strings: hours with four places, money with six."""
    return {
        **{name: f"{getattr(sums, name):.4f}" for name in HOURS},
        "runs_started": sums.runs_started,
        "runs_ended": sums.runs_ended,
        "amount": _money(sums.amount),
        "accrued": _money(sums.accrued),
    }


def _money(amount: Decimal | None) -> str | None:
    found = money(amount)
    return None if found is None else f"{found:.6f}"


def as_json(found: Statement) -> dict[str, Any]:
    """The statement in the published form."""
    return {
        "period": found.period,
        "time_zone": found.time_zone,
        "currency": found.currency,
        "through": found.through.strftime("%Y-%m-%dT%H:%M:%SZ") if found.through else None,
        "rows": [{**row.keys, "name": row.name, **figures(row.sums)} for row in found.rows],
        "total": figures(found.total),
        "exceptions": exceptions(found.exceptions),
    }


def exceptions(found: Exceptions) -> dict[str, Any]:
    """The exceptions in the published form."""
    return {
        "quarantined": found.quarantined,
        "unattributed_gpu_hours": f"{found.unattributed_gpu_hours:.4f}",
        "unassigned_gpu_hours": f"{found.unassigned_gpu_hours:.4f}",
        "unknown_gpu_runs": found.unknown_gpu_runs,
        "unpriced_days": [
            {
                "day": d.day.isoformat(),
                "pool": d.pool,
                "model": d.model,
                "qos": d.qos,
                "gpu_hours": f"{d.gpu_hours:.4f}",
            }
            for d in found.unpriced_days
        ],
        "over_allocated_days": found.over_allocated_days,
    }
