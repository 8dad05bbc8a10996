"""Lists of runs: page after page, both ways, whatever comes in between, in any month, as far as the reader sees."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from governance.access.actor import Actor
from governance.access.memory import remembering
from governance.doors import paging
from governance.errors import BadData
from governance.usage import listing
from tests import books
from tests.cast import PEOPLE

pytestmark = pytest.mark.django_db
FIRST, LAST = date(2026, 5, 1), date(2026, 6, 30)
NAME = "list"


@pytest.fixture(scope="module")
def sixty(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Sixty runs of ocr and rank, submitted over two months, several at the same second."""
    with django_db_blocker.unblock(), transaction.atomic():
        bring(tmp_path_factory.mktemp("records"))
        yield
        transaction.set_rollback(True)


@pytest.fixture
def many(sixty: None, db: None) -> Actor:
    """Who sees all of them."""
    return Actor.machine("test")


def bring(folder: Path) -> None:
    books.declare(people=PEOPLE)
    begin = datetime(2026, 5, 20, 22)  # noqa: DTZ001 - as the scheduler prints it
    records = []
    for number in range(60):
        at = begin + timedelta(days=number // 3)
        owner = {"Account": "rank", "User": "eve"} if number % 4 == 0 else {"User": "ada" if number % 4 == 1 else "bob"}
        records.append(
            books.line(
                500 + number, at.isoformat(), at.isoformat(), (at + timedelta(hours=3)).isoformat(), gpus=1, **owner
            )
        )
    books.bring(folder, records, observed_at="2026-07-02T00:00")
    books.settle()


def walk(actor: Actor, limit: int = 7, **filters: str) -> list[list[str]]:
    """The job ids page by page, through signed cursors as a page and the API give them out."""
    pages, cursor = [], ""
    while True:
        found = listing.runs(FIRST, LAST, actor=actor, limit=limit, turn=paging.turned(cursor, NAME), **filters)
        pages.append([use.run.job_id for use in found.rows])
        cursor = paging.written(found.after, NAME) or ""
        if not cursor:
            return pages


def test_pages_hold_every_run_once_newest_submit_first_over_the_end_of_a_month(many: Actor) -> None:
    pages = walk(many)
    assert [len(page) for page in pages] == [7] * 8 + [4]
    whole = [job for page in pages for job in page]
    assert whole == [str(560 - 1 - number) for number in range(60)]


def test_turning_back_shows_the_pages_that_were_seen(many: Actor) -> None:
    pages = walk(many)
    cursor, back = "", []
    for _ in pages:
        found = listing.runs(FIRST, LAST, actor=many, limit=7, turn=paging.turned(cursor, NAME))
        last, cursor = found, paging.written(found.after, NAME) or ""
    while last.before is not None:
        turn = paging.turned(paging.written(last.before, paging.back(NAME)) or "", NAME)
        last = listing.runs(FIRST, LAST, actor=many, limit=7, turn=turn)
        back.append([use.run.job_id for use in last.rows])
    assert back == pages[-2::-1]


def test_what_comes_in_meanwhile_neither_repeats_nor_hides_a_run(many: Actor, tmp_path: Path) -> None:
    whole = [job for page in walk(many) for job in page]
    first = listing.runs(FIRST, LAST, actor=many, limit=20)
    newer = [books.line(900 + n, "2026-06-25T00:00", "2026-06-25T00:00", "2026-06-25T01:00") for n in range(9)]
    older = [books.line(950, "2026-05-21T00:00", "2026-05-21T00:00", "2026-05-21T01:00")]
    books.bring(tmp_path, newer + older, observed_at="2026-07-03T00:00")
    books.settle()
    rest = listing.runs(FIRST, LAST, actor=many, limit=100, turn=paging.Turn(first.after))
    seen = [use.run.job_id for use in [*first.rows, *rest.rows]]
    assert [job for job in seen if job != "950"] == whole
    assert "950" in seen


def test_a_reader_pages_through_what_is_theirs_and_nothing_else(many: Actor) -> None:
    from governance.access.models import Person

    def of(who: str) -> list[str]:
        return [job for page in walk(Actor.of(Person.objects.get(username=who)), limit=4) for job in page]

    ids = range(60)
    assert of("member") == [str(500 + n) for n in reversed(ids) if n % 4 == 1]
    assert of("lead") == [str(500 + n) for n in reversed(ids) if n % 4]
    assert of("outsider") == [str(500 + n) for n in reversed(ids) if n % 4 == 0]
    assert of("former") == []
    assert of("security") == []


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"project": "rank"}, lambda n: n % 4 == 0),
        ({"user": "ada"}, lambda n: n % 4 == 1),
        ({"account": "rank"}, lambda n: n % 4 == 0),
        ({"department": "search"}, lambda n: n % 4 == 0),
        ({"department": "research"}, lambda n: n % 4 != 0),
        ({"pool": "train-h800"}, lambda n: True),
        ({"pool": "unassigned"}, lambda n: False),
        ({"model": "h800", "user": "bob"}, lambda n: n % 4 > 1),
        ({"outcome": "failed"}, lambda n: False),
        ({"cluster": "nowhere"}, lambda n: False),
        ({"department": "unattributed"}, lambda n: False),
    ],
)
def test_filters_narrow_every_page(many: Actor, filters: dict[str, str], wanted: object) -> None:
    pages = walk(many, limit=6, **filters)
    assert [job for page in pages for job in page] == [str(500 + n) for n in reversed(range(60)) if wanted(n)]  # type: ignore[operator]


@pytest.mark.parametrize(
    "filters", [{"project": "ocr"}, {"department": "vision"}, {"account": "ocr", "pool": "train-h800"}]
)
def test_who_used_something_is_told_the_same_by_month_and_by_day(
    many: Actor, filters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for least in (0, 10_000):
        monkeypatch.setattr(listing, "SPAN_OF_MONTHS", least)
        found.append([job for page in walk(many, **filters) for job in page])
    assert found[0] == found[1]
    assert found[0]


def test_the_hours_are_those_of_the_days_asked_for(many: Actor) -> None:
    on = date(2026, 6, 1)
    found = listing.runs(on, on, actor=many, limit=50)
    # Three began at ten in the evening, three ended at one in the morning.
    hour = 1000 * 3600
    assert [use.milligpu_seconds for use in found.rows] == [2 * hour] * 3 + [hour] * 3
    assert [use.wall_seconds for use in found.rows] == [7200] * 3 + [3600] * 3
    theirs = listing.runs(on, on, actor=many, limit=50, project="ocr", pool="train-h800")
    assert {use.milligpu_seconds for use in theirs.rows} == {2 * hour, hour}


def test_a_page_reads_no_partition_beyond_the_one_that_fills_it(many: Actor) -> None:
    with CaptureQueriesContext(connection) as asked, remembering():
        listing.runs(FIRST, LAST, actor=many, limit=5)
    (question,) = [query["sql"] for query in asked if 'FROM "run" ' in query["sql"] or 'FROM "run"\n' in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {question}")
        plan = [row[0] for row in cursor.fetchall()]
    touched = [line for line in plan if "run_y2026" in line]
    assert any("run_y2026m06" in line and "never executed" not in line for line in touched)
    assert all("never executed" in line for line in touched if "run_y2026m05" in line)


def test_a_cursor_of_another_list_or_changed_is_refused(many: Actor) -> None:
    found = listing.runs(FIRST, LAST, actor=many, limit=5)
    cursor = paging.written(found.after, NAME) or ""
    assert paging.turned(cursor, NAME).place is not None
    for bad in (cursor[:-2] + "xx", paging.written(found.after, "other") or "", "x"):
        with pytest.raises(BadData):
            paging.turned(bad, NAME)
