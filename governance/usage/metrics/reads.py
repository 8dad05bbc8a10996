"""Reading the dictionary. Definitions are no secret: whoever sees a figure may see what it means."""

from __future__ import annotations

from django.utils.translation import get_language

from governance.errors import N_, NotFound
from governance.usage.models import MetricDefinition


def definition(code: str, version: int | None = None) -> MetricDefinition:
    """A version of an entry, the last one where none is named. Raises NotFound."""
    rows = MetricDefinition.objects.filter(code=code).order_by("-version")
    found = rows.first() if version is None else rows.filter(version=version).first()
    if found is None and version is not None and rows.exists():
        raise NotFound(N_("The metric “%(code)s” has no version %(version)s."), code=code, version=version)
    if found is None:
        raise NotFound(
            N_("There is no metric “%(code)s”. The command metrics without a code lists them all."), code=code
        )
    return found


def definitions() -> list[MetricDefinition]:
    """The last version of every entry, by code."""
    return list(MetricDefinition.objects.order_by("code", "-version").distinct("code"))


def name_of(row: MetricDefinition) -> str:
    """The entry's name in the active language."""
    return row.name_zh if _is_chinese() else row.name_en


def formula_of(row: MetricDefinition) -> str:
    """The entry's formula in the active language."""
    return row.formula_zh if _is_chinese() else row.formula_en


def option_of(row: MetricDefinition) -> str:
    """What an installation may set otherwise, in the active language; "" where there is no choice."""
    return row.option_zh if _is_chinese() else row.option_en


def _is_chinese() -> bool:
    return (get_language() or "zh").startswith("zh")
