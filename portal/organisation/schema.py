"""The form of an organisation file: the published JSON Schema, and its faults in plain words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from governance.errors import N_, BadData

from .document import Document, KeyPath

SCHEMA_FILE = Path(__file__).with_name("schema.json")
SECRETS = ("password", "passwd", "passphrase", "token", "secret", "private_key", "api_key", "jwt")

MUST = {
    "code": N_(
        "%(where)s: must be a code of letters, digits, “.”, “_” and “-”, at most 64, beginning with a letter or digit."
    ),
    "code or *": N_("%(where)s: must be a code, or “*” for any."),
    "text": N_("%(where)s: must be text of a fitting length, in quotes if it looks like a number."),
    "username": N_("%(where)s: must be a username of letters, digits and @ . + - _."),
    "email": N_("%(where)s: must be an email address."),
    "day": N_("%(where)s: must be a day such as 2026-01-31."),
    "clock": N_('%(where)s: must be a time of day such as "07:00", in quotes.'),
    "count": N_("%(where)s: must be a whole number from 0 to 2147483647."),
    "port": N_("%(where)s: must be a port number from 1 to 65535."),
    "money": N_('%(where)s: must be an amount of at least 0 with at most six decimals, such as "12.50".'),
    "factor": N_('%(where)s: must be a number above 0 and below 1000 with at most six decimals, such as "0.125".'),
    "percent": N_("%(where)s: must be a percentage above 0, at most 100, with at most four decimals."),
    "currency": N_("%(where)s: must be a currency code of three capital letters, such as CNY."),
}
TYPES = {
    "object": N_("%(where)s: must be a mapping of keys."),
    "array": N_("%(where)s: must be a list."),
    "boolean": N_("%(where)s: must be true or false."),
    "string": N_("%(where)s: must be text; put it in quotes."),
}


@cache
def published() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12)."""
    found: dict[str, Any] = json.loads(SCHEMA_FILE.read_text("utf-8"))
    return found


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(published())


def faults(document: Document) -> list[BadData]:
    """What in the document has the wrong form, in the order of the file."""
    errors = list(_validator().iter_errors(_as_json(document.content)))
    return [fault for error in sorted(errors, key=lambda e: _order(document, e)) for fault in _worded(error, document)]


def _order(document: Document, error: ValidationError) -> tuple[int, str]:
    where = document.where(tuple(error.absolute_path))
    return (where.line or 0, where.key)


def _as_json(value: Any) -> Any:
    """Days as text; numbers with decimals as text too, so that their places are judged as written."""
    if isinstance(value, dict):
        return {key: _as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    return value


def _worded(error: ValidationError, document: Document) -> Iterator[BadData]:
    path: KeyPath = tuple(error.absolute_path)
    where, rule, value, found = document.where(path), error.validator, _any(error.validator_value), _any(error.instance)
    schema: dict[str, Any] = error.schema if isinstance(error.schema, dict) else {}
    if rule in ("anyOf", "oneOf"):
        yield from _of_nearest_branch(error, document)
    elif rule == "required":
        for key in (key for key in value if key not in found):
            yield BadData(N_("%(where)s: the key “%(key)s” is missing."), where=where, key=key)
    elif rule == "dependentRequired":
        missing = [key for has, needs in value.items() if has in found for key in needs]
        for key in (key for key in missing if key not in found):
            yield BadData(N_("%(where)s: the key “%(key)s” is missing."), where=where, key=key)
    elif rule == "additionalProperties":
        known = schema.get("properties", {})
        for key in (key for key in found if key not in known):
            yield _unknown_key(document, (*path, key), known)
    elif rule == "enum":
        known = ", ".join(map(str, value))
        yield BadData(
            N_("%(where)s: “%(value)s” is none of: %(known)s."), where=where, value=_short(found), known=known
        )
    elif rule == "const":
        yield BadData(N_("%(where)s: this version reads form %(version)s only."), where=where, version=value)
    elif rule in ("minItems", "minProperties"):
        yield BadData(N_("%(where)s: is empty; leave the key out instead."), where=where)
    else:
        words = MUST.get(schema.get("title", "")) or TYPES.get(str(schema.get("type")))
        yield BadData(words or N_("%(where)s: has the wrong form."), where=where)


def _any(value: Any) -> Any:
    """What a validator says of its own is always there, whatever its type says."""
    return value


def _unknown_key(document: Document, path: KeyPath, known: Iterable[str]) -> BadData:
    where, key = document.where(path), str(path[-1])
    if any(secret in key.lower() for secret in SECRETS):
        return BadData(
            N_("%(where)s: secrets do not belong into this file; name the file that holds it (identity_file) instead."),
            where=where,
        )
    return BadData(N_("%(where)s: is no key here; the keys are %(known)s."), where=where, known=", ".join(known))


def _of_nearest_branch(error: ValidationError, document: Document) -> Iterator[BadData]:
    """The faults of the branch that was meant: one that has the type of what stands there."""
    branches: dict[Any, list[ValidationError]] = {}
    for one in error.context or []:
        branches.setdefault(one.schema_path[0], []).append(one)
    for ones in branches.values():
        if all(one.validator != "type" or one.relative_path for one in ones):
            for one in ones:
                yield from _worded(one, document)
            return
    first = next(iter(branches.values()))[0]
    yield from _worded(first, document)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
