"""The difference between what a file wants and what stands, as plain data, and what stands on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from governance.catalogue.intervals import Interval, Span, changed_days, ended, in_order, merged
from governance.catalogue.writing import Key, Values

from .state import DATED, THINGS, State
from .wanted import Wanted

ADD, CHANGE, END, REMOVE = "add", "change", "end", "remove"


@dataclass(frozen=True)
class Change:
    """One line of the plan. `before` and `after` have the file's words; a dated line has its days as from and to."""

    verb: str  # add, change, end (it holds until an earlier day), remove (days that are told otherwise: it never held)
    kind: str
    key: str
    before: Values | None
    after: Values | None


@dataclass
class Consequences:
    """What must be done again: usage to be metered by cluster and days, money to be priced by days."""

    usage: list[tuple[str, date | None, date | None]] = field(default_factory=list)
    money: list[Span] = field(default_factory=list)


@dataclass
class Plan:
    """What loading a file changes. `things` and `dated` hold the rows to be written, whole, by kind and key."""

    changes: list[Change] = field(default_factory=list)
    things: dict[str, dict[Key, Values]] = field(default_factory=dict)
    dated: dict[str, dict[Key, list[Interval]]] = field(default_factory=dict)
    consequences: Consequences = field(default_factory=Consequences)

    @property
    def counts(self) -> dict[str, int]:
        """How many lines of each verb."""
        counted = Counter(change.verb for change in self.changes)
        return {verb: counted[verb] for verb in (ADD, CHANGE, END, REMOVE)}


def after(wanted: Wanted, before: State, prune_on: date | None) -> State:
    """The organisation as it would stand: what the file says over what the tables say."""
    things = {
        kind: {**rows, **{key: {**rows.get(key, {}), **values} for key, values in wanted.things.get(kind, {}).items()}}
        for kind, rows in before.things.items()
    }
    dated: dict[str, dict[Key, list[Interval]]] = {}
    for kind, rows in before.dated.items():
        told = wanted.dated.get(kind, {})
        left = {key: days for key, days in rows.items() if key not in told}
        if prune_on is not None and kind in wanted.present:
            left = {key: ended(days, prune_on) for key, days in left.items()}
        dated[kind] = {**left, **{key: in_order(days) for key, days in told.items()}}
    return State(things, dated)


def plan(wanted: Wanted, before: State, then: State) -> Plan:
    """The difference between `before` and `then`."""
    found = Plan()
    for kind in ("installation", *THINGS):
        for key in wanted.things.get(kind, {}):
            old, new = before.things[kind].get(key), then.things[kind][key]
            if old != new:
                found.things.setdefault(kind, {})[key] = new
                found.changes.append(_line(kind, key, old, new))
    for kind in (*DATED, "grant"):
        for key, days in then.dated[kind].items():
            was = before.dated[kind].get(key, [])
            if days != was:
                found.dated.setdefault(kind, {})[key] = days
                found.changes += _dated_lines(kind, key, was, days)
    found.consequences = _consequences(found, before, then)
    return found


def _line(kind: str, key: Key, old: Values | None, new: Values) -> Change:
    if old is None:
        return Change(ADD, kind, "/".join(key), None, new)
    words = [word for word, value in new.items() if old.get(word) != value]
    return Change(CHANGE, kind, "/".join(key), {w: old.get(w) for w in words}, {w: new[w] for w in words})


def _dated_lines(kind: str, key: Key, was: list[Interval], days: list[Interval]) -> Iterator[Change]:
    """Intervals that begin on the same day are the same one, changed; the others were added or never held."""
    name = "/".join(part for part in key if part)
    old_by_start = {one.from_on: one for one in was}
    for new in days:
        old = old_by_start.pop(new.from_on, None)
        if old == new:
            continue
        verb = ADD if old is None else CHANGE
        if old is not None and old.values == new.values and (new.to_on or date.max) < (old.to_on or date.max):
            verb = END
        yield Change(verb, kind, name, _told(old), _told(new))
    for old in old_by_start.values():
        yield Change(REMOVE, kind, name, _told(old), None)


def _told(one: Interval | None) -> Values | None:
    return None if one is None else {"from": one.from_on, "to": one.to_on, **one.values}


#: Of an undated row, the words that usage or money stands on.
USAGE_WORDS = {
    "accelerator": ("aliases",),
    "cluster": ("tracks_gpus",),
    "pool": ("accelerators",),
    "installation": ("bands",),
}


def _consequences(found: Plan, before: State, then: State) -> Consequences:
    usage: dict[str, set[Span]] = {}
    money: set[Span] = set()
    always: Span = (None, None)
    every = sorted(before.codes("cluster"))  # a new cluster has no facts yet
    for kind, words in USAGE_WORDS.items():
        for key, new in found.things.get(kind, {}).items():
            old = before.things[kind].get(key)
            if old is None and kind != "accelerator":
                continue
            if old is None or any(old.get(word) != new.get(word) for word in words):
                own = key[0] if kind == "cluster" else new["cluster"] if kind == "pool" else None
                clusters = every if own is None else [own]
                for cluster in clusters:
                    usage.setdefault(cluster, set()).add(always)
    for kind, rows in found.dated.items():
        for key, days in rows.items():
            spans = changed_days(before.dated[kind].get(key, []), days, _weighed(kind))
            if kind in ("placement", "price", "card_factor"):
                money.update(spans)
            elif kind in ("mapping", "node", "partition"):
                cluster = then.things["pool"][(key[0],)]["cluster"] if kind == "partition" else key[0]
                usage.setdefault(str(cluster), set()).update(spans)
    cards = (
        before.things["accelerator"].get(key, {}).get("card") != new.get("card")
        for key, new in found.things.get("accelerator", {}).items()
    )
    if any(cards):
        money.add(always)
    return Consequences([(c, *span) for c in sorted(usage) for span in merged(usage[c])], merged(money))


def _weighed(kind: str) -> Any:
    """What of an interval's values facts or money stand on: a node's rack and memory move no figure."""
    if kind == "node":
        return lambda values: (values["pool"], values["accelerators"])
    return lambda values: values


def as_data(found: Plan) -> dict[str, Any]:
    """The plan as JSON-ready data (days and decimals are left to the encoder)."""
    return {
        "counts": found.counts,
        "changes": [
            {"verb": c.verb, "kind": c.kind, "key": c.key, "before": c.before, "after": c.after} for c in found.changes
        ],
        "consequences": {
            "usage": [{"cluster": cluster, "from": low, "to": high} for cluster, low, high in found.consequences.usage],
            "money": [{"from": low, "to": high} for low, high in found.consequences.money],
        },
    }
