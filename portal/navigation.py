"""The sidebar: what exists and what the reader's roles can use; what they cannot use is absent, not greyed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import connection
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from governance.access.actor import Actor
from governance.access.rules import CAPABILITIES, Role

# One question instead of seven: the roles held today, whether there is a login, how far the figures reach.
STANDING = """
WITH here AS (
    SELECT coalesce((SELECT time_zone FROM installation WHERE id = 1), 'Asia/Shanghai') AS zone
), held AS (
    SELECT permission_id, user_id, from_on, to_on FROM site_grant
    UNION ALL SELECT permission_id, user_id, from_on, to_on FROM department_grant
    UNION ALL SELECT permission_id, user_id, from_on, to_on FROM project_grant
    UNION ALL SELECT permission_id, user_id, from_on, to_on FROM pool_grant
)
SELECT
    here.zone,
    ARRAY(
        SELECT DISTINCT p.codename FROM held AS h JOIN auth_permission AS p ON p.id = h.permission_id
        WHERE h.user_id = %(person)s
          AND (h.from_on IS NULL OR h.from_on <= (now() AT TIME ZONE here.zone)::date)
          AND (h.to_on IS NULL OR h.to_on > (now() AT TIME ZONE here.zone)::date)
    ),
    EXISTS (SELECT 1 FROM login WHERE person_id = %(person)s),
    (SELECT min(until_at) FROM watermark WHERE stage = 'metered'),
    EXISTS (SELECT 1 FROM cluster)
FROM here
"""

ROLE_NAMES: dict[str, str | Promise] = {
    Role.MEMBER: _("Member"),
    Role.LEAD: _("Project lead"),
    Role.APPROVER: _("Department head"),
    Role.VIEWER: _("Department viewer"),
    Role.CAPACITY_MANAGER: _("Capacity manager"),
    Role.OPERATOR: _("Platform operations"),
    Role.FINANCE: _("Finance"),
    Role.LEADERSHIP: _("Leadership"),
    Role.AUDITOR: _("Auditor"),
    Role.ADMINISTRATOR: _("System administrator"),
    Role.SECURITY: _("Security administrator"),
}


@dataclass(frozen=True)
class Entry:
    """One entry of the sidebar. `views` are the URL names it is the place of."""

    label: str | Promise
    short: str | Promise  # where there is little room
    icon: str
    url: str
    views: frozenset[str]
    group: str | Promise = ""


@dataclass(frozen=True)
class Standing:
    """What a reader is here: roles held today, a login on a cluster or none, and what the portal holds so far."""

    zone: ZoneInfo
    roles: tuple[str, ...]
    has_login: bool
    through: datetime | None  # the earliest cluster's metered instant, exclusive
    has_clusters: bool

    @property
    def role_names(self) -> list[str | Promise]:
        """The roles in words, in the order of the table of roles."""
        return [name for role, name in ROLE_NAMES.items() if role in self.roles]

    def holds(self, capability: str) -> bool:
        """Whether a role held today has the capability on something; what is shown is decided row by row elsewhere."""
        return any(capability in held for role, held in CAPABILITIES.items() if role in self.roles)


def standing(actor: Actor) -> Standing:
    """How the actor stands today; one query."""
    with connection.cursor() as cursor:
        cursor.execute(STANDING, {"person": actor.person.pk if actor.person else None})
        zone, roles, has_login, through, has_clusters = cursor.fetchone()
    return Standing(ZoneInfo(zone), tuple(sorted(roles)), has_login, through, has_clusters)


def entries(of: Standing) -> list[Entry]:
    """The entries for somebody who stands so."""
    found = [Entry(_("Home"), _("Home"), "home", reverse("home"), frozenset({"home"}))]
    if of.holds("usage.view"):
        ledger = frozenset({"ledger", "ledger-department", "ledger-lines"})
        found.append(
            Entry(_("Department statements"), _("Ledger"), "book", reverse("ledger"), ledger, _("Compute ledger"))
        )
    if of.holds("run.view") or of.has_login:
        found.append(Entry(_("Jobs"), _("Jobs"), "list", reverse("jobs"), frozenset({"jobs", "job"}), _("Use compute")))
    return found
