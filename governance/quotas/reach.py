"""Who the pages and doors of quotas are there for at all; which rows they see is asked of the rows."""

from __future__ import annotations

from governance.access.actor import Actor
from governance.access.rules import CAPABILITIES, Role
from governance.catalogue.models import Pool
from governance.errors import N_, NotFound
from governance.tenants.models import held_today

NOTHING = N_("There is nothing here for you.")


def holds(actor: Actor, *capabilities: str) -> bool:
    """Whether a role held today has one of the capabilities on anything."""
    wanted = frozenset(capabilities)
    return actor.is_machine or any(wanted & CAPABILITIES[Role(held.role)] for held in held_today(actor))


def see_quotas(actor: Actor) -> None:
    """Raise NotFound for who sees no quota of anything."""
    if not holds(actor, "quota.view"):
        raise NotFound(NOTHING)


def see_offerings(actor: Actor) -> None:
    """Raise NotFound for who can neither ask nor see quotas."""
    if not holds(actor, "quota.view", "ask.make"):
        raise NotFound(NOTHING)


def sees_names(actor: Actor, pool: Pool) -> bool:
    """Whether the actor sees who holds what in the pool, whosever it is."""
    return actor.may("quota.view") or actor.may("quota.view", pool)


def pool_seen(code: str, actor: Actor) -> Pool:
    """The pool of a cluster with this code. Its sums are there for whoever sees quotas; names are not. Raises NotFound."""
    see_quotas(actor)
    pool = Pool.objects.filter(code=code, cluster__isnull=False).select_related("cluster").first()
    if pool is None:
        raise NotFound(N_("There is no pool “%(code)s”."), code=code)
    return pool
