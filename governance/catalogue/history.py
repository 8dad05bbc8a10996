"""A cluster's catalogue over time, read once and asked for many days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import lru_cache

from governance.schedulers.slurm.hostlist import expand

from .models import AcceleratorModel, Cluster, NodeTerm, Pool, PoolPartition
from .rules import CatalogueDay, Claim

Span = tuple[date | None, date | None]


def holds(span: Span, day: date) -> bool:
    """Whether [from, to) holds on the day; an open bound is None."""
    return (span[0] is None or span[0] <= day) and (span[1] is None or day < span[1])


class CatalogueHistory:
    """Pools, aliases and nodes of one cluster with their days. A snapshot: make a new one per metering call."""

    def __init__(self, cluster: Cluster) -> None:
        pools = {
            pool.code: frozenset(m.code for m in pool.accelerators.all())
            for pool in Pool.objects.filter(cluster=cluster).prefetch_related("accelerators")
        }
        self._declared = pools
        partitions = PoolPartition.objects.filter(pool__cluster=cluster).values_list(
            "from_on", "to_on", "pattern", "pool__code"
        )
        self._claims = [((low, high), Claim(pattern, pool, pools[pool])) for low, high, pattern, pool in partitions]
        self._aliases: dict[str, str] = {}
        for code, aliases in AcceleratorModel.objects.values_list("code", "aliases"):
            self._aliases.update({name.lower(): code for name in [code, *aliases]})
        terms = NodeTerm.objects.filter(node__cluster=cluster, accelerators__gt=0)
        self._terms = [
            ((low, high), node, pool, model)
            for low, high, node, pool, model in terms.values_list(
                "from_on", "to_on", "node__name", "pool__code", "model__code"
            )
        ]

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
