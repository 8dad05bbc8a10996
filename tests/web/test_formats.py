"""Numbers, money, days and durations as people read them: one table for both languages (design, section 9)."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal

import pytest
from babel.numbers import format_decimal
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from portal import formats

TABLE = [
    # filter, value, Chinese, English
    ("wan", 126_000, "12.6万", "126k"),
    ("wan", Decimal("3864000"), "386.4万", "3.86M"),
    ("wan", 28_000, "2.80万", "28.0k"),
    ("wan", Decimal("230000"), "23.0万", "230k"),
    ("wan", 10_000, "1.00万", "10.0k"),
    ("wan", 99_960, "10.0万", "100k"),
    ("wan", 126_000_000, "1.26亿", "126M"),
    ("wan", 20_500_000_000, "205亿", "20.5B"),
    ("wan", 1_280_000, "128万", "1.28M"),
    ("wan", 999_950, "100万", "1.00M"),
    ("wan", 99_999_999, "1.00亿", "100M"),
    ("wan", 9_999, "9,999", "9,999"),
    ("wan", Decimal("842.35"), "842", "842"),
    ("wan", Decimal("0.534"), "0.53", "0.53"),
    ("wan", 0, "0", "0"),
    ("wan", -126_000, "−12.6万", "−126k"),
    ("wan", None, "—", "—"),
    ("money", Decimal("1191721.1"), "1,191,721.10", "1,191,721.10"),
    ("money", Decimal("-2918.4"), "−2,918.40", "−2,918.40"),
    ("money", Decimal("0.005"), "0.01", "0.01"),
    ("money", Decimal("-0.001"), "0.00", "0.00"),
    ("money", None, "—", "—"),
    ("price", Decimal("12.800000"), "12.80", "12.80"),
    ("price", Decimal("0.012500"), "0.0125", "0.0125"),
    ("price", Decimal("0.000000"), "0.00", "0.00"),
    ("hours", Decimal("42630"), "42,630.00", "42,630.00"),
    ("hours", Decimal("133439.2549"), "133,439.25", "133,439.25"),
    ("hours", None, "—", "—"),
    ("n", 1_234_567, "1,234,567", "1,234,567"),
    ("pct", Decimal("0.684"), "68.4%", "68.4%"),
    ("pct", None, "—", "—"),
    ("dur", 11_520, "3小时12分", "3 h 12 min"),
    ("dur", 2_520, "42分钟", "42 min"),
    ("dur", 7_200, "2小时", "2 h"),
    ("dur", 45, "45秒", "45 s"),
    ("dur", 3_590, "1小时", "1 h"),
    ("dur", 187_200, "2天4小时", "2 d 4 h"),
    ("dur", None, "—", "—"),
    ("day", date(2026, 7, 15), "7月15日", "15 Jul 2026"),
    ("iso", date(2026, 7, 15), "2026-07-15", "2026-07-15"),
    ("month", date(2026, 6, 1), "2026年6月", "June 2026"),
    ("symbol", "CNY", "¥", "¥"),
    ("currency_unit", "CNY", "元", "CNY"),
    ("currency_unit", "EUR", "EUR", "EUR"),
    ("cards", 8_000, "8", "8"),
    ("cards", 500, "0.5", "0.5"),
    ("cards", None, "—", "—"),
]


@pytest.mark.parametrize(("name", "value", "zh", "en"), TABLE)
def test_a_figure_reads_as_the_reader_expects(name: str, value: object, zh: str, en: str) -> None:
    shown = getattr(formats, name)
    with translation.override("zh-hans"):
        assert shown(value) == zh
    with translation.override("en"):
        assert shown(value) == en


def test_an_instant_is_shown_on_the_billing_clock() -> None:
    instant = datetime(2026, 7, 15, 16, 30, 5, tzinfo=UTC)
    assert formats.at(instant, "Asia/Shanghai") == "2026-07-16 00:30"
    assert formats.at_second(instant, "Asia/Shanghai") == "2026-07-16 00:30:05"
    assert formats.at(None, "Asia/Shanghai") == "—"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@given(value=st.decimals(-(10**15), 10**15, places=8), places=st.integers(0, 6))
def test_figures_are_written_as_babel_writes_them(language: str, value: Decimal, places: int) -> None:
    with translation.override(language):
        rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        pattern = "#,##0." + "0" * places if places else "#,##0"
        text = format_decimal(abs(rounded), format=pattern, locale=formats.locale())
        assert formats.hours(value, places) == (formats.MINUS + text if rounded < 0 else text)
