"""The audit trail: searched, paged by cursor, shown as differences; nobody without the right reads it."""

from __future__ import annotations

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from governance.access.actor import Actor
from governance.audit import actions, reads
from governance.audit.models import AuditLine
from governance.audit.reads import Search
from governance.errors import NotAllowed
from tests.books import MACHINE
from tests.cast import EVERYBODY, Cast

pytestmark = pytest.mark.django_db
ZONE = ZoneInfo("Asia/Shanghai")


def write(action: str, code: str, *, by: str = "kim", **values: Any) -> AuditLine:
    with transaction.atomic():
        actions.record(Actor(name=by), action, "thing", code, **values)
    return AuditLine.objects.latest("pk")


def found(**search: Any) -> list[str]:
    return [line.object_code for line, _ in reads.page(Search(**search), 0, ZONE, actor=MACHINE).lines]


def test_a_line_is_found_by_who_what_which_and_when(db: None) -> None:
    write("thing.added", "a/1")
    write("thing.changed", "a/2", by="lee")
    write("other.added", "b/1")
    assert found(object_kind="thing") == ["b/1", "a/2", "a/1"]
    assert found(who="lee") == ["a/2"]
    assert found(action="thing.") == ["a/2", "a/1"]
    assert found(object_kind="thing", object_code="a/") == ["a/2", "a/1"]
    assert found(first_on=date(2200, 1, 1)) == []
    assert found(last_on=date(2000, 1, 1)) == []
    assert len(found(object_kind="thing", first_on=date(2000, 1, 1), last_on=date(2200, 1, 1))) == 3


def test_a_day_of_the_search_is_a_day_of_the_billing_zone(db: None) -> None:
    at = "2026-06-02T16:30:00Z"  # half past midnight on the third in Shanghai
    AuditLine.objects.create(at=at, actor="kim", is_machine=False, action="x", object_kind="thing", object_code="late")
    assert found(first_on=date(2026, 6, 3), last_on=date(2026, 6, 3)) == ["late"]
    assert found(first_on=date(2026, 6, 2), last_on=date(2026, 6, 2)) == []


def test_before_and_after_stand_side_by_side_with_what_is_inside() -> None:
    line = AuditLine(
        before={"a": 1, "deep": {"x": [1, 2]}, "gone": "y"}, after={"a": 2, "deep": {"x": [1, 2]}, "new": True}
    )
    told = {one.name: (one.before, one.after, one.is_same) for one in reads.differences(line)}
    assert told == {
        "a": ("1", "2", False),
        "deep.x": ("1, 2", "1, 2", True),
        "gone": ("y", None, False),
        "new": (None, "true", False),
    }
    intervals = AuditLine(before=None, after={"intervals": [{"from": None, "project": "ocr"}]})
    assert [(one.name, one.after) for one in reads.differences(intervals)] == [
        ("intervals[1].from", "—"),
        ("intervals[1].project", "ocr"),
    ]


def test_the_cursor_goes_through_every_line_once(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "LINES_A_PAGE", 2)
    for number in range(5):
        write("thing.added", str(number))
    seen, before = [], 0
    while True:
        page = reads.page(Search(object_kind="thing"), before, ZONE, actor=MACHINE)
        seen += [line.object_code for line, _ in page.lines]
        if not (before := page.before):
            break
    assert seen == ["4", "3", "2", "1", "0"]


def test_the_page_shows_what_changed_and_the_file_has_all_of_it(cast: Cast) -> None:
    write("thing.changed", "=x", before={"colour": "red"}, after={"colour": "<b>blue</b>"})
    client = cast.client("auditor")
    page = client.get("/audit/?kind=thing").content.decode()
    assert "<del>" in page
    assert "&lt;b&gt;blue" in page
    assert "<b>blue" not in page
    file = client.get("/audit/?kind=thing&format=csv").content.decode()
    assert "'=x" in file
    assert file.count("\r\n") == 2


def test_the_page_asks_at_most_twelve_questions(cast: Cast) -> None:
    client = cast.client("auditor")
    client.get("/audit/")
    with CaptureQueriesContext(connection) as asked:
        page = client.get("/audit/")
    assert page.status_code == 200
    assert len(asked) <= 12
    assert "Older lines" in page.content.decode()


@pytest.mark.parametrize("who", [name for name in EVERYBODY if name != "auditor"])
def test_nobody_else_reads_the_trail_by_any_door(cast: Cast, who: str) -> None:
    assert cast.client(who).get("/audit/?format=csv").status_code == 404
    with pytest.raises(NotAllowed):
        reads.page(Search(), 0, ZONE, actor=cast.actor(who))
    with pytest.raises(NotAllowed):
        list(reads.lines(Search(), ZONE, actor=cast.actor(who)))


def test_an_empty_search_says_what_to_do(cast: Cast) -> None:
    page = cast.client("auditor").get("/audit/?who=nobody-at-all").content.decode()
    assert "Take a condition away" in page
    assert cast.client("auditor").get("/audit/?from=noon").status_code == 422
