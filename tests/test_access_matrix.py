"""Who is answered what at every address. An address without a row fails; so does a page showing another department."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from governance.usage.models import Run
from tests.api.matrix import MATRIX as ENDPOINTS
from tests.cast import ANONYMOUS, EVERYBODY, FOREIGN, PERIOD, Cast

pytestmark = pytest.mark.django_db

JUNE = "from=2026-06-01&to=2026-06-30"
#: Who sees the department vision or something in it, through a project, a department or the site.
VISION = {"member", "lead", "approver", "viewer", "operator", "finance", "auditor", "leadership"}
#: Who sees the other department, search.
SEARCH = {"outsider", "operator", "finance", "auditor", "leadership"}
#: Who sees everybody's runs of the project ocr; the member sees their own.
RUNS = {"lead", "approver", "viewer", "operator", "finance", "auditor"}
SIGNED_IN = set(EVERYBODY)


def only(who: set[str], otherwise: int = 404) -> dict[str, int]:
    """200 for `who`, `otherwise` for all others who are signed in, the way to the sign-in page for the rest."""
    return {name: 200 if name in who else otherwise for name in EVERYBODY} | {ANONYMOUS: 302}


def always(status: int) -> dict[str, int]:
    """The same answer for everybody."""
    return dict.fromkeys((*EVERYBODY, ANONYMOUS), status)


#: (name of the address, address, method, answers)
MATRIX: list[tuple[str, str, str, dict[str, int]]] = [
    ("home", "/", "get", only(SIGNED_IN)),
    ("sign-in", "/sign-in/", "get", dict.fromkeys(EVERYBODY, 302) | {ANONYMOUS: 200}),
    ("sign-out", "/sign-out/", "post", always(302)),
    ("sign-out", "/sign-out/", "get", always(405)),
    ("language", "/language/?language=en", "post", always(422)),
    ("theme", "/theme/", "get", always(405)),
    ("live", "/health/live", "get", always(200)),
    ("ready", "/health/ready", "get", always(200)),
    ("metrics", "/metrics", "get", always(200)),  # from this machine; tests/work/test_metrics.py has the others
    ("ledger", f"/ledger/?period={PERIOD}", "get", only(SIGNED_IN)),
    ("ledger", f"/ledger/?period={PERIOD}&format=csv", "get", only(SIGNED_IN)),
    ("ledger", "/ledger/?period=June", "get", always(422) | {ANONYMOUS: 302}),
    ("ledger-department", f"/ledger/vision/{PERIOD}/", "get", only(VISION)),
    ("ledger-department", f"/ledger/vision/{PERIOD}/?by=user&format=csv", "get", only(VISION)),
    ("ledger-department", f"/ledger/search/{PERIOD}/", "get", only(SEARCH)),
    ("ledger-department", f"/ledger/research/{PERIOD}/", "get", only(VISION)),
    ("ledger-department", f"/ledger/~/{PERIOD}/", "get", only(SIGNED_IN)),
    ("ledger-department", f"/ledger/~/{PERIOD}/?project=ocr&by=day", "get", only(VISION)),
    ("ledger-department", f"/ledger/~/{PERIOD}/?project=rank", "get", only(SEARCH)),
    ("ledger-department", f"/ledger/nowhere/{PERIOD}/", "get", only(set())),
    ("ledger-lines", f"/ledger/vision/{PERIOD}/lines/", "get", only(VISION)),
    ("ledger-lines", f"/ledger/search/{PERIOD}/lines/", "get", only(SEARCH)),
    ("ledger-lines", f"/ledger/~/{PERIOD}/lines/?project=rank", "get", only(SEARCH)),
    ("jobs", f"/jobs/?{JUNE}", "get", only(SIGNED_IN)),
    ("jobs", f"/jobs/?{JUNE}&format=csv", "get", only(SIGNED_IN)),
    ("job", "ada's run 101", "get", only(RUNS | {"member"})),
    ("job", "bob's run 102", "get", only(RUNS)),
    ("job", "eve's run 201", "get", only({"outsider", "operator", "finance", "auditor"})),
    ("job", "/jobs/bj/101/1/", "get", only(set())),
    ("job", "/jobs/bj/101/99999999999999999999/", "get", only(set())),
]
#: Who sees the operations pages, and which of them may act there.
OPERATIONS = {"operator", "administrator", "finance", "auditor"}
ACTING = {"operator", "administrator"}


def acting(status: int) -> dict[str, int]:
    """`status` for those who may act on operations, 403 for those who only see them, 404 for all others."""
    seen = {name: status if name in ACTING else 403 for name in OPERATIONS}
    return only(set()) | seen


def enforcing(status: int) -> dict[str, int]:
    """As `acting`; limits are the operator's alone."""
    return only(set()) | dict.fromkeys(OPERATIONS, 403) | {"operator": status}


BJ = "/ops/clusters/bj/"
LIMITS = "/ops/enforcement/bj/"
REFUSED = "/api/v1/clusters/bj/refused-submissions"
MATRIX += [
    ("ops", "/ops/", "get", only(OPERATIONS)),
    ("ops", "/ops/", "post", always(405) | {ANONYMOUS: 302}),
    ("ops-cluster-new", "/ops/clusters/new/", "get", acting(200)),
    ("ops-cluster-new", "/ops/clusters/new/", "post", acting(422)),
    ("ops-cluster", BJ, "get", only(OPERATIONS)),
    ("ops-cluster", f"{BJ}?tab=nodes", "get", only(OPERATIONS)),
    ("ops-cluster", f"{BJ}?tab=discovery", "get", only(OPERATIONS)),
    ("ops-cluster", f"{BJ}?tab=quarantine", "get", only(OPERATIONS)),
    ("ops-cluster", f"{BJ}?tab=connection", "get", only(OPERATIONS)),
    ("ops-cluster", f"{BJ}?tab=money", "get", only(set()) | dict.fromkeys(OPERATIONS, 422)),
    ("ops-cluster", BJ, "post", acting(422)),
    ("ops-cluster", "/ops/clusters/nowhere/", "get", only(set())),
    ("ops-cluster-test", f"{BJ}test/", "post", acting(409)),  # it is read from files
    ("ops-cluster-test", f"{BJ}test/", "get", always(405) | {ANONYMOUS: 302}),
    ("ops-cluster-test", "/ops/clusters/nowhere/test/", "post", only(set())),
    ("ops-cluster-pull", f"{BJ}pull/", "post", acting(409)),
    ("ops-cluster-nodes", f"{BJ}nodes/", "post", acting(422)),
    ("ops-cluster-quarantine", f"{BJ}quarantine/", "post", acting(302)),
    ("ops-work-retry", "/ops/work/retry/", "post", acting(404)),  # there is no such work
    ("enforcement", LIMITS, "get", only(OPERATIONS)),
    ("enforcement", "/ops/enforcement/nowhere/", "get", only(set())),
    ("enforcement-check", f"{LIMITS}check/", "post", enforcing(409)),  # it is read from files
    ("enforcement-switch", f"{LIMITS}switch/", "post", enforcing(302)),  # off it is already
    ("enforcement-configure", f"{LIMITS}configure/", "post", enforcing(302)),
    ("enforcement-round", f"{LIMITS}round/", "post", enforcing(409)),
    ("enforcement-restore", f"{LIMITS}drift/1/restore/", "post", only(set())),
    ("enforcement-adopt", f"{LIMITS}drift/1/adopt/", "post", only(set())),
    ("tokens", "/me/tokens/", "get", only(SIGNED_IN)),
    ("tokens", "/me/tokens/", "post", only(SIGNED_IN) | dict.fromkeys(SIGNED_IN, 422)),
    ("token-revoke", "/me/tokens/1/revoke/", "post", only(set())),
    ("token-revoke", "/me/tokens/1/revoke/", "get", always(405) | {ANONYMOUS: 302}),
    ("api-refused-submissions", REFUSED, "post", acting(422) | {ANONYMOUS: 401}),
    ("api-refused-submissions", REFUSED.replace("bj", "nowhere"), "post", only(set()) | {ANONYMOUS: 401}),
]
QUALITY = "/quality/"
NOBODY = f"{QUALITY}unattributed/map/?cluster=bj&account=nobody"
LOST = f"{QUALITY}unassigned/claim/?cluster=bj&partition=lost"


def changing(who: set[str], status: int) -> dict[str, int]:
    """`status` for those who may make the change, 403 for those who only see operations, 404 for all others."""
    return only(set()) | {name: status if name in who else 403 for name in OPERATIONS}


MATRIX += [
    ("quality", QUALITY, "get", only(OPERATIONS)),
    ("quality", f"{QUALITY}?{JUNE}", "get", only(OPERATIONS)),
    *(
        ("quality-faults", f"{QUALITY}faults/{kind}/?{JUNE}", "get", only(OPERATIONS))
        for kind in ("quarantine", "over", "unknown", "unpriced", "flags", "findings")
    ),
    ("quality-faults", f"{QUALITY}faults/nothing/", "get", only(set())),
    ("quality-faults", f"{QUALITY}faults/over/?{JUNE}&format=csv", "get", only(OPERATIONS)),
    ("quality-unattributed", f"{QUALITY}unattributed/", "get", only(OPERATIONS)),
    ("quality-unattributed", f"{QUALITY}unattributed/?format=csv", "get", only(OPERATIONS)),
    ("quality-map", NOBODY, "get", only(OPERATIONS)),
    ("quality-map", f"{NOBODY}&project=ocr", "get", only(OPERATIONS)),
    ("quality-map", f"{NOBODY}&project=none", "get", only(set())),
    ("quality-map", f"{QUALITY}unattributed/map/", "post", changing({"administrator"}, 404)),  # no such cluster
    ("quality-unassigned", f"{QUALITY}unassigned/?{JUNE}", "get", only(OPERATIONS)),
    ("quality-claim", LOST, "get", only(OPERATIONS)),
    ("quality-claim", f"{LOST}&pool=train-h800&from=", "get", only(OPERATIONS)),
    ("quality-claim", f"{QUALITY}unassigned/claim/", "post", changing({"operator", "administrator"}, 404)),
    ("quality-progress", f"{QUALITY}progress/bj/", "get", only(OPERATIONS)),
    ("quality-progress", f"{QUALITY}progress/nowhere/", "get", only(set())),
]
#: Who sees the catalogue: whoever sees use or capacity of something. Prices want money; the directory its own rights.
CATALOGUE = (VISION | SEARCH) | {"capacity_manager", "administrator"}
MONEY = (VISION | SEARCH | {"administrator"}) - {"operator"}
CHANGING = {"operator", "administrator"}
GPU001 = "/catalog/nodes/bj/gpu001/"
MATRIX += [
    ("catalog", "/catalog/", "get", only(CATALOGUE)),
    ("catalog", "/catalog/?view=nodes", "get", only(CATALOGUE)),
    ("catalog", "/catalog/?view=models", "get", only(CATALOGUE)),
    ("catalog", "/catalog/?view=clusters", "get", only(CATALOGUE)),
    ("catalog", "/catalog/?view=money", "get", only(set()) | dict.fromkeys(CATALOGUE, 422)),
    ("catalog", "/catalog/?pool=nowhere", "get", only(set())),
    ("catalog", "/catalog/", "post", always(405) | {ANONYMOUS: 302}),
    ("catalog-pool", f"/catalog/pools/train-h800/?period={PERIOD}", "get", only(CATALOGUE)),
    ("catalog-pool", "/catalog/pools/nowhere/", "get", only(set())),
    ("catalog-model", f"/catalog/models/h800/?period={PERIOD}", "get", only(CATALOGUE)),
    ("catalog-model", "/catalog/models/nothing/", "get", only(set())),
    ("catalog-node", GPU001, "get", only(CATALOGUE)),
    ("catalog-node", "/catalog/nodes/bj/nothing/", "get", only(set())),
    (
        "catalog-node-state",
        f"{GPU001}state/",
        "post",
        only(set()) | {w: 422 if w in CHANGING else 403 for w in CATALOGUE},
    ),
    ("catalog-node-state", f"{GPU001}state/", "get", always(405) | {ANONYMOUS: 302}),
    (
        "catalog-node-state-end",
        f"{GPU001}state/end/",
        "post",
        only(set()) | {w: 409 if w in CHANGING else 403 for w in CATALOGUE},
    ),
    ("projects", f"/projects/?period={PERIOD}", "get", only(VISION | SEARCH | {"administrator"})),
    ("project", f"/projects/ocr/?period={PERIOD}", "get", only(VISION | {"administrator"})),
    ("project", f"/projects/rank/?period={PERIOD}", "get", only(SEARCH | {"administrator"})),
    ("project", "/projects/nothing/", "get", only(set())),
    ("people", "/people/", "get", only({"administrator", "security", "auditor"})),
    ("people", "/people/?role=king", "get", only(set()) | dict.fromkeys(("administrator", "security", "auditor"), 422)),
    ("reference-prices", "/reference/prices/", "get", only(MONEY)),
    ("reference-mappings", "/reference/mappings/", "get", only(VISION | SEARCH | {"administrator"})),
    ("reference-metrics", "/reference/metrics/", "get", only(SIGNED_IN)),
    ("reference-metric", "/reference/metrics/allocation_rate/", "get", only(SIGNED_IN)),
    ("reference-metric", "/reference/metrics/nothing/", "get", only(set())),
    ("reference-organisation", "/reference/organisation/", "get", only({"administrator"})),
    ("reference-organisation", "/reference/organisation/", "post", only(set()) | {"administrator": 422}),
]
MATRIX += [
    ("audit", "/audit/", "get", only({"auditor"})),
    ("audit", "/audit/?format=csv", "get", only({"auditor"})),
    ("audit", "/audit/?from=2026-06-31", "get", only(set()) | {"auditor": 422}),
    ("audit", "/audit/", "post", always(405) | {ANONYMOUS: 302}),
    ("usage", f"/usage/?{JUNE}", "get", only(SIGNED_IN)),
    ("usage", f"/usage/?{JUNE}&by=project&format=csv", "get", only(SIGNED_IN)),
    ("usage", f"/usage/?{JUNE}&by=money", "get", always(422) | {ANONYMOUS: 302}),
]
NOBODYS = "/exports/00000000-0000-0000-0000-000000000000/"  # tests/exports have those that are somebody's


def exporting(page: str) -> str:
    """The address that asks for the file of a page."""
    return f"/exports/?{urlencode({'page': page, 'format': 'csv'})}"


MATRIX += [
    ("site-profile", "/site/profile/", "get", only({"administrator"})),
    ("site-profile", "/site/profile/?profile=moon", "post", only(set()) | {"administrator": 302}),  # chooses none
    ("exports", "/exports/", "get", only(SIGNED_IN)),
    ("exports", "/exports/", "post", always(422) | {ANONYMOUS: 302}),  # of no page
    ("exports", exporting(f"/ledger/vision/{PERIOD}/"), "post", only(VISION)),
    ("exports", exporting(f"/ledger/search/{PERIOD}/lines/"), "post", only(SEARCH)),
    ("exports", exporting(f"/jobs/?{JUNE}"), "post", only(SIGNED_IN)),
    ("exports", exporting("/audit/"), "post", only({"auditor"})),
    ("exports", exporting("/quality/unattributed/"), "post", only(OPERATIONS)),
    ("exports", exporting("/catalog/"), "post", only(CATALOGUE)),
    ("export-file", f"{NOBODYS}file/", "get", only(set())),
    ("export-file", "/exports/17/file/", "get", only(set())),
    ("export-file", f"{NOBODYS}file/", "post", always(405) | {ANONYMOUS: 302}),
    ("export-discard", f"{NOBODYS}discard/", "post", only(set())),
    ("export-discard", f"{NOBODYS}discard/", "get", always(405) | {ANONYMOUS: 302}),
]
MATRIX += [
    ("me", "/me/", "get", only(SIGNED_IN)),
    ("me", "/me/", "post", only(set(), 422)),
    ("me-password", "/me/password/", "post", only(set(), 422)),
    ("me-password", "/me/password/", "get", always(405) | {ANONYMOUS: 302}),
    ("me-session", "/me/session/", "get", always(200)),
    ("me-session", "/me/session/", "post", always(200)),
    ("me-sign-out-everywhere", "/me/sign-out-everywhere/", "get", always(405) | {ANONYMOUS: 302}),
    ("search", "/search/?q=vision", "get", only(SIGNED_IN)),
    ("search", "/search/?q=vision", "post", always(405) | {ANONYMOUS: 302}),
]
#: Who may have channels on anything: the site, a department of theirs, a project of theirs.
CHANNELS = {"administrator", "lead", "approver", "outsider"}
MATRIX += [
    ("notices", "/notices/", "get", only(SIGNED_IN)),
    ("notices", "/notices/?unread=1", "get", only(SIGNED_IN)),
    ("notices", "/notices/?after=x", "get", only(set(), 422)),
    ("notices-latest", "/notices/latest/", "get", only(SIGNED_IN)),
    ("notices-read", "/notices/read/", "post", only(set(), 302)),
    ("notices-read", "/notices/read/", "get", always(405) | {ANONYMOUS: 302}),
    ("notice", "/notices/1/", "get", only(set())),
    ("me-notices", "/me/notices/", "get", only(SIGNED_IN)),
    ("me-notices", "/me/notices/", "post", only(set(), 422)),
    ("channels", "/channels/", "get", only(CHANNELS)),
    ("channel-new", "/channels/new/", "get", only(CHANNELS)),
    ("channel-new", "/channels/new/", "post", only(set()) | dict.fromkeys(CHANNELS, 422)),
    ("channel", "/channels/1/", "get", only(set())),
    ("channel", "/channels/99999999999999999999/", "post", only(set())),
    ("channel-test", "/channels/1/test/", "post", only(set())),
    ("channel-secret", "/channels/1/secret/", "post", only(set())),
    ("channel-switch", "/channels/1/switch/", "post", only(set())),
    ("channel-remove", "/channels/1/remove/", "post", only(set())),
    ("channel-remove", "/channels/1/remove/", "get", always(405) | {ANONYMOUS: 302}),
    ("delivery-again", "/channels/deliveries/1/again/", "post", only(set())),
    ("ops-channels", "/ops/channels/", "get", only(OPERATIONS)),
    ("reset", "/sign-in/forgotten/", "get", always(200)),
    ("reset", "/sign-in/forgotten/", "post", always(422)),
    ("reset-sent", "/sign-in/forgotten/sent/", "get", always(200)),
    ("reset-done", "/sign-in/new-password/done/", "get", always(200)),
    ("reset-set", "/sign-in/new-password/MQ/x-y/", "get", always(200)),  # it says that the link is none
]
#: Who sees quotas of something; of a pool the sums, and names as far as their roles go. tests/quotas have lines that are there.
QUOTAS = (VISION | SEARCH) | {"capacity_manager"}
TRAIN = "/quotas/pools/train-h800/"
MATRIX += [
    ("quotas", "/quotas/", "get", only(QUOTAS)),
    ("quotas", "/quotas/?state=all&project=rank", "get", only(QUOTAS)),
    ("quotas", "/quotas/?state=lost", "get", only(set()) | dict.fromkeys(QUOTAS, 422)),
    ("quotas", "/quotas/", "post", always(405) | {ANONYMOUS: 302}),
    *(("quota-pool", f"{TRAIN}?tab={tab}", "get", only(QUOTAS)) for tab in ("room", "held", "rules")),
    ("quota-pool", "/quotas/pools/nowhere/", "get", only(set())),
    ("quota-pool", "/quotas/pools/unassigned/", "get", only(set())),
    (
        "quota-award",
        f"{TRAIN}award/",
        "get",
        only({"capacity_manager"}) | dict.fromkeys(QUOTAS - {"capacity_manager"}, 403),
    ),
    (
        "quota-award",
        f"{TRAIN}award/",
        "post",
        only(set()) | {w: 422 if w == "capacity_manager" else 403 for w in QUOTAS},
    ),
    ("quota-award", "/quotas/pools/infer-l20/award/", "get", only(set()) | dict.fromkeys(QUOTAS, 403)),
    *(
        (
            "pool-term",
            f"{TRAIN}terms/{what}/add/",
            "get",
            only({"capacity_manager"}) | dict.fromkeys(QUOTAS - {"capacity_manager"}, 403),
        )
        for what in ("offering", "rule", "policy", "share")
    ),
    *(
        (
            "pool-term",
            f"{TRAIN}terms/{what}/add/",
            "post",
            only(set()) | {w: 422 if w == "capacity_manager" else 403 for w in QUOTAS},
        )
        for what in ("offering", "rule", "policy", "share")
    ),
    *(
        (
            "pool-term",
            f"{TRAIN}terms/rule/{verb}/?of=0",
            "get",
            only(set()) | dict.fromkeys(QUOTAS - {"capacity_manager"}, 403),
        )
        for verb in ("change", "end")
    ),
    ("pool-term", "/quotas/pools/infer-l20/terms/policy/add/", "get", only(set()) | dict.fromkeys(QUOTAS, 403)),
    ("pool-term", "/quotas/pools/nowhere/terms/policy/add/", "get", only(set())),
    ("quota", "/quotas/Q-000001/", "get", only(set())),
    ("quota", "/quotas/zebra/", "get", only(set())),
    ("quota-move", "/quotas/Q-000001/change/", "post", only(set())),
    ("offerings", "/quotas/offerings/", "get", only(QUOTAS)),
    ("offerings", "/quotas/offerings/", "post", always(405) | {ANONYMOUS: 302}),
]
#: Who sees asks, who makes them, who sees the approval policy; tests/approvals have asks that are there.
ASKS = (VISION | SEARCH | {"capacity_manager", "administrator"}) - {"operator"}
MAKERS = {"member", "lead", "approver", "outsider"}
POLICY = {"administrator", "auditor", "leadership"}
MATRIX += [
    ("asks", "/asks/", "get", only(ASKS)),
    ("asks", "/asks/?whose=all&state=draft", "get", only(ASKS)),
    ("asks", "/asks/?whose=without_approver", "get", only(ASKS)),
    ("ask-new", "/asks/new/", "get", only(MAKERS)),
    ("ask-new", "/asks/new/?quota=Q-000001&kind=extend", "get", only(set())),
    ("ask-new", "/asks/new/", "post", only(set()) | dict.fromkeys(MAKERS, 422)),
    ("ask-draft", "/asks/draft/", "post", only(set()) | dict.fromkeys(MAKERS, 422)),
    ("ask", "/asks/A-000017/", "get", only(set())),
    ("ask-edit", "/asks/A-000017/edit/", "get", only(set())),
    ("ask-edit", "/asks/A-000017/edit/", "post", only(set()) | dict.fromkeys(MAKERS, 422)),
    ("ask-file", "/asks/A-000017/files/1/", "get", only(set())),
    ("ask-file-detach", "/asks/A-000017/files/1/detach/", "post", only(set())),
    *(
        ("ask-move", f"/asks/A-000017/{verb}/", "post", only(set()))
        for verb in ("withdraw", "remind", "comment", "assign", "hand-over", "add-approver", "copy", "zebra")
    ),
    ("inbox", "/inbox/", "get", only(SIGNED_IN)),
    ("inbox", "/inbox/?part=list", "get", only(SIGNED_IN)),
    ("inbox", "/inbox/?part=count", "get", only(SIGNED_IN)),
    ("inbox-bulk", "/inbox/together/", "post", only(set()) | dict.fromkeys(ASKS, 422)),
    ("acting", "/inbox/acting/", "get", only(SIGNED_IN)),
    ("acting", "/inbox/acting/", "post", only(SIGNED_IN) | dict.fromkeys(SIGNED_IN, 422)),
    ("acting-end", "/inbox/acting/1/end/", "post", only(set())),
    ("inbox-ask", "/inbox/A-000017/", "get", only(set())),
    ("inbox-ask", "/inbox/A-000017/", "post", only(set())),
    ("policies", "/policies/", "get", only(POLICY)),
    ("policy", "/policies/1/", "get", only(POLICY)),
    ("policy", "/policies/77/", "get", only(set())),
    ("policy-new", "/policies/new/", "get", only(set()) | dict.fromkeys(POLICY, 403) | {"administrator": 200}),
    ("policy-new", "/policies/new/", "post", only(set()) | dict.fromkeys(POLICY, 403) | {"administrator": 422}),
    (
        "policy-activate",
        "/policies/1/activate/",
        "post",
        only(set()) | dict.fromkeys(POLICY, 403) | {"administrator": 422},
    ),
]
#: Who sees the rules of reclaim: those who see quotas of the site, and managers of a pool, who alone write them.
RULES = {"operator", "finance", "auditor", "leadership", "capacity_manager"}
MATRIX += [
    ("reclaim", "/reclaim/", "get", only(QUOTAS)),
    ("reclaim", "/reclaim/?state=all", "get", only(QUOTAS)),
    ("reclaim", "/reclaim/?state=lost", "get", only(set()) | dict.fromkeys(QUOTAS, 422)),
    ("reclaim-case", "/reclaim/R-000001/", "get", only(set())),
    ("reclaim-move", "/reclaim/R-000001/answer/", "post", only(set())),
    ("reclaim-rules", "/reclaim/rules/", "get", only(RULES)),
    ("reclaim-rules", "/reclaim/rules/", "post", only(set()) | dict.fromkeys(RULES, 403) | {"capacity_manager": 422}),
    ("reclaim-switch", "/reclaim/rules/lost/switch/", "post", only(set())),
]
CASES = [(name, address, method, who, answers[who]) for name, address, method, answers in MATRIX for who in answers]


def address_of(address: str) -> str:
    """A run's address from its number; any other address as it is."""
    if " run " not in address:
        return address
    run = Run.objects.select_related("cluster").get(job_id=address.rsplit(" ", 1)[1])
    return reverse("job", args=[run.cluster.code, run.job_id, int(run.submit_at.timestamp())])


@pytest.fixture(scope="module")
def doors(django_db_setup: None, django_db_blocker: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """One cast for all rows of the matrix: it is only read."""
    from django.db import transaction

    from tests.cast import assemble

    with django_db_blocker.unblock(), transaction.atomic():  # type: ignore[attr-defined]
        yield assemble(tmp_path_factory.mktemp("records"))
        transaction.set_rollback(True)


@pytest.mark.parametrize(("name", "address", "method", "who", "status"), CASES)
def test_every_door_answers_each_role_as_the_matrix_says(
    doors: Cast, name: str, address: str, method: str, who: str, status: int
) -> None:
    client: Client = doors.client(who)
    path, _mark, query = address.partition("?")
    given = dict(parse_qsl(query)) if name == "exports" and method == "post" else None  # a form, not an address
    response = client.post(path, given) if given else getattr(client, method)(address_of(address))
    assert response.status_code == status
    if status == 302 and who == ANONYMOUS and name not in {"sign-in", "sign-out"}:
        assert response["Location"].startswith("/sign-in/?next=")


READERS_OF_VISION_ALONE = ("member", "lead", "approver", "viewer", "former", "capacity_manager", "security", ANONYMOUS)
PAGES = [(address, method) for name, address, method, _ in MATRIX if name in {"home", "ledger", "ledger-department"}]
PAGES += [(address, method) for name, address, method, _ in MATRIX if name in {"ledger-lines", "jobs", "job"}]
TOPICS = (
    "catalog",
    "project",
    "people",
    "reference",
    "quota",
    "offerings",
    "ask",
    "inbox",
    "acting",
    "polic",
    "reclaim",
)
PAGES += [(address, method) for name, address, method, _ in MATRIX if name.startswith(TOPICS) and method == "get"]


@pytest.mark.parametrize("who", READERS_OF_VISION_ALONE)
@pytest.mark.parametrize("language", ["zh-hans", "en"])
def test_nobody_meets_the_other_department_on_any_page(doors: Cast, who: str, language: str) -> None:
    client = doors.client(who, language=language)
    for address, method in PAGES:
        response = getattr(client, method)(address_of(address))
        body = response.content.decode()
        for asked in ("search", "rank"):
            # What the reader typed may be said back.
            body = body.replace(f"“{asked}”", "").replace(f"/{asked}/", "").replace(f"project={asked}", "")
        found = [word for word in FOREIGN if f">{word}" in body or f" {word} " in body or f",{word}," in body]
        assert not found, f"{who} meets {found} at {address}"


def test_a_member_sees_own_rows_by_user_and_no_colleague(doors: Cast) -> None:
    body = doors.client("member").get(f"/ledger/vision/{PERIOD}/?by=user").content.decode()
    assert ">ada<" in body
    assert ">bob<" not in body


def test_the_lead_sees_the_rows_of_every_user_of_the_project(doors: Cast) -> None:
    body = doors.client("lead").get(f"/ledger/vision/{PERIOD}/?by=user").content.decode()
    assert ">ada<" in body
    assert ">bob<" in body


def test_operations_see_hours_and_no_amounts(doors: Cast) -> None:
    response = doors.client("operator").get(f"/ledger/vision/{PERIOD}/")
    assert response.context["total"].milligpu_seconds > 0
    assert response.context["total"].amount is None
    assert "Amount" not in response.content.decode()


def test_every_address_of_the_portal_has_a_row_in_the_matrix() -> None:
    rows = {name for name, *_ in MATRIX}
    # The endpoints have theirs in tests/api/matrix.py.
    assert set(names_of(get_resolver().url_patterns)) == rows | {name for name, *_ in ENDPOINTS}


def names_of(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    """The names of all addresses; one without a name cannot have a row, so it fails here."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names_of(pattern.url_patterns)
        else:
            assert pattern.name, f"{pattern.pattern} has no name"
            yield pattern.name
