"""Posting by difference: what is posted is the priced usage, a second posting is empty, a correction says why."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import Sum

from billing.ledger import actions
from billing.ledger.checks import ledger_checks
from billing.ledger.models import Entry, Line, Period
from governance.usage.checks import usage_checks
from tests.books import MACHINE, bring, company, declare, line, settle

pytestmark = pytest.mark.django_db
DAY = date(2026, 3, 1)


def owed(**filters: object) -> Decimal:
    return Line.objects.filter(account_kind="department", **filters).aggregate(total=Sum("amount"))["total"] or Decimal(
        0
    )


def bring_one(folder, *, end: str = "2026-03-01T10:00", **other: object) -> None:
    bring(folder, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", end, **other)], observed_at="2026-03-02T12:00")
    settle()


def test_use_is_priced_at_the_price_of_its_day(tmp_path):
    prices = [
        {"pool": "train-h800", "accelerator": "h800", "qos": "*", "to": DAY, "gpu_hour": "99"},
        {"pool": "train-h800", "accelerator": "h800", "qos": "*", "from": DAY, "gpu_hour": "10.50"},
    ]
    declare(prices=prices)
    bring_one(tmp_path)
    assert owed() == Decimal("84")
    assert Line.objects.get(account_kind="pool").amount == Decimal("-84")


def test_a_day_still_within_the_grace_is_accrued_not_posted(tmp_path):
    declare()
    bring(
        tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")], observed_at="2026-03-02T01:59"
    )
    settle()
    assert not Entry.objects.exists()
    bring(
        tmp_path, [line(2, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")], observed_at="2026-03-02T02:01"
    )
    settle()
    assert owed() == 160


def test_posting_again_posts_nothing(tmp_path):
    declare()
    bring_one(tmp_path)
    assert actions.post(actor=MACHINE).as_dict() == {"days": 0, "entries": 0, "lines": 0, "amount": "0.000000"}


def test_a_late_record_posts_only_the_difference_and_names_what_it_corrects(tmp_path):
    declare()
    bring_one(tmp_path)
    bring(tmp_path, [line(2, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T09:30")])
    settle()
    second = Entry.objects.get(revision=2)
    assert (second.kind, second.reason, second.corrects) == (
        "correction",
        "late_records",
        Entry.objects.get(revision=1),
    )
    assert owed(entry=second) == 40
    assert owed() == 120


def test_a_changed_price_posts_only_the_difference(tmp_path):
    declare()
    bring_one(tmp_path)
    declare(prices=[{"pool": "train-h800", "accelerator": "h800", "qos": "*", "gpu_hour": "9"}])
    settle()
    second = Entry.objects.get(revision=2)
    assert (second.reason, owed(entry=second), owed()) == ("changed_terms", Decimal(-8), Decimal(72))


def test_a_remapped_account_moves_the_money_of_the_past(tmp_path):
    declare()
    bring_one(tmp_path)
    declare(mappings=[{"cluster": "bj", "account": "ocr", "project": "rank"}])
    settle()
    assert (owed(department="vision"), owed(department="search"), owed()) == (0, 80, 80)


def test_payer_shares_split_a_cost_exactly(tmp_path):
    payers = {"vision": "33.3333", "search": "33.3333", "research": "33.3334"}
    projects = [{"code": "ocr", "name": "ocr", "placements": [{"department": "vision", "payers": payers}]}]
    declare(projects=[*projects, company()["projects"][1]])
    bring_one(tmp_path, gpus=1)
    parts = [owed(department=code) for code in payers]
    assert parts == [Decimal("3.333330"), Decimal("3.333330"), Decimal("3.333340")]
    assert sum(parts) == 10


def test_a_backdated_placement_moves_the_bill_to_who_paid_on_that_day(tmp_path):
    declare()
    bring_one(tmp_path)
    moved = {
        "code": "ocr",
        "name": "ocr",
        "placements": [
            {"department": "search", "to": date(2026, 3, 2)},
            {"department": "vision", "from": date(2026, 3, 2)},
        ],
    }
    declare(projects=[moved, company()["projects"][1]])
    settle()
    assert (owed(department="vision"), owed(department="search")) == (0, 80)


def test_use_without_a_price_counts_costs_nothing_and_is_posted_once_priced(tmp_path):
    declare(prices=[])
    bring_one(tmp_path)
    assert not Line.objects.exists()
    declare()
    settle()
    assert owed() == 80


def test_a_price_of_zero_is_free_and_its_hours_are_in_the_journal(tmp_path):
    declare(prices=[{"pool": "train-h800", "accelerator": "h800", "qos": "*", "gpu_hour": "0"}])
    bring_one(tmp_path)
    free = Line.objects.get(account_kind="department")
    assert (free.amount, free.quantity) == (0, 8_000 * 3600)


def test_cpu_and_memory_prices_apply_to_runs_known_to_have_no_cards(tmp_path):
    declare()
    tres = "cpu=10,mem=20G,node=1"
    row = {"Partition": "infer", "NodeList": "inf001", "AllocCPUS": 10, "AllocTRES": tres, "ReqTRES": tres}
    bring_one(tmp_path, gpus=0, **row)
    amounts = dict(Line.objects.filter(account_kind="department").values_list("measure", "amount"))
    assert amounts == {"cpu_core_hour": Decimal("1.000000"), "memory_gib_hour": Decimal("0.200000")}


def test_cpu_prices_leave_runs_alone_whose_cards_are_unknown(tmp_path):
    declare()
    bring_one(tmp_path, gpus=None, Partition="infer", NodeList="inf001")
    assert not Line.objects.exists()


def test_a_locked_period_takes_nothing_and_the_difference_goes_to_the_open_one_with_its_day(tmp_path):
    declare()
    bring_one(tmp_path)
    Period.objects.filter(code="2026-03").update(state="closed")
    bring(tmp_path, [line(2, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T09:30")])
    settle()
    late = Entry.objects.get(revision=2)
    assert (late.period_id, late.used_on, late.kind, owed(entry=late)) == ("2026-04", DAY, "correction", 40)


def test_the_books_hold_after_all_this(tmp_path):
    declare()
    bring_one(tmp_path)
    bring(
        tmp_path,
        [
            line(2, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T09:30"),
            line(3, "2026-03-01T08:00", "2026-03-01T09:00", None),
        ],
    )
    settle()
    assert [check.identity for check in (*usage_checks(), *ledger_checks()) if not check.holds] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE line SET amount = 0",
        "DELETE FROM line",
        "UPDATE entry SET reason = 'x'",
        "DELETE FROM entry",
        "TRUNCATE line",
    ],
)
def test_the_database_refuses_to_change_the_journal(tmp_path, statement):
    declare()
    bring_one(tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as if the posting had committed
    with (
        pytest.raises(DatabaseError, match="added and never changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_the_database_refuses_an_entry_that_does_not_balance(tmp_path):
    declare()
    bring_one(tmp_path)
    entry = Entry.objects.get()
    with pytest.raises(DatabaseError, match="sum to"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO entry (cluster_id, used_on, revision, kind, reason, corrects_id, period_id, posted_by)"
            " VALUES (%s, %s, 2, 'correction', 'x', %s, '2026-03', 'test')",
            [entry.cluster_id, entry.used_on, entry.pk],
        )
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_the_database_refuses_an_entry_into_a_closed_period(tmp_path):
    declare()
    bring_one(tmp_path)
    Period.objects.update(state="closed")
    entry = Entry.objects.get()
    with pytest.raises(DatabaseError, match="is not open"), transaction.atomic():
        Entry.objects.create(
            cluster=entry.cluster,
            used_on=DAY,
            revision=2,
            kind="correction",
            reason="x",
            corrects=entry,
            period_id="2026-03",
            posted_by="test",
        )


@pytest.mark.parametrize(
    ("break_it", "identity"),
    [
        ("UPDATE usage_day SET milligpu_seconds = milligpu_seconds + 1", 4),
        ("UPDATE capacity_day SET allocated = allocated - 1, free = free + 1 WHERE allocated > 0", 5),
        ("UPDATE run SET job_name = 'other'", 2),
        ("UPDATE intake SET new = new - 1", 3),
        (
            "SET LOCAL steelyard.maintenance = 'on'; UPDATE line SET amount = amount + 1 WHERE account_kind = 'department'",
            7,
        ),
        ("SET LOCAL steelyard.maintenance = 'on'; UPDATE line SET amount = 2 * amount", 8),
    ],
)
def test_check_books_finds_what_is_broken(tmp_path, break_it, identity):
    declare()
    bring_one(tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as if the posting had committed
        cursor.execute(break_it)
    assert identity in [check.identity for check in (*usage_checks(), *ledger_checks()) if not check.holds]
