"""Every endpoint answers each role as its row says and shows nobody another department."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from governance.doors.throttling import COUNTS
from governance.usage.models import Run
from portal.api.urls import urlpatterns
from tests.api.conftest import program
from tests.api.matrix import BJ, DAYS, LINES, MATRIX, STATEMENT, V1
from tests.cast import ANONYMOUS, FOREIGN, Cast

pytestmark = pytest.mark.django_db

CASES = [(address, method, who, answers[who]) for _, address, method, answers in MATRIX for who in answers]


def address_of(address: str) -> str:
    """A run's address from its number; any other address as it is."""
    if not address.startswith("run "):
        return address
    run = Run.objects.select_related("cluster").get(job_id=address.removeprefix("run "))
    return reverse("api-run", args=[run.cluster.code, run.job_id, int(run.submit_at.timestamp())])


def ask(client: Client, method: str, address: str) -> Any:
    more = {"content_type": "application/json"} if method == "post" else {}
    return getattr(client, method)(address_of(address), **more)


@pytest.mark.parametrize(("address", "method", "who", "status"), CASES)
def test_every_endpoint_answers_each_role_as_the_matrix_says(
    doors: Cast, address: str, method: str, who: str, status: int
) -> None:
    answer = ask(doors.client(who), method, address)
    assert answer.status_code == status, answer.content
    if status >= 400 and address.startswith(V1):
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == status


def test_every_endpoint_has_a_row_in_the_matrix() -> None:
    assert {name for name, *_ in MATRIX} == {pattern.name for pattern in urlpatterns}


READERS_OF_VISION_ALONE = ("member", "lead", "approver", "viewer", "former", "capacity_manager", "security", ANONYMOUS)
READS = sorted({address for _, address, method, _ in MATRIX if method == "get" and address.startswith((V1, "run "))})
#: Asking for the other department by name, in every way that there is.
SIDEWAYS = [
    f"{V1}/departments?code=search",
    f"{V1}/projects?code=rank",
    f"{V1}/projects?department=search",
    f"{V1}/mappings?project=rank",
    f"{V1}/mappings?account=rank",
    f"{V1}/runs?{DAYS}&project=rank",
    f"{V1}/runs?{DAYS}&user=eve",
    f"{V1}/runs?{DAYS}&department=search",
    f"{V1}/runs?{DAYS}&account=rank",
    f"{V1}/usage-days?{DAYS}&project=rank",
    f"{V1}/usage-days?{DAYS}&user=eve",
    f"{V1}/usage-days?{DAYS}&account=rank",
    f"{LINES}&user=eve",
]


def words_in(value: Any) -> set[str]:
    """Every text in an answer."""
    if isinstance(value, dict):
        return {word for inside in value.values() for word in words_in(inside)}
    if isinstance(value, list):
        return {word for inside in value for word in words_in(inside)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("who", READERS_OF_VISION_ALONE)
def test_nobody_meets_the_other_department_at_any_endpoint(doors: Cast, who: str) -> None:
    client = doors.client(who)
    for address in READS:
        answer = ask(client, "get", address)
        met = words_in(answer.json()) & set(FOREIGN) if answer.status_code == 200 else set()
        assert not met, f"{who} meets {met} at {address}"


@pytest.mark.parametrize("who", READERS_OF_VISION_ALONE[:-1])
@pytest.mark.parametrize("address", SIDEWAYS)
def test_a_filter_by_what_is_not_ones_own_finds_nothing(doors: Cast, who: str, address: str) -> None:
    assert doors.client(who).get(address).json()["rows"] == []


@pytest.mark.parametrize("who", ["member", "lead", "approver", "viewer"])
def test_sums_are_of_what_one_sees_and_filters_take_nothing_from_others(doors: Cast, who: str) -> None:
    client = doors.client(who)
    whole = client.get(STATEMENT).json()["total"]
    own = client.get(f"{STATEMENT}&by=project&project=ocr").json()["total"]
    assert whole == own
    assert client.get(f"{STATEMENT}&by=user&user=eve").json()["total"]["gpu_hours"] == "0.0000"


def test_those_who_see_the_other_department_do_find_it(doors: Cast) -> None:
    for address in SIDEWAYS:
        who = "outsider" if "code=" not in address or "rank" in address or "search" in address else "finance"
        assert doors.client(who).get(address).json()["rows"], address


def test_a_member_sees_own_runs_and_no_colleagues(doors: Cast) -> None:
    for address in (f"{V1}/runs?{DAYS}", f"{V1}/usage-days?{DAYS}", LINES):
        users = {row["user"] for row in doors.client("member").get(address).json()["rows"]}
        assert users == {"ada"}, address


LISTS = (
    "nodes", "projects", "departments", "mappings", "pools", "prices", "metric-definitions", f"usage-days?{DAYS}",
    f"capacity-days?{DAYS}", "audit-lines", "intakes", "quarantine",
)  # fmt: skip


@pytest.mark.parametrize("what", LISTS)
def test_more_rows_ask_no_more_questions(doors: Cast, what: str) -> None:
    who = "auditor" if what in {"audit-lines", "intakes", "quarantine", "prices"} else "operator"
    who = "administrator" if what in {"projects", "departments"} else who
    mark = "&" if "?" in what else "?"
    counts = []
    for limit in (1, 2, 500):
        client = program(doors, who, "read")
        client.get(f"{V1}/me")
        COUNTS.clear()  # every fourth request is told to the other processes
        with CaptureQueriesContext(connection) as asked:
            assert client.get(f"{V1}/{what}{mark}limit={limit}").status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1] == counts[2]


def test_what_the_cluster_says_is_what_the_operations_page_says(doors: Cast) -> None:
    row = doors.client("operator").get(BJ).json()
    page = doors.client("operator").get("/ops/clusters/bj/").context["row"]
    assert row["open_findings"] == page.findings
    assert [mark["stage"] for mark in row["watermarks"]] == [mark.stage for mark in page.marks]
