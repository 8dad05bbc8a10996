"""What every door does: pages, fields, parameters, digests, once, limits, refusals in words; and writes like the pages'."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from governance.audit.models import AuditLine
from governance.catalogue.models import NodeState
from governance.doors.models import KeptAnswer
from governance.doors.throttling import COUNTS
from governance.tenants.models import Project
from governance.usage.models import DirtyDay, Intake, Run
from tests import books
from tests.api.conftest import Program, program
from tests.api.matrix import BJ, DAYS, LINES, STATEMENT, V1
from tests.cast import Cast

pytestmark = pytest.mark.django_db
SENT = {"content_type": "application/json"}


def walk(client: Client, address: str, limit: int) -> list[dict[str, Any]]:
    """All rows, by following the links from page to page."""
    rows, there = [], f"{address}{'&' if '?' in address else '?'}limit={limit}"
    while there:
        answer = client.get(there)
        assert answer.status_code == 200
        assert len(answer.json()["rows"]) <= limit
        rows += answer.json()["rows"]
        link = answer.headers.get("Link", "")
        assert bool(link) == (answer.json()["next"] is not None)
        there = link.split(">")[0].removeprefix("<")
    return rows


WALKS = [
    ("finance", LINES), ("finance", f"{V1}/runs?{DAYS}"), ("finance", f"{V1}/usage-days?{DAYS}"),
    ("operator", f"{V1}/nodes"), ("operator", f"{V1}/capacity-days?{DAYS}"), ("auditor", f"{V1}/audit-lines"),
    ("administrator", f"{V1}/departments"), ("member", f"{V1}/metric-definitions"), ("operator", f"{V1}/clusters?fields=code"),
]  # fmt: skip


@pytest.mark.parametrize(("who", "address"), WALKS)
def test_page_by_page_one_meets_each_row_once_and_in_order(cast: Cast, who: str, address: str) -> None:
    client = cast.client(who)
    whole = walk(client, address, 500)
    assert whole
    assert walk(client, address, 2) == whole


def test_a_row_that_comes_between_two_pages_moves_nothing(cast: Cast) -> None:
    client = cast.client("auditor")
    first = client.get(f"{V1}/audit-lines?limit=2").json()
    cast.client("member").post("/theme/", {"theme": "dark"})
    second = client.get(f"{V1}/audit-lines?limit=2&cursor={first['next']}").json()
    assert second["rows"][0]["id"] == first["rows"][-1]["id"] - 1


@pytest.mark.parametrize("cursor", ["x", "eyJhIjoxfQ:abc", "a:b:c", "%00", "1"])
def test_a_cursor_of_nobody_is_refused(cast: Cast, cursor: str) -> None:
    answer = cast.client("member").get(f"{V1}/projects?cursor={cursor}")
    assert answer.status_code == 422


def test_a_cursor_of_another_list_is_refused(cast: Cast) -> None:
    client = cast.client("auditor")
    following = client.get(f"{V1}/audit-lines?limit=1").json()["next"]
    assert client.get(f"{V1}/metric-definitions?cursor={following}").status_code == 422


def test_fields_cut_rows_down_and_an_unknown_one_is_named(cast: Cast) -> None:
    client = cast.client("operator")
    rows = client.get(f"{V1}/nodes?fields=name,cluster").json()["rows"]
    assert all(set(row) == {"cluster", "name"} for row in rows)
    assert set(client.get(f"{BJ}?fields=code").json()) == {"code"}
    answer = client.get(f"{V1}/nodes?fields=name,colour")
    assert (answer.status_code, "“colour” is no field" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    ("language", "header", "words"),
    [
        ("", "en", "“colour” is no parameter here"),
        ("", "zh-CN,zh;q=0.9", "“colour”"),
        ("en", "zh-CN", "is no parameter here"),
    ],
)
def test_an_unknown_parameter_is_refused_in_the_language_of_the_cookie_or_the_header(
    cast: Cast, language: str, header: str, words: str
) -> None:
    client = cast.client("member", language=language)
    answer = client.get(f"{V1}/projects?colour=red", headers={"accept-language": header})
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert words in answer.json()["detail"]
    assert answer["Content-Language"] == ("en" if "en" in (language or header)[:2] else "zh-hans")
    assert (answer.json()["title"] == "These data cannot be accepted") == (answer["Content-Language"] == "en")


def test_a_bad_value_is_named_with_its_parameter(cast: Cast) -> None:
    answer = cast.client("member").get(f"{V1}/projects?limit=many").json()
    assert answer["errors"] == [{"name": "limit", "words": "A valid integer is required."}]
    assert cast.client("member").get(f"{V1}/projects?code=a&code=b").status_code == 422
    assert cast.client("member").get(f"{V1}/projects?limit=").status_code == 422
    assert cast.client("operator").get(f"{V1}/findings?is_open=").status_code == 422
    assert cast.client("operator").get(f"{V1}/findings?is_open=false").status_code == 200


def test_every_answer_carries_the_correlation_id(cast: Cast) -> None:
    assert cast.client("member").get(f"{V1}/me", headers={"x-request-id": "abc-123"})["X-Request-ID"] == "abc-123"


def test_a_read_is_not_sent_again_to_who_has_it(cast: Cast) -> None:
    client = cast.client("finance")
    first = client.get(STATEMENT)
    again = client.get(STATEMENT, headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert client.get(STATEMENT, headers={"if-none-match": '"other"'}).status_code == 200
    assert cast.client("member").get(STATEMENT)["ETag"] != first["ETag"]


def test_the_statement_is_what_the_command_prints(cast: Cast) -> None:
    printed = StringIO()
    call_command("ledger", "2026-06", "--by", "project,pool", "--format", "json", stdout=printed)
    assert cast.client("finance").get(f"{STATEMENT}&by=project,pool").json() == json.loads(printed.getvalue())


def test_the_trial_balance_sums_to_zero_and_the_lines_to_the_statement(cast: Cast) -> None:
    client = cast.client("finance")
    balance = client.get(f"{V1}/ledger/trial-balance?period=2026-06").json()
    assert balance["sum"] == "0.000000"
    total = client.get(STATEMENT).json()["total"]["amount"]
    owed = sum(float(one["amount"]) for one in balance["accounts"] if one["account_kind"] == "department")
    assert owed == pytest.approx(float(total))
    assert sum(float(line["amount"]) for line in walk(client, LINES, 100)) == pytest.approx(float(total))


STATE = {
    "state": "repair",
    "from_at": "2026-06-20T00:00:00+08:00",
    "to_at": "2026-06-21T00:00:00+08:00",
    "reason": "fan",
}


def test_a_write_with_a_key_happens_once_and_is_answered_the_same(cast: Cast) -> None:
    client = program(cast, "operator")
    address, key = f"{BJ}/nodes/gpu002/states", {"idempotency-key": "k1"}
    first = client.post(address, STATE, headers=key, **SENT)
    again = client.post(address, STATE, headers=key, **SENT)
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert "Idempotency-Replayed" not in first.headers
    assert again["Idempotency-Replayed"] == "true"
    assert NodeState.objects.filter(node__name="gpu002").count() == 1
    assert client.post(address, {**STATE, "reason": "disk"}, headers=key, **SENT).status_code == 409
    assert client.post(f"{BJ}/nodes/gpu003/states", STATE, headers=key, **SENT).status_code == 409
    assert client.post(address, STATE, **SENT).status_code == 422  # without a key it is another write, and they overlap


def test_a_key_is_each_persons_own_and_a_refusal_is_not_kept(cast: Cast) -> None:
    key = {"idempotency-key": "k2"}
    bad = {**STATE, "state": "asleep"}
    operator = program(cast, "operator")
    assert operator.post(f"{BJ}/nodes/gpu002/states", bad, headers=key, **SENT).status_code == 422
    assert operator.post(f"{BJ}/nodes/gpu002/states", STATE, headers=key, **SENT).status_code == 201
    other = program(cast, "administrator")
    assert other.post(f"{BJ}/nodes/gpu003/states", STATE, headers=key, **SENT).status_code == 201
    assert KeptAnswer.objects.count() == 2
    assert operator.post(f"{BJ}/quarantine/retry", headers={"idempotency-key": "x" * 201}).status_code == 422


def test_a_key_is_forgotten_after_a_day(cast: Cast) -> None:
    client, key = program(cast, "operator"), {"idempotency-key": "k3"}
    assert client.post(f"{BJ}/quarantine/retry", headers=key).status_code == 200
    KeptAnswer.objects.update(at="2026-01-01T00:00:00Z")
    answer = client.post(f"{BJ}/quarantine/retry", headers=key)
    assert (answer.status_code, "Idempotency-Replayed" in answer.headers) == (200, False)


def test_a_state_entered_by_hand_makes_its_days_be_metered_again_and_leaves_an_audit_line(cast: Cast) -> None:
    DirtyDay.objects.all().delete()
    answer = program(cast, "operator").post(f"{BJ}/nodes/gpu002/states", STATE, **SENT)
    assert (answer.status_code, answer.json()["node"], answer.json()["source"]) == (201, "gpu002", "hand")
    assert {str(day) for day in DirtyDay.objects.values_list("day", flat=True)} >= {"2026-06-20"}
    assert AuditLine.objects.filter(action="node_state.added", actor="operator").exists()
    rows = cast.client("capacity_manager").get(f"{V1}/node-states?node=gpu002").json()["rows"]
    assert [row["reason"] for row in rows] == ["fan"]


def test_limits_answer_429_with_the_time_to_wait_and_count_each_person_alone(cast: Cast, settings: Any) -> None:
    settings.API_READS_PER_MINUTE, settings.API_WRITES_PER_MINUTE = 3, 1
    COUNTS.clear()
    client = program(cast, "member", "read")
    answers = [client.get(f"{V1}/me") for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60
    assert answers[-1]["Content-Type"] == "application/problem+json"
    assert program(cast, "member", "read").get(f"{V1}/me").status_code == 429  # another token, the same person
    assert program(cast, "lead", "read").get(f"{V1}/me").status_code == 200
    writer = program(cast, "operator")
    assert [writer.post(f"{BJ}/quarantine/retry").status_code for _ in range(2)] == [200, 429]
    assert writer.get(f"{V1}/me").status_code == 200


def test_guessing_tokens_is_limited_by_address(cast: Cast, settings: Any) -> None:
    settings.API_UNKNOWN_PER_MINUTE = 2
    COUNTS.clear()
    assert [Program(f"sty_guess{n}").get(f"{V1}/me").status_code for n in range(3)] == [401, 401, 429]
    assert cast.client("member").get(f"{V1}/me").status_code == 200


def test_processes_count_together(cast: Cast, settings: Any) -> None:
    settings.API_READS_PER_MINUTE = 8
    client = program(cast, "member", "read")
    statuses = []
    for _ in range(3):
        COUNTS.clear()  # what another process knows at its start
        statuses += [client.get(f"{V1}/me").status_code for _ in range(4)]
    assert statuses[:8] == [200] * 8
    assert statuses[-1] == 429


def test_records_that_are_sent_are_imported_as_the_command_does_and_twice_changes_nothing(cast: Cast) -> None:
    body = books.text([books.line(900, "2026-06-25T08:00", "2026-06-25T09:00", "2026-06-25T10:00", gpus=2)])
    client = program(cast, "operator", "import")
    first = client.post(f"{BJ}/records?time_zone=UTC", body.encode(), content_type="text/plain")
    assert (first.status_code, first.json()["new"]) == (200, 1), first.content
    assert client.post(f"{BJ}/records?time_zone=UTC", body.encode(), content_type="text/plain").json()["new"] == 0
    assert Run.objects.filter(job_id="900").count() == 1
    assert Intake.objects.latest("pk").source.startswith("api:")
    assert AuditLine.objects.filter(action="usage.imported", actor="operator").count() == 2


def test_a_file_that_is_too_large_or_none_is_refused_and_leaves_nothing(cast: Cast, settings: Any) -> None:
    client = program(cast, "operator", "import")
    before = Intake.objects.count()
    bad = client.post(f"{BJ}/records", b"no such thing", content_type="text/plain")
    assert bad.status_code == 422
    assert "/tmp" not in bad.json()["detail"]
    settings.API_UPLOAD_MIB = 1
    large = client.post(f"{BJ}/records", b"x" * (1 << 20) + b"x", content_type="text/plain")
    assert (large.status_code, large["Content-Type"]) == (413, "application/problem+json")
    assert client.post(f"{BJ}/records?time_zone=Mars/Base", b"x", content_type="text/plain").status_code == 422
    assert Intake.objects.count() == before


def test_an_organisation_is_read_planned_and_loaded_and_a_stale_one_refused(cast: Cast) -> None:
    client = program(cast, "administrator")
    read = client.get(f"{V1}/organisation")
    document = read.json()["document"]
    document["projects"].append(
        {"code": "asr", "name": {"zh": "语音", "en": "Speech"}, "placements": [{"department": "vision"}]}
    )
    planned = client.post(f"{V1}/organisation?dry_run=true", {"document": document}, **SENT)
    assert (planned.status_code, planned.json()["dry_run"]) == (200, True), planned.content
    assert planned.json()["counts"]["add"] == 2
    assert not Project.objects.filter(code="asr").exists()
    held = {"if-match": read["ETag"]}
    assert client.post(f"{V1}/organisation", {"document": document}, headers=held, **SENT).status_code == 200
    assert Project.objects.filter(code="asr").exists()
    stale = client.post(f"{V1}/organisation", {"document": document}, headers=held, **SENT)
    assert (stale.status_code, stale["Content-Type"]) == (412, "application/problem+json")
    again = client.post(f"{V1}/organisation", {"document": document}, **SENT).json()
    assert again["changes"] == []


def test_a_bad_organisation_is_refused_whole_with_every_fault(cast: Cast) -> None:
    client = program(cast, "administrator")
    answer = client.post(f"{V1}/organisation", {"document": {"steelyard": 1, "projects": [{"code": "?"}]}}, **SENT)
    assert answer.status_code == 422
    assert "projects[0]" in answer.json()["detail"]
    assert client.post(f"{V1}/organisation", "[1", **SENT).status_code == 400
    assert client.post(f"{V1}/organisation", "a=b", content_type="application/x-www-form-urlencoded").status_code == 415


def test_work_that_failed_is_tried_again_and_unknown_work_is_not_there(cast: Cast) -> None:
    client = program(cast, "operator")
    answer = client.post(f"{V1}/work-items/retry", {"kind": "usage.pull", "key": "nowhere"}, **SENT)
    assert answer.status_code == 404
    assert client.post(f"{V1}/work-items/retry", {"kind": "a", "key": "b", "c": 1}, **SENT).status_code == 422


def test_an_address_that_is_none_is_answered_as_a_problem(cast: Cast) -> None:
    answer = cast.client("member").get(f"{V1}/unicorns")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
