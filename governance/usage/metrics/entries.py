"""The entries of the dictionary file, read and checked. Plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from governance.errors import N_, BadData

from .words import UNITS, WINDOWS

FILE = Path(__file__).with_name("dictionary.yaml")
KEYS = frozenset(
    ("code", "version", "name", "formula", "unit", "window", "denominator", "source", "option", "signed_by", "from")
)
TWO_LANGUAGES = ("name", "formula", "option")


@dataclass(frozen=True)
class Entry:
    """One version of one definition; the fields are the columns of `metric_definition`."""

    code: str
    version: int
    name_zh: str
    name_en: str
    formula_zh: str
    formula_en: str
    unit: str = ""  # a key of words.UNITS
    window: str = ""  # a key of words.WINDOWS
    denominator: str = ""  # the code of another entry
    source: str = ""  # table.column; "" where the figure is not computed yet
    option_zh: str = ""
    option_en: str = ""
    signed_by: tuple[str, ...] = ()


def read_entries(file: Path = FILE) -> list[Entry]:
    """All versions of all entries in the file's order. Raises BadData where the file breaks its own rules."""
    entries = [_entry(item) for item in yaml.safe_load(file.read_text(encoding="utf-8")) or []]
    _check(entries)
    return entries


def latest(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Code -> its last version."""
    return {entry.code: entry for entry in sorted(entries, key=lambda entry: entry.version)}


def _entry(item: dict[str, Any]) -> Entry:
    code = str(item.get("code", "?"))
    if strange := sorted(item.keys() - KEYS):
        raise BadData(
            N_("The entry “%(code)s” has keys that are not known: %(keys)s."), code=code, keys=", ".join(strange)
        )
    texts: dict[str, str] = {}
    for key in TWO_LANGUAGES:
        given = item.get(key) or {}
        texts |= {f"{key}_{language}": str(given.get(language, "")) for language in ("zh", "en")}
        if bool(texts[f"{key}_zh"]) != bool(texts[f"{key}_en"]) or (key != "option" and not texts[f"{key}_zh"]):
            raise BadData(N_("The entry “%(code)s” needs its %(key)s in Chinese and in English."), code=code, key=key)
    plain = {key: item.get(key, "") for key in ("unit", "window", "denominator", "source")}
    return Entry(
        code=code, version=int(item["version"]), **texts, **plain, signed_by=tuple(item.get("signed_by") or ())
    )


def _check(entries: list[Entry]) -> None:
    seen: dict[str, int] = {}
    for entry in entries:
        expected = seen.get(entry.code, 0) + 1
        if entry.version != expected:
            raise BadData(
                N_("The entry “%(code)s” has version %(version)s where version %(expected)s should come."),
                code=entry.code,
                version=entry.version,
                expected=expected,
            )
        seen[entry.code] = entry.version
    for entry in entries:
        for value, known in ((entry.unit, UNITS), (entry.window, WINDOWS), (entry.denominator, seen)):
            if value and value not in known:
                raise BadData(
                    N_("The entry “%(code)s” names “%(value)s”, which is not known."), code=entry.code, value=value
                )
