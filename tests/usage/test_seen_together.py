"""Runs passed by their very text, and notes that are kept for many at once: the truth is what it would be had each record been weighed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from governance.usage import ingest, intake
from governance.usage.arrays import Int8s, Texts, Uuids, answer
from governance.usage.models import Run
from tests.books import bring, line
from tests.natural import content
from tests.usage.test_order_free import company, few, in_fresh_books, moment  # noqa: F401  (the company is declared for each module)

LENGTH = 40


def record(job: int, shape: int) -> dict[str, str]:
    """Three things that may be told of a job: it ended so, it ended otherwise, it runs."""
    end = None if shape == 2 else moment(60)
    return line(job, moment(0), moment(10), end, State=("COMPLETED", "FAILED", "RUNNING")[shape])


class Passing(ingest.Merge):
    """Tries to pass what it knows from the first chunk on."""

    def chunk(self, rows: Any) -> Any:
        self._expects_known = True
        return super().chunk(rows)


class Weighing(ingest.Merge):
    """Passes nothing."""

    def chunk(self, rows: Any) -> Any:
        self._expects_known = False
        return super().chunk(rows)


def told(folder: Path, by: type[ingest.Merge], answers: list[tuple[int, list[tuple[int, int]]]]) -> Any:
    """The runs after these answers, each observed at its minute: [(minute, [(job, shape), ...]), ...]."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "Merge", by)
        for minute, found in answers:
            bring(folder, [record(job, shape) for job, shape in found], observed_at=moment(100 + minute))
    return content("runs")


answers = st.lists(
    st.tuples(
        st.integers(0, LENGTH),
        st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0, 0, 0, 1, 2])), min_size=1, max_size=4),
    ),
    min_size=2,
    max_size=8,
)


@pytest.mark.django_db
@few
@given(found=answers, data=st.data())
def test_passed_runs_and_their_notes_leave_what_weighing_each_record_leaves(found, data):
    shuffled = data.draw(st.permutations(found))
    most = data.draw(st.sampled_from([0, 2, ingest.MOST_NOTES]))  # laid out at once, soon, or only when it matters
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "MOST_NOTES", most)
        passed = in_fresh_books(lambda folder: told(folder, Passing, found))
        otherwise = in_fresh_books(lambda folder: told(folder, Passing, shuffled))
    assert passed == in_fresh_books(lambda folder: told(folder, Weighing, found)) == otherwise


def notes() -> tuple[int, int]:
    """Rows of run_seen_together, and of run_seen."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT count(*) FROM run_seen_together), (SELECT count(*) FROM run_seen)")
        found: tuple[int, int] = cursor.fetchone()
        return found


@pytest.mark.django_db
def test_a_note_is_one_row_for_all_and_is_laid_out_when_an_older_record_comes(tmp_path, monkeypatch):
    def work(folder: Path) -> None:
        told(folder, Passing, [(0, [(1, 0), (2, 0), (3, 2)]), (9, [(1, 0), (2, 0)])])
        assert notes() == (1, 0)
        told(folder, Passing, [(12, [(3, 0)])])  # a run that had not ended is changed by a later record
        assert notes() == (1, 0)
        told(folder, Passing, [(5, [(1, 1)])])
        assert notes() == (0, 2)
        assert set(Run.objects.values_list("job_id", "state")) == {(job, "COMPLETED") for job in "123"}
        told(folder, Passing, [(15, [(1, 1)])])
        assert Run.objects.get(job_id="1").state == "FAILED"

    in_fresh_books(work)


@pytest.mark.django_db
def test_many_notes_are_laid_out(monkeypatch):
    monkeypatch.setattr(ingest, "MOST_TOGETHER", 3)

    def work(folder: Path) -> None:
        told(folder, Passing, [(0, [(1, 0), (2, 0)]), (5, [(1, 0), (2, 0)])])
        assert notes() == (1, 0)
        told(folder, Passing, [(6, [(1, 0), (2, 0)])])
        assert notes() == (0, 2)

    in_fresh_books(work)


@pytest.mark.django_db
def test_arrays_arrive_as_they_were_given():
    statement = "SELECT %(numbers)s::bigint[], %(texts)s::text[], %(ids)s::uuid[]::text[], %(none)s::text[]"
    texts = ["", "训练", "a,b", '"{}\\']
    with connection.cursor() as cursor:
        given = {"numbers": Int8s([-1, 2**62]), "texts": Texts(texts), "ids": Uuids([b"\x01" * 16]), "none": Texts([])}
        found = answer(cursor, statement, given)
    assert found == ([-1, 2**62], texts, ["01010101-0101-0101-0101-010101010101"], [])
