"""The sidebar: what exists and what the reader's roles can use; what they cannot use is absent, not greyed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from billing.ledger.reads import through
from billing.ledger.scope import own_logins
from governance.access.actor import Actor
from governance.access.rules import CAPABILITIES, Role
from governance.catalogue.reads import installation
from governance.tenants.models import held_today
from portal.profile import reads as profile
from portal.profile.rules import ENTRIES

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


QUALITY = frozenset(
    f"quality{name}" for name in ("", "-faults", "-unattributed", "-map", "-unassigned", "-claim", "-progress")
)
#: What to press after G, by the name of the address.
KEYS = {"home": "h", "inbox": "i", "jobs": "j", "ledger": "l", "catalog": "c"}


@dataclass(frozen=True)
class Entry:
    """One entry of the sidebar. `views` are the URL names it is the place of."""

    label: str | Promise
    short: str | Promise  # where there is little room
    icon: str
    url: str
    views: frozenset[str]
    group: str | Promise = ""
    count_url: str = ""  # where how much waits there is asked, once the page stands

    @property
    def key(self) -> str:
        """The letter after G that goes there, "" for none."""
        return next((key for name, key in KEYS.items() if name in self.views), "")


@dataclass(frozen=True)
class Standing:
    """What a reader is here: roles held today, a login on a cluster or none, and how far the figures reach."""

    zone: ZoneInfo
    roles: frozenset[str]
    has_login: bool
    through: datetime | None  # the earliest cluster's metered instant, exclusive
    hidden: frozenset[str] = frozenset()  # parts that the site's profile leaves out

    @property
    def role_names(self) -> list[str | Promise]:
        """The roles in words, in the order of the table of roles."""
        return [name for role, name in ROLE_NAMES.items() if role in self.roles]

    def holds(self, capability: str) -> bool:
        """Whether a role held today has the capability on something; what is shown is decided row by row elsewhere."""
        return any(capability in held for role, held in CAPABILITIES.items() if role in self.roles)


def standing(actor: Actor) -> Standing:
    """How the actor stands today. Logins are asked for only where no role shows any runs or use."""
    roles = frozenset(held.role for held in held_today(actor))
    zone = ZoneInfo(installation().time_zone)
    found = Standing(zone, roles, has_login=True, through=through(), hidden=profile.hidden())
    return found if found.holds("usage.view") else replace(found, has_login=bool(own_logins(actor)))


def entries(of: Standing) -> list[Entry]:
    """The entries for somebody who stands so, without those that the site's profile leaves out."""
    left_out = {ENTRIES[part] for part in of.hidden & ENTRIES.keys()}
    return [entry for entry in all_entries(of) if not entry.views & left_out]


def all_entries(of: Standing) -> list[Entry]:
    """The entries for somebody who stands so, whatever the size of the site: search finds all of them."""
    found = [Entry(_("Home"), _("Home"), "home", reverse("home"), frozenset({"home"}))]
    if of.roles & DECIDING:
        inbox = reverse("inbox")
        found.append(Entry(_("Inbox"), _("Inbox"), "inbox", inbox, INBOX, count_url=f"{inbox}?part=count"))
    if of.holds("usage.view"):
        ledger = frozenset({"ledger", "ledger-department", "ledger-lines"})
        found.append(
            Entry(_("Department statements"), _("Ledger"), "book", reverse("ledger"), ledger, _("Compute ledger"))
        )
        own = (_("Exports"), _("Exports"), "download", reverse("exports"), frozenset({"exports"}))
        found.append(Entry(*own, _("Compute ledger")))
    if of.holds("run.view") or of.has_login:
        found.append(Entry(_("Jobs"), _("Jobs"), "list", reverse("jobs"), frozenset({"jobs", "job"}), _("Use compute")))
    if of.holds("usage.view"):
        analysis = (_("Usage analysis"), _("Usage"), "chart", reverse("usage"), frozenset({"usage"}))
        found.append(Entry(*analysis, _("Use compute")))
    if of.holds("quota.view"):
        found.append(Entry(_("Quotas"), _("Quotas"), "gauge", reverse("quotas"), QUOTAS, _("Use compute")))
    if of.holds("ask.view") or of.holds("ask.assign"):
        own = (_("Asks"), _("Asks"), "file", reverse("asks"), ASKS)
        found.append(Entry(*own, _("Use compute")))
    if of.holds("quota.view"):
        own = (_("Reclaim"), _("Reclaim"), "recycle", reverse("reclaim"), RECLAIM)
        found.append(Entry(*own, _("Use compute")))
    if of.holds("usage.view") or of.holds("organisation.change"):
        own = (_("Projects"), _("Projects"), "folder", reverse("projects"), frozenset({"projects", "project"}))
        found.append(Entry(*own, _("Use compute")))
    if of.holds("usage.view") or of.holds("capacity.view"):
        own = (_("Resource catalogue"), _("Catalogue"), "server", reverse("catalog"), CATALOGUE)
        found.append(Entry(*own, _("Resources and operations")))
    if of.holds("operations.view"):
        ops = frozenset({"ops", "ops-cluster-new", "ops-cluster", "ops-cluster-test", "ops-channels"})
        words = (_("Collection and data quality"), _("Operations"))
        found.append(Entry(*words, "heartbeat", reverse("ops"), ops, _("Resources and operations")))
        found.append(
            Entry(_("Data quality"), _("Quality"), "warn", reverse("quality"), QUALITY, _("Resources and operations"))
        )
    if of.holds("organisation.change") or of.holds("grants.change") or of.holds("audit.view"):
        own = (_("People"), _("People"), "users", reverse("people"), frozenset({"people"}))
        found.append(Entry(*own, _("Settings and audit")))
    reference = reference_entries(of)
    views = frozenset[str]().union(*(entry.views for entry in reference))
    own = (_("Reference data"), _("Reference data"), "tag", reference[0].url, views)
    found.append(Entry(*own, _("Settings and audit")))
    if of.holds("channels.change"):
        views = frozenset({"channels", "channel", "channel-new"})
        found.append(Entry(_("Channels"), _("Channels"), "bell", reverse("channels"), views, _("Settings and audit")))
    if of.roles & {Role.ADMINISTRATOR, Role.AUDITOR, Role.LEADERSHIP}:
        own = (_("Approval policy"), _("Policy"), "scale", reverse("policies"), POLICIES)
        found.append(Entry(*own, _("Settings and audit")))
    if of.holds("audit.view"):
        trail = (_("Audit trail"), _("Audit"), "list", reverse("audit"), frozenset({"audit"}))
        found.append(Entry(*trail, _("Settings and audit")))
    return found


#: Roles that a stage of an ask may ask; what really waits for somebody stands in their inbox.
DECIDING = frozenset({Role.APPROVER, Role.CAPACITY_MANAGER, Role.LEAD, Role.FINANCE, Role.LEADERSHIP, Role.OPERATOR})
ASKS = frozenset({"asks", "ask", "ask-new", "ask-edit"})
INBOX = frozenset({"inbox", "inbox-ask", "acting"})
RECLAIM = frozenset({"reclaim", "reclaim-case", "reclaim-rules"})
POLICIES = frozenset({"policies", "policy", "policy-new"})
QUOTAS = frozenset({"quotas", "quota", "quota-pool", "quota-award", "quota-move", "offerings"})
CATALOGUE = frozenset({"catalog", "catalog-pool", "catalog-model", "catalog-node", "catalog-node-state"})


def reference_entries(of: Standing) -> list[Entry]:
    """The pages of reference data that somebody who stands so may see; the dictionary is everybody's."""
    found = []
    changes = of.holds("organisation.change")
    if of.holds("money.view") or changes:
        prices = frozenset({"reference-prices"})
        found.append(Entry(_("Prices"), _("Prices"), "tag", reverse("reference-prices"), prices))
    if of.holds("usage.view") or changes:
        mappings = frozenset({"reference-mappings"})
        found.append(Entry(_("Account mappings"), _("Mappings"), "list", reverse("reference-mappings"), mappings))
    metrics = frozenset({"reference-metrics", "reference-metric"})
    found.append(Entry(_("Metric dictionary"), _("Metrics"), "book", reverse("reference-metrics"), metrics))
    if changes:
        file = frozenset({"reference-organisation"})
        url = reverse("reference-organisation")
        found.append(Entry(_("Organisation file"), _("Organisation"), "download", url, file))
        site = frozenset({"site-profile"})
        found.append(Entry(_("Site profile"), _("Profile"), "server", reverse("site-profile"), site))
    return found
