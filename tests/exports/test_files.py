"""What stands in the files: the same as on the pages, as numbers and days, harmless to spreadsheets."""

from __future__ import annotations

import csv
import hashlib
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from billing.ledger.reads import statement
from governance.access.actor import Actor
from governance.usage.models import Run
from portal.exports import actions, rules
from portal.exports.kinds import KINDS
from portal.exports.rules import State
from tests.cast import PERIOD, Cast

from .conftest import Made, text_of

pytestmark = pytest.mark.django_db


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def sheet_of(path: Path) -> tuple[list[str], list[list[Any]], dict[str, Any]]:
    """The titles, the rows and the entries of the sheet about the file."""
    book = openpyxl.load_workbook(path, read_only=True)
    first, about = book.worksheets[0], book.worksheets[-1]
    rows = [list(row) for row in first.iter_rows(values_only=True)]
    told: dict[str, Any] = {}
    for row in about.iter_rows(values_only=True):
        if row and row[0] and len(row) > 1:
            told.setdefault(str(row[0]), row[1])
    return [str(title) for title in rows[0]], rows[1:], told


def test_the_lines_in_a_workbook_add_up_to_the_ledger(made: Made, cast: Cast, folder: Path) -> None:
    export = made("finance", "ledger-lines", "xlsx", period=PERIOD)
    titles, rows, told = sheet_of(folder / export.file_name)
    of = statement(PERIOD, ("department",), actor=cast.actor("finance"))
    amounts = [Decimal(str(row[titles.index("Amount (CNY)")])) for row in rows]
    assert sum(amounts).quantize(Decimal("0.000001")) == of.total.amount
    assert export.rows_done == len(rows) > 0
    assert told["Amount"] == float(of.total.amount or 0)
    assert isinstance(rows[0][titles.index("Used on")], datetime)
    assert told["Made for"] == "finance"
    assert told["Period"] == PERIOD


def test_a_statement_in_a_workbook_has_the_rows_and_totals_of_the_page(made: Made, cast: Cast, folder: Path) -> None:
    export = made("approver", "ledger-statement", "xlsx", department="vision", period=PERIOD, by="pool")
    titles, rows, told = sheet_of(folder / export.file_name)
    of = statement(PERIOD, ("pool",), actor=cast.actor("approver"), department="vision")
    assert [row[0] for row in rows] == [row.keys["pool"] for row in of.rows]
    hours = titles.index("GPU time (GPU-hours)")
    assert [Decimal(str(row[hours])).quantize(Decimal("0.0001")) for row in rows] == [r.sums.gpu_hours for r in of.rows]
    assert told["GPU time (GPU-hours)"] == float(of.total.gpu_hours)
    assert any(word.endswith("(gpu_hours)") for word in told)  # what the figure means, from the dictionary


def test_headers_are_in_the_language_that_was_asked_for(made: Made, folder: Path) -> None:
    export = made("finance", "ledger-statement", "xlsx", "zh-hans", period=PERIOD)
    titles, _rows, _told = sheet_of(folder / export.file_name)
    assert "部门" in titles
    assert [title for title in titles if title.isascii()] == []


def test_a_name_that_looks_like_a_formula_is_a_text_in_both_formats(made: Made, folder: Path) -> None:
    book = made("lead", "runs", "xlsx", **{"from": "2026-06-11", "to": "2026-06-11"})
    titles, rows, _told = sheet_of(folder / book.file_name)
    assert "=cmd()" in [row[titles.index("Job name")] for row in rows]
    raw = openpyxl.load_workbook(folder / book.file_name).worksheets[0]
    assert {cell.data_type for row in raw.iter_rows() for cell in row} <= {"s", "n", "d", "inlineStr"}
    plain = made("lead", "runs", "csv", **{"from": "2026-06-11", "to": "2026-06-11"})
    assert "'=cmd()" in [row["job_name"] for row in rows_of(text_of(plain))]


def test_the_runs_of_a_month_are_all_there_once_with_their_use(made: Made, cast: Cast) -> None:
    export = made("finance", "runs", **{"from": "2026-06-01", "to": "2026-06-30"})
    rows = rows_of(text_of(export))
    assert sorted(row["job_id"] for row in rows) == sorted(
        Run.objects.filter(start_at__isnull=False).values_list("job_id", flat=True)
    )
    of = statement(PERIOD, (), actor=cast.actor("finance"))
    assert sum(Decimal(row["gpu_hours"]) for row in rows) == of.total.gpu_hours


@pytest.mark.parametrize(
    ("kind", "who"),
    [("usage", "approver"), ("unattributed", "operator"), ("audit", "auditor"), ("nodes", "capacity_manager")],
)
@pytest.mark.parametrize("format", rules.FORMATS)
def test_every_other_kind_makes_a_file(made: Made, folder: Path, kind: str, who: str, format: str) -> None:
    export = made(who, kind, format)
    assert export.state == State.DONE, export.error
    content = (folder / export.file_name).read_bytes()
    assert (export.bytes, export.digest) == (len(content), hashlib.sha256(content).hexdigest())
    if format == "xlsx":
        _titles, rows, told = sheet_of(folder / export.file_name)
        assert len(rows) == export.rows_done
        assert told["Time zone"] == "Asia/Shanghai"
    else:
        assert len(rows_of(content.decode("utf-8-sig"))) == export.rows_done
    assert export.rows_done > 0 or kind == "usage"


def test_a_small_file_comes_at_once_and_is_the_same(cast: Cast, made: Made) -> None:
    client = cast.client("finance")
    answer = client.post("/exports/", {"page": f"/ledger/~/{PERIOD}/lines/", "format": "csv"})
    assert answer["Content-Disposition"].endswith('.csv"')
    assert answer.content.decode("utf-8-sig") == text_of(made("finance", "ledger-lines", department="~", period=PERIOD))
    book = client.post("/exports/", {"page": f"/ledger/vision/{PERIOD}/?by=user", "format": "xlsx"})
    sheet = openpyxl.load_workbook(BytesIO(book.content), read_only=True).worksheets[0]
    assert {row[0] for row in sheet.iter_rows(min_row=2, values_only=True)} >= {"ada", "bob"}


def test_where_in_a_page_one_is_does_not_matter_to_its_file(cast: Cast) -> None:
    client = cast.client("operator")
    for page in ("/catalog/?view=nodes&pool=train-h800&after=x", "/jobs/?from=2026-06-01&to=2026-06-30&cursor=x"):
        assert client.post("/exports/", {"page": page, "format": "csv"}).status_code == 200, page


def test_a_text_longer_than_a_cell_says_that_it_is_cut(folder: Path) -> None:
    cut = rules.shortened("x" * 40_000, " … (cut)")
    assert len(cut) == rules.CELL_CHARACTERS
    assert cut.endswith(" … (cut)")


def test_days_left_open_are_written_down_when_the_file_is_asked_for(made: Made) -> None:
    export = made("finance", "runs")
    assert set(export.query) == {"from", "to"}
    assert date.fromisoformat(export.query["from"]) < date.fromisoformat(export.query["to"])


def test_a_filter_nobody_knows_is_refused_in_words(cast: Cast) -> None:
    from governance.errors import BadData

    for kind in KINDS:
        with pytest.raises(BadData, match="colour"):
            actions.ask(kind, {"colour": "red"}, "csv", "en", actor=Actor.of(cast.people["auditor"]))
