"""What the ledger answers."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from billing.ledger.reads import lines, statement, trial_balance
from governance.errors import BadData, NotFound
from tests.books import MACHINE, bring, company, declare, line, settle

pytestmark = pytest.mark.django_db


@pytest.fixture
def march(tmp_path):
    """A project moves from vision to search on the 2nd; 8 cards for two hours on each day, one run unclaimed, one still running."""
    placements = [{"department": "vision", "to": date(2026, 3, 2)}, {"department": "search", "from": date(2026, 3, 2)}]
    declare(
        projects=[
            {"code": "ocr", "name": {"zh": "文字识别", "en": "OCR"}, "placements": placements},
            company()["projects"][1],
        ]
    )
    rows = [
        line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T11:00"),
        line(2, "2026-03-02T08:00", "2026-03-02T09:00", "2026-03-02T11:00"),
        line(3, "2026-03-02T08:00", "2026-03-02T09:00", "2026-03-02T10:00", Account="stray"),
        line(4, "2026-03-03T08:00", "2026-03-03T09:00", None, Account="rank"),
    ]
    bring(tmp_path, rows, observed_at="2026-03-03T12:00")
    settle()


def by_key(found):
    return {
        tuple(row.keys.values()): (str(row.sums.gpu_hours), row.sums.amount, row.sums.accrued) for row in found.rows
    }


def test_hours_stand_with_the_home_of_the_day_and_todays_is_accrued(march):
    found = statement("2026-03", actor=MACHINE)
    assert by_key(found) == {
        ("vision",): ("16.0000", Decimal("160"), Decimal(0)),
        ("search",): ("40.0000", Decimal("160"), Decimal("240")),
        ("unattributed",): ("8.0000", Decimal("80"), Decimal(0)),
    }
    assert (found.total.gpu_hours, found.total.amount, found.total.runs_ended) == (Decimal("64.0000"), Decimal(400), 3)


def test_a_department_is_its_subtree(march):
    assert by_key(statement("2026-03", actor=MACHINE, department="research")) == {
        ("vision",): ("16.0000", Decimal(160), Decimal(0))
    }


def test_by_several_dimensions_and_by_day(march):
    found = by_key(statement("2026-03", ("day", "project"), actor=MACHINE))
    assert found[("2026-03-02", "unattributed")] == ("8.0000", Decimal(80), Decimal(0))
    assert list(found) == sorted(found)


def test_by_account_and_by_outcome_there_are_no_amounts(march):
    found = statement("2026-03", ("outcome",), actor=MACHINE)
    assert by_key(found) == {("completed",): ("40.0000", None, None), ("running",): ("24.0000", None, None)}
    assert found.total.amount is None


def test_with_shares_hours_stay_whole_and_amounts_go_to_the_payers(tmp_path):
    shared = {
        "code": "ocr",
        "name": "ocr",
        "placements": [{"department": "vision", "payers": {"vision": 70, "search": 30}}],
    }
    declare(projects=[shared, company()["projects"][1]])
    bring(
        tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")], observed_at="2026-03-03T12:00"
    )
    settle()
    assert by_key(statement("2026-03", actor=MACHINE)) == {
        ("search",): ("0.0000", Decimal(24), Decimal(0)),
        ("vision",): ("8.0000", Decimal(56), Decimal(0)),
    }


def test_card_hours_convert_slices_by_the_factor_of_the_day(tmp_path):
    document = company()
    document["accelerators"].append(
        {
            "code": "h800-1g",
            "name": "slice",
            "card": "h800",
            "card_factors": [{"factor": "0.125"}],
            "aliases": ["1g.10gb"],
        }
    )
    document["clusters"][0]["pools"][0]["accelerators"].append("h800-1g")
    declare(**{key: document[key] for key in ("accelerators", "clusters")})
    bring(
        tmp_path,
        [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", kind="1g.10gb")],
        observed_at="2026-03-03T12:00",
    )
    settle()
    (row,) = statement("2026-03", ("model",), actor=MACHINE).rows
    assert (row.keys["model"], row.sums.gpu_hours, row.sums.card_hours, row.sums.amount) == ("h800-1g", 8, 1, 10)


def test_exceptions_name_what_a_reader_must_know(march):
    declare(prices=[])
    found = statement("2026-03", actor=MACHINE).exceptions
    assert (str(found.unattributed_gpu_hours), found.over_allocated_days, found.quarantined) == ("8.0000", 0, 0)
    assert [(d.day.isoformat(), d.pool, str(d.gpu_hours)) for d in found.unpriced_days] == []
    load_without_prices = statement("2026-03", actor=MACHINE)
    assert load_without_prices.total.amount == 400


def test_unpriced_days_are_listed_by_pool_model_and_qos(tmp_path):
    declare(prices=[])
    bring(
        tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")], observed_at="2026-03-03T12:00"
    )
    settle()
    (day,) = statement("2026-03", actor=MACHINE).exceptions.unpriced_days
    assert (day.day, day.pool, day.model, day.qos, str(day.gpu_hours)) == (
        date(2026, 3, 1),
        "train-h800",
        "h800",
        "normal",
        "8.0000",
    )


def test_the_command_answers_the_published_form(march):
    out = StringIO()
    call_command("ledger", "2026-03", "--department", "vision", "--format", "json", stdout=out)
    answer = json.loads(out.getvalue())
    figures = {
        "gpu_hours": "16.0000",
        "card_hours": "16.0000",
        "cpu_hours": "128.0000",
        "node_hours": "2.0000",
        "wall_hours": "2.0000",
        "memory_gib_hours": "1024.0000",
        "runs_started": 1,
        "runs_ended": 1,
        "amount": "160.000000",
        "accrued": "0.000000",
    }
    assert answer["rows"] == [{"department": "vision", "name": answer["rows"][0]["name"], **figures}]
    assert answer["total"] == figures
    assert (answer["time_zone"], answer["currency"], answer["through"]) == (
        "Asia/Shanghai",
        "CNY",
        "2026-03-03T04:00:00Z",
    )
    assert set(answer["exceptions"]) == {
        "quarantined", "unattributed_gpu_hours", "unassigned_gpu_hours", "unknown_gpu_runs", "unpriced_days", "over_allocated_days",
    }  # fmt: skip


def test_lines_open_to_their_entry_and_the_trial_balance_is_zero(march):
    (found,) = lines("2026-03", actor=MACHINE, limit=5, department="vision").rows
    assert (found.used_on, found.quantity, found.unit_price, found.amount, found.revision) == (
        date(2026, 3, 1),
        8_000 * 7200,
        10,
        160,
        1,
    )
    balance = trial_balance("2026-03", actor=MACHINE)
    assert sum(account.amount for account in balance) == 0
    assert {account.code for account in balance} == {"vision", "search", "unattributed", "train-h800"}


def test_what_is_not_there_is_said_in_words(march):
    with pytest.raises(NotFound, match="no department “nowhere”"):
        statement("2026-03", actor=MACHINE, department="nowhere")
    with pytest.raises(BadData, match="no dimension"):
        statement("2026-03", ("colour",), actor=MACHINE)
    with pytest.raises(CommandError):
        call_command("ledger", "soon")
