"""How the ledger is walked: the switch of dimensions, the drill from project to runs, filters and periods in links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from governance.tenants.models import Department

from .rules import Span, month_of, span_of
from .statement import HOURS_ONLY, UNATTRIBUTED, Row, Statement, Sums

#: Stands for a department in an address: all that the reader may see. No code can be this.
ALL = "~"
UNASSIGNED = "unassigned"
UNKNOWN_MODEL, NO_MODEL = "unknown", "none"

WORDS: dict[str, str | Promise] = {
    "department": _("Department"),
    "project": _("Project"),
    "pool": _("Pool"),
    "model": _("GPU model"),
    "user": _("User"),
    "qos": _("QoS"),
    "day": _("Day"),
    "account": _("Account"),
    "outcome": _("Outcome"),
    "cluster": _("Cluster"),
}
#: The switch on a department's page.
SWITCH = ("project", "pool", "model", "user", "qos", "day")
FILTERS = ("project", "pool", "model", "qos", "user", "account", "outcome", "cluster", "day")
#: Where a row opens to; the last step is the list of runs.
DRILL = {
    "department": "project",
    "project": "pool",
    "pool": "model",
    "model": "qos",
    "qos": "day",
    "user": "day",
    "account": "user",
    "outcome": "day",
    "cluster": "pool",
    "day": "",
}
#: Keys that mean "nothing claims it", said in words.
SPECIAL: dict[tuple[str, str], str | Promise] = {
    ("department", UNATTRIBUTED): _("Unattributed: no mapping claims it"),
    ("project", UNATTRIBUTED): _("Unattributed: no mapping claims it"),
    ("pool", UNASSIGNED): _("Unassigned: in no pool"),
    ("model", UNKNOWN_MODEL): _("Unknown GPU model"),
    ("model", NO_MODEL): _("Without GPUs"),
    ("qos", ""): _("No QoS given"),
    ("user", ""): _("No user given"),
    ("account", ""): _("No account given"),
}


@dataclass(frozen=True)
class Place:
    """One view of the ledger: whose, when, by what, narrowed to what."""

    department: str
    period: str
    by: str
    filters: Mapping[str, str]

    def url(self, *, by: str | None = None, filters: Mapping[str, str] | None = None, period: str | None = None) -> str:
        """The address of this place with some of it changed."""
        path = reverse("ledger-department", args=[self.department, period or self.period])
        query = {"by": by or self.by, **(self.filters if filters is None else filters)}
        return f"{path}?{urlencode(query)}"

    def lines_url(self, filters: Mapping[str, str]) -> str:
        """The journal lines behind what is narrowed to `filters`."""
        path = reverse("ledger-lines", args=[self.department, self.period])
        return f"{path}?{urlencode(filters)}"

    def runs_url(self, filters: Mapping[str, str], span: Span) -> str:
        """The runs behind what is narrowed to `filters`."""
        first, last = span.first_on.isoformat(), span.last_on.isoformat()
        kept = {key: value for key, value in filters.items() if key != "day"}
        if "day" in filters:
            first = last = filters["day"]
        if self.department != ALL:
            kept["department"] = self.department
        return f"{reverse('jobs')}?{urlencode({'from': first, 'to': last, **kept})}"


@dataclass(frozen=True)
class ShownRow:
    """A row of the table with its ways on."""

    code: str
    name: str | Promise
    is_special: bool
    row: Row
    share: Decimal | None  # of the total's GPU time, 0..1
    bar: int  # of the largest row's, whole percent
    url: str
    runs_url: str
    lines_url: str
    depth: int = 0


def next_dimension(by: str, filters: Mapping[str, str]) -> str:
    """Where a row by `by` opens to, given what is narrowed already; "" for the list of runs."""
    step = DRILL[by]
    while step and step in filters:
        step = DRILL[step]
    return step


class Table:
    """The rows of a statement by one dimension, each with where it leads."""

    def __init__(self, found: Statement, place: Place) -> None:
        self._found = found
        self._place = place
        self._span = Span(found.first_on, found.last_on)
        self._largest = max((row.sums.milligpu_seconds for row in found.rows), default=0)

    def rows(self, some: Sequence[Row] | None = None) -> list[ShownRow]:
        """In the statement's own order; `some` of them where not all are shown."""
        return [self._shown(row) for row in (self._found.rows if some is None else some)]

    def tree(self, visible: Sequence[Department]) -> list[ShownRow]:
        """By department as the tree has them, children below parents; what is no department comes last."""
        by_code = {row.keys["department"]: row for row in self._found.rows}
        children: dict[int | None, list[Department]] = {}
        ids = {one.pk for one in visible}
        for one in sorted(visible, key=lambda one: one.code):
            children.setdefault(one.parent_id if one.parent_id in ids else None, []).append(one)
        rows: list[ShownRow] = []

        def walk(parent: int | None, depth: int) -> None:
            for one in children.get(parent, []):
                row = by_code.pop(one.code, None) or Row({"department": one.code}, one.name, self._nothing())
                rows.append(self._department(row, depth))
                walk(one.pk, depth + 1)

        walk(None, 0)
        return rows + [self._department(row, 0) for row in by_code.values()]

    def _nothing(self) -> Sums:
        return Sums() if self._found.total.amount is not None else Sums(amount=None, accrued=None)

    def _department(self, row: Row, depth: int) -> ShownRow:
        inside = Place(row.keys["department"], self._place.period, "project", {})
        return replace(
            self._shown(row),
            depth=depth,
            url=inside.url(),
            runs_url=inside.runs_url({}, self._span),
            lines_url=inside.lines_url({}),
        )

    def _shown(self, row: Row) -> ShownRow:
        place = self._place
        code = row.keys[place.by]
        narrowed = {**place.filters, place.by: code}
        step = next_dimension(place.by, place.filters)
        runs = place.runs_url(narrowed, self._span)
        special = SPECIAL.get((place.by, code))
        used, whole = row.sums.milligpu_seconds, self._found.total.milligpu_seconds
        return ShownRow(
            code=code,
            name=special or row.name or code,
            is_special=special is not None,
            row=row,
            share=Decimal(used) / whole if whole else None,
            bar=used * 100 // self._largest if self._largest else 0,
            url=place.url(by=step, filters=narrowed) if step else runs,
            runs_url=runs,
            lines_url="" if HOURS_ONLY & narrowed.keys() else place.lines_url(narrowed),
        )


def neighbours(period: str, today: date) -> tuple[str, str]:
    """The periods before and after a month or year, "" where there is none or it has not begun."""
    span = span_of(period)
    if ".." in period:
        return "", ""
    before = span.first_on - timedelta(days=1)
    after = span.last_on + timedelta(days=1)
    as_period = month_of if len(period) == 7 else (lambda day: f"{day:%Y}")
    return as_period(before), as_period(after) if after <= today else ""
