"""Writing a table row by row: as CSV for programs, as XLSX for people. Memory stays flat whatever the number of rows."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from governance.usage.tables import BYTE_ORDER_MARK, csv_cell

from . import rules
from .about import About
from .table import Form, Table, Value

Step = Callable[[bool], None]  # called for each row (True) and each step without one (False)
NUMBERS = {
    Form.COUNT: "#,##0",
    Form.HOURS: "#,##0.00",
    Form.MONEY: '#,##0.00;[Red]"\N{MINUS SIGN}"#,##0.00',
    Form.PRICE: "#,##0.00####",
    Form.PERCENT: "0.00",
    Form.DAY: "yyyy-mm-dd",
    Form.INSTANT: "yyyy-mm-dd hh:mm:ss",
}
WIDTHS = {Form.TEXT: 22, Form.INSTANT: 20, Form.DAY: 12}


def rows_of(table: Table, step: Step) -> Iterator[Sequence[Value]]:
    """The rows, telling `step` of each step."""
    for row in table.rows():
        step(row is not None)
        if row is not None:
            yield row


def write(path: Path, table: Table, rows: Iterable[Sequence[Value]], kind: str, of: About) -> None:
    """Write the rows to `path` as `kind`."""
    if kind == rules.CSV:
        _write_csv(path, table, rows)
    else:
        _write_xlsx(path, table, rows, of)


def _write_csv(path: Path, table: Table, rows: Iterable[Sequence[Value]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(BYTE_ORDER_MARK)
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([column.code for column in table.columns])
        for row in rows:
            writer.writerow([csv_cell(_utc(value)) for value in row])


def _utc(value: Value) -> Value:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value


def _write_xlsx(path: Path, table: Table, rows: Iterable[Sequence[Value]], of: About) -> None:
    import xlsxwriter

    # Rows go to a file at once (constant_memory); a text is written as a text, whatever it begins with.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="xlsx-") as aside:
        plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
        book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": aside, **plain})
        try:
            _Book(book, table, of).fill(rows)
        finally:
            book.close()


class _Book:
    """A workbook: the sheets of rows, and the sheet that says what they are."""

    def __init__(self, book: Any, table: Table, of: About) -> None:
        self._book = book
        self._table = table
        self._of = of
        self._head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self._bold = book.add_format({"bold": True})
        self._wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self._formats = {form: book.add_format({"num_format": pattern}) for form, pattern in NUMBERS.items()}
        self._cut = _(" … (cut: a cell takes no more)")
        book.set_properties({"title": str(table.title), "comments": of.sentence})

    def fill(self, rows: Iterable[Sequence[Value]]) -> None:
        """Write everything. A sheet takes SHEET_ROWS rows, then another one goes on."""
        sheet, number, at = self._sheet(1), 1, 0
        for row in rows:
            if at == rules.SHEET_ROWS:
                number, at = number + 1, 0
                sheet = self._sheet(number)
            at += 1
            for place, (column, value) in enumerate(zip(self._table.columns, row, strict=True)):
                self._put(sheet, at, place, value, column.form)
        self._about()

    def _sheet(self, number: int) -> Any:
        title = str(self._table.title)[:24]
        sheet = self._book.add_worksheet(title if number == 1 else f"{title} ({number})")
        sheet.freeze_panes(1, 0)
        for place, column in enumerate(self._table.columns):
            sheet.set_column(place, place, WIDTHS.get(column.form, 16))
            sheet.write_string(0, place, str(column.title), self._head)
        return sheet

    def _put(self, sheet: Any, at: int, place: int, value: Value, form: Form) -> None:
        shown = self._formats.get(form)
        if value is None or value == "":
            return
        if isinstance(value, datetime):
            sheet.write_datetime(at, place, _on_clock(value, self._of.zone), shown)
        elif isinstance(value, date):
            sheet.write_datetime(at, place, datetime(value.year, value.month, value.day), shown)  # noqa: DTZ001  a day
        elif isinstance(value, int | Decimal):
            sheet.write_number(at, place, value, shown)
        else:
            sheet.write_string(at, place, rules.shortened(str(value), self._cut))

    def _about(self) -> None:
        sheet = self._book.add_worksheet(_("About this file"))
        sheet.set_column(0, 0, 28)
        sheet.set_column(1, 1, 90)
        at = 0
        for heading, entries in self._of.parts:
            sheet.write_string(at, 0, str(heading), self._head)
            for word, value, form in entries:
                at += 1
                sheet.write_string(at, 0, str(word), self._bold)
                if isinstance(value, str):
                    sheet.write_string(at, 1, rules.shortened(value, self._cut), self._wrapped)
                else:
                    self._put(sheet, at, 1, value, form)
            at += 2


def _on_clock(value: datetime, zone: ZoneInfo) -> datetime:
    """Cells know no zone: the billing clock's, as everywhere on pages; the sheet about the file names it."""
    return value.astimezone(zone).replace(tzinfo=None)
