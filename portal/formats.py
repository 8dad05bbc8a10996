"""Template filters: numbers, money, days, durations as the reader has them; missing is —, zero is 0, minus is −."""

from __future__ import annotations

from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

from babel.dates import format_date, format_skeleton
from babel.numbers import get_currency_symbol
from django import template
from django.utils.translation import get_language

register = template.Library()

MISSING = "—"
MINUS = "\N{MINUS SIGN}"
Number = int | float | Decimal
#: Units of compact figures, largest first.
STEPS: dict[str, tuple[tuple[Decimal, str], ...]] = {
    "en": ((Decimal(10) ** 9, "B"), (Decimal(10) ** 6, "M"), (Decimal(1000), "k")),
    "zh_Hans": ((Decimal(10) ** 8, "亿"), (Decimal(10) ** 4, "万")),
}


def locale() -> str:
    """Babel's name for the reader's language."""
    return "en" if (get_language() or "").startswith("en") else "zh_Hans"


def _decimal(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _plain(value: Decimal, places: int) -> str:
    """Thousands separated, `places` decimals rounded half up, never a negative zero."""
    rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    # As babel has it in both languages, at a fortieth of its time: a page has hundreds of figures.
    text = f"{abs(rounded):,f}"
    return MINUS + text if rounded < 0 else text


@register.filter
def n(value: Number | None) -> str:
    """A whole count: 12,345."""
    return MISSING if value is None else _plain(_decimal(value), 0)


@register.filter
def hours(value: Number | None, places: int = 2) -> str:
    """Hours in a table, two decimals: 42,630.00. The unit stands in the header."""
    return MISSING if value is None else _plain(_decimal(value), places)


@register.filter
def money(value: Number | None, places: int = 2) -> str:
    """An amount in a table, two decimals: 1,191,721.10. The currency stands in the header."""
    return MISSING if value is None else _plain(_decimal(value), places)


@register.filter
def price(value: Decimal | None) -> str:
    """A unit price: at least two decimals, as many as it has up to six: 12.80, 0.012500 -> 0.0125."""
    if value is None:
        return MISSING
    exponent = value.normalize().as_tuple().exponent
    return _plain(value, min(6, max(2, -exponent if isinstance(exponent, int) else 0)))


@register.filter
def wan(value: Number | None) -> str:
    """Compact, three significant digits, for figures that answer at a glance: 2.80万, 12.6万, 1.26亿; 28.0k, 126k, 3.86M.

    A count below ten thousand is no compact figure: it stands whole, small amounts with two decimals at most.
    """
    if value is None:
        return MISSING
    amount = _decimal(value)
    sign, amount = (MINUS if amount < 0 else ""), abs(amount)
    for size, unit in STEPS[locale()]:
        # 10,000 is where both languages begin; what would round up to the next step belongs to it.
        if amount >= Decimal(10_000) and _in_step(amount, size):
            return sign + _compact(amount / size, unit) + unit
    if amount == 0:
        return "0"
    return sign + _trimmed(amount, 0 if amount >= 1000 else _three_digits(amount))


def _in_step(amount: Decimal, size: Decimal) -> bool:
    """Whether the amount belongs to this step, or does once it is rounded in the step below."""
    if amount >= size:
        return True
    below = next(((step, unit) for step, unit in STEPS[locale()] if step < size), None)
    return below is not None and _rounded(amount / below[0], below[1]) >= size / below[0]


def _rounded(value: Decimal, unit: str) -> Decimal:
    """Three significant digits; 万 counts on to 9,999 and keeps one decimal: 386.4万."""
    places = 1 if unit == "万" and value >= 100 else _three_digits(value)
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _compact(value: Decimal, unit: str) -> str:
    rounded = _rounded(value, unit)
    return _trimmed(rounded, 1) if rounded >= 100 else _plain(rounded, _three_digits(rounded))


def _three_digits(value: Decimal) -> int:
    """Decimals that leave three significant digits, two at most."""
    return 0 if value >= 100 else 1 if value >= 10 else 2


def _trimmed(value: Decimal, places: int) -> str:
    text = _plain(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.filter
def symbol(currency: str) -> str:
    """The sign of a currency before an amount: ¥ for CNY."""
    return "¥" if currency in {"CNY", "RMB"} else get_currency_symbol(currency, locale=locale())


@register.filter
def currency_unit(currency: str) -> str:
    """The unit in a table header: 元 in Chinese for CNY, else the code."""
    return "元" if currency == "CNY" and locale() != "en" else currency


@register.filter
def pct(value: Number | None) -> str:
    """A share as percent with one decimal: 0.684 -> 68.4%."""
    return MISSING if value is None else _plain(_decimal(value) * 100, 1) + "%"


@register.filter
def dur(seconds: Number | None) -> str:
    """A duration in its two largest units: 3小时12分, 42分钟; 3 h 12 min, 42 min."""
    if seconds is None:
        return MISSING
    whole = int(_decimal(seconds).quantize(Decimal(1), ROUND_HALF_UP))
    sign, whole = (MINUS if whole < 0 else ""), abs(whole)
    english = locale() == "en"
    if whole < 60:
        return sign + (f"{whole} s" if english else f"{whole}秒")
    minutes = (whole + 30) // 60
    if minutes < 60:
        return sign + (f"{minutes} min" if english else f"{minutes}分钟")
    if minutes < 24 * 60:
        large, small, words = minutes // 60, minutes % 60, ("h", "min") if english else ("小时", "分")
    else:
        full_hours = (minutes + 30) // 60
        large, small, words = full_hours // 24, full_hours % 24, ("d", "h") if english else ("天", "小时")
    if english:
        return sign + (f"{large} {words[0]} {small} {words[1]}" if small else f"{large} {words[0]}")
    return sign + (f"{large}{words[0]}{small}{words[1]}" if small else f"{large}{words[0]}")


@register.filter
def day(value: date | None) -> str:
    """A day in a sentence: 7月15日, 15 Jul 2026."""
    if value is None:
        return MISSING
    return (
        format_date(value, "d MMM y", locale="en")
        if locale() == "en"
        else format_date(value, "M月d日", locale="zh_Hans")
    )


@register.filter
def iso(value: date | None) -> str:
    """A day in a table: 2026-07-15."""
    return MISSING if value is None else value.strftime("%Y-%m-%d")


@register.filter
def month(value: date | None) -> str:
    """A month in a heading: 2026年6月, June 2026."""
    return MISSING if value is None else format_skeleton("yMMMM", value, locale=locale())


@register.filter
def at(value: datetime | None, zone: ZoneInfo | str | None = None) -> str:
    """An instant on the billing clock, to the minute: 2026-07-15 10:20."""
    return _clock(value, zone, "%Y-%m-%d %H:%M")


@register.filter
def at_second(value: datetime | None, zone: ZoneInfo | str | None = None) -> str:
    """An instant on the billing clock, to the second."""
    return _clock(value, zone, "%Y-%m-%d %H:%M:%S")


def _clock(value: datetime | None, zone: ZoneInfo | str | None, pattern: str) -> str:
    if value is None:
        return MISSING
    where = ZoneInfo(zone) if isinstance(zone, str) and zone else zone or ZoneInfo("UTC")
    return value.astimezone(where).strftime(pattern)


@register.filter
def cards(milli: int | None) -> str:
    """Thousandths of a card as cards: 8, 0.5; a count that is not known is —."""
    return MISSING if milli is None else _trimmed(Decimal(milli) / 1000, 3)


@register.filter
def negative(value: Number | None) -> bool:
    """Whether a figure is shown in red with a minus."""
    return value is not None and value < 0
