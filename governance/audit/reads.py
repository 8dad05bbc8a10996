"""Reading the trail: searched by who, what, which object and when, newest first, by cursor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Q

from governance.access.actor import Actor, require

from .models import AuditLine

LINES_A_PAGE = 50
FILE_LINES = 10_000


@dataclass(frozen=True)
class Search:
    """What is looked for; "" and None leave it open. `action` and `object_code` may be beginnings, `who` is exact."""

    who: str = ""
    action: str = ""
    object_kind: str = ""
    object_code: str = ""
    first_on: date | None = None
    last_on: date | None = None


@dataclass(frozen=True)
class Difference:
    """One value that a change touched, before and after, as text; None where it was not there."""

    name: str
    before: str | None
    after: str | None

    @property
    def is_same(self) -> bool:
        """Told, but not changed."""
        return self.before == self.after


@dataclass(frozen=True)
class Page:
    """Lines with what they changed; `before` is the cursor of the next page, 0 on the last."""

    lines: list[tuple[AuditLine, list[Difference]]]
    before: int


def page(search: Search, before: int, zone: ZoneInfo, *, actor: Actor) -> Page:
    """A page of lines with ids below `before` (0: from the newest). Raises NotAllowed without the right to see the trail."""
    require(actor, "audit.view")
    rows = _found(search, zone)
    found = list((rows.filter(pk__lt=before) if before else rows)[: LINES_A_PAGE + 1])
    shown = found[:LINES_A_PAGE]
    return Page([(one, differences(one)) for one in shown], shown[-1].pk if len(found) > len(shown) else 0)


def lines(search: Search, zone: ZoneInfo, *, actor: Actor, most: int | None = FILE_LINES) -> Iterator[AuditLine]:
    """The newest lines for a file, at most `most`, None for all of them; streamed. Raises NotAllowed."""
    require(actor, "audit.view")
    rows = _found(search, zone)
    return (rows[:most] if most else rows).iterator(chunk_size=1000)


def count(search: Search, zone: ZoneInfo, *, actor: Actor) -> int:
    """How many lines are found. Raises NotAllowed."""
    require(actor, "audit.view")
    return int(_found(search, zone).count())


def kinds(*, actor: Actor) -> list[str]:
    """The kinds of object that the newest lines speak of, for the list to choose from."""
    require(actor, "audit.view")
    newest = AuditLine.objects.order_by("-pk").values("object_kind")[:5000]
    return sorted({row["object_kind"] for row in newest})


def differences(line: AuditLine) -> list[Difference]:
    """Before and after side by side, by name; nested values by their path."""
    before, after = dict(_flat("", line.before)), dict(_flat("", line.after))
    names = [*before, *(name for name in after if name not in before)]
    return [Difference(name, before.get(name), after.get(name)) for name in names]


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for number, inner in enumerate(value, start=1):
            yield from _flat(f"{name}[{number}]", inner)
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value)) or "[]"
    elif value is not None:
        yield name, str(value).lower() if isinstance(value, bool) else str(value)
    elif name:
        yield name, "—"


def _found(search: Search, zone: ZoneInfo) -> Any:
    where = Q()
    if search.who:
        where &= Q(actor=search.who)
    if search.action:
        where &= Q(action__startswith=search.action)
    if search.object_kind:
        where &= Q(object_kind=search.object_kind)
    if search.object_code:
        where &= Q(object_code__startswith=search.object_code)
    rows = AuditLine.objects.filter(where)
    if search.first_on:
        rows = rows.filter(at__gte=_midnight(search.first_on, zone))
    if search.last_on:
        rows = rows.filter(at__lt=_midnight(search.last_on + timedelta(days=1), zone))
    return rows.order_by("-pk")


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone)
