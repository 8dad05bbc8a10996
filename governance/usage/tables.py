"""A shown table as a CSV file that spreadsheets open without harm."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from io import StringIO

from django.http import HttpResponse

BYTE_ORDER_MARK = "\ufeff"  # without it Excel takes UTF-8 for the machine's own code page
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")

Cell = str | int | Decimal | date | datetime | None


def csv_file(name: str, header: Sequence[object], rows: Iterable[Sequence[Cell]]) -> HttpResponse:
    """The rows as `name`.csv, UTF-8. Numbers stay plain (no thousands separators), missing cells are empty."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([str(cell) for cell in header])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    response = HttpResponse(BYTE_ORDER_MARK + out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def csv_cell(cell: Cell) -> str:
    """A cell as the file has it."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        # A text that begins like a formula is run by spreadsheets: the quote makes it a text.
        return f"'{cell}" if cell.startswith(FORMULA_SIGNS) else cell
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)
