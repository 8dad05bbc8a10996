"""What a source gives: columns, rows, what they are of. Neither CSV nor XLSX is known here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from django.utils.functional import Promise

Value = str | int | Decimal | date | datetime | None
Words = str | Promise


class Form(StrEnum):
    """How a column's values are shown."""

    TEXT = "text"
    COUNT = "count"
    HOURS = "hours"
    MONEY = "money"
    PRICE = "price"
    PERCENT = "percent"
    DAY = "day"
    INSTANT = "instant"


@dataclass(frozen=True)
class Column:
    """A column: its code (the header of a CSV file, the same for ever), its title for readers, the form of its values."""

    code: str
    title: Words
    form: Form = Form.TEXT


@dataclass(frozen=True)
class Table:
    """A table as one reader may see it. `rows` may be asked for once, in a transaction; None in it is a step without a row.

    `steps`: how many rows and Nones there will be, 0 where that is not known; asked for before the rows. `totals` are worked
    out when they are asked for.
    """

    name: str  # of the file, without its ending
    title: Words
    columns: Sequence[Column]
    rows: Callable[[], Iterator[Sequence[Value] | None]]
    steps: Callable[[], int] = lambda: 0
    filters: Sequence[tuple[Words, str]] = ()
    totals: Callable[[], Sequence[tuple[Words, Value, Form]]] = tuple
    metrics: Sequence[str] = field(default=())  # entries of the metric dictionary that its columns show
