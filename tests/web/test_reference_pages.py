"""Reference data: which months have prices, mappings within sight, the dictionary, and the organisation file by its plan."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from billing.prices.models import Price
from governance.audit.models import AuditLine
from governance.tenants.models import Department
from portal.reference import coverage, uploads
from tests.cast import Cast

pytestmark = pytest.mark.django_db
FILE = "/reference/organisation/"
NEW = {"steelyard": 1, "departments": [{"code": "speech", "name": {"zh": "语音部", "en": "Speech"}}]}


def send(client: Client, content: Any, **more: str) -> HttpResponse:
    data = content if isinstance(content, bytes) else yaml.safe_dump(content, allow_unicode=True).encode()
    return client.post(FILE, {"file": SimpleUploadedFile("org.yaml", data), **more})  # type: ignore[return-value]


def hidden(response: HttpResponse) -> dict[str, str]:
    """The fields that the plan's form sends back."""
    found = re.findall(r'type="hidden" name="(seal|digest|plan)" value="([^"]*)"', response.content.decode())
    return dict(found)


def test_a_month_is_priced_partly_or_not_at_all_by_the_use_that_it_has(cast: Cast) -> None:
    months = coverage.months_until(date(2026, 6, 1))
    assert (months[0], months[-1], len(months)) == (date(2025, 7, 1), date(2026, 6, 1), 12)

    def june() -> dict[tuple[str, str], str]:
        return {(line.pool, line.model): line.months[-1].state for line in coverage.calendar(months)}

    assert june()["train-h800", "h800"] == "priced"
    assert june()["unassigned", "h800"] == "unpriced"
    price = Price.objects.get(pool="train-h800", accelerator="h800", qos="*")
    price.from_on = date(2026, 6, 10)
    price.save()
    line = next(one for one in coverage.calendar(months) if one.pool == "train-h800")
    assert line.months[-1].state == "partly"
    # run 101 (24 h x 8, 2nd and 3rd) and run 201 (36 h x 8, 5th and 6th) lie before the price
    assert line.months[-1].unpriced_hours == 24 * 8 + 36 * 8
    body = cast.client("finance").get("/reference/prices/").content.decode()
    assert "Some use has no price" in body
    assert "Partly" in body
    assert "GPU-hours without a price" in body
    assert "GPU-hours without a price" not in cast.client("lead").get("/reference/prices/").content.decode()


def test_mappings_are_those_of_projects_within_sight(cast: Cast) -> None:
    def accounts(who: str, asked: str = "") -> list[str]:
        return [row.account for row in cast.client(who).get(f"/reference/mappings/{asked}").context["page"]["rows"]]

    assert (accounts("lead"), accounts("outsider"), accounts("finance")) == (["ocr"], ["rank"], ["ocr", "rank"])
    assert accounts("finance", "?q=ran") == ["rank"]
    assert accounts("lead", "?project=rank") == []


def test_the_dictionary_shows_each_entry_with_all_its_versions(cast: Cast) -> None:
    client = cast.client("member")
    assert "Allocation rate" in client.get("/reference/metrics/?q=allocation").content.decode()
    versions = client.get("/reference/metrics/idle_card/").context["versions"]
    assert [one["row"].version for one in versions] == [2, 1]
    assert "分配率" in cast.client("member", language="zh-hans").get("/reference/metrics/").content.decode()


def test_a_file_is_planned_first_and_written_when_it_is_confirmed(cast: Cast) -> None:
    client = cast.client("administrator")
    plan = send(client, NEW)
    assert plan.status_code == 200
    assert "Write 1 change" in plan.content.decode()
    assert not Department.objects.filter(code="speech").exists()
    done = client.post(FILE, {**hidden(plan), "step": "apply"})
    assert done.status_code == 302
    assert Department.objects.filter(code="speech").exists()
    assert AuditLine.objects.filter(actor="administrator", object_kind="department").exists()
    assert "Nothing to change" in send(client, NEW).content.decode()


def test_only_what_was_shown_can_be_confirmed_and_only_by_who_was_shown_it(cast: Cast) -> None:
    client = cast.client("administrator")
    fields = hidden(send(client, NEW))
    other = hidden(send(client, {"steelyard": 1, "departments": [{"code": "audio", "name": "x"}]}))
    assert client.post(FILE, {**fields, "digest": other["digest"], "step": "apply"}).status_code == 422
    assert client.post(FILE, {**fields, "seal": fields["seal"][:-3] + "abc", "step": "apply"}).status_code == 422
    assert cast.client("operator").post(FILE, {**fields, "step": "apply"}).status_code == 404
    stolen = uploads.sealed(uploads.Upload("steelyard: 1", "x", None), actor=cast.actor("operator"))
    assert client.post(FILE, {**fields, "seal": stolen, "step": "apply"}).status_code == 422
    assert not Department.objects.filter(code__in=("speech", "audio")).exists()


def test_a_plan_that_would_do_something_else_by_now_is_not_written(cast: Cast) -> None:
    client = cast.client("administrator")
    fields = hidden(send(client, NEW))
    Department.objects.create(code="speech", name_zh="别的")
    assert client.post(FILE, {**fields, "step": "apply"}).status_code == 409
    assert Department.objects.get(code="speech").name_zh == "别的"


def test_faults_are_named_by_line_and_key_and_nothing_is_written(cast: Cast) -> None:
    bad = b"steelyard: 1\ndepartments:\n  - {code: speech, name: x}\nmappings:\n  - {cluster: bj, account: a, project: nowhere}\n"
    response = send(cast.client("administrator"), bad)
    assert response.status_code == 422
    assert "mappings[0].project (line 5): no project has the code “nowhere”." in response.content.decode()
    assert not Department.objects.filter(code="speech").exists()
    many = {"steelyard": 1, "departments": [{"code": f"d{n}", "parent": "gone", "name": "x"} for n in range(300)]}
    response = send(cast.client("administrator"), many)
    assert len(response.context["faults"]) == 200
    assert response.context["more_faults"] == 101  # 300 and the sentence that counts them


@pytest.mark.parametrize("content", [b"", b"\0\1", b"\xff\xfe", b"a: [", b"x" * (uploads.MOST_BYTES + 1)])
def test_what_is_no_such_file_is_refused_in_words(cast: Cast, content: bytes) -> None:
    response = send(cast.client("administrator"), content)
    assert response.status_code == 422
    assert len(response.context["faults"]) == 1


def test_a_big_plan_pages_and_keeps_its_confirmation(cast: Cast) -> None:
    client = cast.client("administrator")
    many = {"steelyard": 1, "departments": [{"code": f"d{n:03}", "name": "x"} for n in range(250)]}
    plan = send(client, many)
    assert (plan.context["pages"], len(plan.context["lines"])) == (3, 100)
    last = client.post(FILE, {**hidden(plan), "page": "3"})
    assert len(last.context["lines"]) == 50
    assert hidden(last)["digest"] == hidden(plan)["digest"]
    assert client.post(FILE, {**hidden(last), "step": "apply"}).status_code == 302
    assert Department.objects.filter(code__startswith="d2").count() == 50


def test_what_a_file_leaves_out_ends_only_on_the_day_that_was_named(cast: Cast) -> None:
    client = cast.client("administrator")
    file = {"steelyard": 1, "mappings": [{"cluster": "bj", "account": "ocr", "project": "ocr"}]}
    assert send(client, file).context["total"] == 0
    plan = send(client, file, prune_on="2026-07-01")
    assert [(line["key"], str(line["verb"].word)) for line in plan.context["lines"]] == [("bj/rank/*/*", "end")]
    assert send(client, file, prune_on="soon").status_code == 422


@pytest.mark.parametrize("who", ["auditor", "approver", "member", "administrator"])
def test_no_page_asks_more_than_twelve_questions(cast: Cast, who: str) -> None:
    for address in (
        "/reference/prices/",
        "/reference/mappings/",
        "/reference/metrics/",
        "/reference/metrics/idle_card/",
    ):
        client = cast.client(who)
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        assert len(captured) <= 12, address
