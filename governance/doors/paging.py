"""Pages by cursor: a page begins behind the last row of the one before, whatever was added meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from django.core import signing
from django.db.models import Q, QuerySet

from governance.errors import N_, BadData

Place = list[Any]
SALT = "governance.doors.cursor"
NO_CURSOR = N_("This cursor is none of ours. Begin without one, and take “next” of the page before from there on.")


class Page(NamedTuple):
    """Rows, and the place behind the last of them; None on the last page."""

    rows: list[Any]
    after: Place | None


def written(place: Place | None, of: str) -> str | None:
    """A place as a cursor of the door named `of`; signed, so that what comes back is what went out."""
    if place is None:
        return None
    plain = [value.isoformat() if isinstance(value, date | datetime) else value for value in place]
    return signing.dumps([of, plain], salt=SALT)


def read(cursor: str, of: str) -> Place | None:
    """The place that a cursor names; None for no cursor. Raises BadData for one that was not given out by this door."""
    if not cursor:
        return None
    try:
        door, place = signing.loads(cursor, salt=SALT)
    except (signing.BadSignature, ValueError, TypeError):
        raise BadData(NO_CURSOR) from None
    if door != of or not isinstance(place, list):
        raise BadData(NO_CURSOR)
    return place


def of_rows(rows: QuerySet[Any], order: Sequence[str], after: Place | None, limit: int) -> Page:
    """The page of `rows` in `order` (lookups, unique together, none of them null; "-" for descending) behind `after`."""
    names = [name.lstrip("-") for name in order]
    if after is not None:
        rows = rows.filter(_behind(order, names, after))
    found = list(rows.order_by(*order)[: limit + 1])
    return Page(found[:limit], [_value(found[limit - 1], name) for name in names] if len(found) > limit else None)


def of_list(rows: Sequence[Any], key: Any, after: Place | None, limit: int) -> Page:
    """The page of a list that is in the order of `key` (a function to a list of plain values) already."""
    rest = [row for row in rows if after is None or key(row) > after]
    return Page(list(rest[:limit]), key(rest[limit - 1]) if len(rest) > limit else None)


def _behind(order: Sequence[str], names: list[str], after: Place) -> Q:
    found = Q()
    for depth, name in enumerate(order):
        same = Q(**dict(zip(names[:depth], after, strict=False)))
        found |= same & Q(**{f"{names[depth]}__{'lt' if name.startswith('-') else 'gt'}": after[depth]})
    first = "lte" if order[0].startswith("-") else "gte"
    return Q(**{f"{names[0]}__{first}": after[0]}) & found  # the first column alone is what an index can take


def _value(row: Any, name: str) -> Any:
    for part in name.split("__"):
        row = getattr(row, part)
    return row
