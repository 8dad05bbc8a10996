"""How many questions every page and every endpoint asks of the database: a dozen at most, and no more where there is more of everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from governance.doors.throttling import COUNTS
from governance.tenants.models import Project
from tests import books
from tests.api import test_access_matrix as api
from tests.api.conftest import program
from tests.cast import PEOPLE, PERIOD, Cast
from tests.test_access_matrix import MATRIX, address_of

pytestmark = pytest.mark.django_db

MOST = 12
ROLES = ("member", "lead", "approver", "operator", "finance", "administrator")
JUNE = "from=2026-06-01&to=2026-06-30"
#: A preview does the metering and the posting of the days that a change touches, and takes it back: it is work, which a
#: reader asks for with a button, and grows with those days. The organisation's file has a question for each of its sections.
WORK = ("&project=ocr", "&pool=train-h800&from=", "/api/v1/organisation")
#: Above the bound as they stand, to be brought down; no further.
OWED = {"/api/v1/clusters/bj/desired": 17}
#: Filters, alone and together, that the matrices do not have.
MORE = [
    "/jobs/",
    f"/jobs/?{JUNE}&department=research&pool=train-h800&outcome=completed",
    f"/jobs/?{JUNE}&department=unattributed",
    f"/jobs/?{JUNE}&pool=unassigned&cluster=bj",
    f"/jobs/?{JUNE}&project=ocr&model=h800&user=ada",
    f"/ledger/vision/{PERIOD}/?by=user&project=ocr&pool=train-h800",
    f"/ledger/vision/{PERIOD}/lines/?project=ocr&pool=train-h800",
    "/ledger/",
    f"/usage/?{JUNE}&by=project",
    f"/usage/?{JUNE}&by=project&department=vision&pool=train-h800",
    "/projects/?q=o&department=vision",
    "/people/?q=a&role=member",
    "/api/v1/runs?from_on=2026-06-01&to_on=2026-06-30&department=research&pool=train-h800",
]


def addresses() -> list[tuple[bool, str]]:
    """Every address that is read, and whether a program reads it."""
    pages = [row[1] for row in MATRIX if row[2] == "get"] + [one for one in MORE if not one.startswith("/api/")]
    doors = [row[1] for row in api.MATRIX if row[2] == "get"] + [one for one in MORE if one.startswith("/api/")]
    found = [(False, one) for one in pages] + [(True, one) for one in doors]
    return [(is_door, one) for is_door, one in dict.fromkeys(found) if not one.endswith(WORK)]


def asked(client: Client, address: str) -> list[str]:
    """The questions of a page."""
    COUNTS.clear()
    with CaptureQueriesContext(connection) as found:
        client.get(address)
    return [query["sql"] for query in found]


def counted(cast: Cast, who: str) -> dict[str, list[str]]:
    """The questions of every address."""
    page, door = cast.client(who), program(cast, who, "read")
    for client, address in ((page, "/"), (door, "/api/v1/me"), (page, "/health/ready")):
        client.get(address)  # what is asked once for the process, or once a minute, is no page's
    return {
        one: asked(door, api.address_of(one)) if is_door else asked(page, address_of(one))
        for is_door, one in addresses()
    }


@pytest.fixture(autouse=True)
def limits_out_of_the_way(settings: Any) -> None:
    """As the tests of the API have it."""
    settings.API_READS_PER_MINUTE = 1_000_000
    COUNTS.clear()


@pytest.mark.parametrize("who", ROLES)
def test_a_page_asks_a_dozen_questions_at_most(cast: Cast, who: str) -> None:
    too_many = {one: questions for one, questions in counted(cast, who).items() if len(questions) > OWED.get(one, MOST)}
    assert not too_many, "\n".join(
        f"{len(questions)} {one}\n" + "\n".join(f"    {sql.strip()[:140]}" for sql in questions)
        for one, questions in too_many.items()
    )


def test_more_clusters_projects_and_runs_ask_no_more(cast: Cast, tmp_path: Path) -> None:
    roles = ("approver", "finance")
    before = {who: counted(cast, who) for who in roles}
    grow(tmp_path)
    for who in roles:
        after = counted(cast, who)
        grown = {
            one: (len(before[who][one]), len(after[one])) for one in after if len(after[one]) > len(before[who][one])
        }
        assert not grown, (who, grown, {one: after[one] for one in grown})


def grow(folder: Path) -> None:
    """Two more clusters with their pools and nodes, eight more projects in every department, and runs of each."""
    whole = books.company()
    (bj,) = whole["clusters"]
    for code in ("gz", "sh"):
        pools = [{**pool, "code": f"{code}-{pool['code']}"} for pool in bj["pools"]]
        nodes = [{**node, "pool": f"{code}-{node['pool']}"} for node in bj["nodes"]]
        whole["prices"] += [{**whole["prices"][n], "pool": pool["code"]} for n, pool in enumerate(pools)]
        whole["clusters"].append({**bj, "code": code, "pools": pools, "nodes": nodes})
    for number in range(8):
        project, department = f"more-{number}", ("vision", "search", "research")[number % 3]
        whole["projects"].append({"code": project, "name": project, "placements": [{"department": department}]})
        whole["mappings"] += [{"cluster": c, "account": project, "project": project} for c in ("bj", "gz", "sh")]
    books.declare(**{**whole, "people": PEOPLE})
    for cluster in ("bj", "gz", "sh"):
        records = [
            books.line(
                300 + n, f"2026-06-{3 + n:02d}T00:00", f"2026-06-{3 + n:02d}T01:00", f"2026-06-{3 + n:02d}T09:00",
                Account=f"more-{n % 8}", User=f"u{n % 5}", Cluster=cluster,
            )
            for n in range(20)
        ]  # fmt: skip
        books.bring(folder, records, observed_at="2026-07-02T00:00", cluster=cluster)
        books.settle(cluster)
    assert Project.objects.count() > 10
