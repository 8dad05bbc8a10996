"""The usage page: figures from the facts, waits from runs, all within the reader's own scope."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from billing.ledger import reads as ledger
from governance.errors import NotFound
from portal.analysis import reads, rules
from portal.analysis.rules import Started
from portal.security import POLICY
from tests.books import MACHINE, bring, line, settle
from tests.cast import FOREIGN, Cast

pytestmark = pytest.mark.django_db
JUNE = "from=2026-06-01&to=2026-06-30"
ZONE = ZoneInfo("Asia/Shanghai")
FIRST, LAST = date(2026, 6, 1), date(2026, 6, 30)


def page(cast: Cast, who: str, more: str = "", language: str = "en") -> Any:
    answer = cast.client(who, language=language).get(f"/usage/?{JUNE}{more}")
    assert answer.status_code == 200
    return answer


def test_the_hours_of_the_page_are_those_of_the_ledger(cast: Cast) -> None:
    whole = ledger.statement("2026-06", ("pool",), actor=MACHINE).total.milligpu_seconds
    for by in ("pool", "project", "outcome", "model"):
        context = page(cast, "finance", f"&by={by}").context
        assert context["found"].milligpu_seconds == whole
        assert sum(one.milligpu_seconds for one in context["found"].days) == whole
        body = page(cast, "finance", f"&by={by}").content.decode()
        data = re.search(r'id="d-days" type="application/json">(.*?)</script>', body)
        assert data is not None
        chart = json.loads(data[1])
        assert sum(sum(one["y"]) for one in chart["series"]) == pytest.approx(whole / 3_600_000)


def test_each_reader_sees_the_hours_of_their_own_scope(cast: Cast) -> None:
    for who, project in (("lead", "ocr"), ("outsider", "rank")):
        own = ledger.statement("2026-06", ("project",), actor=MACHINE, project=project).total.milligpu_seconds
        assert page(cast, who, "&by=project").context["found"].milligpu_seconds == own


def test_waits_and_starts_are_of_the_same_scope(cast: Cast) -> None:
    assert len(page(cast, "finance").context["sample"].runs) == 10
    assert len(page(cast, "outsider").context["sample"].runs) == 2
    assert len(page(cast, "lead").context["sample"].runs) == 7
    assert len(page(cast, "finance", "&project=rank").context["sample"].runs) == 2


@pytest.mark.parametrize("who", ["member", "lead", "approver", "viewer", "former", "capacity_manager", "security"])
@pytest.mark.parametrize("by", ["project", "pool"])
def test_nobody_meets_the_other_department(cast: Cast, who: str, by: str) -> None:
    for more in ("", "&format=csv"):
        body = page(cast, who, f"&by={by}{more}").content.decode()
        found = [word for word in FOREIGN if f">{word}" in body or f'"{word}"' in body or f",{word}," in body]
        assert not found


@pytest.mark.parametrize("more", ["&project=rank", "&department=search"])
def test_asking_for_the_other_department_finds_nothing_there(cast: Cast, more: str) -> None:
    assert cast.client("lead").get(f"/usage/?{JUNE}{more}").status_code == 404
    with pytest.raises(NotFound):
        reads.query_of(FIRST, LAST, "pool", {"project": "rank"}, cast.actor("lead"))  # fmt: skip


def test_runs_that_have_not_started_are_counted_and_told(cast: Cast, tmp_path: Any) -> None:
    folder = tmp_path / "queue"
    folder.mkdir()
    rows = [line(n, "2026-06-29T08:00", None, None, Account=account) for n, account in ((401, "ocr"), (402, "rank"))]
    bring(folder, rows, observed_at="2026-07-02T00:00")
    settle()
    assert page(cast, "finance").context["sample"].pending == 2
    assert page(cast, "outsider").context["sample"].pending == 1
    assert "still growing" in page(cast, "lead").content.decode()


def test_a_sample_keeps_one_job_in_so_many_and_scales_its_counts(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "SAMPLE", 4)
    monkeypatch.setattr(reads, "EVERY", 3)
    context = page(cast, "finance").context
    assert context["sample"].every == 3
    assert len(context["sample"].runs) < 10
    assert all(count % 3 == 0 for _word, cells in context["week"] for count, _tint in cells)
    assert "one job in 3" in page(cast, "finance").content.decode()


def test_series_beyond_the_largest_are_told_together(cast: Cast) -> None:
    query = reads.query_of(FIRST, LAST, "project", {}, MACHINE)
    found = reads.use(query, actor=MACHINE, series=1)
    assert found.keys == ["rank", ""] or found.keys == ["ocr", ""]
    assert found.milligpu_seconds == reads.use(query, actor=MACHINE).milligpu_seconds


def started(wait: float, cards: int | None = 8, at: str = "2026-06-01T00:30") -> Started:
    return Started("train", cards, datetime.fromisoformat(at).replace(tzinfo=UTC), wait)


def test_percentiles_are_values_that_occurred() -> None:
    (found,) = rules.waits([started(wait) for wait in (50, 10, 30, 20, 40, 60, 70, 80, 90, 100)])
    assert (found.p50, found.p90, found.runs, found.size) == (50, 90, 10, "8")


def test_too_few_runs_give_no_percentile_and_no_wait_is_below_zero() -> None:
    assert rules.waits([started(1)] * 4) == []
    assert rules.waits([started(-5)] * 5)[0].p50 == 0


@pytest.mark.parametrize(
    ("cards", "size"), [(0, "0"), (1, "1"), (2, "2–7"), (7, "2–7"), (8, "8"), (9, "9–63"), (64, "64+"), (None, "?")]
)
def test_a_run_has_the_size_of_its_cards(cards: int | None, size: str) -> None:
    assert rules.size_of(cards) == size


def test_the_week_is_that_of_the_billing_clock() -> None:
    found = rules.week([started(1, at="2026-06-01T17:30")], ZONE)  # Monday in UTC, Tuesday 01:30 in Shanghai
    assert found[1][1] == 1
    assert sum(map(sum, found)) == 1


@pytest.mark.parametrize("who", ["finance", "lead", "member", "outsider"])
def test_the_page_asks_at_most_twelve_questions(cast: Cast, who: str) -> None:
    client = cast.client(who)
    client.get(f"/usage/?{JUNE}")
    with CaptureQueriesContext(connection) as asked:
        assert client.get(f"/usage/?{JUNE}&by=project").status_code == 200
    assert len(asked) <= 12, "\n".join(q["sql"][:120] for q in asked)


def test_every_chart_has_a_sentence_and_a_table_and_needs_nothing_inline(cast: Cast) -> None:
    body = page(cast, "finance").content.decode()
    assert body.count("<figcaption") == 3
    assert body.count("data-table open") == 1 + ("t-waits" in body)
    assert " style=" not in body
    assert not re.search(r"<script(?![^>]*(src=|application/json))", body)
    assert "unsafe" not in POLICY


def test_charts_are_loaded_where_there_is_one_alone(cast: Cast) -> None:
    assert "plotly" in page(cast, "finance").content.decode()
    assert "plotly-basic" not in page(cast, "security").content.decode()
    assert "plotly" not in cast.client("finance").get("/").content.decode()
    sheet = (settings.BASE_DIR / "static" / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    assert "Plotly" in sheet


def test_a_reader_of_nothing_is_told_so(cast: Cast) -> None:
    assert "Nothing used on these days" in page(cast, "security").content.decode()
