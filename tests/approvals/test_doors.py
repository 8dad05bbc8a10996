"""Asks through the API: from draft to award, answers in order, files, few questions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from governance.access.models import Person
from governance.approvals.models import Attachment
from governance.doors.throttling import COUNTS
from tests.approvals.conftest import D, asked, day

pytestmark = [pytest.mark.usefixtures("company")]
ASKS = "/api/v1/asks"


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Any) -> None:
    settings.FILES_FOLDER = str(tmp_path / "files")
    settings.API_READS_PER_MINUTE = settings.API_WRITES_PER_MINUTE = 1_000_000
    COUNTS.clear()


def client(name: str, language: str = "en") -> Client:
    found = Client(headers={"accept-language": language})
    found.cookies["language"] = language
    found.force_login(Person.objects.get(username=name), backend="governance.access.backends.PasswordBackend")
    return found


def post(name: str, address: str, **body: Any) -> Any:
    return client(name).post(f"{ASKS}{address}", json.dumps(body), content_type="application/json")


def body(gpus: int = 8, **other: Any) -> dict[str, Any]:
    return {
        "kind": "new",
        "project": "ocr",
        "goal": "Inspection line, due in September",
        "lines": [{"pool": "train-h800", "guaranteed_gpus": gpus, "from_on": str(D), "to_on": str(day(90))}],
        **other,
    }


def test_from_a_draft_to_an_award():
    tried = post("ann", "/checks", **body())
    assert tried.status_code == 200 and [one["code"] for one in tried.json()["checks"]][0] == "room"
    made = post("ann", "", **body())
    assert made.status_code == 201
    number = made.json()["number"]
    assert client("amy").get(f"{ASKS}/{number}").status_code == 404  # a draft is its author's
    assert (
        post("ann", f"/{number}", **body(16), version=made.json()["version"]).json()["lines"][0]["asked"][
            "guaranteed_gpus"
        ]
        == 16
    )
    assert post("ann", f"/{number}", **body(8), version=1).status_code == 409
    sent = post("ann", f"/{number}/submit").json()
    assert (sent["ask"]["state"], sent["may"]) == ("submitted", ["withdraw", "remind", "comment", "copy"])
    (row,) = client("amy").get(f"{ASKS}/to-decide").json()["rows"]
    assert (row["ask"]["number"], row["role"], row["department"]) == (number, "approver", "Vision")
    grounds = client("amy").get(f"{ASKS}/{number}/grounds").json()
    assert len(grounds["checks"]) == 6 and grounds["recommendation"]["verdict"] == "approve"
    version = sent["ask"]["version"]
    less = {"awards": [{"line": 1, "guaranteed_gpus": 8}], "version": version}
    assert post("amy", f"/{number}/approve", **less).status_code == 422
    assert post("amy", f"/{number}/approve", **less, comment="half now").status_code == 200
    late = post("abe", f"/{number}/approve", version=version)
    assert late.status_code == 409 and "another approver" in late.json()["detail"]
    done = post("cap", f"/{number}/approve").json()
    assert (done["ask"]["state"], done["lines"][0]["awarded"]["guaranteed_gpus"]) == ("approved", 8)
    assert done["lines"][0]["made"].startswith("Q-")


def test_answers_come_in_order_not_yours_to_see_not_yours_to_do_not_the_moment_bad_data():
    number = asked().number
    for move in (
        "approve",
        "return",
        "reject",
        "hand-over",
        "add-approver",
        "comment",
        "withdraw",
        "assign",
        "remind",
        "copy",
        "submit",
    ):
        assert post("out", f"/{number}/{move}").status_code == 404, move
    for move in ("approve", "return", "reject", "hand-over", "add-approver", "assign"):
        assert post("ann", f"/{number}/{move}").status_code == 403, move
    assert post("amy", f"/{number}/return").status_code == 422
    assert post("amy", f"/{number}/hand-over").status_code == 422
    assert post("amy", f"/{number}/approve", version="x").status_code == 422
    assert post("amy", f"/{number}/submit").status_code == 403
    assert post("ann", f"/{number}/submit").status_code == 409
    assert post("ann", f"/{number}/remind").status_code == 200
    assert post("ann", f"/{number}/remind").status_code == 409
    assert post("ann", f"/{number}/withdraw").status_code == 200
    assert post("amy", f"/{number}/approve").status_code == 409


def test_words_are_in_the_language_of_the_reader():
    number = asked().number
    said = client("amy", "zh-hans").get(f"{ASKS}/{number}/grounds").json()["checks"][0]["title"]
    assert said != "Room in the pool"


def attach(name: str, number: str, called: str, content: bytes) -> Any:
    return client(name).post(f"{ASKS}/{number}/files?name={called}", content, content_type="application/octet-stream")


def test_files_are_checked_kept_by_digest_and_given_out_as_downloads(settings: Any):
    number = post("ann", "", **body()).json()["number"]
    for called, content in (
        ("plan.exe", b"MZ"), ("plan.pdf", b"<html>"), ("plan.html", b"<script>"), ("plan.txt", b"\x00\x01"), ("plan.pdf", b""),
        ("plan", b"x"),
    ):  # fmt: skip
        assert attach("ann", number, called, content).status_code == 422, called
    settings.ATTACHMENT_MIB = 0
    assert attach("ann", number, "plan.pdf", b"%PDF-1.7").status_code == 413
    settings.ATTACHMENT_MIB = 1
    made = attach("ann", number, "../../计划.pdf", b"%PDF-1.7 content")
    assert made.status_code == 201 and made.json()["name"] == "计划.pdf"
    assert attach("ann", number, "计划.pdf", b"%PDF-1.7 content").status_code == 409
    address = f"{ASKS}/{number}/files/{made.json()['id']}"
    assert client("amy").get(address).status_code == 404
    post("ann", f"/{number}/submit")
    found = client("amy").get(address)
    assert b"".join(found.streaming_content) == b"%PDF-1.7 content"
    assert found["Content-Disposition"].startswith("attachment") and "sandbox" in found["Content-Security-Policy"]
    assert client("out").get(address).status_code == 404
    assert attach("ann", number, "more.txt", b"text").status_code == 409  # it is in review
    assert post("ann", f"/{number}/files/{made.json()['id']}/detach").status_code == 409
    assert client("amy").get(f"{ASKS}/{number}").json()["files"][0]["name"] == "计划.pdf"
    assert Attachment.objects.count() == 1


def test_policies_acting_and_days_have_doors():
    adm = client("adm")
    document = adm.get("/api/v1/approval-policies").json()["rows"][0]["document"]
    sent = {"content_type": "application/json"}
    good = adm.post("/api/v1/approval-policies/validate", json.dumps({"document": document}), **sent).json()
    assert (good["is_sound"], good["faults"]) == (True, [])
    bad = adm.post("/api/v1/approval-policies/validate", json.dumps({"document": {"policy": 2}}), **sent).json()
    assert not bad["is_sound"] and bad["faults"]
    assert adm.post("/api/v1/approval-policies", json.dumps({"document": document}), **sent).status_code == 201
    assert adm.post("/api/v1/approval-policies/2/activate", json.dumps({}), **sent).json()["state"] == "active"
    assert adm.get("/api/v1/approval-policies/2/outcome").json()["asks"] == 0
    simulated = adm.post("/api/v1/approval-policies/simulate", json.dumps({"document": document}), **sent)
    assert simulated.status_code == 200
    grant = {"deputy": "abe", "from_on": str(D), "to_on": str(day(5))}
    made = client("amy").post("/api/v1/acting-grants", json.dumps(grant), **sent)
    assert made.status_code == 201
    assert client("ann").post(f"/api/v1/acting-grants/{made.json()['id']}/end", "{}", **sent).status_code == 404
    assert client("abe").post(f"/api/v1/acting-grants/{made.json()['id']}/end", "{}", **sent).status_code == 200
    off = {"day": "2027-02-08", "is_working": False, "name": "Spring Festival"}
    assert adm.post("/api/v1/calendar-days", json.dumps(off), **sent).status_code == 200
    assert client("ann").get("/api/v1/calendar-days").json()["rows"] == [off]


def test_the_doors_ask_few_questions():
    number = asked().number
    asked("lea")
    for address, most in (
        (f"{ASKS}", 9),
        (f"{ASKS}/to-decide", 15),
        (f"{ASKS}/{number}", 16),
        (f"{ASKS}/{number}/grounds", 16),
    ):
        asking = client("amy")
        asking.get("/api/v1/me")
        COUNTS.clear()
        with CaptureQueriesContext(connection) as found:
            assert asking.get(address).status_code == 200
        assert len(found) <= most, (address, len(found))
