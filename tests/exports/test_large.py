"""A file of two hundred thousand lines takes no more memory than one of twenty thousand."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest
from django.db import connection

from billing.ledger.reads import statement
from governance.access.actor import Actor
from portal.exports import actions, rules
from portal.exports.rules import State
from tests.cast import Cast

pytestmark = pytest.mark.django_db
PERIOD = "2026-07"
LINES = {"csv": 200_000, "xlsx": 20_000}
MOST_GROWTH_KIB = 24 * 1024
#: One entry whose lines balance: each charges a department and credits a pool, with amounts that add up to no round sum.
BOOK = """
    WITH e AS (
        INSERT INTO entry (period_id, cluster_id, used_on, revision, kind, reason, posted_by)
        SELECT '2026-07', id, '2026-07-01', 1, 'use', '', 'test' FROM cluster WHERE code = 'bj' RETURNING id
    )
    INSERT INTO line (entry_id, account_kind, used_on, band, cluster, project, department, "user", pool, model, qos, charge_kind,
        measure, quantity, share_percent, unit_price, amount)
    SELECT e.id, side.kind, '2026-07-01', 'day', 'bj', CASE side.kind WHEN 'department' THEN 'ocr' ELSE '' END,
        CASE side.kind WHEN 'department' THEN 'vision' ELSE '' END,
        CASE side.kind WHEN 'department' THEN 'ada' || n ELSE '' END, 'train-h800', 'h800', 'normal', 'usage', 'gpu_hour',
        3600000, 100, 10.000001, side.sign * (10.000001 + n * 0.000001)
    FROM e, generate_series(1, %s) AS n, (VALUES ('department', 1), ('pool', -1)) AS side (kind, sign)"""


def resident_kib() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.fixture
def book(cast: Cast) -> Callable[[int], None]:
    """Book so many lines into July."""

    def lines(count: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO period (code, state) VALUES ('2026-07', 'open') ON CONFLICT DO NOTHING")
            cursor.execute(BOOK, [count])

    return lines


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here to read the memory from")
@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_memory_stays_flat_and_the_sum_is_the_ledger_s(
    cast: Cast, book: Callable[[int], None], folder: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(actions, "LOOK_SECONDS", 0.0)
    book(LINES[format])
    actor = Actor.of(cast.people["finance"])
    export = actions.ask("ledger-lines", {"period": PERIOD}, format, "en", actor=actor)
    seen: list[tuple[int, int, int]] = []
    actions.make(export.pk, attempt=1, heard=lambda done, of: seen.append((done, of, resident_kib())))
    export.refresh_from_db()
    assert (export.state, export.rows_done) == (State.DONE, LINES[format])
    assert [done for done, _, _ in seen] == list(range(500, LINES[format] + 1, 500))
    assert {of for _, of, _ in seen} == {LINES[format]}
    begun = next(kib for done, _, kib in seen if done >= LINES[format] // 10)
    assert max(kib for _, _, kib in seen) - begun < MOST_GROWTH_KIB
    total = statement(PERIOD, (), actor=actor).total.amount
    assert sum_of(folder / export.file_name) == total


def sum_of(path: Path) -> Decimal:
    """The amounts of a file, added up to the sixth place."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig") as file:
            column = next(file).strip().split(",").index("amount")
            return sum((Decimal(line.split(",")[column]) for line in file), Decimal(0))
    sheet = openpyxl.load_workbook(path, read_only=True).worksheets[0]
    rows = sheet.iter_rows(values_only=True)
    column = list(next(rows)).index("Amount (CNY)")
    return sum((Decimal(str(row[column])) for row in rows), Decimal(0))


def test_a_workbook_goes_on_in_a_second_sheet(
    cast: Cast, folder: Path, monkeypatch: pytest.MonkeyPatch, book: Callable[[int], None]
) -> None:
    monkeypatch.setattr(rules, "SHEET_ROWS", 40)
    book(100)
    export = actions.ask("ledger-lines", {"period": PERIOD}, "xlsx", "en", actor=Actor.of(cast.people["finance"]))
    actions.make(export.pk, attempt=1, heard=lambda done, of: None)
    sheets = openpyxl.load_workbook(folder / f"{export.pk}.xlsx", read_only=True).worksheets
    assert [len(list(sheet.iter_rows())) - 1 for sheet in sheets[:-1]] == [40, 40, 20]
