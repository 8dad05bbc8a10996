"""Prices, shares and periods, without a database."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from billing.ledger.rules import Share, amount, span_of, split
from billing.prices.rules import PriceOfDay, Tariff
from governance.errors import BadData


def price(pool="*", accelerator="*", qos="*", band="*", gpu=None, cpu=None) -> PriceOfDay:
    return PriceOfDay(pool, accelerator, qos, band, Decimal(gpu) if gpu else None, Decimal(cpu) if cpu else None, None)


def test_qos_beats_model_beats_any():
    tariff = Tariff([price(gpu="1"), price(accelerator="h800", gpu="2"), price(qos="low", gpu="3")], {})
    assert tariff.unit_price("gpu_hour", "p", "h800", "low", "day") == 3
    assert tariff.unit_price("gpu_hour", "p", "h800", "normal", "day") == 2
    assert tariff.unit_price("gpu_hour", "p", "l20", "normal", "day") == 1


def test_each_measure_is_matched_on_its_own():
    tariff = Tariff([price(gpu="1", cpu="0.1"), price(qos="low", gpu="3")], {})
    assert tariff.unit_price("cpu_core_hour", "p", "h800", "low", "day") == Decimal("0.1")


def test_missing_is_unpriced_and_zero_is_free():
    tariff = Tariff([price(accelerator="h800", gpu="0.00")], {})
    assert tariff.unit_price("gpu_hour", "p", "h800", "x", "day") == 0
    assert tariff.unit_price("gpu_hour", "p", "l20", "x", "day") is None


def test_a_slice_without_a_price_of_its_own_takes_its_cards_price_times_its_factor():
    cards = {"a100-1g": ("a100", Decimal("0.125"))}
    assert (
        Tariff([price(accelerator="a100", gpu="8"), price(gpu="100")], cards).unit_price(
            "gpu_hour", "p", "a100-1g", "x", "day"
        )
        == 1
    )
    assert (
        Tariff([price(accelerator="a100", gpu="8"), price(accelerator="a100-1g", gpu="3")], cards).unit_price(
            "gpu_hour", "p", "a100-1g", "x", "day"
        )
        == 3
    )
    assert Tariff([price(gpu="16")], cards).unit_price("gpu_hour", "p", "a100-1g", "x", "day") == 2


def test_amounts_round_half_up_once():
    assert amount(3_600_000, Decimal("12.50"), "gpu_hour") == Decimal("12.500000")
    assert amount(1, Decimal("1.8"), "gpu_hour") == Decimal("0.000001")  # 0.0000005


def test_shares_add_up_to_the_cent_of_a_cent():
    parts = split(Decimal("0.000001"), [Share(str(n), Decimal("25")) for n in range(4)])
    assert sum(parts) == Decimal("0.000001")


@pytest.mark.parametrize(
    ("period", "first", "last"),
    [
        ("2026-02", date(2026, 2, 1), date(2026, 2, 28)),
        ("2026-12", date(2026, 12, 1), date(2026, 12, 31)),
        ("2024", date(2024, 1, 1), date(2024, 12, 31)),
        ("2026-01-15..2026-02-03", date(2026, 1, 15), date(2026, 2, 3)),
    ],
)
def test_periods(period, first, last):
    assert span_of(period) == (first, last)


@pytest.mark.parametrize(
    "period",
    [
        "",
        "2026-13",
        "2026-1",
        "26",
        "2026-02-30..2026-03-01",
        "2026-03-02..2026-03-01",
        "last month",
        "0000",
        "2026-06-01..",
    ],
)
def test_what_is_no_period_is_refused_in_words(period):
    with pytest.raises(BadData, match="period"):
        span_of(period)
