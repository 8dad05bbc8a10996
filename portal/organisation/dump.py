"""The organisation as a file again: the same form that is loaded, so that loading it changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import yaml

from governance.access.actor import Actor, require
from governance.catalogue.intervals import Interval
from governance.catalogue.models import NO_MODEL
from governance.catalogue.writing import Key, Values

from .checks import RESERVED
from .state import State, current

_NUMBERED = re.compile(r"(.*?)(\d{1,18})(\D*)", re.ASCII | re.DOTALL)
HEAD = (
    "# An organisation file of Steelyard. Read by `load_organisation`. Days are half-open [from, to) in the\n"
    "# billing time zone; a missing `from` means always, a missing `to` until further notice.\n"
)


class Row(dict[str, Any]):
    """A mapping that is written on one line."""


class _Dumper(yaml.SafeDumper):
    """Rows on one line, in their own order, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(
    Row, lambda dumper, row: dumper.represent_mapping("tag:yaml.org,2002:map", row, flow_style=True)
)


def dump(*, actor: Actor) -> str:
    """The organisation as YAML. It names people, so it is for who may change it."""
    require(actor, "organisation.change")
    return HEAD + yaml.dump(
        content(current()), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000, default_flow_style=False
    )


def content(state: State) -> dict[str, Any]:
    """The organisation as the content of a file. What is reserved for the portal itself is left out."""
    found: dict[str, Any] = {"steelyard": 1, "settings": _settings(state)}
    found["departments"] = [
        Row(code=code, **_name(values), **_set(values, "parent", "cost_centre"))
        for code, values in _coded(state, "department")
    ]
    found["projects"] = [_project(state, code, values) for code, values in _coded(state, "project")]
    found["people"] = _people(state)
    found["accelerators"] = [_accelerator(state, code, values) for code, values in _coded(state, "accelerator")]
    found["places"] = [
        Row(code=code, kind=values["kind"], **_name(values), **_set(values, "parent"))
        for code, values in _coded(state, "place")
    ]
    found["clusters"] = [_cluster(state, code, values) for code, values in _coded(state, "cluster")]
    found["mappings"] = _mappings(state)
    found["prices"] = _prices(state)
    return {section: rows for section, rows in found.items() if rows}


def _coded(state: State, kind: str) -> list[tuple[str, Values]]:
    return [(key[0], values) for key, values in sorted(state.things[kind].items()) if key[0] not in RESERVED]


def _set(values: Values, *words: str) -> dict[str, Any]:
    return {word: values[word] for word in words if values[word]}


def _name(values: Values, word: str = "name") -> dict[str, Any]:
    zh, en = values["name_zh"], values["name_en"]
    if zh == en:
        return {word: zh} if zh else {}
    return {word: Row({language: text for language, text in (("zh", zh), ("en", en)) if text})}


def _days(one: Interval) -> dict[str, Any]:
    return {word: day for word, day in (("from", one.from_on), ("to", one.to_on)) if day is not None}


def _number(amount: Decimal, places: int = 0) -> str:
    """Without trailing zeros, but with at least `places` decimals: 12.50."""
    whole, _, rest = format(amount, "f").partition(".")
    rest = rest.rstrip("0").ljust(places, "0")
    return f"{whole}.{rest}" if rest else whole


def _settings(state: State) -> dict[str, Any]:
    values = state.installation
    found = {**values, "bands": [Row(band) for band in values["bands"]]}
    return {name: value for name, value in found.items() if value != ""}


def _project(state: State, code: str, values: Values) -> dict[str, Any]:
    placements = []
    for one in state.dated["placement"].get((code,), []):
        row = Row(department=one.values["department"], **_days(one))
        if one.values["payers"]:
            row["payers"] = Row({name: _number(percent) for name, percent in sorted(one.values["payers"].items())})
        placements.append(row)
    found = {"code": code, **_name(values)}
    return {**found, "placements": placements} if placements else Row(found)


def _people(state: State) -> list[dict[str, Any]]:
    logins: dict[str, list[Row]] = {}
    for (cluster, login), values in sorted(state.things["login"].items()):
        logins.setdefault(values["person"], []).append(Row(cluster=cluster, login=login))
    roles: dict[str, list[Row]] = {}
    for (username, role, scope, code), days in sorted(state.dated["grant"].items()):
        on = {} if scope == "site" else {scope: code}
        roles.setdefault(username, []).extend(Row({"role": role, **on, **_days(one)}) for one in days)
    found = []
    for (username,), values in sorted(state.things["person"].items()):
        row = {"username": username, **_name(values, "display_name"), **_set(values, "email")}
        row |= {word: rows[username] for word, rows in (("logins", logins), ("roles", roles)) if username in rows}
        found.append(row)
    return found


def _accelerator(state: State, code: str, values: Values) -> Row:
    row = Row(code=code, **_set(values, "vendor", "name", "memory_gib", "power_watts", "card"))
    factors = state.dated["card_factor"].get((code,), [])
    if factors:
        row["card_factors"] = [Row(factor=_number(one.values["factor"]), **_days(one)) for one in factors]
    if values["aliases"]:
        row["aliases"] = values["aliases"]
    return row


def _cluster(state: State, code: str, values: Values) -> dict[str, Any]:
    names = values["cluster_name"]
    scheduler = {"kind": values["kind"]}
    if names:
        scheduler["cluster_name"] = names[0] if len(names) == 1 else names
    scheduler |= {"time_zone": values["time_zone"], "tracks_gpus": values["tracks_gpus"], **values["connection"]}
    pools = [_pool(state, pool, row) for pool, row in _coded(state, "pool") if row["cluster"] == code]
    nodes = _nodes(state, code)
    found = {"code": code, **_name(values), "scheduler": scheduler}
    return {**found, **({"pools": pools} if pools else {}), **({"nodes": nodes} if nodes else {})}


def _pool(state: State, code: str, values: Values) -> Row:
    partitions: list[Any] = []
    for (pool, pattern), days in sorted(state.dated["partition"].items()):
        if pool == code:
            partitions += [Row(match=pattern, **_days(one)) if _days(one) else pattern for one in days]
    row = Row(code=code, **_name(values), **_set(values, "purpose"))
    row |= {"partitions": partitions} if partitions else {}
    return Row(row | _set(values, "accelerators"))


def _nodes(state: State, cluster: str) -> list[Row]:
    """Nodes that are the same on the same days share a row."""
    alike: dict[tuple[Any, ...], list[str]] = {}
    for (of, name, model), days in sorted(state.dated["node"].items()):
        if of != cluster:
            continue
        for one in days:
            values = one.values
            same = (
                values["pool"],
                model,
                values["accelerators"],
                values["cpus"],
                values["memory_gib"],
                values["place"],
            )
            alike.setdefault((*same, *one.span), []).append(name)
    rows = []
    for (pool, model, cards, cpus, memory, place, from_on, to_on), names in alike.items():
        row = Row(names=folded(names), pool=pool)
        if model != NO_MODEL:
            row |= {"accelerator": model, "accelerators": cards}
        row |= _set({"cpus": cpus, "memory_gib": memory, "place": place}, "cpus", "memory_gib", "place")
        rows.append(Row(row | _days(Interval(from_on, to_on, {}))))
    return rows


def folded(names: Iterable[str]) -> str:
    """Node names as a scheduler's list: gpu[001-003,007],login. Expanding it gives the same names."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    plain: list[str] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            plain.append(name)
        else:
            groups.setdefault((match[1], len(match[2]), match[3]), []).append(int(match[2]))
    pieces = []
    for (head, width, tail), numbers in groups.items():
        spans = _spans(sorted(numbers))
        if len(numbers) == 1:
            pieces.append(f"{head}{numbers[0]:0{width}d}{tail}")
            continue
        inner = ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in spans)
        pieces.append(f"{head}[{inner}]{tail}")
    return ",".join([*pieces, *plain])


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _mappings(state: State) -> list[Row]:
    return [
        Row({**_pattern(("cluster", "account", "user", "qos"), key), "project": one.values["project"], **_days(one)})
        for key, days in sorted(state.dated["mapping"].items())
        for one in days
    ]


def _prices(state: State) -> list[Row]:
    return [
        Row(
            {
                **_pattern(("pool", "accelerator", "qos", "band"), key),
                **_days(one),
                **{measure: _number(price, 2) for measure, price in one.values.items() if price is not None},
            }
        )
        for key, days in sorted(state.dated["price"].items())
        for one in days
    ]


def _pattern(words: tuple[str, ...], key: Key) -> dict[str, str]:
    """Left out means any, so any is left out."""
    return {word: part for word, part in zip(words, key, strict=True) if part != "*"}
