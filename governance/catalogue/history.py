"""A cluster's catalogue over time, read once and asked for many days."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import date
from functools import lru_cache

from governance.schedulers.slurm.hostlist import expand

from .models import AcceleratorModel, Cluster, NodeTerm, Pool, PoolPartition
from .rules import CatalogueDay, Claim

Span = tuple[date | None, date | None]


def holds(span: Span, day: date) -> bool:
    """Whether [from, to) holds on the day; an open bound is None."""
    return (span[0] is None or span[0] <= day) and (span[1] is None or day < span[1])


class CatalogueRows:
    """What the catalogue says of some clusters, by cluster: read once, by as many questions for many clusters as for one."""

    def __init__(self, clusters: Collection[Cluster]) -> None:
        self.pools: dict[int, dict[str, frozenset[str]]] = defaultdict(dict)
        self.claims: dict[int, list[tuple[Span, Claim]]] = defaultdict(list)
        self.terms: dict[int, list[tuple[Span, str, str, str]]] = defaultdict(list)
        self.aliases: dict[str, str] = {}
        ids = [cluster.pk for cluster in clusters]
        for pool in Pool.objects.filter(cluster__in=ids).prefetch_related("accelerators"):
            self.pools[pool.cluster_id or 0][pool.code] = frozenset(m.code for m in pool.accelerators.all())
        partitions = PoolPartition.objects.filter(pool__cluster__in=ids).values_list(
            "from_on", "to_on", "pattern", "pool__code", "pool__cluster"
        )
        for low, high, pattern, pool_code, cluster in partitions:
            of = self.pools[cluster][pool_code]
            self.claims[cluster].append(((low, high), Claim(pattern, pool_code, of)))
        for code, aliases in AcceleratorModel.objects.values_list("code", "aliases"):
            self.aliases.update({name.lower(): code for name in [code, *aliases]})
        terms = NodeTerm.objects.filter(node__cluster__in=ids, accelerators__gt=0)
        for low, high, node, pool_code, model, cluster in terms.values_list(
            "from_on", "to_on", "node__name", "pool__code", "model__code", "node__cluster"
        ):
            self.terms[cluster].append(((low, high), node, pool_code, model))


class CatalogueHistory:
    """Pools, aliases and nodes of one cluster with their days. A snapshot: make a new one per metering call."""

    def __init__(self, cluster: Cluster, rows: CatalogueRows | None = None) -> None:
        rows = rows or CatalogueRows([cluster])
        self._declared = rows.pools[cluster.pk]
        self._claims = rows.claims[cluster.pk]
        self._aliases = rows.aliases
        self._terms = rows.terms[cluster.pk]

    def on(self, day: date) -> CatalogueDay:
        """The catalogue as it stands on `day`."""
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
