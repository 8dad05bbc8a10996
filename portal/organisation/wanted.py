"""A document as rows by code, and where in the file each row stands. The form has been checked before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from governance.access.rules import SCOPES, Role
from governance.catalogue.intervals import Interval
from governance.catalogue.models import NO_MODEL
from governance.catalogue.writing import Key
from governance.errors import N_, BadData
from governance.schedulers.slurm.hostlist import expand

from .document import Document, KeyPath
from .state import INSTALLATION, State

MEASURES = ("gpu_hour", "cpu_core_hour", "memory_gib_hour")
CONNECTION = (
    "host", "user", "port", "identity_file", "known_hosts", "cluster", "bin_dir", "slurm_conf", "silent_s", "total_s",
    "url", "socket", "version", "token_env", "token_file", "ca_file", "verify",
)  # fmt: skip
NODE_NAME_LENGTH = 128


@dataclass
class Wanted(State):
    """What a document says, with the places of its rows and the faults found while reading it."""

    document: Document = field(default_factory=lambda: Document({}))
    paths: dict[tuple[str, Key], KeyPath] = field(default_factory=dict)
    interval_paths: dict[tuple[str, Key], list[KeyPath]] = field(default_factory=dict)
    faults: list[BadData] = field(default_factory=list)
    present: set[str] = field(default_factory=set)  # dated kinds the document speaks of

    def fault(self, message: str, path: KeyPath, **params: object) -> None:
        """Note a fault at a place of the file."""
        self.faults.append(BadData(message, where=self.document.where(path), **params))

    def thing(self, kind: str, key: Key, values: dict[str, Any], path: KeyPath) -> None:
        """Note an undated row; the same key twice is a fault."""
        first = self.paths.setdefault((kind, key), path)
        if first != path:
            self.fault(
                N_("%(where)s: “%(code)s” stands twice, first at %(first)s."),
                path,
                code="/".join(key),
                first=self.document.where(first),
            )
            return
        self.things.setdefault(kind, {})[key] = values

    def holds(self, kind: str, key: Key, row: dict[str, Any], values: dict[str, Any], path: KeyPath) -> None:
        """Note an interval of a dated row."""
        span = self._span(row, path)
        if span is None:
            return
        self.dated.setdefault(kind, {}).setdefault(key, []).append(Interval(*span, values))
        self.interval_paths.setdefault((kind, key), []).append(path)

    def _span(self, row: dict[str, Any], path: KeyPath) -> tuple[date | None, date | None] | None:
        days: list[date | None] = []
        for word in ("from", "to"):
            value = row.get(word)
            try:
                days.append(date.fromisoformat(value) if isinstance(value, str) else value)
            except ValueError:
                self.fault(N_("%(where)s: there is no such day."), (*path, word))
                return None
        if days[0] is not None and days[1] is not None and days[0] >= days[1]:
            self.fault(N_("%(where)s: must lie after “from”; the day itself is no longer in it."), (*path, "to"))
            return None
        return days[0], days[1]


def rows_of(document: Document) -> Wanted:
    """The document's rows. Faults are collected in `faults`, not raised."""
    wanted = Wanted(document=document)
    content = document.content
    if content.get("settings"):
        wanted.thing("installation", INSTALLATION, dict(content["settings"]), ("settings",))
    for section, read in SECTIONS.items():
        for index, row in enumerate(content.get(section) or []):
            read(wanted, row, (section, index))
    wanted.present |= {kind for kind in ("mapping", "price") if content.get(f"{kind}s") is not None} | set(wanted.dated)
    return wanted


def _names(row: dict[str, Any], word: str = "name") -> dict[str, str]:
    name = row.get(word)
    if name is None:
        return {}
    if isinstance(name, str):
        return {"name_zh": name, "name_en": name}
    return {f"name_{language}": text for language, text in name.items()}


def _picked(row: dict[str, Any], *words: str) -> dict[str, Any]:
    return {word: row[word] for word in words if word in row}


def _department(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    wanted.thing("department", (row["code"],), {**_names(row), **_picked(row, "parent", "cost_centre")}, path)


def _project(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    code = row["code"]
    wanted.thing("project", (code,), _names(row), path)
    for index, placement in enumerate(row.get("placements") or []):
        payers = {name: Decimal(str(percent)) for name, percent in (placement.get("payers") or {}).items()}
        values = {"department": placement["department"], "payers": payers}
        wanted.holds("placement", (code,), placement, values, (*path, "placements", index))


def _person(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    username = row["username"]
    wanted.thing("person", (username,), {**_names(row, "display_name"), **_picked(row, "email")}, path)
    for index, login in enumerate(row.get("logins") or []):
        wanted.thing("login", (login["cluster"], login["login"]), {"person": username}, (*path, "logins", index))
    for index, grant in enumerate(row.get("roles") or []):
        _grant(wanted, username, grant, (*path, "roles", index))


def _grant(wanted: Wanted, username: str, row: dict[str, Any], path: KeyPath) -> None:
    named = [scope for scope in ("project", "department", "pool") if scope in row]
    scope = named[0] if named else "site"
    allowed = SCOPES[Role(row["role"])]
    if len(named) > 1:
        wanted.fault(N_("%(where)s: a role stands on one of project, department or pool."), path)
    elif scope not in allowed and not named:
        wanted.fault(
            N_("%(where)s: the role “%(role)s” needs the key “%(key)s”."), path, role=row["role"], key=allowed[0]
        )
    elif scope not in allowed:
        wanted.fault(
            N_("%(where)s: the role “%(role)s” is not held on a %(scope)s."),
            (*path, scope),
            role=row["role"],
            scope=scope,
        )
    else:
        wanted.holds("grant", (username, row["role"], scope, row.get(scope, "")), row, {}, path)


def _accelerator(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    code = row["code"]
    values = _picked(row, "vendor", "name", "memory_gib", "power_watts", "aliases", "card")
    wanted.thing("accelerator", (code,), values, path)
    for index, factor in enumerate(row.get("card_factors") or []):
        values = {"factor": Decimal(str(factor["factor"]))}
        wanted.holds("card_factor", (code,), factor, values, (*path, "card_factors", index))


def _place(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    wanted.thing("place", (row["code"],), {**_names(row), **_picked(row, "kind", "parent")}, path)


def _cluster(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    code, scheduler = row["code"], row.get("scheduler") or {}
    values = {**_names(row), **_picked(scheduler, "kind", "time_zone", "tracks_gpus")}
    if "cluster_name" in scheduler:
        names = scheduler["cluster_name"]
        values["cluster_name"] = names if isinstance(names, list) else [names]
    if "scheduler" in row:
        values["connection"] = _picked(scheduler, *CONNECTION)
    wanted.thing("cluster", (code,), values, path)
    for index, pool in enumerate(row.get("pools") or []):
        _pool(wanted, code, pool, (*path, "pools", index))
    for index, node in enumerate(row.get("nodes") or []):
        _nodes(wanted, code, node, (*path, "nodes", index))


def _pool(wanted: Wanted, cluster: str, row: dict[str, Any], path: KeyPath) -> None:
    values = {**_names(row), "cluster": cluster, **_picked(row, "purpose")}
    if "accelerators" in row:
        values["accelerators"] = sorted(set(row["accelerators"]))
    wanted.thing("pool", (row["code"],), values, path)
    for index, told in enumerate(row.get("partitions") or []):
        partition = {"match": told} if isinstance(told, str) else told
        key = (row["code"], partition["match"])
        wanted.holds("partition", key, partition, {}, (*path, "partitions", index))


def _nodes(wanted: Wanted, cluster: str, row: dict[str, Any], path: KeyPath) -> None:
    values = {
        "pool": row["pool"],
        "accelerators": row.get("accelerators", 0),
        "cpus": row.get("cpus", 0),
        "memory_gib": row.get("memory_gib", 0),
        "place": row.get("place"),
    }
    for name in _node_names(wanted, row["names"], (*path, "names")):
        wanted.holds("node", (cluster, name, row.get("accelerator", NO_MODEL)), row, values, path)


def _node_names(wanted: Wanted, text: str, path: KeyPath) -> Iterator[str]:
    try:
        names = expand(text)
    except ValueError as fault:
        wanted.fault(N_("%(where)s: is no list of node names such as gpu[001-064]: %(reason)s."), path, reason=fault)
        return
    if not names:
        wanted.fault(N_("%(where)s: names no node."), path)
    seen: set[str] = set()
    for name in names:
        if not name or len(name) > NODE_NAME_LENGTH or any(sign.isspace() or sign in "[],/" for sign in name):
            wanted.fault(N_("%(where)s: “%(name)s” is no name of a node."), path, name=name)
            return
        if name in seen:
            wanted.fault(N_("%(where)s: the node “%(name)s” stands twice."), path, name=name)
            return
        seen.add(name)
        yield name


def _mapping(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    pattern = {word: row.get(word, "*") for word in ("account", "user", "qos")}
    _refuse_globs(wanted, pattern, path)
    wanted.holds("mapping", (row["cluster"], *pattern.values()), row, {"project": row["project"]}, path)


def _price(wanted: Wanted, row: dict[str, Any], path: KeyPath) -> None:
    pattern = {word: row.get(word, "*") for word in ("pool", "accelerator", "qos", "band")}
    _refuse_globs(wanted, {"qos": pattern["qos"]}, path)
    values = {measure: Decimal(str(row[measure])) if measure in row else None for measure in MEASURES}
    if not any(value is not None for value in values.values()):
        wanted.fault(N_("%(where)s: prices nothing; give %(known)s."), path, known=", ".join(MEASURES))
    wanted.holds("price", tuple(pattern.values()), row, values, path)


def _refuse_globs(wanted: Wanted, pattern: dict[str, str], path: KeyPath) -> None:
    for word, text in pattern.items():
        if "*" in text and text != "*":
            wanted.fault(
                N_("%(where)s: “*” stands alone, for any; parts of a name are not matched here."), (*path, word)
            )


SECTIONS = {
    "departments": _department,
    "projects": _project,
    "people": _person,
    "accelerators": _accelerator,
    "places": _place,
    "clusters": _cluster,
    "mappings": _mapping,
    "prices": _price,
}
