"""Making a change of the quality pages: write it, mark what stands on it, ask for metering, which asks for posting."""

from __future__ import annotations

from django.db import transaction

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Cluster, Installation
from governance.errors import N_, NotFound, NotTheMoment
from governance.usage import actions as usage
from governance.work import actions as work

from .changes import Change

NOTHING = N_("It stands so already; nothing was changed.")


@transaction.atomic
def apply(change: Change, *, actor: Actor) -> int:
    """Make the change; answers how many days are to be metered again. A worker meters and posts them.

    Raises NotAllowed, NotFound, BadData for a change that cannot be, NotTheMoment where it stands already.
    """
    require(actor, change.capability)
    if not Cluster.objects.filter(code=change.cluster).exists():
        raise NotFound(N_("There is no cluster “%(code)s”."), code=change.cluster)
    Installation.objects.get_or_create(pk=1)
    Installation.objects.select_for_update().get(pk=1)  # changes of the organisation never interleave
    if not change.write(actor):
        raise NotTheMoment(NOTHING)
    marked = usage.mark_dirty(change.cluster, change.from_on, None)
    audit(actor, "quality.applied", "cluster", change.cluster, after={**vars(change), "days_marked": marked})
    work.ask("usage.meter", change.cluster, actor=actor)
    return marked
