"""Pages by cursor: a page begins behind the last row of the one before, whatever was added meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core import signing
from django.db.models import Q, QuerySet

from governance.errors import N_, BadData

Place = list[Any]
SALT = "governance.doors.cursor"
NO_CURSOR = N_("This cursor is none of ours. Begin without one, and take “next” of the page before from there on.")


class Page(NamedTuple):
    """Rows, the place behind the last of them (None on the last page) and the one before the first (None on the first page)."""

    rows: list[Any]
    after: Place | None
    before: Place | None = None


class Turn(NamedTuple):
    """Where a page begins: behind a place, or, for who turns back, before it."""

    place: Place | None = None
    is_back: bool = False


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


def back(of: str) -> str:
    """What cursors that turn back are signed as."""
    return f"{of} back"


def turned(cursor: str, of: str) -> Turn:
    """The same as `read` for pages, which are turned both ways."""
    try:
        return Turn(read(cursor, of))
    except BadData:
        return Turn(read(cursor, back(of)), is_back=True)


def links(page: Page, of: str, kept: Mapping[str, str]) -> dict[str, str]:
    """The addresses of the page before and the next ("" for none), for templates; `kept`: the rest of the query."""
    places = {
        "previous_url": written(page.before, back(of)),
        "next_url": written(page.after, of),
    }
    return {name: f"?{urlencode({**kept, 'cursor': cursor})}" if cursor else "" for name, cursor in places.items()}


def of_rows(rows: QuerySet[Any], order: Sequence[str], after: Place | None, limit: int) -> Page:
    """The page of `rows` in `order` (lookups, unique together, none of them null; "-" for descending) behind `after`."""
    return of_turn(rows, order, Turn(after), limit)


def of_turn(rows: QuerySet[Any], order: Sequence[str], turn: Turn, limit: int) -> Page:
    """The same from a turn. A page that was turned back to ends where the one it came from begins."""
    return cut(read_on(rows, order, turn, limit + 1), lambda row: place_of(row, order), turn, limit)


def read_on(rows: QuerySet[Any], order: Sequence[str], turn: Turn, count: int) -> list[Any]:
    """At most `count` of the rows from a turn on, in the direction of the turn."""
    way = [name[1:] if name.startswith("-") else f"-{name}" for name in order] if turn.is_back else list(order)
    if turn.place is not None:
        rows = rows.filter(_behind(way, [name.lstrip("-") for name in order], turn.place))
    return list(rows.order_by(*way)[:count])


def place_of(row: Any, order: Sequence[str]) -> Place:
    """The place of a row."""
    return [_value(row, name.lstrip("-")) for name in order]


def cut(found: list[Any], place: Callable[[Any], Place], turn: Turn, limit: int) -> Page:
    """The page out of at most `limit` + 1 rows that were read from a turn on, in the direction of the turn."""
    is_more, rows = len(found) > limit, found[:limit]
    if turn.is_back:
        rows.reverse()
    if not rows:
        return Page([], None)
    first, last = place(rows[0]), place(rows[-1])
    if turn.is_back:
        return Page(rows, last, first if is_more else None)
    return Page(rows, last if is_more else None, first if turn.place is not None else None)


def of_list(rows: Sequence[Any], key: Any, after: Place | None, limit: int) -> Page:
    """The page of a list that is in the order of `key` (a function to a list of plain values) already."""
    rest = [row for row in rows if after is None or key(row) > after]
    return Page(list(rest[:limit]), key(rest[limit - 1]) if len(rest) > limit else None)


def of_sorted(rows: Sequence[Any], key: Callable[[Any], Place], turn: Turn, limit: int) -> Page:
    """The page from a turn of a list that is in the order of `key` already."""
    if turn.place is None:
        rest = list(rows)
    elif turn.is_back:
        rest = [row for row in reversed(rows) if key(row) < turn.place]
    else:
        rest = [row for row in rows if key(row) > turn.place]
    return cut(rest[: limit + 1], key, turn, limit)


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
