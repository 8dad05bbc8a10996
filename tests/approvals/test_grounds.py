"""The grounds of a decision: checks, figures with their definition, room as quotas count it, what the figures speak for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from billing.prices.models import Price
from governance.access.memory import remembering
from governance.approvals import checks as asking
from governance.approvals import reads
from governance.approvals.actions import approve
from governance.approvals.consequences import consequences
from governance.approvals.evidence import Evidence
from governance.approvals.models import Ask, Decision
from governance.catalogue.models import Cluster, Node, NodeState, Pool
from governance.quotas import actions as quotas
from governance.quotas import rooms
from governance.quotas.actions import Terms
from governance.quotas.models import DepartmentShare, Offering, PoolPolicy
from governance.quotas.rules import Days
from governance.tenants.models import Department, day_of_today
from governance.usage.live_models import QueueSample
from governance.usage.models import MetricDefinition
from tests import books
from tests.approvals.conftest import D, asked, day, draft, line, who
from tests.books import MACHINE

pytestmark = pytest.mark.usefixtures("company")


def grounds_of(ask: Ask, name: str = "ann"):
    return asking.grounds(
        ask, list(ask.lines.select_related("pool", "model", "offering").order_by("position")), actor=who(name)
    )


def verdicts(ask: Ask, name: str = "ann") -> dict[str, str]:
    return {one.code: one.verdict for one in asking.checks(grounds_of(ask, name))}


def used(folder, gpus: int, days: int = 20) -> None:
    """Some days of use of ocr that end yesterday, metered to now."""
    today = day_of_today()
    rows = [
        books.line(
            n,
            f"{today - timedelta(days=n)}T00:00",
            f"{today - timedelta(days=n)}T00:00",
            f"{today - timedelta(days=n - 1)}T00:00",
            gpus=gpus,
        )
        for n in range(1, days + 1)
    ]
    books.bring(folder, rows, observed_at=f"{today}T01:00")
    books.settle()


def test_an_ask_on_bare_books_is_answered_in_words_and_not_in_zeros():
    found = verdicts(draft())
    assert found == {
        "room": "ok",
        "own_idle": "unknown",
        "use": "ok",
        "budget": "unknown",
        "limits": "ok",
        "waiting": "unknown",
    }


def test_the_cost_is_by_the_price_of_each_day_and_missing_is_not_free():
    ask = draft("ann", "new", line(8, to_on=day(10)))
    on = grounds_of(ask)
    assert (on.cost, on.currency) == (8 * 24 * 10 * 10, "CNY")
    Price.objects.filter(pool="train-h800").update(to_on=day(4))
    budget = next(one for one in asking.checks(grounds_of(ask)) if one.code == "budget")
    assert (budget.verdict, budget.params["cost"], budget.params["days"]) == ("unknown", None, 6)
    Price.objects.create(pool="train-h800", accelerator="*", gpu_hour="20", from_on=day(4))
    assert grounds_of(ask).cost == 8 * 24 * (4 * 10 + 6 * 20)
    ask = asked("ann", "new", line(8, to_on=day(10)))
    assert (ask.cost, ask.facts["cost"]) == (8 * 24 * 160, "30720.00")


def test_idle_and_badly_used_quota_speak_for_less(tmp_path):
    quota = quotas.award(
        Terms("ocr", "train-h800", 16, 16, day_of_today() - timedelta(days=40), day(90)), actor=MACHINE
    )
    used(tmp_path, 4)
    ask = draft("ann", "increase", line(24, quota=quota.number, to_on=None))
    found = {one.code: one for one in asking.checks(grounds_of(ask))}
    assert (found["own_idle"].verdict, found["own_idle"].params["idle"]) == ("warn", 12)
    assert (found["use"].verdict, str(found["use"].params["share"])) == ("warn", "25.0")
    assert found["use"].figures[0].as_of is not None
    on = grounds_of(ask)
    assert [one.code for one in asking.alternatives(on)][:1] == ["return_idle"]
    ask = asked("ann", "increase", line(32, quota=quota.number, to_on=None))
    seen = consequences(ask, on_lines(ask), actor=who("amy"))
    assert (seen.recommendation.verdict, seen.recommendation.rule, seen.recommendation.awards) == (
        "less",
        "idle_first",
        {1: 4},
    )
    by_code = {one.code: one.value for one in seen.figures}
    assert (by_code["held"], by_code["held_after"], by_code["department_idle"]) == (16, 32, 12)


def on_lines(ask: Ask):
    return list(ask.lines.select_related("pool", "model", "offering").order_by("position"))


def test_no_room_is_a_check_with_what_is_possible_and_other_pools_beside():
    quotas.award(Terms("rank", "train-h800", 28, 28, D), actor=MACHINE)
    for code in ("train-h800", "infer-l20"):
        Offering.objects.create(code=f"o-{code}", pool=Pool.objects.get(code=code), qos="normal")
    Offering.objects.create(code="spare", pool=Pool.objects.get(code="train-h800"), qos="low", level="elastic")
    ask = draft("ann", "new", line(8))
    room = next(one for one in asking.checks(grounds_of(ask)) if one.code == "room")
    assert (room.verdict, room.params["room"], room.params["short"]) == ("warn", 4, 4)
    ways = {one.code: (one.pool, one.gpus) for one in asking.alternatives(grounds_of(ask))}
    assert ways == {"elastic": ("train-h800", 8), "other_pool": ("infer-l20", 8)}
    seen = consequences(asked(), on_lines(Ask.objects.latest("pk")), actor=who("amy"))
    assert (seen.recommendation.rule, seen.recommendation.awards) == ("room", {1: 4})


def test_room_in_evidence_is_the_room_that_an_award_is_held_to():
    pool = Pool.objects.get(code="train-h800")
    NodeState.objects.create(node=Node.objects.get(name="gpu001"), state="down", from_at="2026-01-01T00:00Z", cards=3)
    quotas.award(Terms("rank", "train-h800", 12, 12, D, day(30)), actor=MACHINE)
    quotas.award(Terms("ocr", "train-h800", 4, 4, day(10), day(40), model="h800"), actor=MACHINE)
    PoolPolicy.objects.create(pool=pool, factor="1.25")
    home = Department.objects.get(code="vision")
    for windows in (Days(D, day(5)), Days(D, None), Days(day(12), day(20)), Days(day(35), None)):
        for model in ("", "h800"):
            found = Evidence([pool.pk], 0, home.pk, day_of_today()).room(pool.pk, windows, model=model)
            assert found == rooms.room(pool, windows, model=model, home=home.pk)
    PoolPolicy.objects.update(kind="pooled")
    DepartmentShare.objects.create(pool=pool, department=Department.objects.get(code="research"), gpus=20)
    found = Evidence([pool.pk], 0, home.pk, day_of_today()).room(pool.pk, Days(D, None))
    assert found == rooms.room(pool, Days(D, None), home=home.pk)
    assert found.share_of == "research"


def test_who_waits_is_named_to_who_may_see_them_and_a_sum_to_others():
    sample = {"cluster": Cluster.objects.get(code="bj"), "at": datetime.now(UTC), "partition": "train", "qos": "normal"}
    for account, gpus in (("rank", 16), ("ocr", 8)):
        QueueSample.objects.create(
            account=account, reason="Resources", waits_for="capacity", jobs=2, asked_gpu_milli=gpus * 1000, **sample
        )
    ask = asked()
    assert verdicts(ask)["waiting"] == "warn"
    assert consequences(ask, on_lines(ask), actor=who("cap")).waits_longer == [("rank", 16)]
    assert consequences(ask, on_lines(ask), actor=who("amy")).waits_longer == [("", 16)]


def test_figures_name_entries_of_the_dictionary():
    ask = asked()
    seen = consequences(ask, on_lines(ask), actor=who("amy"))
    named = {one.metric for one in seen.figures} | {one.metric for check in seen.checks for one in check.figures}
    assert named - {""} <= set(MetricDefinition.objects.values_list("code", flat=True))


def test_a_decision_keeps_what_it_foresaw(tmp_path):
    quota = quotas.award(Terms("ocr", "train-h800", 8, 8, day_of_today() - timedelta(days=40), day(90)), actor=MACHINE)
    used(tmp_path, 6)
    ask = asked("ann", "increase", line(16, quota=quota.number, to_on=None))
    approve(ask.number, actor=who("amy"))
    (row,) = Decision.objects.get().predicted["lines"]
    assert (row["holds_gpus"], row["used_p95_gpus"], row["used_percent"]) == (16, "12.0", "75.0")


def test_the_inbox_and_the_page_ask_few_questions_however_many_asks_there_are():
    for _ in range(3):
        asked()
    asked("lea", "new", line(8), line(2, level="urgent"), line(4, pool="infer-l20"))
    amy = who("amy")
    with CaptureQueriesContext(connection) as inbox, remembering():
        rows = reads.to_decide(amy)
    assert len(rows) == 4 and rows[0].department == "Vision"
    assert len(inbox) <= 15
    number = rows[-1].ask.number
    with CaptureQueriesContext(connection) as page, remembering():
        found = reads.shown(number, amy)
        consequences(found.ask, found.lines, actor=amy, home=found.home)
    assert found.may == ["approve", "return", "reject", "hand_over", "add", "withdraw", "remind", "comment", "copy"]
    assert len(page) <= 14
