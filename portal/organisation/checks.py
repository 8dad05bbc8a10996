"""What cannot hold is refused before anything is written, each fault with its place in the file.

Checks look at the organisation as it would stand afterwards: what the file says over what the tables say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import combinations
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from governance.catalogue.intervals import Interval, clashes, overlap
from governance.catalogue.writing import Key
from governance.errors import N_, BadData
from governance.tenants.actions import combined, may_combine
from governance.tenants.rules import descends
from governance.usage.rules import band_slices

from .document import KeyPath, Where
from .state import INSTALLATION, State
from .wanted import Wanted

RESERVED = frozenset({"unattributed", "unassigned", "none", "unknown"})
CODED = ("department", "project", "accelerator", "place", "cluster", "pool")

#: (kind, word) -> (kind of what it names, whether "*" may stand there); the words of keys are those below.
NAMES = {
    ("department", "parent"): ("department", False),
    ("placement", "department"): ("department", False),
    ("accelerator", "card"): ("accelerator", False),
    ("place", "parent"): ("place", False),
    ("node", "pool"): ("pool", False),
    ("node", "accelerator"): ("accelerator", False),
    ("node", "place"): ("place", False),
    ("login", "cluster"): ("cluster", False),
    ("mapping", "cluster"): ("cluster", False),
    ("mapping", "project"): ("project", False),
    ("price", "pool"): ("pool", True),
    ("price", "accelerator"): ("accelerator", True),
}
KEY_WORDS = {
    "login": ("cluster",),
    "node": (None, None, "accelerator"),
    "mapping": ("cluster",),
    "price": ("pool", "accelerator"),
}

UNKNOWN = {
    "department": N_("%(where)s: no department has the code “%(code)s”."),
    "project": N_("%(where)s: no project has the code “%(code)s”."),
    "accelerator": N_("%(where)s: no accelerator has the code “%(code)s”."),
    "place": N_("%(where)s: no place has the code “%(code)s”."),
    "cluster": N_("%(where)s: no cluster has the code “%(code)s”."),
    "pool": N_("%(where)s: no pool has the code “%(code)s”."),
    "band": N_("%(where)s: no band has the code “%(code)s”."),
}
OVERLAPS = {
    "placement": N_("%(where)s: overlaps %(other)s; a project has one home department on a day."),
    "card_factor": N_("%(where)s: overlaps %(other)s; a slice has one factor on a day."),
    "partition": N_("%(where)s: overlaps %(other)s; a pool claims a partition once on a day."),
    "node": N_("%(where)s: overlaps %(other)s; a node has one term for a model on a day (node %(key)s)."),
    "mapping": N_("%(where)s: overlaps %(other)s; equal patterns name one project on a day."),
    "price": N_("%(where)s: overlaps %(other)s; equal patterns have one price on a day."),
    "grant": N_("%(where)s: overlaps %(other)s; the same role is granted once on a day."),
}


def faults(wanted: Wanted, after: State, before: State, *, has_facts: bool, has_money: bool) -> list[BadData]:
    """Everything that is wrong with the organisation `after`, as far as the file says it."""
    found: list[BadData] = []
    for check in (_reserved, _codes, _grant_codes, _overlaps, _payers, _factors, _zones):
        found += check(wanted, after)
    found += _installation(wanted, after, before, has_facts=has_facts, has_money=has_money)
    found += _pools(wanted, after, before)
    for check in (_trees, _slices, _aliases, _partition_ties, _combined_roles, _price_bands):
        found += check(wanted, after)
    return found


def _where(wanted: Wanted, kind: str, key: Key, *words: str | int) -> Where:
    """The place of a row in the file; a row that stands in the tables alone is named by its key."""
    path = wanted.paths.get((kind, key)) or next(iter(wanted.interval_paths.get((kind, key), [])), None)
    if path is None:
        return Where(f"{kind} {'/'.join(key)}", None)
    return wanted.document.where((*path, *words))


def _reserved(wanted: Wanted, after: State) -> Iterator[BadData]:
    for kind in CODED:
        for key in wanted.things.get(kind, {}):
            if key[0].lower() in RESERVED:
                yield BadData(
                    N_("%(where)s: the code “%(code)s” is reserved for what cannot be told."),
                    where=_where(wanted, kind, key, "code"),
                    code=key[0],
                )


def _rows(wanted: Wanted) -> Iterator[tuple[str, Key, Mapping[str, Any], KeyPath]]:
    for kind, rows in wanted.things.items():
        for key, values in rows.items():
            yield kind, key, values, wanted.paths[(kind, key)]
    for kind, dated in wanted.dated.items():
        for key, intervals in dated.items():
            for one, path in zip(intervals, wanted.interval_paths[(kind, key)], strict=True):
                yield kind, key, one.values, path


def _codes(wanted: Wanted, after: State) -> Iterator[BadData]:
    known = {kind: after.codes(kind) for kind in UNKNOWN if kind != "band"}
    said: set[KeyPath] = set()
    for kind, key, values, path in _rows(wanted):
        keyed = zip(KEY_WORDS.get(kind, ()), key, strict=False)
        for word, code in [*((word, code) for word, code in keyed if word), *values.items()]:
            target, any_may = NAMES.get((kind, word), (None, False))
            if target is None or code is None or code in known[target] or (any_may and code == "*"):
                continue
            if (*path, word) not in said:  # a list of nodes says it once
                said.add((*path, word))
                yield BadData(UNKNOWN[target], where=wanted.document.where((*path, word)), code=code)
        for code in values.get("payers", {}) if kind == "placement" else ():
            if code not in known["department"]:
                yield BadData(UNKNOWN["department"], where=wanted.document.where((*path, "payers", code)), code=code)
        for code in values.get("accelerators", []) if kind == "pool" else ():
            if code not in known["accelerator"]:
                yield BadData(UNKNOWN["accelerator"], where=wanted.document.where((*path, "accelerators")), code=code)


def _grant_codes(wanted: Wanted, after: State) -> Iterator[BadData]:
    for key in wanted.dated.get("grant", {}):
        _, _, scope, code = key
        if scope != "site" and code not in after.codes(scope):
            yield BadData(UNKNOWN[scope], where=_where(wanted, "grant", key, scope), code=code)


def _overlaps(wanted: Wanted, after: State) -> Iterator[BadData]:
    said: set[tuple[str, KeyPath, KeyPath]] = set()
    for kind, rows in wanted.dated.items():
        for key, intervals in rows.items():
            if len(intervals) < 2:
                continue
            paths = wanted.interval_paths[(kind, key)]
            for first, second in clashes([one.span for one in intervals]):
                mark = (kind, paths[first], paths[second])
                if mark not in said:
                    said.add(mark)
                    where, other = (wanted.document.where(paths[position]) for position in (second, first))
                    yield BadData(OVERLAPS[kind], where=where, other=other, key="/".join(key[:2]))


def _payers(wanted: Wanted, after: State) -> Iterator[BadData]:
    for kind, _, values, path in _rows(wanted):
        payers = values.get("payers") if kind == "placement" else None
        if payers and any(percent <= 0 for percent in payers.values()):
            yield BadData(N_("%(where)s: a payer pays more than 0 %%."), where=wanted.document.where((*path, "payers")))
        elif payers and sum(payers.values()) != 100:
            yield BadData(
                N_("%(where)s: the shares of the payers sum to %(sum)s %%, not to 100 %%."),
                where=wanted.document.where((*path, "payers")),
                sum=format(sum(payers.values()).normalize(), "f"),
            )


def _factors(wanted: Wanted, after: State) -> Iterator[BadData]:
    for kind, key, values, path in _rows(wanted):
        if kind != "card_factor":
            continue
        if values["factor"] <= 0:
            yield BadData(N_("%(where)s: must be above 0."), where=wanted.document.where((*path, "factor")))
        if after.things["accelerator"].get(key, {}).get("card") is None:
            yield BadData(
                N_("%(where)s: only a slice, which names its card, has factors."), where=wanted.document.where(path)
            )


def _zones(wanted: Wanted, after: State) -> Iterator[BadData]:
    for key in wanted.things.get("cluster", {}):
        zone = wanted.things["cluster"][key].get("time_zone")
        if zone is not None and not is_zone(zone):
            yield BadData(
                N_("%(where)s: there is no time zone “%(zone)s”."),
                where=_where(wanted, "cluster", key, "scheduler", "time_zone"),
                zone=zone,
            )


def is_zone(name: str) -> bool:
    """Whether the time zone database has the name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _installation(
    wanted: Wanted, after: State, before: State, *, has_facts: bool, has_money: bool
) -> Iterator[BadData]:
    new, old = after.installation, before.installation
    if not is_zone(new["time_zone"]):
        where = _where(wanted, "installation", INSTALLATION, "time_zone")
        yield BadData(N_("%(where)s: there is no time zone “%(zone)s”."), where=where, zone=new["time_zone"])
        return
    for word, fixed, message in (
        (
            "time_zone",
            has_facts,
            N_("%(where)s: the billing time zone is fixed once there are facts; it is %(value)s."),
        ),
        ("currency", has_money, N_("%(where)s: the currency is fixed once the ledger has entries; it is %(value)s.")),
    ):
        if fixed and new[word] != old[word]:
            yield BadData(message, where=_where(wanted, "installation", INSTALLATION, word), value=old[word])
    where = _where(wanted, "installation", INSTALLATION, "bands")
    codes = [band["code"] for band in new["bands"]]
    if len(set(codes)) < len(codes):
        yield BadData(N_("%(where)s: the code of a band stands twice."), where=where)
    try:
        band_slices(date(2026, 1, 1), ZoneInfo("UTC"), new["bands"])
    except ValueError:
        yield BadData(
            N_("%(where)s: the bands must cover the day without gap or overlap; one band may be without hours."),
            where=where,
        )


def _pools(wanted: Wanted, after: State, before: State) -> Iterator[BadData]:
    for key, values in wanted.things.get("pool", {}).items():
        old = before.things["pool"].get(key)
        if old is not None and old["cluster"] is not None and old["cluster"] != values["cluster"]:
            yield BadData(
                N_("%(where)s: the pool “%(code)s” belongs to the cluster “%(cluster)s”; facts stand on that."),
                where=_where(wanted, "pool", key, "code"),
                code=key[0],
                cluster=old["cluster"],
            )
    said: set[KeyPath] = set()
    for kind, key, row, path in _rows(wanted):
        pool = after.things["pool"].get((row["pool"],)) if kind == "node" else None
        if pool is not None and pool["cluster"] != key[0] and path not in said:
            said.add(path)
            yield BadData(
                N_("%(where)s: the pool “%(code)s” is not of this cluster."),
                where=wanted.document.where((*path, "pool")),
                code=row["pool"],
            )


def _trees(wanted: Wanted, after: State) -> Iterator[BadData]:
    for kind, message in (
        ("department", N_("%(where)s: the departments form a circle: %(circle)s.")),
        ("place", N_("%(where)s: the places form a circle: %(circle)s.")),
    ):
        parents = {key[0]: values.get("parent") for key, values in after.things[kind].items()}
        said: set[frozenset[str]] = set()
        for key in wanted.things.get(kind, {}):
            try:
                descends(parents, key[0])
            except ValueError as fault:
                circle = str(fault)
                members = frozenset(circle.split(" -> "))
                if members not in said and key[0] in members:
                    said.add(members)
                    yield BadData(message, where=_where(wanted, kind, key, "parent"), circle=circle)


def _slices(wanted: Wanted, after: State) -> Iterator[BadData]:
    models = after.things["accelerator"]
    for key, values in models.items():
        card = values.get("card")
        if card is not None and (card == key[0] or models.get((card,), {}).get("card") is not None):
            yield BadData(
                N_("%(where)s: “%(card)s” is a slice itself; a slice belongs to a whole card."),
                where=_where(wanted, "accelerator", key, "card"),
                card=card,
            )


def _aliases(wanted: Wanted, after: State) -> Iterator[BadData]:
    owners: dict[str, str] = {}
    # What the file says comes last, so that a clash is told at its place.
    for key, values in sorted(
        after.things["accelerator"].items(), key=lambda row: ("accelerator", row[0]) in wanted.paths
    ):
        for name in dict.fromkeys(name.lower() for name in [key[0], *values.get("aliases", [])]):
            owner = owners.setdefault(name, key[0])
            if owner != key[0]:
                yield BadData(
                    N_("%(where)s: the alias “%(alias)s” already names the accelerator “%(other)s”."),
                    where=_where(wanted, "accelerator", key, "aliases"),
                    alias=name,
                    other=owner,
                )


def _partition_ties(wanted: Wanted, after: State) -> Iterator[BadData]:
    claims: dict[tuple[str, str], list[tuple[str, list[Interval]]]] = {}
    for (pool, pattern), intervals in after.dated.get("partition", {}).items():
        cluster = after.things["pool"].get((pool,), {}).get("cluster") or ""
        claims.setdefault((cluster, pattern), []).append((pool, intervals))
    for (_, pattern), pools in claims.items():
        for (one, days), (other, other_days) in combinations(pools, 2):
            if not any(overlap(a.span, b.span) for a in days for b in other_days):
                continue
            cards, other_cards = (set(after.things["pool"][(pool,)].get("accelerators") or ()) for pool in (one, other))
            if cards & other_cards or not (cards or other_cards):
                told = other if ("partition", (other, pattern)) in wanted.interval_paths else one
                yield BadData(
                    N_(
                        "%(where)s: the pools “%(one)s” and “%(other)s” both claim the partition “%(pattern)s”, "
                        "and their accelerators do not keep them apart."
                    ),
                    where=_where(wanted, "partition", (told, pattern)),
                    one=one,
                    other=other,
                    pattern=pattern,
                )


def _combined_roles(wanted: Wanted, after: State) -> Iterator[BadData]:
    held: dict[str, dict[str, list[Interval]]] = {}
    for (person, role, scope, _), days in after.dated.get("grant", {}).items():
        if scope == "site":
            held.setdefault(person, {})[role] = days
    for person, roles in held.items():
        both = None if may_combine() else combined(roles)
        if both is not None:
            yield BadData(
                N_("%(where)s: %(person)s would hold %(role)s and %(other)s, which are kept in different hands."),
                where=_where(wanted, "grant", (person, both[1], "site", "")),
                person=person,
                role=both[0],
                other=both[1],
            )


def _price_bands(wanted: Wanted, after: State) -> Iterator[BadData]:
    known = {"*", *(band["code"] for band in after.installation["bands"])}
    for key in after.dated.get("price", {}):
        if key[3] not in known:
            yield BadData(UNKNOWN["band"], where=_where(wanted, "price", key, "band"), code=key[3])
