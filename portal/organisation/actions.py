"""Loading an organisation: plan first, then everything in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from django.db import transaction

from billing.ledger import actions as ledger
from billing.ledger.models import Entry
from billing.prices import actions as prices
from governance.access.actor import Actor, require
from governance.catalogue import actions as catalogue
from governance.catalogue.models import Installation
from governance.errors import BadData, BadItems
from governance.tenants import actions as tenants
from governance.usage import actions as usage
from governance.usage.models import UsageDay

from . import checks, schema, state
from . import plan as planning
from .document import Document, Where
from .plan import Plan
from .wanted import rows_of

#: The action that writes each kind, in the order that lets what is named be there first.
WRITES: dict[str, Callable[..., int]] = {
    "place": catalogue.put_places,
    "accelerator": catalogue.put_models,
    "card_factor": catalogue.set_card_factors,
    "cluster": catalogue.put_clusters,
    "pool": catalogue.put_pools,
    "partition": catalogue.set_partitions,
    "node": catalogue.set_node_terms,
    "department": tenants.put_departments,
    "project": tenants.put_projects,
    "placement": tenants.set_placements,
    "person": tenants.put_people,
    "login": tenants.put_logins,
    "mapping": tenants.set_mappings,
    "price": prices.set_prices,
    "grant": tenants.set_grants,
}


@transaction.atomic
def load(
    document: Document | dict[str, Any], *, actor: Actor, dry_run: bool = False, prune_on: date | None = None
) -> Plan:
    """Make the organisation say what the document says, and mark the usage and money that stand on what changed.

    What the document leaves out is left alone; with `prune_on`, dated items of the kinds it speaks of end on that day.
    `dry_run` answers the plan and writes nothing. Raises BadItems with every fault found, NotAllowed for who may not;
    roles change only by who also holds "grants.change".
    """
    require(actor, "organisation.change")
    read = document if isinstance(document, Document) else Document.of(document)
    _refuse(schema.faults(read))
    wanted = rows_of(read)
    if not dry_run:  # two loads never interleave
        Installation.objects.get_or_create(pk=1)
        Installation.objects.select_for_update().get(pk=1)
    before = state.current()
    then = planning.after(wanted, before, prune_on)
    _refuse(wanted.faults)
    has_facts, has_money = UsageDay.objects.exists(), Entry.objects.exists()
    _refuse(checks.faults(wanted, then, before, has_facts=has_facts, has_money=has_money))
    found = planning.plan(wanted, before, then)
    if "grant" in found.dated:
        require(actor, "grants.change")
    if not dry_run:
        _apply(found, actor)
    return found


def _apply(found: Plan, actor: Actor) -> None:
    for values in found.things.get("installation", {}).values():
        catalogue.set_installation(values, actor=actor)
    for kind, write in WRITES.items():
        rows: Any = found.things.get(kind) or found.dated.get(kind)
        if rows:
            write(rows, actor=actor)
    for cluster, from_on, to_on in found.consequences.usage:
        usage.mark_dirty(cluster, from_on, to_on)
    for from_on, to_on in found.consequences.money:
        ledger.mark_stale(from_on, to_on)


def _refuse(faults: list[BadData]) -> None:
    """Raise what was found, in the order of the file."""
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise BadItems(sorted(faults, key=_line))


def _line(fault: BadData) -> int:
    where = fault.params.get("where")
    return where.line or 0 if isinstance(where, Where) else 0
