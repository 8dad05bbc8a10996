"""Events of usage: records that came in or did not, what could not be read, use that is nobody's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.urls import reverse

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.errors import N_
from governance.notices.registry import FAILING, OWN, WATCHES, Codes, Event, Kind, register
from governance.notices.rules import AT_ONCE

from .watches import quarantine_grew, unattributed_use


def _visible(actor: Actor, codes: Codes) -> Iterable[str]:
    return codes if actor.may("operations.view") else ()


def _show(actor: Actor, code: str) -> dict[str, Any] | None:
    from .ops.api import ClusterDoor

    door = ClusterDoor()
    return dict(door.out(door.one(actor, {}, code=code)).data) if Cluster.objects.filter(code=code).exists() else None


def _quarantine(about: str, facts: Mapping[str, Any]) -> str:
    return f"{reverse('ops-cluster', args=[about])}?tab=quarantine"


def _unattributed(about: str, facts: Mapping[str, Any]) -> str:
    return reverse("quality-unattributed")


def _intake(about: str, facts: Mapping[str, Any]) -> str:
    return reverse("ops-cluster", args=[facts["cluster"]])


FAILING["usage.pull"] = "usage.pull_failing"
WATCHES.extend([quarantine_grew, unattributed_use])
register(
    Kind("cluster", visible=_visible, url=lambda code: reverse("ops-cluster", args=[code]), show=_show),
    Event(
        "usage.import_finished",
        "files",
        OWN.code,
        N_("Records of %(cluster)s are in: %(source)s"),
        {"": N_("%(read)s read, %(new)s new, %(changed)s changed, %(quarantined)s in quarantine.")},
        personal=True,
        url=_intake,
    ),
    Event(
        "usage.import_failed",
        "files",
        OWN.code,
        N_("Records of %(cluster)s could not be read: %(source)s"),
        {"": N_("Nothing of the file was taken in. %(error)s")},
        personal=True,
        url=_intake,
    ),
    Event(
        "usage.pull_failing",
        "operations",
        "cluster",
        N_("Pulling %(cluster)s fails"),
        {
            "": N_("Since %(since_at)s. Figures of the cluster stand still until it answers. %(error)s"),
            "operator": N_(
                "Since %(since_at)s. %(error)s Test the connection on the cluster's page; the pull is tried again by itself."
            ),
        },
        mail=AT_ONCE,
    ),
    Event(
        "usage.quarantine_grew",
        "operations",
        "cluster",
        N_("Records of %(cluster)s went into quarantine: %(count)s"),
        {"": N_("They are in no figure until they can be read. The page says why each could not be.")},
        url=_quarantine,
    ),
    Event(
        "usage.unattributed",
        "operations",
        "cluster",
        N_("Use on %(cluster)s that no project claims: %(hours)s GPU-hours"),
        {
            "": N_(
                "In the week to %(day)s it is %(share)s%% of the cluster's use. Map its accounts to projects; the past moves with them."
            )
        },
        url=_unattributed,
    ),
)
