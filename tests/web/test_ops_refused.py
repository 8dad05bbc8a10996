"""The endpoint for refused submissions: who may report, what is taken, and problem+json for what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from governance.audit.models import AuditLine
from governance.usage.live_models import RefusedSubmission
from tests.cast import Cast

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/clusters/bj/refused-submissions"
TOKEN = "a-token-of-the-hook"
REPORT: dict[str, Any] = {
    "key": "1764576000.123",
    "at": "2026-06-30T10:00:00+08:00",
    "account": "ocr",
    "user": "ada",
    "partition": "train",
    "asked_gpu_milli": 64_000,
    "reason": "QOSMaxGRESPerUser",
}


@pytest.fixture(autouse=True)
def token(settings: Any) -> None:
    settings.REFUSED_TOKEN = TOKEN


def report(client: Client, body: Any, *, token: str = TOKEN, address: str = ADDRESS) -> Any:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    text = body if isinstance(body, str) else json.dumps(body)
    return client.post(address, text, content_type="application/json", headers=headers)


def test_a_hook_reports_with_its_token_and_a_report_twice_is_one_row(cast: Cast, client: Client) -> None:
    answer = report(client, [REPORT, {**REPORT, "key": "2", "asked_gpu_milli": None}])
    assert (answer.status_code, answer.json()) == (200, {"reports": 2, "new": 2})
    assert report(client, [REPORT]).json() == {"reports": 1, "new": 0}
    row = RefusedSubmission.objects.get(key=REPORT["key"])
    assert (row.account, row.asked_gpu_milli, row.reason) == ("ocr", 64_000, "QOSMaxGRESPerUser")
    assert AuditLine.objects.filter(action="usage.refused_noted", actor="submit hook", is_machine=True).count() == 2


@pytest.mark.parametrize(("given", "configured"), [("wrong", TOKEN), ("", ""), ("x", ""), (TOKEN + "x", TOKEN)])
def test_without_the_token_nothing_is_taken(
    cast: Cast, client: Client, settings: Any, given: str, configured: str
) -> None:
    settings.REFUSED_TOKEN = configured
    answer = client.post(
        ADDRESS, json.dumps([REPORT]), content_type="application/json", headers={"authorization": f"Bearer {given}"}
    )
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == 401
    assert not RefusedSubmission.objects.exists()


def test_another_scheme_is_no_token(cast: Cast, client: Client) -> None:
    answer = client.post(ADDRESS, "[]", content_type="application/json", headers={"authorization": f"Basic {TOKEN}"})
    assert answer.status_code == 401


def test_a_wrong_token_is_not_made_good_by_being_signed_in(cast: Cast) -> None:
    assert report(cast.client("operator"), [REPORT], token="wrong").status_code == 401


@pytest.mark.parametrize(
    ("who", "status"),
    [
        ("operator", 200),
        ("administrator", 200),
        ("auditor", 403),
        ("finance", 403),
        ("member", 404),
        ("anonymous", 401),
    ],
)
def test_people_report_by_their_roles(cast: Cast, who: str, status: int) -> None:
    answer = report(cast.client(who), [REPORT], token="")
    assert answer.status_code == status
    if status != 200:
        assert answer["Content-Type"] == "application/problem+json"


def test_a_person_needs_the_token_of_the_form_as_anywhere_else(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.people["operator"], backend="governance.access.backends.PasswordBackend")
    assert report(client, [REPORT], token="").status_code == 403
    assert not RefusedSubmission.objects.exists()


def test_an_unknown_cluster_is_not_there(cast: Cast, client: Client) -> None:
    answer = report(client, [REPORT], address="/api/v1/clusters/nowhere/refused-submissions")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


BAD: list[tuple[Any, str, str]] = [
    ("{", "The body is not JSON", "不是JSON"),
    ("[" * 100_000, "The body is not JSON", "不是JSON"),
    ({"key": "1"}, "no list of reports", "不是报告的列表"),
    ([5], "no list of reports", "不是报告的列表"),
    ([REPORT] * 1_001, "At most 1000 reports", "1000"),
    ([REPORT, {**REPORT, "key": ""}], "Report 2 needs a key", "第2份"),
    ([{**REPORT, "reason": ""}], "Report 1 needs a key", "第1份"),
    ([{**REPORT, "at": "2026-06-30T10:00:00"}], "Report 1 needs a key, a time with an offset", "第1份"),
    ([{**REPORT, "at": "yesterday"}], "Report 1 needs a key", "第1份"),
    ([{**REPORT, "asked_gpu_milli": "8"}], "no whole number", "第1份"),
    ([{**REPORT, "asked_gpu_milli": -1}], "no whole number", "第1份"),
    ([{**REPORT, "asked_gpu_milli": 10**30}], "no whole number", "第1份"),
    ([{**REPORT, "asked_gpu_milli": True}], "no whole number", "第1份"),
    ([{**REPORT, "user": {"a": 1}}], "a value that is no text", "第1份"),
    ([{**REPORT, "reason": "a\0b"}], "a value that is no text", "第1份"),
]


@pytest.mark.parametrize(("body", "english", "chinese"), BAD)
def test_bad_reports_are_refused_whole_in_both_languages(cast: Cast, body: Any, english: str, chinese: str) -> None:
    for language, words in (("en", english), ("zh-hans", chinese)):
        client = Client()
        client.cookies["language"] = language
        answer = report(client, body)
        assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
        assert words in answer.json()["detail"]
    assert not RefusedSubmission.objects.exists()


def test_an_empty_list_is_no_news(cast: Cast, client: Client) -> None:
    assert report(client, []).json() == {"reports": 0, "new": 0}
