"""Roles and what each may do. A capability is `<thing>.<verb>`; a role holds it on the scope it was granted on."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The roles of the blueprint (section 5, tenants)."""

    MEMBER = "member"
    LEAD = "lead"
    APPROVER = "approver"
    VIEWER = "viewer"
    CAPACITY_MANAGER = "capacity_manager"
    OPERATOR = "operator"
    FINANCE = "finance"
    LEADERSHIP = "leadership"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"
    SECURITY = "security"


#: The kinds of node a role may be granted on.
SCOPES: dict[Role, tuple[str, ...]] = {
    Role.MEMBER: ("project",),
    Role.LEAD: ("project",),
    Role.APPROVER: ("department",),
    Role.VIEWER: ("department",),
    Role.CAPACITY_MANAGER: ("pool", "site"),
    Role.OPERATOR: ("site",),
    Role.FINANCE: ("site",),
    Role.LEADERSHIP: ("site",),
    Role.AUDITOR: ("site",),
    Role.ADMINISTRATOR: ("site",),
    Role.SECURITY: ("site",),
}

#: Administration of audit, system and security is kept in different hands (at most one each, unless a setting allows it).
SEPARATED = frozenset({Role.AUDITOR, Role.ADMINISTRATOR, Role.SECURITY})

#: usage.view: hours and totals of a project; money.view: its amounts; run.view: everybody's runs in it
#: (one's own runs are always seen); operations.view: how collection and background work stand, without anybody's use;
#: quota.view: what a project holds; quota.award: give and change it (a pool's manager); quota.override: beyond the room there is;
#: quota.return: give back; offering.change: what is offered, queue rules, how far a pool may be promised;
#: reclaim.answer: speak for a project in a reclaim case; reclaim.manage: rules of reclaim, disputes (a pool's manager);
#: enforcement.change: let the portal write limits into a scheduler; channels.change: where events are sent to (webhooks, robots);
#: ask.view: asks for quota and how they stand; ask.make: ask in a project's name; ask.withdraw: take back anybody's ask of it;
#: ask.assign: find an approver for asks that have none; policy.view, policy.change: who decides what (the site's);
#: the site's capabilities are held on the installation.
CAPABILITIES: dict[Role, frozenset[str]] = {
    Role.MEMBER: frozenset({"usage.view", "money.view", "quota.view", "ask.view", "ask.make"}),
    Role.LEAD: frozenset(
        {
            "usage.view",
            "money.view",
            "run.view",
            "quota.view",
            "quota.return",
            "reclaim.answer",
            "channels.change",
            "ask.view",
            "ask.make",
            "ask.withdraw",
        }
    ),
    Role.APPROVER: frozenset(
        {
            "usage.view",
            "money.view",
            "run.view",
            "quota.view",
            "quota.return",
            "reclaim.answer",
            "channels.change",
            "ask.view",
            "ask.make",
            "ask.withdraw",
        }
    ),
    Role.VIEWER: frozenset({"usage.view", "money.view", "run.view", "quota.view", "ask.view"}),
    Role.CAPACITY_MANAGER: frozenset(
        {
            "capacity.view",
            "quota.view",
            "quota.award",
            "quota.override",
            "offering.change",
            "reclaim.manage",
            "ask.view",
            "policy.view",
            "policy.change",
        }
    ),
    Role.OPERATOR: frozenset(
        {
            "usage.view",
            "run.view",
            "capacity.view",
            "operations.view",
            "records.import",
            "catalogue.change",
            "quota.view",
            "enforcement.change",
        }
    ),
    Role.FINANCE: frozenset(
        {"usage.view", "money.view", "run.view", "operations.view", "ledger.post", "quota.view", "ask.view"}
    ),
    Role.LEADERSHIP: frozenset({"usage.view", "money.view", "capacity.view", "quota.view", "ask.view", "policy.view"}),
    Role.AUDITOR: frozenset(
        {
            "usage.view",
            "money.view",
            "run.view",
            "operations.view",
            "audit.view",
            "quota.view",
            "ask.view",
            "policy.view",
        }
    ),
    Role.ADMINISTRATOR: frozenset(
        {
            "organisation.change",
            "catalogue.change",
            "records.import",
            "capacity.view",
            "operations.view",
            "channels.change",
            "ask.assign",
            "policy.view",
            "policy.change",
        }
    ),
    Role.SECURITY: frozenset({"grants.change"}),
}


def roles_with(capability: str, scope: str) -> frozenset[Role]:
    """The roles that hold `capability` when granted on a node of kind `scope`."""
    return frozenset(role for role, held in CAPABILITIES.items() if capability in held and scope in SCOPES[role])


#: What a personal token may be for; it never allows more than the person's own roles do.
TOKEN_SCOPES = ("read", "write", "import")


def allows(scopes: frozenset[str], capability: str) -> bool:
    """Whether a token with these scopes leaves its person the capability.

    Seeing is left to all of them, since who writes must be told what is there from what is not; answers that show
    anything want "read" at the door.
    """
    if capability.endswith(".view"):
        return True
    return "write" in scopes or (capability == "records.import" and "import" in scopes)


#: Wrong passwords that cost nothing; then the first pause, which doubles with each further one up to the longest.
FREE_FAILURES = 5
FIRST_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 15 * 60


def sign_in_pause(failures: int) -> int:
    """Seconds after the last of so many wrong passwords in a row until another one is looked at."""
    if failures < FREE_FAILURES:
        return 0
    return min(FIRST_PAUSE_SECONDS * 2 ** min(failures - FREE_FAILURES, 10), LONGEST_PAUSE_SECONDS)
