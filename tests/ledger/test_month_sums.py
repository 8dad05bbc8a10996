"""Sums by month are those of the days and of the lines, whatever was written in which way, and statements say the same of both."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from random import Random

import pytest
from django.db import connection

from billing.ledger import facts, reads
from governance.access.actor import Actor
from governance.usage.checks import usage_checks
from portal.analysis import views as analysis
from tests import books
from tests.cast import EVERYBODY, Cast

pytestmark = pytest.mark.django_db
SUMS = "milligpu_seconds, cpu_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs"
KEYS = 'project, pool, model, qos, band, cluster, account, "user"'
SITE = "day, cluster, pool, model, qos, band, outcome"
OWED = 'project, department, pool, model, qos, band, cluster, "user"'


def differences() -> list[tuple[object, ...]]:
    """Rows of one telling that the other lacks."""
    sums = ", ".join(f"sum({name})::bigint" for name in SUMS.split(", "))
    facts = f"SELECT date_trunc('month', day)::date, {KEYS}, count(*), {sums} FROM usage_day GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
    kept = f"SELECT month, {KEYS}, facts, {SUMS} FROM usage_month"
    of_days = f"SELECT {SITE}, count(*), {sums} FROM usage_day GROUP BY 1, 2, 3, 4, 5, 6, 7"
    of_site = f"SELECT {SITE}, facts, {SUMS} FROM usage_site_day"
    lines = f"""SELECT date_trunc('month', used_on)::date, {OWED}, count(*), sum(amount) FROM line
        WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9"""
    owed = f"SELECT month, {OWED}, lines, amount FROM line_month"
    found = []
    with connection.cursor() as cursor:
        booked = """SELECT e.period_id, l.account_kind, CASE l.account_kind WHEN 'department' THEN l.department ELSE l.pool END,
            count(*), sum(l.amount) FROM line AS l JOIN entry AS e ON e.id = l.entry_id GROUP BY 1, 2, 3"""
        balance = "SELECT period, account_kind, code, lines, amount FROM booked_month"
        pairs = [(facts, kept), (of_days, of_site), (lines, owed), (booked, balance)]
        for one, other in pairs + [(other, one) for one, other in pairs]:
            cursor.execute(f"({one}) EXCEPT ({other})")
            found += cursor.fetchall()
    return found


def test_the_sums_follow_records_mappings_and_corrections(cast: Cast, tmp_path: Path) -> None:
    assert differences() == []
    late = [
        books.line(301, "2026-06-30T20:00", "2026-06-30T20:00", "2026-07-01T04:00"),
        books.line(101, "2026-06-02T08:00", None, None),
    ]
    books.bring(tmp_path, late, observed_at="2026-07-03T00:00")
    books.settle()
    assert differences() == []
    mappings = [{"cluster": "bj", "account": name, "project": "ocr"} for name in ("ocr", "rank", "nobody")]
    books.declare(mappings=mappings)
    books.settle()
    assert differences() == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM usage_month WHERE project = 'unattributed' OR facts = 0")
        assert cursor.fetchone() == (0,)


#: Any way of writing facts: some rows changed, ended otherwise, gone, doubled under another user, all gone.
WRITES = (
    "UPDATE usage_day SET milligpu_seconds = milligpu_seconds + 7, runs_ended = runs_ended + 1 WHERE {some}",
    "UPDATE usage_day SET outcome = outcome || '{n}' WHERE {some}",
    "DELETE FROM usage_day WHERE {some}",
    'CREATE TEMP TABLE more ON COMMIT DROP AS SELECT * FROM usage_day WHERE {some}; UPDATE more SET "user" = "user" || \'+{n}\';'
    " INSERT INTO usage_day SELECT * FROM more; DROP TABLE more",
)


@pytest.mark.parametrize("seed", range(4))
def test_the_sums_follow_whatever_is_written(cast: Cast, seed: int) -> None:
    chance = Random(seed)
    assert check_sums() == 0
    with connection.cursor() as cursor:
        for n in range(8):
            some = f"mod(abs(hashtext(day::text || account || outcome || '{chance.random()}')::bigint), 3) = 0"
            cursor.execute(chance.choice(WRITES).format(some=some, n=n))
            assert differences() == [], n
        assert check_sums() == 0
        cursor.execute(
            "UPDATE usage_site_day SET runs_started = runs_started + 1 WHERE day = (SELECT min(day) FROM usage_site_day)"
        )
        assert check_sums() > 0
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE usage_day")
    assert differences() == []


def check_sums() -> int:
    """What checking the books says of them."""
    (check,) = (one for one in usage_checks() if one.identity == 4)
    assert check.figures["sums_off"] == 0 or not check.holds
    return int(check.figures["sums_off"])


@pytest.mark.parametrize("filters", [{}, {"pool": "train-h800"}, {"outcome": "completed", "cluster": "bj"}])
@pytest.mark.parametrize("by", analysis.BY)
def test_everything_by_day_says_the_same_as_its_facts(
    cast: Cast, by: str, filters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, days = cast.actor("finance"), (date(2026, 6, 1), date(2026, 7, 1))
    query = analysis.reads.query_of(*days, by, filters, actor)

    def said() -> tuple[object, ...]:
        statement = reads.statement(f"{days[0]}..{days[1]}", ("day", "model"), actor=actor, **filters)
        return analysis.reads.use(query, actor=actor).days, statement.rows, statement.exceptions

    found = said()
    assert found[0]
    assert found[1]
    monkeypatch.setattr(facts, "OF_SITE", frozenset())
    assert said() == found


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("by", ["department", "project", "user", "account"])
def test_a_month_says_the_same_as_its_days(cast: Cast, who: str, by: str) -> None:
    same(cast.actor(who), by)


def test_a_project_that_moves_within_the_month_is_told_by_its_days(cast: Cast) -> None:
    halves = [{"department": "vision", "to": "2026-06-11"}, {"department": "search", "from": "2026-06-11"}]
    moved = {"code": "ocr", "name": "OCR", "placements": halves}
    books.declare(projects=[moved, *books.company()["projects"][1:]])
    books.settle()
    for who in ("finance", "approver", "outsider"):
        rows = same(cast.actor(who), "department")
    assert {row.keys["department"] for row in rows} >= {"search"}


def same(actor: Actor, by: str) -> list[reads.Row]:
    """The rows of June, asked for as a month and as days."""
    month = reads.statement("2026-06", (by,), actor=actor)
    first, last = date(2026, 6, 1), date(2026, 6, 30)
    # Together with the outcome, which sums by month do not have, then added up again.
    days = reads.statement(f"{first}..{last}", (by, "outcome"), actor=actor)
    sums: dict[str, int] = {}
    for row in days.rows:
        sums[row.keys[by]] = sums.get(row.keys[by], 0) + row.sums.milligpu_seconds
    used = {row.keys[by]: row.sums.milligpu_seconds for row in month.rows}
    assert {key: value for key, value in used.items() if value} == {key: value for key, value in sums.items() if value}
    assert month.exceptions == reads.statement("2026-06", (by, "day"), actor=actor).exceptions
    by_day = reads.statement("2026-06", (by, "day"), actor=actor).total
    assert (month.total.amount, month.total.accrued) == (by_day.amount, by_day.accrued)
    longer = "2026-05-20..2026-07-01"  # a whole month with days on both sides
    assert reads.statement(longer, (by,), actor=actor).total == reads.statement(longer, (by, "day"), actor=actor).total
    return month.rows
