"""Long arrays given to PostgreSQL in binary: it unpacks them at a fraction of what their text costs, and so do we pack them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from struct import pack
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_INT8, _TEXT, _UUID = 20, 25, 2950
_ARRAYS = {_INT8: 1016, _TEXT: 1009, _UUID: 2951}
_UUID_LENGTH = pack("!i", 16)


class _Packed:
    """An array as it goes over the wire; `length` elements of the type with this OID, none of them NULL, in `body`."""

    element = 0

    def __init__(self, length: int, body: bytes) -> None:
        self.bytes = (
            pack("!iiiii", 1, 0, self.element, length, 1) + body if length else pack("!iii", 0, 0, self.element)
        )


class Int8s(_Packed):
    """bigint[] of whole numbers."""

    element = _INT8

    def __init__(self, values: Sequence[int]) -> None:
        super().__init__(len(values), pack("!" + "iq" * len(values), *chain.from_iterable(zip(repeat(8), values))))


class Texts(_Packed):
    """text[] of strings."""

    element = _TEXT

    def __init__(self, values: Sequence[str]) -> None:
        encoded = [value.encode() for value in values]
        super().__init__(len(encoded), b"".join(chain.from_iterable((pack("!i", len(one)), one) for one in encoded)))


class Uuids(_Packed):
    """uuid[] of 16 bytes each."""

    element = _UUID

    def __init__(self, values: Iterable[bytes]) -> None:
        held = list(values)
        super().__init__(len(held), b"".join(_UUID_LENGTH + one for one in held))


def _dumper(kind: type[_Packed]) -> type[Dumper]:
    class PackedDumper(Dumper):
        oid, format = _ARRAYS[kind.element], Format.BINARY

        def dump(self, obj: _Packed) -> bytes:
            return obj.bytes

    return PackedDumper


_DUMPERS = {kind: _dumper(kind) for kind in (Int8s, Texts, Uuids)}


def answer(cursor: Any, statement: str, given: dict[str, Any]) -> tuple[Any, ...]:
    """The only row that a statement answers, its arrays given as the classes of this module. `cursor` is Django's.

    Django's own cursor writes parameters into the statement's text; this goes beside it, on the same connection and transaction.
    """
    with psycopg.Cursor(cursor.connection) as server:
        for kind, dumper in _DUMPERS.items():
            server.adapters.register_dumper(kind, dumper)
        row = server.execute(statement, given, prepare=False).fetchone()
    assert row is not None
    return row
