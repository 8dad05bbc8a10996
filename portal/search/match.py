"""How what was typed is compared with names: codes, words, and the initials or whole syllables of pinyin."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pypinyin import Style, lazy_pinyin

#: How well something fits; lower is better, None is not at all.
EXACT, BEGINS, INITIALS, SYLLABLES, WITHIN = range(5)


def _as_it_is(text: str) -> Any:
    """What is no Chinese stays, character by character."""
    return list(text)


@lru_cache(maxsize=8192)
def spoken(text: str) -> tuple[str, str]:
    """Initials and whole pinyin of Chinese text, other characters kept: 视觉算法部 -> sjsfb, shijuesuanfabu."""
    initials = "".join(part[:1] for part in lazy_pinyin(text, style=Style.NORMAL, errors=_as_it_is))
    return initials.casefold(), "".join(lazy_pinyin(text, errors=_as_it_is)).casefold()


def fit(asked: str, names: Iterable[str]) -> int | None:
    """How well the best of the names fits what was asked for."""
    wanted = asked.casefold().strip()
    found = [rank for name in names if name and (rank := _fit(wanted, name)) is not None]
    return min(found, default=None)


def _fit(wanted: str, name: str) -> int | None:
    plain = name.casefold()
    if not wanted or wanted == plain:
        return EXACT
    if plain.startswith(wanted):
        return BEGINS
    if not plain.isascii() and wanted.isascii():
        initials, syllables = spoken(name)
        if initials.startswith(wanted):
            return INITIALS
        if wanted.isalpha() and len(wanted) > 1 and (wanted in initials or syllables.startswith(wanted)):
            return SYLLABLES
    return WITHIN if len(wanted) > 1 and wanted in plain else None
