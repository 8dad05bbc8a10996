"""A cluster's account mappings over time, read once and asked for many days."""

from __future__ import annotations

from datetime import date

from governance.catalogue.history import holds
from governance.catalogue.models import Cluster

from .models import AccountMapping
from .rules import Mapping, Owners


class MappingHistory:
    """The mappings of one cluster with their days. A snapshot: make a new one per call."""

    def __init__(self, cluster: Cluster) -> None:
        fields = ("from_on", "to_on", "account", "user", "qos", "project__code")
        rows = AccountMapping.objects.filter(cluster=cluster).values_list(*fields)
        self._mappings = [((low, high), Mapping(*rest)) for low, high, *rest in rows]

    def on(self, day: date) -> Owners:
        """The mappings as they stand on `day`."""
        return Owners(mapping for span, mapping in self._mappings if holds(span, day))
