"""The ledger's pages: from a department down to the scheduler's own record, and out as a file."""

from __future__ import annotations

import csv
import io
import re
from datetime import date
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from billing.ledger.pages import neighbours, next_dimension
from governance.usage.models import Run
from tests import books
from tests.cast import PERIOD, Cast

pytestmark = pytest.mark.django_db


def rows_of(client: Client, address: str) -> list[dict[str, str]]:
    """The CSV file of a page."""
    response = client.get(address)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    text = response.content.decode("utf-8")
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def test_the_departments_stand_in_the_order_of_the_tree_and_add_up(cast: Cast) -> None:
    client = cast.client("finance")
    rows = rows_of(client, f"/ledger/?period={PERIOD}&format=csv")
    assert [row["department"] for row in rows] == ["research", "vision", "search", "unattributed"]
    by_code = {row["department"]: row for row in rows}
    # 24 h x 8 + 12 h x 4 + 2 h x 2 + (1 h + 6 h) x 8 + 3 h x 1 in no pool
    assert by_code["vision"]["gpu_hours"] == "303.0000"
    assert by_code["search"]["gpu_hours"] == "336.0000"
    assert by_code["unattributed"]["gpu_hours"] == "192.0000"
    total = client.get(f"/ledger/?period={PERIOD}").context["total"]
    assert total.gpu_hours == Decimal("831.0000")


def test_finance_sees_the_trial_balance_at_zero(cast: Cast) -> None:
    balance = cast.client("finance").get(f"/ledger/?period={PERIOD}").context["balance"]
    assert balance["difference"] == 0
    assert balance["owed"] > 0
    assert cast.client("approver").get(f"/ledger/?period={PERIOD}").context["balance"] is None


def test_each_row_opens_down_to_the_scheduler_record(cast: Cast) -> None:
    client = cast.client("approver")
    page = client.get(f"/ledger/vision/{PERIOD}/")
    steps = []
    for _ in range(6):
        steps.append(page.context["by"])
        row = max(page.context["rows"], key=lambda row: row.row.sums.milligpu_seconds)
        if row.url.startswith("/jobs/"):
            break
        page = client.get(row.url)
        assert page.status_code == 200
    assert steps == ["project", "pool", "model", "qos", "day"]
    runs = client.get(row.url)
    address = re.search(r'href="(/jobs/bj/[^"]+)"', runs.content.decode())
    assert address
    run = client.get(address[1])
    assert run.status_code == 200
    record = run.context["run"].raw
    assert record.startswith("101|")
    assert record in run.content.decode()


def test_the_runs_of_a_row_add_up_to_the_row(cast: Cast) -> None:
    client = cast.client("approver")
    rows = client.get(f"/ledger/vision/{PERIOD}/?by=user").context["rows"]
    assert {row.code for row in rows} == {"ada", "bob"}
    for row in rows:
        runs = client.get(row.runs_url).context["shown"]
        assert sum(item["use"].milligpu_seconds for item in runs) == row.row.sums.milligpu_seconds


def test_the_runs_behind_a_department_are_those_of_all_below_it(cast: Cast) -> None:
    client = cast.client("finance")
    for department in ("research", "vision", "unattributed"):
        page = client.get(f"/ledger/{department}/{PERIOD}/")
        runs = client.get(page.context["runs_url"]).context["shown"]
        used = sum(item["use"].milligpu_seconds for item in runs)
        assert used == page.context["total"].milligpu_seconds > 0


def test_the_lines_of_a_row_add_up_to_the_row(cast: Cast) -> None:
    client = cast.client("approver")
    for row in client.get(f"/ledger/vision/{PERIOD}/?by=day").context["rows"]:
        lines = client.get(row.lines_url)
        assert lines.context["sum_on_page"] == row.row.sums.amount


def test_a_run_says_where_it_was_counted_and_leads_to_those_lines(cast: Cast) -> None:
    client = cast.client("approver")
    run = Run.objects.get(job_id="101")
    page = client.get(f"/jobs/bj/101/{int(run.submit_at.timestamp())}/")
    days = page.context["days"]
    assert [(d["use"].day, d["gpu_hours"]) for d in days] == [(date(2026, 6, 2), 120), (date(2026, 6, 3), 72)]
    lines = client.get(days[0]["lines_url"]).context["lines"]
    assert [(item["line"].unit_price, item["hours"]) for item in lines] == [(Decimal("10.000000"), 120)]


def test_a_requeued_job_shows_both_attempts(cast: Cast) -> None:
    run = Run.objects.filter(job_id="104").order_by("submit_at").first()
    assert run is not None
    page = cast.client("approver").get(f"/jobs/bj/104/{int(run.submit_at.timestamp())}/")
    assert [item["run"].outcome for item in page.context["attempts"]] == ["node_failure", "completed"]
    assert [item["here"] for item in page.context["attempts"]] == [True, False]


def test_what_nothing_claims_is_named_in_words(cast: Cast) -> None:
    client = cast.client("finance")
    assert "Unattributed: no mapping claims it" in client.get(f"/ledger/?period={PERIOD}").content.decode()
    by_pool = client.get(f"/ledger/vision/{PERIOD}/?by=pool").content.decode()
    assert "Unassigned: in no pool" in by_pool
    exceptions = client.get(f"/ledger/?period={PERIOD}").content.decode()
    assert "192 GPU-hours unattributed" in exceptions


def test_a_cell_that_begins_like_a_formula_is_written_as_text(cast: Cast) -> None:
    rows = rows_of(cast.client("approver"), "/jobs/?from=2026-06-11&to=2026-06-11&format=csv")
    assert [row["job_name"] for row in rows] == ["'=cmd()"]


def test_markup_in_a_job_name_stays_text(cast: Cast, tmp_path: object) -> None:
    books.bring(tmp_path, [books.line(301, "2026-06-21T08:00", "2026-06-21T08:00", "2026-06-21T09:00", JobName="<b>x")])  # type: ignore[arg-type]
    books.settle()
    body = cast.client("approver").get("/jobs/?from=2026-06-21&to=2026-06-21").content.decode()
    assert "&lt;b&gt;x" in body
    assert "<b>x" not in body


def test_the_pager_leads_to_the_months_beside(cast: Cast) -> None:
    pager = cast.client("finance").get(f"/ledger/vision/{PERIOD}/").context["pager"]
    assert pager["before"].startswith("/ledger/vision/2026-05/")
    assert pager["after"].startswith("/ledger/vision/2026-07/")


@pytest.mark.parametrize(
    ("period", "before", "after"),
    [
        ("2026-06", "2026-05", "2026-07"),
        ("2026-07", "2026-06", ""),
        ("2026-01", "2025-12", "2026-02"),
        ("2025", "2024", "2026"),
        ("2026-06-01..2026-06-30", "", ""),
    ],
)
def test_a_period_knows_its_neighbours_up_to_today(period: str, before: str, after: str) -> None:
    assert neighbours(period, date(2026, 7, 15)) == (before, after)


def test_the_drill_skips_what_is_narrowed_already() -> None:
    assert next_dimension("project", {}) == "pool"
    assert next_dimension("project", {"pool": "a", "model": "b"}) == "qos"
    assert next_dimension("qos", {"day": "2026-06-01"}) == ""
    assert next_dimension("day", {}) == ""


def test_somebody_without_a_role_is_told_so(cast: Cast) -> None:
    body = cast.client("security").get("/").content.decode()
    assert "Your roles show no usage" in body
    assert 'href="/ledger/"' not in body


LISTS = (
    "/",
    f"/ledger/?period={PERIOD}",
    f"/ledger/vision/{PERIOD}/?by=project",
    f"/ledger/vision/{PERIOD}/?by=user",
    f"/ledger/vision/{PERIOD}/?by=day",
    f"/ledger/vision/{PERIOD}/lines/",
    "/jobs/?from=2026-06-01&to=2026-06-30",
)


@pytest.mark.parametrize("address", LISTS)
@pytest.mark.parametrize("who", ["approver", "finance"])
def test_a_list_asks_no_more_for_more_rows(cast: Cast, tmp_path: object, who: str, address: str) -> None:
    before = queries(cast, who, address)
    more = [
        books.line(400 + n, f"2026-06-22T{n:02}:00", f"2026-06-22T{n:02}:00", f"2026-06-25T{n:02}:30", User=f"user{n}")
        for n in range(12)
    ]
    books.bring(tmp_path, more, observed_at="2026-07-02T00:00")  # type: ignore[arg-type]
    books.settle()
    after = queries(cast, who, address)
    assert len(after) <= len(before)


def queries(cast: Cast, who: str, address: str) -> list[str]:
    """The statements that a page asks of the database."""
    client = cast.client(who)
    client.get(address)  # what is asked once for the process is not the page's
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in asked]


SETTLED = (
    f"/ledger/?period={PERIOD}",
    f"/ledger/vision/{PERIOD}/?by=project",
    f"/ledger/vision/{PERIOD}/?by=user",
    f"/ledger/vision/{PERIOD}/?by=day",
    f"/ledger/~/{PERIOD}/?by=day&project=ocr",
    f"/ledger/vision/{PERIOD}/lines/",
)


@pytest.mark.parametrize("address", SETTLED)
@pytest.mark.parametrize("who", ["member", "lead", "approver", "viewer", "operator", "finance", "auditor"])
def test_a_page_of_a_settled_month_asks_at_most_twelve_questions(cast: Cast, who: str, address: str) -> None:
    asked = queries(cast, who, address)
    assert len(asked) <= 12, "\n".join(statement[:160] for statement in asked)


def run_page(cast: Cast, who: str, job_id: str) -> dict[str, object]:
    run = Run.objects.filter(job_id=job_id).order_by("submit_at").first()
    assert run is not None
    context: dict[str, object] = cast.client(who).get(f"/jobs/bj/{job_id}/{int(run.submit_at.timestamp())}/").context
    return context


def test_a_run_shows_the_price_of_each_day_and_what_it_comes_to(cast: Cast) -> None:
    page = run_page(cast, "approver", "101")
    assert [(day["price"].unit_price, day["price"].amount) for day in page["days"]] == [  # type: ignore[attr-defined]
        (Decimal("10.000000"), Decimal("1200.00")),
        (Decimal("10.000000"), Decimal("720.00")),
    ]
    assert page["total_amount"] == Decimal("1920.00")


def test_operations_see_a_run_without_its_price(cast: Cast) -> None:
    page = run_page(cast, "operator", "101")
    assert page["has_money"] is False
    assert [day["price"] for day in page["days"]] == [None, None]  # type: ignore[attr-defined]


def test_a_run_on_days_without_a_price_says_so(cast: Cast) -> None:
    page = run_page(cast, "finance", "107")
    assert page["is_unpriced"] is True
    assert page["total_amount"] == 0
