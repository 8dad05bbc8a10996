"""A cluster's catalogue over time, read once and asked for many days."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import date
from functools import lru_cache

from django.db import connection

from governance.schedulers.slurm.hostlist import expand

from .models import Cluster
from .rules import CatalogueDay, Claim

Span = tuple[date | None, date | None]


def holds(span: Span, day: date) -> bool:
    """Whether [from, to) holds on the day; an open bound is None."""
    return (span[0] is None or span[0] <= day) and (span[1] is None or day < span[1])


#: Pools with the models they are declared to have, claims of partitions, models with their aliases, and nodes with cards.
ROWS = """
    SELECT 'pool', p.cluster_id, p.code, '', '', NULL::date, NULL::date,
        ARRAY(SELECT m.code FROM pool_accelerator AS a JOIN accelerator_model AS m ON m.id = a.acceleratormodel_id WHERE a.pool_id = p.id)
    FROM pool AS p WHERE p.cluster_id = ANY(%(clusters)s)
    UNION ALL
    SELECT 'claim', p.cluster_id, p.code, c.pattern, '', c.from_on, c.to_on, NULL
    FROM pool_partition AS c JOIN pool AS p ON p.id = c.pool_id WHERE p.cluster_id = ANY(%(clusters)s)
    UNION ALL
    SELECT 'model', NULL, m.code, '', '', NULL, NULL, m.aliases::text[] FROM accelerator_model AS m
    UNION ALL
    SELECT 'term', n.cluster_id, p.code, n.name, m.code, t.from_on, t.to_on, NULL
    FROM node_term AS t JOIN node AS n ON n.id = t.node_id JOIN pool AS p ON p.id = t.pool_id
    JOIN accelerator_model AS m ON m.id = t.model_id
    WHERE n.cluster_id = ANY(%(clusters)s) AND t.accelerators > 0"""


class CatalogueRows:
    """What the catalogue says of some clusters, by cluster: one question, for one cluster as for many."""

    def __init__(self, clusters: Collection[Cluster]) -> None:
        self.pools: dict[int, dict[str, frozenset[str]]] = defaultdict(dict)
        self.terms: dict[int, list[tuple[Span, str, str, str]]] = defaultdict(list)
        self.aliases: dict[str, str] = {}
        claims: list[tuple[int, Span, str, str]] = []
        with connection.cursor() as cursor:
            cursor.execute(ROWS, {"clusters": [cluster.pk for cluster in clusters]})
            for what, cluster, code, name, model, low, high, several in cursor.fetchall():
                if what == "pool":
                    self.pools[cluster][code] = frozenset(several)
                elif what == "claim":
                    claims.append((cluster, (low, high), name, code))
                elif what == "model":
                    self.aliases.update({alias.lower(): code for alias in [code, *several]})
                else:
                    self.terms[cluster].append(((low, high), name, code, model))
        self.claims: dict[int, list[tuple[Span, Claim]]] = defaultdict(list)
        for cluster, span, pattern, pool in claims:
            self.claims[cluster].append((span, Claim(pattern, pool, self.pools[cluster][pool])))


class CatalogueHistory:
    """Pools, aliases and nodes of one cluster with their days. A snapshot: make a new one per metering call."""

    def __init__(self, cluster: Cluster, rows: CatalogueRows | None = None) -> None:
        rows = rows or CatalogueRows([cluster])
        self._declared = rows.pools[cluster.pk]
        self._claims = rows.claims[cluster.pk]
        self._aliases = rows.aliases
        self._terms = rows.terms[cluster.pk]
        spans = [span for span, _ in self._claims] + [span for span, *_ in self._terms]
        self._cuts = sorted({day for span in spans for day in span if day is not None})
        self._known: dict[int, CatalogueDay] = {}

    def on(self, day: date) -> CatalogueDay:
        """The catalogue as it stands on `day`; worked out once for all days between two changes."""
        stretch = bisect_right(self._cuts, day)
        if stretch not in self._known:
            self._known[stretch] = self._standing(day)
        return self._known[stretch]

    def _standing(self, day: date) -> CatalogueDay:
        terms = [(node, pool, model) for span, node, pool, model in self._terms if holds(span, day)]
        installed: dict[str, set[str]] = {}
        for _, pool, model in terms:
            installed.setdefault(pool, set()).add(model)
        return CatalogueDay(
            claims=tuple(claim for span, claim in self._claims if holds(span, day)),
            aliases=self._aliases,
            pool_models={
                pool: declared or frozenset(installed.get(pool, ())) for pool, declared in self._declared.items()
            },
            node_models=_node_models(terms),
        )


def _node_models(terms: list[tuple[str, str, str]]) -> Callable[[str], frozenset[str]]:
    by_node: dict[str, set[str]] = {}
    for node, _, model in terms:
        by_node.setdefault(node, set()).add(model)

    @lru_cache(maxsize=20_000)
    def models(node_list: str) -> frozenset[str]:
        try:
            names = expand(node_list) if node_list else []
        except ValueError:
            return frozenset()  # a list that is none names no node; the run's cards stay untyped
        return frozenset().union(*(by_node.get(name, ()) for name in names))

    return models
