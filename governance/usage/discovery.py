"""Discovery: what a scheduler shows of its nodes beside what the catalogue says, as proposals; nothing changes unasked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, Value

from governance.access.actor import Actor, require
from governance.catalogue import actions as catalogue
from governance.catalogue.history import holds
from governance.catalogue.intervals import Interval
from governance.catalogue.models import UNKNOWN_MODEL, AcceleratorModel, Cluster, NodeTerm, PoolPartition
from governance.catalogue.rules import CatalogueDay, Claim, best_claims, model_of_type
from governance.errors import N_, BadData
from governance.tenants.models import day_of_today

from .actions import mark_dirty
from .live_models import NodeSeen

NEW, GONE, DIFFERS, UNKNOWN_TYPE, UNCLAIMED = (
    "new_node",
    "gone_node",
    "cards_differ",
    "unknown_type",
    "unclaimed_partition",
)


@dataclass(frozen=True)
class Proposal:
    """One thing that differs about one node. `models` is what the scheduler shows: model -> cards."""

    kind: str
    node: str
    pool: str
    models: dict[str, int]
    detail: str


def proposals(cluster: Cluster, *, on: date | None = None) -> list[Proposal]:
    """What the last snapshot shows otherwise than the catalogue, by kind and node; empty where no snapshot was taken."""
    day = on or day_of_today()
    seen = list(NodeSeen.objects.filter(cluster=cluster).order_by("name"))
    if not seen:
        return []
    latest = max(node.seen_at for node in seen)
    catalogue_day = _claims_on(cluster, day)
    held: dict[str, dict[str, int]] = {}
    terms = NodeTerm.objects.filter(node__cluster=cluster).select_related("node", "model")
    for term in terms:
        if (term.from_on is None or term.from_on <= day) and (term.to_on is None or day < term.to_on):
            held.setdefault(term.node.name, {})[term.model.code] = term.accelerators
    found = [p for node in seen if node.seen_at == latest for p in _compare(node, held.get(node.name), catalogue_day)]
    shown = {node.name for node in seen if node.seen_at == latest}
    found += [Proposal(GONE, name, "", cards, "") for name, cards in sorted(held.items()) if name not in shown]
    return sorted(found, key=lambda p: (p.kind, p.node))


def _claims_on(cluster: Cluster, day: date) -> CatalogueDay:
    """Which pool claims a partition on the day, and the names of models: all that a snapshot is compared by, in two questions."""
    accelerators = ArrayAgg("pool__accelerators__code", filter=Q(pool__accelerators__isnull=False), default=Value([]))
    rows = PoolPartition.objects.filter(pool__cluster=cluster).annotate(models=accelerators)
    claims = rows.values_list("from_on", "to_on", "pattern", "pool__code", "models")
    aliases = {
        name.lower(): code
        for code, names in AcceleratorModel.objects.values_list("code", "aliases")
        for name in [code, *names]
    }
    return CatalogueDay(
        claims=tuple(
            Claim(pattern, pool, frozenset(m)) for low, high, pattern, pool, m in claims if holds((low, high), day)
        ),
        aliases=aliases,
        pool_models={},
        node_models=lambda _: frozenset(),
    )


def _compare(node: NodeSeen, held: dict[str, int] | None, day: CatalogueDay) -> list[Proposal]:
    models: Counter[str] = Counter()
    for printed, count in node.gpus:
        models[model_of_type(printed, day.aliases) if printed else UNKNOWN_MODEL] += count
    pool = next(
        (
            c.pool
            for p in node.partitions
            for c in best_claims(day.claims, p)
            if not c.accelerators or c.accelerators & set(models)
        ),
        "",
    )
    cards = dict(models)
    found = []
    if UNKNOWN_MODEL in models:
        types = ", ".join(sorted(printed or "?" for printed, _ in node.gpus))
        found.append(Proposal(UNKNOWN_TYPE, node.name, pool, cards, types))
    if held is None:
        kind = NEW if pool else UNCLAIMED
        found.append(Proposal(kind, node.name, pool, cards, ", ".join(node.partitions)))
    elif UNKNOWN_MODEL not in models and {m: n for m, n in held.items() if n} != cards:
        found.append(Proposal(DIFFERS, node.name, pool, cards, ", ".join(f"{m} {n}" for m, n in sorted(held.items()))))
    return found


def accept(cluster: Cluster, nodes: list[str], *, from_on: date, actor: Actor) -> int:
    """Put the new nodes named into the catalogue as the scheduler shows them, from a day on; answers how many terms were written.

    Raises BadData where a node is not proposed as new, or its cards are of no known model.
    """
    require(actor, "catalogue.change")
    offered = {p.node: p for p in proposals(cluster) if p.kind == NEW}
    rows: dict[tuple[str, ...], list[Interval]] = {}
    for name in nodes:
        proposal = offered.get(name)
        if proposal is None or UNKNOWN_MODEL in proposal.models:
            raise BadData(
                N_("Node “%(node)s” cannot be added: it is not proposed, or its cards are of no known model."),
                node=name,
            )
        seen = NodeSeen.objects.get(cluster=cluster, name=name)
        for model, count in proposal.models.items():
            values: dict[str, Any] = {
                "pool": proposal.pool,
                "accelerators": count,
                "cpus": seen.cpus,
                "memory_gib": seen.memory_mib // 1024,
                "place": None,
            }
            rows[(cluster.code, name, model)] = [Interval(from_on, None, values)]
    written = catalogue.set_node_terms(rows, actor=actor)
    mark_dirty(cluster.code, from_on, None)
    return written
