"""Whose a series is: from an exporter's labels to node, card and job, by a map that is data (`maps.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

#: Kinds of measure, each with the most a real card can show in the unit it is kept in; above that a value is a blank sentinel of the
#: exporter (DCGM: 2147483632 and on, 9223372036854775792 and on, 2^47 and on), or a mean with one in it.
MOST = {"activity": 10.0, "memory": 4_194_304.0, "power": 20_000.0, "temperature": 300.0, "energy": 1e15}
KINDS = tuple(MOST)


class Metric(NamedTuple):
    """A series' name and the factor that turns its value into a ratio, MiB, watts, degrees Celsius or joules."""

    name: str
    factor: float


class Owner(NamedTuple):
    """Whose a sample is. `job` is "" where no workload had the card; `card` has its slice after a slash (MIG)."""

    node: str
    card: str
    job: str


@dataclass(frozen=True)
class LabelMap:
    """How one exporter names nodes, cards, jobs and measures."""

    name: str
    node: tuple[str, ...]
    card: tuple[str, ...]
    slice: tuple[str, ...]
    job: tuple[tuple[str, ...], ...]
    metrics: Mapping[str, tuple[Metric, ...]]  # by kind, in order of preference
    exporter: Mapping[str, re.Pattern[str]] = field(default_factory=dict)

    def owner(self, labels: Mapping[str, str]) -> Owner | None:
        """The owner of a series, None where its labels name no node or no card."""
        node = _first(labels, self.node)
        card = _first(labels, self.card)
        if not node or not card:
            return None
        if part := _first(labels, self.slice):
            card = f"{card}/{part}"
        return Owner(node, card, self._job(labels))

    def _job(self, labels: Mapping[str, str]) -> str:
        for names in self.job:
            values = [labels.get(name, "") for name in names]
            if all(values):
                return "" if self._is_the_exporter(labels, names) else "/".join(values)
        return ""

    def _is_the_exporter(self, labels: Mapping[str, str], names: tuple[str, ...]) -> bool:
        """Whether these labels name the exporter's own pod, as the scrape sets them on a card that has no workload."""
        # Beside exported_pod the plain `container` is always the exporter's, and says nothing.
        scraped = not any(name.startswith("exported_") for name in names)
        looked_at = [name for name in self.exporter if name in names or (name == "container" and scraped)]
        return any(self.exporter[name].search(labels.get(name, "")) for name in looked_at)

    @property
    def kept(self) -> tuple[str, ...]:
        """Every label the map reads, once each: what a query has to keep."""
        names = [*self.node, *self.card, *self.slice, *(name for group in self.job for name in group), *self.exporter]
        return tuple(dict.fromkeys(names))

    def measures(self) -> dict[str, tuple[str, int, float]]:
        """By metric: its kind, its rank among those of the kind (0 is preferred), its factor."""
        return {m.name: (kind, rank, m.factor) for kind, found in self.metrics.items() for rank, m in enumerate(found)}


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        if value := labels.get(name):
            return value
    return ""


@cache
def named_maps() -> dict[str, LabelMap]:
    """The maps that come with the portal, by name."""
    found = yaml.safe_load((Path(__file__).parent / "maps.yaml").read_text(encoding="utf-8"))
    return {name: label_map(name, given) for name, given in found.items()}


def label_map(name: str, given: Mapping[str, Any]) -> LabelMap:
    """A map from its document (the form of `maps.yaml`). `like` names a map whose parts stand where this one says nothing.

    Raises ValueError where a part is missing or a metric has no scale.
    """
    base: Mapping[str, Any] = _document(given["like"]) if "like" in given else {}
    whole = {**base, **{key: value for key, value in given.items() if key != "like"}}
    missing = [part for part in ("node", "card", "job", "activity") if not whole.get(part)]
    if missing:
        raise ValueError(f"the label map {name} lacks {', '.join(missing)}")
    return LabelMap(
        name=name,
        node=tuple(whole["node"]),
        card=tuple(whole["card"]),
        slice=tuple(whole.get("slice") or ()),
        job=tuple((group,) if isinstance(group, str) else tuple(group) for group in whole["job"]),
        metrics={kind: tuple(_metric(name, m) for m in whole.get(kind) or ()) for kind in KINDS},
        exporter={label: re.compile(pattern) for label, pattern in (whole.get("exporter") or {}).items()},
    )


def _document(name: str) -> Mapping[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "maps.yaml").read_text(encoding="utf-8"))
    if name not in found:
        raise ValueError(f"there is no label map {name}")
    document: Mapping[str, Any] = found[name]
    return {**_document(document["like"]), **document} if "like" in document else document


def _metric(map_name: str, given: Mapping[str, Any]) -> Metric:
    factor = 1 / float(given["full"]) if given.get("full") else float(given.get("factor", 0))
    if not given.get("metric") or factor <= 0:
        raise ValueError(f"the label map {map_name} has a metric without a name or a scale: {dict(given)}")
    return Metric(str(given["metric"]), factor)
