"""Writing many rows by their natural keys, in few statements, with one audit line for each object that changed.

A `Table` says which lookups make the key and which words stand for which columns. Rows are spoken of by codes on both
sides; the ids behind them are looked up here. Actions of catalogue, tenants and prices are thin verbs over these two:
`put` for things that stand undated, `replace` for what is dated by day.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db import transaction
from django.db.models import ForeignKey, Model

from governance.access.actor import Actor
from governance.audit import actions as audit
from governance.errors import N_, NotFound

from .intervals import Interval, in_order

Key = tuple[str, ...]
Values = dict[str, Any]
Refs = dict[str, dict[tuple[Any, ...], int]]
Extra = Callable[[Key], Values]


@dataclass(frozen=True)
class Parts:
    """Rows of another table that are told with their owner as {name: amount}: the payers of a placement."""

    word: str
    model: type[Model]
    owner: str
    name: str  # lookup of the name, such as department__code
    amount: str


@dataclass(frozen=True)
class Table:
    """How rows of a model are named by codes. `columns` maps the word in files and audit lines to a lookup."""

    kind: str
    model: type[Model]
    key: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, str] = field(default_factory=dict)  # word -> many-to-many field of things with a code
    parts: Parts | None = None
    limits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # foreign key -> which of its rows are meant

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that values may have."""
        return (*self.columns, *self.sets, *((self.parts.word,) if self.parts else ()))


def read(table: Table, keys: Collection[Key] | None = None) -> dict[Key, Values]:
    """Undated rows by key, those of `keys` or all."""
    return {key: values for key, (_, values) in _rows(table, keys).items()}


def read_dated(table: Table, keys: Collection[Key] | None = None) -> dict[Key, list[Interval]]:
    """Dated rows by key in the order of their days, those of `keys` or all."""
    return {key: [interval for _, interval in rows] for key, rows in _dated_rows(table, keys).items()}


@transaction.atomic
def put(table: Table, rows: Mapping[Key, Values], *, actor: Actor, extra: Extra = lambda _: {}) -> int:
    """Make each row say what `rows` says: add it (with `extra` attributes) or change it. Answers how many changed.

    Words that are left out stay as they are, or take the column's default in a new row.
    """
    before = _rows(table, rows)
    added = {key: values for key, values in rows.items() if key not in before}
    changed = {
        key: {**before[key][1], **values}
        for key, values in rows.items()
        if key in before and any(before[key][1][word] != value for word, value in values.items())
    }
    told = {**added, **changed}
    refs = _refs(table, told.values())
    own = {head for head in _heads(table) if _target(table, head) is table.model}
    made = [
        table.model(**_attributes(table, key, values, refs, without=own), **extra(key)) for key, values in added.items()
    ]
    table.model._default_manager.bulk_create(made)
    if own and added:  # a parent may be as new as its child
        refs = _refs(table, told.values())
    pks = {
        **{key: pk for key, (pk, _) in before.items()},
        **{key: one.pk for key, one in zip(added, made, strict=True)},
    }
    _update(table, {pks[key]: _attributes(table, key, values, refs) for key, values in changed.items()})
    if own:
        _update(table, {pks[key]: _attributes(table, key, values, refs, only=own) for key, values in added.items()})
    _write_sets(table, {pks[key]: values for key, values in told.items()})
    for key, values in told.items():
        old = before[key][1] if key in before else None
        verb = "added" if old is None else "changed"
        audit.record(actor, f"{table.kind}.{verb}", table.kind, "/".join(key), before=old, after=values)
    return len(told)


@transaction.atomic
def replace(table: Table, rows: Mapping[Key, list[Interval]], *, actor: Actor, extra: Extra = lambda _: {}) -> int:
    """Make the intervals of each key exactly those given. Answers how many keys changed.

    What is left of an interval is shortened before anything grows or is added, so that no two ever overlap on the way.
    """
    before = _dated_rows(table, rows)
    gone: list[int] = []
    ends: dict[int, tuple[date | None, date | None]] = {}  # pk -> end before, end after
    new: list[tuple[Key, Interval]] = []
    changed = [key for key, wanted in rows.items() if [i for _, i in before.get(key, [])] != in_order(wanted)]
    for key in changed:
        left = list(rows[key])
        for pk, old in before.get(key, []):
            same = next((one for one in left if one.from_on == old.from_on and one.values == old.values), None)
            if same is None:
                gone.append(pk)
                continue
            left.remove(same)
            if same.to_on != old.to_on:
                ends[pk] = (old.to_on, same.to_on)
        new += [(key, one) for one in left]
    table.model._default_manager.filter(pk__in=gone).delete()
    shorter = {pk: after for pk, (old, after) in ends.items() if (after or date.max) < (old or date.max)}
    _update(table, {pk: {"to_on": to_on} for pk, to_on in shorter.items()})
    _update(table, {pk: {"to_on": after} for pk, (_, after) in ends.items() if pk not in shorter})
    _insert(table, new, extra)
    for key in changed:
        old_ones, new_ones = [i for _, i in before.get(key, [])], in_order(rows[key])
        verb = "added" if not old_ones else "changed"
        audit.record(
            actor, f"{table.kind}.{verb}", table.kind, "/".join(key), before=_told(old_ones), after=_told(new_ones)
        )
    return len(changed)


def _told(intervals: list[Interval]) -> Values | None:
    if not intervals:
        return None
    return {"intervals": [{"from": one.from_on, "to": one.to_on, **one.values} for one in intervals]}


def _insert(table: Table, new: list[tuple[Key, Interval]], extra: Extra) -> None:
    refs = _refs(table, [one.values for _, one in new]) if new else {}
    made = [
        table.model(from_on=one.from_on, to_on=one.to_on, **_attributes(table, key, one.values, refs), **extra(key))
        for key, one in new
    ]
    table.model._default_manager.bulk_create(made)
    parts = table.parts
    if parts is None:
        return
    head, _, lookup = parts.name.partition("__")
    target = parts.model._meta.get_field(head).related_model
    assert isinstance(target, type) and issubclass(target, Model)
    ids = dict(target._default_manager.values_list(lookup, "pk"))
    parts.model._default_manager.bulk_create(
        parts.model(**{f"{parts.owner}_id": owner.pk, f"{head}_id": _found(ids, name, head), parts.amount: amount})
        for owner, (_, one) in zip(made, new, strict=True)
        for name, amount in one.values.get(parts.word, {}).items()
    )


def _rows(table: Table, keys: Collection[Key] | None) -> dict[Key, tuple[int, Values]]:
    size = len(table.key)
    found: dict[Key, tuple[int, Values]] = {}
    for pk, *rest in _selected(table, keys).values_list("pk", *table.key, *table.columns.values()):
        key = tuple(rest[:size])
        if keys is None or key in keys:
            found[key] = (pk, dict(zip(table.columns, rest[size:], strict=True)))
    for word, name in table.sets.items():
        members: dict[int, list[str]] = {}
        for pk, code in table.model._default_manager.filter(**{f"{name}__isnull": False}).values_list(
            "pk", f"{name}__code"
        ):
            members.setdefault(pk, []).append(code)
        for pk, values in found.values():
            values[word] = sorted(members.get(pk, []))
    return found


def _dated_rows(table: Table, keys: Collection[Key] | None) -> dict[Key, list[tuple[int, Interval]]]:
    size, found, parts = len(table.key), {}, _parts(table)  # type: ignore[var-annotated]
    columns = ("from_on", "to_on", *table.key, *table.columns.values())
    for pk, from_on, to_on, *rest in _selected(table, keys).values_list("pk", *columns):
        key = tuple(rest[:size])
        if keys is not None and key not in keys:
            continue
        values = dict(zip(table.columns, rest[size:], strict=True))
        if table.parts is not None:
            values[table.parts.word] = parts.get(pk, {})
        found.setdefault(key, []).append((pk, Interval(from_on, to_on, values)))
    for rows in found.values():
        rows.sort(key=lambda row: row[1].from_on or date.min)
    return found


def _parts(table: Table) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    if table.parts is not None:
        rows = table.parts.model._default_manager.values_list(
            f"{table.parts.owner}_id", table.parts.name, table.parts.amount
        )
        for owner, name, amount in rows:
            found.setdefault(owner, {})[name] = amount
    return found


def _selected(table: Table, keys: Collection[Key] | None) -> Any:
    rows = table.model._default_manager.all()
    return rows if keys is None else rows.filter(**{f"{table.key[0]}__in": {key[0] for key in keys}})


def _heads(table: Table) -> dict[str, list[str]]:
    """Foreign keys among the lookups, each with what names its row: `node` -> [cluster__code, name]."""
    heads: dict[str, list[str]] = {}
    for lookup in (*table.key, *table.columns.values()):
        head, _, rest = lookup.partition("__")
        if rest:
            heads.setdefault(head, []).append(rest)
    return heads


def _target(table: Table, head: str) -> type[Model]:
    column = table.model._meta.get_field(head)
    assert isinstance(column, ForeignKey)
    return column.related_model


def _refs(table: Table, rows: Collection[Values]) -> Refs:
    """The ids behind the codes, for the foreign keys that the rows speak of."""
    spoken = {table.columns[word].partition("__")[0] for values in rows for word in values if word in table.columns}
    spoken |= {lookup.partition("__")[0] for lookup in table.key}
    return {
        head: {
            tuple(names): pk
            for pk, *names in _target(table, head)
            ._default_manager.filter(**table.limits.get(head, {}))
            .values_list("pk", *lookups)
        }
        for head, lookups in _heads(table).items()
        if head in spoken
    }


def _attributes(
    table: Table, key: Key, values: Values, refs: Refs, *, only: Collection[str] = (), without: Collection[str] = ()
) -> Values:
    """Model attributes for a row spoken of by codes: of the foreign keys in `only`, or all but those in `without`."""
    named = list(zip(table.key, key, strict=True))
    named += [(table.columns[word], value) for word, value in values.items() if word in table.columns]
    found: Values = {}
    keys: dict[str, list[Any]] = {}
    for lookup, value in named:
        head, _, rest = lookup.partition("__")
        if rest:
            keys.setdefault(head, []).append(value)
        else:
            found[lookup] = value
    for head, names in keys.items():
        missing = all(name is None for name in names)
        found[f"{head}_id"] = None if missing or head in without else _found(refs[head], tuple(names), head)
    if only:
        return {name: value for name, value in found.items() if name.removesuffix("_id") in only}
    return found


def _found(ids: Mapping[Any, int], name: Any, kind: str) -> int:
    if name not in ids:
        code = "/".join(name) if isinstance(name, tuple) else name
        raise NotFound(N_("There is no %(kind)s “%(code)s”."), kind=kind, code=code)
    return ids[name]


def _update(table: Table, rows: Mapping[int, Values]) -> None:
    """Write attributes by primary key, one statement for the rows that set the same ones."""
    by_names: dict[tuple[str, ...], list[Model]] = {}
    for pk, attributes in rows.items():
        if attributes:
            by_names.setdefault(tuple(sorted(attributes)), []).append(table.model(pk=pk, **attributes))
    for names, ones in by_names.items():
        fields = [name.removesuffix("_id") if name.removesuffix("_id") in _heads(table) else name for name in names]
        table.model._default_manager.bulk_update(ones, fields, batch_size=2000)


def _write_sets(table: Table, rows: Mapping[int, Values]) -> None:
    for word, name in table.sets.items():
        relation = table.model._meta.get_field(name)
        through: Any = relation.remote_field.through  # type: ignore[union-attr]
        target = relation.related_model
        assert isinstance(target, type) and issubclass(target, Model)
        owner, member = f"{table.model._meta.model_name}_id", f"{target._meta.model_name}_id"
        told = {pk: values[word] for pk, values in rows.items() if word in values}
        if not told:
            continue
        ids = dict(target._default_manager.values_list("code", "pk"))
        through.objects.filter(**{f"{owner}__in": list(told)}).delete()
        through.objects.bulk_create(
            through(**{owner: pk, member: _found(ids, code, target._meta.model_name or "")})
            for pk, codes in told.items()
            for code in codes
        )
