"""A bounded memory for values that repeat by the thousand: states, TRES strings, durations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(dict[str, Value], Generic[Value]):
    """`cache[text]` parses a text once; emptied when `limit` texts are held, so that memory stays flat."""

    def __init__(self, parse: Callable[[str], Value], limit: int = 20_000) -> None:
        super().__init__()
        self._parse = parse
        self._limit = limit

    def __missing__(self, text: str) -> Value:
        value = self._parse(text)
        if len(self) >= self._limit:
            self.clear()
        self[text] = value
        return value
