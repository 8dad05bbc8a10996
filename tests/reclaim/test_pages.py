"""The pages and doors of reclaim: cases with their balance, answering, undoing, rules tried on the past."""

from __future__ import annotations

import json
from typing import Any

import pytest
import time_machine

from governance.quotas.models import Quota
from governance.reclaim import actions
from governance.reclaim.models import ReclaimCase, ReclaimRule
from tests.books import MACHINE
from tests.reclaim.test_cases import TODAY, june, opened

__all__ = ["june"]
RULE = {
    "code": "unused", "kind": "held_unused", "pool": "train-h800", "window_days": "15", "below_percent": "30",
    "keep_percent": "0", "step_gpus": "8", "min_gpus": "1", "notice_hours": "24",
}  # fmt: skip


def body(cast: Any, who: str, address: str, language: str = "en") -> str:
    answer = cast.client(who, language=language).get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


@pytest.mark.parametrize("language", ["zh-hans", "en"])
def test_a_case_shows_what_was_seen_to_those_who_see_the_project(june: Any, language: str):
    number = opened().number
    assert number in body(june, "lead", "/reclaim/", language)
    page = body(june, "lead", f"/reclaim/{number}/", language)
    assert 'class="used"' in page and "2026-06-12" in page and "unused v1" in page
    assert june.client("outsider").get(f"/reclaim/{number}/").status_code == 404


def test_who_may_not_answer_is_given_no_form_and_refused(june: Any):
    number = opened().number
    assert "Send the answer" not in body(june, "member", f"/reclaim/{number}/")
    assert june.client("member").post(f"/reclaim/{number}/answer/", {"answer": "agree"}).status_code == 403


def test_a_dispute_wants_words_and_is_decided_by_the_manager(june: Any):
    number = opened().number
    lead, manager = june.client("lead"), june.client("capacity_manager")
    wordless = lead.post(f"/reclaim/{number}/answer/", {"answer": "dispute"})
    assert wordless.status_code == 422 and "Say why" in wordless.content.decode()
    lead.post(f"/reclaim/{number}/answer/", {"answer": "dispute", "reason": "the line was down"})
    assert "the line was down" in body(june, "capacity_manager", f"/reclaim/{number}/")
    manager.post(f"/reclaim/{number}/judge/", {"was_right": "yes", "reason": "it was"})
    page = body(june, "lead", "/reclaim/?state=all")
    assert "the dispute was right" in page and "False reclaims" in page
    assert ReclaimCase.objects.get().outcome == "upheld"


def test_keeping_asks_and_leads_to_the_ask(june: Any):
    number = opened().number
    given = {"answer": "keep", "reason": "the next run begins on Monday", "keep_until": "2026-08-01"}
    assert june.client("lead").post(f"/reclaim/{number}/answer/", {**given, "keep_until": "soon"}).status_code == 422
    june.client("lead").post(f"/reclaim/{number}/answer/", given)
    assert ReclaimCase.objects.get().keep_ask in body(june, "lead", f"/reclaim/{number}/")


def test_what_was_taken_is_given_back_with_a_reason(june: Any):
    case = opened()
    lead = june.client("lead")
    lead.post(f"/reclaim/{case.number}/answer/", {"answer": "agree"})
    actions.advance(actor=MACHINE)
    assert "Within 72 hours" in body(june, "lead", f"/reclaim/{case.number}/")
    lead.post(f"/reclaim/{case.number}/undo/", {"reason": "needed on Monday"})
    assert sum(one.guaranteed_gpus for one in Quota.objects.held_on(TODAY)) == 24
    assert "false reclaim" in body(june, "lead", f"/reclaim/{case.number}/")


def test_a_rule_is_tried_on_the_past_before_it_is_kept_and_switched_on(june: Any):
    manager = june.client("capacity_manager")
    tried = manager.post("/reclaim/rules/", {**RULE, "do": "preview"}).content.decode()
    assert "What it would have opened" in tried and ReclaimRule.objects.count() == 1
    bad = manager.post("/reclaim/rules/", {**RULE, "window_days": "400", "do": "keep"})
    assert bad.status_code == 422 and 'id="id_window_days-err"' in bad.content.decode()
    manager.post("/reclaim/rules/", {**RULE, "code": "mine", "do": "keep"})
    made = ReclaimRule.objects.get(code="mine")
    assert not made.is_on
    manager.post("/reclaim/rules/mine/switch/", {"version": "1"})
    made.refresh_from_db()
    assert made.is_on
    assert june.client("member").get("/reclaim/rules/").status_code == 404
    # The rule of every pool is the site's: a manager of one pool does not touch it.
    assert manager.post("/reclaim/rules/unused/switch/", {}).status_code == 403


def test_the_doors_of_reclaim_do_what_the_pages_do(june: Any):
    case = opened()
    with time_machine.travel(case.detected_at, tick=True):
        lead = june.client("lead")
        (row,) = lead.get("/api/v1/reclaim/cases").json()["rows"]
        assert (row["number"], row["gpus"], row["rule"]) == (case.number, 16, "unused v1")
        answered = lead.post(
            f"/api/v1/reclaim/cases/{case.number}/answer",
            json.dumps({"answer": "dispute", "reason": "it runs on Monday"}),
            content_type="application/json",
        )
        assert answered.status_code == 200 and answered.json()["state"] == "answered"
        assert lead.get("/api/v1/reclaim/balance").json()["opened"] == 1
        terms = {"kind": "held_unused", "pool": "train-h800", "window_days": 15, "keep_percent": 0, "step_gpus": 8}
        tried = june.client("capacity_manager").post(
            "/api/v1/reclaim/rules/preview", json.dumps(terms), content_type="application/json"
        )
        assert tried.status_code == 200 and tried.json()["days"] == 90
