"""A cluster's account mappings over time, read once and asked for many days."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from datetime import date

from governance.catalogue.history import holds
from governance.catalogue.models import Cluster

from .models import AccountMapping
from .rules import ANY, Mapping, Owners

Span = tuple[date | None, date | None]


class MappingRows:
    """The mappings of some clusters, by cluster; of these accounts and of any where `accounts` is given. One question."""

    def __init__(self, clusters: Collection[Cluster], accounts: Collection[str] | None = None) -> None:
        self.mappings: dict[int, list[tuple[Span, Mapping]]] = defaultdict(list)
        rows = AccountMapping.objects.filter(cluster__in=[cluster.pk for cluster in clusters])
        if accounts is not None:
            rows = rows.filter(account__in={*accounts, ANY})
        fields = ("cluster", "from_on", "to_on", "account", "user", "qos", "project__code")
        for cluster, low, high, *rest in rows.values_list(*fields):
            self.mappings[cluster].append(((low, high), Mapping(*rest)))


class MappingHistory:
    """The mappings of one cluster with their days. A snapshot: make a new one per call."""

    def __init__(self, cluster: Cluster, rows: MappingRows | None = None) -> None:
        self._mappings = (rows or MappingRows([cluster])).mappings[cluster.pk]
        self._cuts = sorted({day for span, _ in self._mappings for day in span if day is not None})
        self._known: dict[int, Owners] = {}

    def on(self, day: date) -> Owners:
        """The mappings as they stand on `day`; laid out once for all days between two changes."""
        stretch = bisect_right(self._cuts, day)
        if stretch not in self._known:
            self._known[stretch] = Owners(mapping for span, mapping in self._mappings if holds(span, day))
        return self._known[stretch]
