"""Rows of a question too long for memory, by a cursor that the server holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection

ROWS_AT_ONCE = 2000


def streamed(statement: str, given: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows as they stood when the first was asked for, ROWS_AT_ONCE in memory. RuntimeError outside a transaction:
    there the server would first keep all of them, and a pooler might give its connection to another."""
    if not connection.in_atomic_block:
        raise RuntimeError("a server's cursor lives in a transaction")
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, given)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from rows
