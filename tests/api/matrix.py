"""Who is answered what at every endpoint: rows as in the matrix of pages, but nobody is sent to a sign-in page here."""

from __future__ import annotations

from tests.cast import ANONYMOUS, EVERYBODY, PERIOD

VISION = {"member", "lead", "approver", "viewer", "operator", "finance", "auditor", "leadership"}
SEARCH = {"outsider", "operator", "finance", "auditor", "leadership"}
RUNS = {"lead", "approver", "viewer", "operator", "finance", "auditor"}
MONEY = {"member", "lead", "approver", "viewer", "outsider", "finance", "auditor", "leadership"}
OPERATIONS = {"operator", "administrator", "finance", "auditor"}
ACTING = {"operator", "administrator"}
SIGNED_IN = set(EVERYBODY)


def only(who: set[str], status: int = 200) -> dict[str, int]:
    """`status` for `who`, 404 for all others who say who they are, 401 for the rest."""
    return {name: status if name in who else 404 for name in EVERYBODY} | {ANONYMOUS: 401}


def acting(status: int, seen: set[str] = OPERATIONS) -> dict[str, int]:
    """`status` for those who may act, 403 for those who only see, 404 for all others."""
    return only(seen, 403) | dict.fromkeys(ACTING, status)


V1 = "/api/v1"
BJ = f"{V1}/clusters/bj"
DAYS = "from_on=2026-06-01&to_on=2026-06-30"
STATEMENT = f"{V1}/ledger/statement?period={PERIOD}"
LINES = f"{V1}/ledger/lines?period={PERIOD}"

#: Who sees quotas of something, who manages the training pool, and what the rest of them is answered there.
QUOTAS = VISION | {"outsider", "capacity_manager"}


def managing(status: int) -> dict[str, int]:
    """`status` for who manages the pool, 403 for all others who see quotas, 404 for the rest."""
    return only(QUOTAS, 403) | {"capacity_manager": status}


#: (name of the address, address, method, answers)
MATRIX: list[tuple[str, str, str, dict[str, int]]] = [
    ("api-schema", "/api/schema/", "get", dict.fromkeys((*EVERYBODY, ANONYMOUS), 200)),
    ("api-docs", "/api/docs/", "get", dict.fromkeys(EVERYBODY, 200) | {ANONYMOUS: 302}),
    ("api-me", f"{V1}/me", "get", only(SIGNED_IN)),
    ("api-me", f"{V1}/me", "post", dict.fromkeys(EVERYBODY, 405) | {ANONYMOUS: 401}),
    ("api-organisation", f"{V1}/organisation", "get", only({"administrator"})),
    ("api-organisation", f"{V1}/organisation", "post", only({"administrator"}, 422)),
    ("api-departments", f"{V1}/departments", "get", only(SIGNED_IN)),
    ("api-projects", f"{V1}/projects", "get", only(SIGNED_IN)),
    ("api-mappings", f"{V1}/mappings", "get", only(SIGNED_IN)),
    ("api-pools", f"{V1}/pools", "get", only(SIGNED_IN)),
    ("api-models", f"{V1}/models", "get", only(SIGNED_IN)),
    ("api-nodes", f"{V1}/nodes", "get", only(SIGNED_IN)),
    ("api-node-states", f"{V1}/node-states", "get", only(SIGNED_IN)),
    ("api-prices", f"{V1}/prices", "get", only(MONEY | {"administrator"})),
    ("api-ledger-statement", STATEMENT, "get", only(SIGNED_IN)),
    ("api-ledger-statement", f"{STATEMENT}&by=project,user", "get", only(SIGNED_IN)),
    ("api-ledger-statement", f"{STATEMENT}&department=vision&by=user", "get", only(VISION)),
    ("api-ledger-statement", f"{STATEMENT}&department=search", "get", only(SEARCH)),
    ("api-ledger-statement", f"{STATEMENT}&project=rank", "get", only(SEARCH)),
    ("api-ledger-statement", f"{V1}/ledger/statement", "get", only(SIGNED_IN, 422)),
    ("api-ledger-lines", LINES, "get", only(SIGNED_IN)),
    ("api-ledger-lines", f"{LINES}&department=search", "get", only(SEARCH)),
    ("api-ledger-lines", f"{LINES}&project=rank", "get", only(SEARCH)),
    (
        "api-ledger-trial-balance",
        f"{V1}/ledger/trial-balance?period={PERIOD}",
        "get",
        only({"finance", "auditor", "leadership"}),
    ),
    ("api-runs", f"{V1}/runs?{DAYS}", "get", only(SIGNED_IN)),
    ("api-runs", f"{V1}/runs", "get", only(SIGNED_IN, 422)),
    ("api-run", "run 101", "get", only(RUNS | {"member"})),
    ("api-run", "run 102", "get", only(RUNS)),
    ("api-run", "run 201", "get", only({"outsider", "operator", "finance", "auditor"})),
    ("api-run", f"{V1}/runs/bj/101/99999999999999999999", "get", only(set())),
    ("api-usage-days", f"{V1}/usage-days?{DAYS}", "get", only(SIGNED_IN)),
    ("api-capacity-days", f"{V1}/capacity-days?{DAYS}", "get", only(SIGNED_IN)),
    ("api-metric-definitions", f"{V1}/metric-definitions", "get", only(SIGNED_IN)),
    ("api-clusters", f"{V1}/clusters", "get", only(OPERATIONS)),
    ("api-cluster", BJ, "get", only(OPERATIONS)),
    ("api-cluster", f"{V1}/clusters/nowhere", "get", only(set())),
    ("api-cluster-pull", f"{BJ}/pull", "post", acting(409)),  # it is read from files
    ("api-cluster-pull", f"{V1}/clusters/nowhere/pull", "post", only(set())),
    ("api-cluster-records", f"{BJ}/records", "post", acting(422)),
    ("api-quarantine-retry", f"{BJ}/quarantine/retry", "post", acting(200)),
    ("api-cluster-desired", f"{BJ}/desired", "get", only(OPERATIONS)),
    ("api-cluster-desired", f"{V1}/clusters/nowhere/desired", "get", only(set())),
    ("api-cluster-limits", f"{BJ}/limits", "get", only(OPERATIONS)),
    ("api-cluster-limit-orders", f"{BJ}/limit-orders", "get", only(OPERATIONS)),
    ("api-cluster-drifts", f"{BJ}/drifts", "get", only(OPERATIONS)),
    ("api-cluster-enforcement", f"{BJ}/enforcement", "get", only(OPERATIONS)),
    ("api-cluster-enforcement", f"{BJ}/enforcement", "post", only(OPERATIONS, 403) | {"operator": 200}),
    ("api-cluster-enforcement-round", f"{BJ}/enforcement/round", "post", only(OPERATIONS, 403) | {"operator": 409}),
    ("api-cluster-enforcement-check", f"{BJ}/enforcement/check", "post", only(OPERATIONS, 403) | {"operator": 409}),
    ("api-cluster-drift-restore", f"{BJ}/drifts/1/restore", "post", only(set())),
    ("api-cluster-drift-adopt", f"{BJ}/drifts/1/adopt", "post", only(set())),
    ("api-refused-submissions", f"{BJ}/refused-submissions", "post", acting(422)),
    ("api-refused-submissions", f"{V1}/clusters/nowhere/refused-submissions", "post", only(set())),
    (
        "api-node-state",
        f"{BJ}/nodes/gpu001/states",
        "post",
        acting(422, {"operator", "administrator", "leadership", "capacity_manager"}),
    ),
    ("api-node-state", f"{BJ}/nodes/inf001/states", "post", acting(422, {"operator", "administrator", "leadership"})),
    ("api-node-state", f"{BJ}/nodes/nowhere/states", "post", only(set())),
    ("api-findings", f"{V1}/findings", "get", only(OPERATIONS)),
    ("api-quarantine", f"{V1}/quarantine", "get", only(OPERATIONS)),
    ("api-intakes", f"{V1}/intakes", "get", only(OPERATIONS)),
    ("api-work-items", f"{V1}/work-items", "get", only(OPERATIONS)),
    ("api-work-retry", f"{V1}/work-items/retry", "post", acting(422)),
    ("api-audit-lines", f"{V1}/audit-lines", "get", only({"auditor"})),
    ("api-site-profile", f"{V1}/site-profile", "get", only({"administrator"})),
    ("api-site-profile", f"{V1}/site-profile", "post", only({"administrator"}, 422)),
    ("api-exports", f"{V1}/exports", "get", only(SIGNED_IN)),
    ("api-exports", f"{V1}/exports", "post", only(SIGNED_IN, 422)),
    ("api-export", f"{V1}/exports/00000000-0000-0000-0000-000000000000", "get", only(set())),
    ("api-export", f"{V1}/exports/17", "get", only(set())),
    ("api-export-file", f"{V1}/exports/17/file", "get", only(set())),
    ("api-export-discard", f"{V1}/exports/17/discard", "post", only(set())),
]
#: Who may have channels on anything: the site, a department of theirs, a project of theirs.
CHANNELS = {"administrator", "lead", "approver", "outsider"}
MATRIX += [
    ("api-notices", f"{V1}/notices", "get", only(SIGNED_IN)),
    ("api-notices", f"{V1}/notices?unread=true", "get", only(SIGNED_IN)),
    ("api-notices-read", f"{V1}/notices/read", "post", only(SIGNED_IN)),
    ("api-notice-preferences", f"{V1}/notice-preferences", "get", only(SIGNED_IN)),
    ("api-notice-preferences", f"{V1}/notice-preferences", "post", only(SIGNED_IN)),
    ("api-events", f"{V1}/events", "get", only(SIGNED_IN)),
    ("api-channels", f"{V1}/channels", "get", only(CHANNELS)),
    ("api-channels", f"{V1}/channels", "post", only(CHANNELS, 422)),
    *(
        (f"api-channel{name}", f"{V1}/channels/1{name.replace('-', '/')}", method, only(set()))
        for name, method in (
            ("", "get"),
            ("", "post"),
            ("-remove", "post"),
            ("-secret", "post"),
            ("-test", "post"),
            ("-deliveries", "get"),
        )
    ),
    ("api-channel", f"{V1}/channels/99999999999999999999", "get", only(set())),
    ("api-delivery-again", f"{V1}/deliveries/1/again", "post", only(set())),
    ("api-pool-room", f"{V1}/pools/train-h800/room", "get", only(QUOTAS)),
    ("api-pool-room", f"{V1}/pools/nowhere/room", "get", only(set())),
    ("api-quotas", f"{V1}/quotas", "get", only(QUOTAS)),
    ("api-quotas", f"{V1}/quotas?state=all&project=rank", "get", only(QUOTAS)),
    ("api-quotas", f"{V1}/quotas", "post", managing(422)),
    *(
        (f"api-quota{what and '-'}{what}", f"{V1}/quotas/Q-000001{what and '/'}{what}", "get", only(set()))
        for what in ("", "history", "use", "enforcement")
    ),
    *(
        (f"api-quota-{verb}", f"{V1}/quotas/Q-000001/{verb}", "post", only(set()))
        for verb in ("change", "return", "revoke", "suspend", "resume")
    ),
    ("api-offerings", f"{V1}/offerings", "get", only(QUOTAS)),
    ("api-offerings", f"{V1}/offerings", "post", managing(422)),
    ("api-offering-change", f"{V1}/offerings/nothing/change", "post", only(set())),
    ("api-offering-end", f"{V1}/offerings/nothing/end", "post", only(set())),
    *(
        (f"api-{name}", f"{V1}/{name}", method, only(QUOTAS) if method == "get" else managing(422))
        for name in ("queue-rules", "pool-policies", "department-shares")
        for method in ("get", "post")
    ),
    ("api-queue-rule-end", f"{V1}/queue-rules/end", "post", managing(422)),
    ("api-pool-policy-end", f"{V1}/pool-policies/end", "post", managing(422)),
    ("api-department-share-end", f"{V1}/department-shares/end", "post", managing(422)),
]
#: Who sees the approval policy.
POLICY = {"administrator", "auditor", "leadership"}
DOCUMENT = f"{V1}/approval-policies"
MATRIX += [  # tests/approvals has the answers of asks that are there
    ("api-asks", f"{V1}/asks", "get", only(SIGNED_IN)),
    ("api-asks", f"{V1}/asks?mine=true&state=draft", "get", only(SIGNED_IN)),
    ("api-asks", f"{V1}/asks?state=lost", "get", only(SIGNED_IN, 422)),
    ("api-asks", f"{V1}/asks", "post", only(SIGNED_IN, 422)),
    ("api-asks-to-decide", f"{V1}/asks/to-decide", "get", only(SIGNED_IN)),
    ("api-ask-checks", f"{V1}/asks/checks", "post", only(SIGNED_IN, 422)),
    ("api-ask", f"{V1}/asks/A-000017", "get", only(set())),
    ("api-ask", f"{V1}/asks/A-99999999999999999999", "get", only(set())),
    ("api-ask", f"{V1}/asks/A-000017", "post", only(set())),
    ("api-ask-grounds", f"{V1}/asks/A-000017/grounds", "get", only(set())),
    *(
        (f"api-ask-{move}", f"{V1}/asks/A-000017/{move}", "post", only(set()))
        for move in (
            "submit", "approve", "return", "reject", "withdraw", "hand-over", "add-approver", "assign", "remind", "comment", "copy",
            "files",
        )
    ),
    ("api-ask-file", f"{V1}/asks/A-000017/files/1", "get", only(set())),
    ("api-ask-file-detach", f"{V1}/asks/A-000017/files/1/detach", "post", only(set())),
    ("api-approval-policies", DOCUMENT, "get", only(POLICY)),
    ("api-approval-policies", DOCUMENT, "post", only(POLICY, 403) | {"administrator": 422}),
    ("api-approval-policy-form", f"{DOCUMENT}/form", "get", only(POLICY)),
    ("api-approval-policy-validate", f"{DOCUMENT}/validate", "post", only(POLICY, 422)),
    ("api-approval-policy-simulate", f"{DOCUMENT}/simulate", "post", only(POLICY, 422)),
    ("api-approval-policy-activate", f"{DOCUMENT}/1/activate", "post", only(POLICY, 403) | {"administrator": 409}),
    ("api-approval-policy-activate", f"{DOCUMENT}/99999999999999999999/activate", "post", only(set())),
    ("api-approval-policy-outcome", f"{DOCUMENT}/1/outcome", "get", only(POLICY)),
    ("api-acting-grants", f"{V1}/acting-grants", "get", only(SIGNED_IN)),
    ("api-acting-grants", f"{V1}/acting-grants", "post", only(SIGNED_IN, 422)),
    ("api-acting-grant-end", f"{V1}/acting-grants/1/end", "post", only(set())),
    ("api-calendar-days", f"{V1}/calendar-days", "get", only(SIGNED_IN)),
    ("api-calendar-days", f"{V1}/calendar-days", "post", only(SIGNED_IN, 403) | {"administrator": 422}),
]  # fmt: skip
#: Who sees the rules of reclaim; managers of a pool alone write them.
RULES = {"operator", "finance", "auditor", "leadership", "capacity_manager"}
RECLAIM = f"{V1}/reclaim"
MATRIX += [
    ("api-reclaim-cases", f"{RECLAIM}/cases", "get", only(QUOTAS)),
    ("api-reclaim-case", f"{RECLAIM}/cases/R-000001", "get", only(set())),
    *(
        (f"api-reclaim-{verb}", f"{RECLAIM}/cases/R-000001/{verb}", "post", only(set()))
        for verb in ("answer", "judge", "undo", "withdraw")
    ),
    ("api-reclaim-balance", f"{RECLAIM}/balance", "get", only(QUOTAS)),
    ("api-reclaim-rules", f"{RECLAIM}/rules", "get", only(RULES)),
    ("api-reclaim-rules", f"{RECLAIM}/rules", "post", only(RULES, 403) | {"capacity_manager": 422}),
    ("api-reclaim-preview", f"{RECLAIM}/rules/preview", "post", only(RULES, 403) | {"capacity_manager": 422}),
    ("api-reclaim-switch", f"{RECLAIM}/rules/lost/switch", "post", only(set())),
]
