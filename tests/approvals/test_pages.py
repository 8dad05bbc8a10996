"""The pages of asks: writing with drafts, deciding on one screen, small asks together, acting, the policy."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from governance.access.models import Person
from governance.approvals.models import ActingGrant, ApprovalPolicy, Ask
from governance.quotas.models import Quota
from tests.approvals.conftest import D, asked, day, draft, line

pytestmark = [pytest.mark.usefixtures("company")]


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Any) -> None:
    settings.FILES_FOLDER = str(tmp_path / "files")


def client(name: str, language: str = "en") -> Client:
    found = Client()
    found.cookies["language"] = language
    found.force_login(Person.objects.get(username=name), backend="governance.access.backends.PasswordBackend")
    return found


def form(gpus: int = 8, **other: Any) -> dict[str, Any]:
    return {
        "kind": "new", "project": "ocr", "goal": "Inspection line, due in September", "lines": "1",
        "l1-pool": "train-h800", "l1-level": "normal", "l1-guaranteed_gpus": str(gpus), "l1-hours_period": "month",
        "l1-from_on": str(D), "l1-to_on": str(day(90)), **other,
    }  # fmt: skip


def version(number: str) -> int:
    return Ask.objects.get(pk=int(number[2:])).version


def test_what_is_written_is_kept_and_answered_with_cost_checks_and_who_decides():
    ann = client("ann")
    assert "What would it cost?" in ann.get("/asks/new/").content.decode()
    first = ann.post("/asks/draft/", form())
    said = first.content.decode()
    number = re.search(r'data-number="(A-\d+)" data-version="(\d+)"', said)
    assert number and "Checks before it is submitted" in said and "not set" in said and "Who decides" in said
    again = ann.post("/asks/draft/", form(16, number=number[1], version=number[2]))
    assert again.status_code == 200 and Ask.objects.get().lines.get().guaranteed_gpus == 16
    behind = ann.post("/asks/draft/", form(8, number=number[1], version=number[2]))
    assert behind.status_code == 409 and "was changed" in behind.content.decode()
    assert Ask.objects.get().lines.get().guaranteed_gpus == 16


def test_a_fault_stands_at_its_field_in_words_and_the_draft_is_kept():
    answer = client("ann").post("/asks/new/", form(0, goal="", do="submit"))
    body = answer.content.decode()
    assert answer.status_code == 422 and Ask.objects.get().state == "draft"
    assert "ask for at least one GPU" in body and 'id="id_l1-guaranteed_gpus-err"' in body
    assert 'id="id_goal-err"' in body and 'aria-invalid="true"' in body


def test_a_day_that_is_none_is_said_at_its_field():
    answer = client("ann").post("/asks/new/", form(**{"l1-from_on": "tomorrow"}))
    assert answer.status_code == 422 and 'id="id_l1-from_on-err"' in answer.content.decode()
    assert not Ask.objects.exists()


def test_submit_with_a_file_return_revise_and_award_less():
    ann, amy, cap = client("ann"), client("amy"), client("cap")
    plan = SimpleUploadedFile("plan.txt", b"nine days a round", "text/plain")
    sent = ann.post("/asks/new/", form(16, do="submit", file=plan))
    number = Ask.objects.get().number
    assert sent["Location"] == f"/asks/{number}/"
    assert amy.get(f"/asks/{number}/")["Location"] == f"/inbox/{number}/"
    page = amy.get(f"/inbox/{number}/").content.decode()
    assert "asks for 16 GPUs" in page and "plan.txt" in page and "Free in the pool then" in page
    wordless = amy.post(f"/inbox/{number}/", {"choice": "return", "version": version(number)})
    assert wordless.status_code == 422 and "Say why" in wordless.content.decode()
    amy.post(f"/inbox/{number}/", {"choice": "return", "comment": "name the line", "version": version(number)})
    assert "name the line" in ann.get(f"/asks/{number}/edit/").content.decode()
    again = form(16, goal="Inspection line 3", do="submit", version=version(number))
    assert ann.post(f"/asks/{number}/edit/", again).status_code == 302
    changed = amy.get(f"/inbox/{number}/").content.decode()
    assert "What changed" in changed and "Inspection line 3" in changed
    less = {"choice": "less", "award-1": "8", "comment": "half now", "version": version(number)}
    assert amy.post(f"/inbox/{number}/", less)["Location"] == "/inbox/"
    cap.post(f"/inbox/{number}/", {"choice": "approve", "version": version(number)})
    assert Quota.objects.get().guaranteed_gpus == 8
    story = ann.get(f"/asks/{number}/").content.decode()
    assert Quota.objects.get().number in story and "half now" in story


def test_the_second_of_two_approvers_reads_what_happened():
    number = asked().number
    seen = version(number)
    client("amy").post(f"/inbox/{number}/", {"choice": "approve", "version": seen})
    late = client("abe").post(f"/inbox/{number}/", {"choice": "reject", "comment": "no", "version": seen})
    body = late.content.decode()
    assert late.status_code == 409 and "Another was first" in body and "by another approver" in body
    assert Ask.objects.get().state == "in_review"


@pytest.mark.parametrize("choice", ["", "everything"])
def test_without_a_choice_nothing_is_decided(choice: str):
    number = asked().number
    answer = client("amy").post(f"/inbox/{number}/", {"choice": choice, "version": version(number)})
    assert answer.status_code == 422 and Ask.objects.get().state == "submitted"


def test_who_has_no_seat_sees_the_page_and_cannot_decide():
    number = asked().number
    assert "It does not wait for you" in client("lea").get(f"/inbox/{number}/").content.decode()
    assert client("lea").post(f"/inbox/{number}/", {"choice": "approve"}).status_code == 403
    assert client("out").get(f"/inbox/{number}/").status_code == 404
    assert client("out").get(f"/asks/{number}/").status_code == 404


def test_small_asks_are_agreed_on_together_and_one_refused_holds_up_no_other():
    first, second = asked().number, asked("lea", "new", line(8, level="urgent")).number
    stale = f"{second}:{version(second) - 1}"
    answer = client("amy").post("/inbox/together/", {"ask": [f"{first}:{version(first)}", stale]}, follow=True)
    body = answer.content.decode()
    assert "1 ask is agreed on" in body and second in body
    assert {one.number: one.state for one in Ask.objects.all()} == {first: "in_review", second: "submitted"}


def test_the_moves_beside_deciding_and_a_copy():
    number = asked().number
    ann = client("ann")
    ann.post(f"/asks/{number}/comment/", {"comment": "by the end of the week"})
    ann.post(f"/asks/{number}/remind/")
    assert "by the end of the week" in ann.get(f"/asks/{number}/").content.decode()
    client("amy").post(f"/asks/{number}/hand-over/", {"person": "top", "reason": "away"})
    assert "top" in ann.get(f"/asks/{number}/").content.decode()
    copied = ann.post(f"/asks/{number}/copy/")
    assert copied["Location"].endswith("/edit/") and Ask.objects.count() == 2
    ann.post(f"/asks/{number}/withdraw/", {"comment": "not needed"})
    assert Ask.objects.get(pk=int(number[2:])).state == "withdrawn"
    assert ann.post(f"/asks/{number}/dance/").status_code == 404


def test_a_form_begins_with_the_quota_that_it_changes():
    number = asked().number
    for who in ("amy", "cap"):
        client(who).post(f"/inbox/{number}/", {"choice": "approve", "version": version(number)})
    quota = Quota.objects.get().number
    body = client("ann").get(f"/asks/new/?quota={quota}&kind=extend").content.decode()
    assert f'value="{quota}" selected' in body and "l1-pool" not in body
    assert client("out").get(f"/asks/new/?quota={quota}&kind=extend").status_code == 404


def test_acting_is_granted_and_ended_on_its_page():
    amy = client("amy")
    wrong = amy.post("/inbox/acting/", {"deputy": "nobody", "from_on": str(D), "to_on": str(day(5))})
    assert wrong.status_code == 422 and "nobody called" in wrong.content.decode()
    amy.post("/inbox/acting/", {"deputy": "top", "from_on": str(D), "to_on": str(day(5)), "reason": "leave"})
    grant = ActingGrant.objects.get()
    assert "leave" in amy.get("/inbox/acting/").content.decode()
    assert client("ric").post(f"/inbox/acting/{grant.pk}/end/").status_code == 404
    amy.post(f"/inbox/acting/{grant.pk}/end/")
    grant.refresh_from_db()
    assert grant.ended_at is not None


def test_a_policy_is_checked_tried_kept_and_activated_with_its_number():
    number = asked().number
    adm = client("adm")
    document = ApprovalPolicy.objects.get(state="active").document
    broken = adm.post("/policies/new/", {"document": "{", "do": "check"})
    assert broken.status_code == 422 and "JSON" in broken.content.decode()
    empty = adm.post("/policies/new/", {"document": json.dumps({**document, "rules": []}), "do": "check"})
    assert empty.status_code == 422
    text = json.dumps(document)
    tried = adm.post("/policies/new/", {"document": text, "do": "simulate"}).content.decode()
    assert "The document is sound" in tried and "On past asks" in tried
    assert number not in tried  # the administrator sees no asks
    kept = adm.post("/policies/new/", {"document": text, "note": "as before", "do": "keep"})
    made = ApprovalPolicy.objects.order_by("version").last()
    assert made and kept["Location"] == f"/policies/{made.version}/"
    assert adm.post(f"/policies/{made.version}/activate/", {"confirm": "yes"}).status_code == 422
    adm.post(f"/policies/{made.version}/activate/", {"confirm": str(made.version)})
    made.refresh_from_db()
    assert made.state == "active"
    assert client("ann").get("/policies/").status_code == 404


def test_pages_ask_few_questions_however_many_asks_there_are():
    numbers = [asked("ann", "new", line(8, level=level)).number for level in ("normal", "urgent")]
    draft()
    amy = client("amy")
    amy.get("/inbox/")
    counted = {}
    for address in ("/inbox/", f"/inbox/{numbers[0]}/", f"/asks/{numbers[0]}/?story=1", "/asks/?whose=all"):
        with CaptureQueriesContext(connection) as found:
            assert amy.get(address).status_code == 200
        counted[address] = len(found)
    # Beside the session and its person, which every page asks for.
    assert max(counted.values()) <= 15 + 2, counted


@pytest.mark.parametrize("language", ["zh-hans", "en"])
def test_every_page_is_there_in_both_languages(language: str):
    number = asked().number
    for who, address in (
        ("ann", "/asks/"), ("ann", "/asks/new/"), ("ann", f"/asks/{number}/"), ("amy", f"/inbox/{number}/"), ("amy", "/inbox/"),
        ("amy", "/inbox/acting/"), ("adm", "/policies/"), ("adm", "/policies/new/"), ("adm", "/policies/1/"),
    ):  # fmt: skip
        assert client(who, language).get(address).status_code == 200, address


@pytest.mark.parametrize(
    ("kind", "given", "held"),
    [
        ("increase", {"l1-guaranteed_gpus": "16", "l1-ceiling_gpus": "16"}, 16),
        ("extend", {"l1-to_on": str(day(200))}, 8),
        ("return", {"l1-guaranteed_gpus": "4", "l1-ceiling_gpus": "4"}, 4),
        ("keep", {"l1-to_on": str(day(30))}, 8),
    ],
)
def test_every_kind_that_changes_a_quota_goes_through_the_form(kind: str, given: dict[str, str], held: int):
    for who, number in (("amy", first := asked().number), ("cap", first)):
        client(who).post(f"/inbox/{number}/", {"choice": "approve", "version": version(number)})
    quota = Quota.objects.get().number
    base = {"kind": kind, "project": "ocr", "goal": "It goes on", "lines": "1", "l1-quota": quota, "do": "submit"}
    start = {} if kind == "extend" else {"l1-from_on": str(D)}
    sent = client("ann").post("/asks/new/", {**base, **start, **given})
    assert sent.status_code == 302, sent.content.decode()
    line_ = Ask.objects.order_by("pk").last().lines.get()
    assert (line_.quota.number, line_.guaranteed_gpus) == (quota, held)
