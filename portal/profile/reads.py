"""Which profile is in force, by whose word, and which one the installed cards propose."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q, Sum

from governance.catalogue.models import NodeTerm
from governance.catalogue.reads import installation
from governance.tenants.models import day_of_today

from . import rules

CHOSEN, ENVIRONMENT, NOBODY = "chosen", "environment", "nobody"


@dataclass(frozen=True)
class InForce:
    """A profile's code ("" for none) and whose word it is: the site's, the environment's, nobody's."""

    code: str
    source: str


def in_force() -> InForce:
    """What the site chose, else what the environment says."""
    chosen = installation().profile
    if chosen:
        return InForce(chosen, CHOSEN)
    if settings.PROFILE in rules.PROFILES:
        return InForce(settings.PROFILE, ENVIRONMENT)
    return InForce("", NOBODY)


def hidden() -> frozenset[str]:
    """The parts that the profile in force leaves out."""
    return rules.hidden(in_force().code)


def installed() -> int:
    """Accelerators in the catalogue today."""
    today = day_of_today()
    begun = Q(from_on__isnull=True) | Q(from_on__lte=today)
    standing = NodeTerm.objects.filter(begun, Q(to_on__isnull=True) | Q(to_on__gt=today))
    return int(standing.aggregate(cards=Sum("accelerators"))["cards"] or 0)
