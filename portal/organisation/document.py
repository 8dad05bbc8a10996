"""Reading an organisation file: plain data, and the line of every key for the words of an error."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml
from django.utils.translation import gettext

from governance.errors import N_, BadData

KeyPath = tuple[str | int, ...]
MOST_BYTES = 32 * 1024 * 1024
MOST_LEVELS = 24
MOST_VALUES = 500_000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Where:
    """A place in the file: `mappings[3].project (line 41)`, items counted from 0. Worded when it is read."""

    key: str
    line: int | None

    def __str__(self) -> str:
        if self.line is None:
            return self.key
        return gettext("%(key)s (line %(line)s)") % {"key": self.key, "line": self.line}


@dataclass(frozen=True)
class Document:
    """An organisation as plain data (text, whole numbers, Decimal, booleans, days, lists, mappings)."""

    content: dict[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    @classmethod
    def of(cls, content: dict[str, Any]) -> Document:
        """A document made in memory; its errors name keys but no lines."""
        return cls(_plain(content, ()), {})

    def where(self, path: KeyPath) -> Where:
        """The place of a key. A key that is missing has the line of what it is missing from."""
        line, known = None, path
        while line is None and (line := self.lines.get(known)) is None and known:
            known = known[:-1]
        return Where(key_of(path), line)


def key_of(path: KeyPath) -> str:
    """`mappings[3].project`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or gettext("the file")


def read(source: str | bytes | Path) -> Document:
    """Read YAML from a file (Path) or from its content (str, bytes).

    Raises BadData, with line and key where there is one, for what is no readable file, no text, no YAML, or YAML with
    duplicate keys, too many levels or too many values.
    """
    text = _text(source)
    if not text.strip():
        raise BadData(N_("The file is empty."))
    try:
        _refuse_depth(text)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as fault:
        raise _not_yaml(fault) from fault
    if node is None:
        raise BadData(N_("The file is empty."))
    lines: dict[KeyPath, int] = {}
    content = _value(node, (), lines)
    if not isinstance(content, dict):
        raise BadData(
            N_("An organisation file is a mapping of keys such as “departments:”, but this one is something else.")
        )
    return Document(content, lines)


def _text(source: str | bytes | Path) -> str:
    if isinstance(source, str):
        return source
    data = source if isinstance(source, bytes) else _bytes(source)
    if len(data) > MOST_BYTES:
        raise BadData(N_("The file is larger than %(mib)s MiB."), mib=MOST_BYTES // 1024**2)
    if b"\0" in data:
        raise BadData(N_("The file is binary, not text."))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise BadData(N_("The file is not UTF-8 text (line %(line)s)."), line=line) from fault


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise BadData(N_("%(path)s is a directory, not a file."), path=path)
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError as fault:
        raise BadData(N_("There is no file %(path)s."), path=path) from fault
    except OSError as fault:
        raise BadData(N_("%(path)s cannot be read: %(reason)s."), path=path, reason=fault.strerror or fault) from fault


def _not_yaml(fault: yaml.YAMLError) -> BadData:
    mark = getattr(fault, "problem_mark", None)
    problem = getattr(fault, "problem", None) or getattr(fault, "reason", None) or str(fault)
    if mark is None:
        return BadData(N_("The file is not YAML: %(problem)s."), problem=problem)
    return BadData(N_("The file is not YAML (line %(line)s): %(problem)s."), line=mark.line + 1, problem=problem)


def _refuse_depth(text: str) -> None:
    """Deep nesting would exhaust the stack of the composer, so it is counted before."""
    level = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
            if level > MOST_LEVELS:
                raise BadData(N_("Line %(line)s: nested too deeply."), line=_line(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1


def _line(of: yaml.Event | yaml.Node) -> int | None:
    return None if of.start_mark is None else of.start_mark.line + 1


def _value(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]) -> Any:
    """The value of a node. Aliases may make a small file huge or endless: what they repeat is counted again."""
    lines.setdefault(path, node.start_mark.line + 1)
    if len(path) > MOST_LEVELS:
        raise BadData(N_("Line %(line)s: nested too deeply."), line=_line(node))
    if len(lines) > MOST_VALUES:
        raise BadData(N_("The file has more than %(most)s values, aliases (*name) counted out."), most=MOST_VALUES)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, index), lines) for index, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(node, path)
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise BadData(N_("Line %(line)s: a key must be text."), line=line)
        key = key_node.value
        if key in found:
            raise BadData(
                N_("%(where)s: the key stands twice, first in line %(first)s."),
                where=Where(key_of((*path, key)), line),
                first=lines[(*path, key)],
            )
        lines[(*path, key)] = line
        found[key] = _value(value_node, (*path, key), lines)
    return found


def _scalar(node: yaml.Node, path: KeyPath) -> Any:
    text, kind = str(node.value), node.tag.removeprefix("tag:yaml.org,2002:")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind in ("int", "float") and _NUMBER.fullmatch(text):
        return _number(text)
    if kind == "timestamp" and _DAY.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            return text
    _refuse_controls(text, Where(key_of(path), node.start_mark.line + 1))
    return text  # 22:00 or 0x1f stay what was written


def _number(text: str) -> int | Decimal | str:
    """A number as written; one with a leading zero (0612) is a code somebody forgot to quote, and stays text."""
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] != ".":
        return text
    if len(digits) > 40:
        return text
    return Decimal(text) if "." in text else int(text)


def _refuse_controls(text: str, where: Where) -> None:
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise BadData(N_("%(where)s: has control characters or broken letters in it."), where=where)


def _plain(value: Any, path: KeyPath) -> Any:
    """The same in the types that a file gives."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one, (*path, str(key))) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, (*path, index)) for index, one in enumerate(value)]
    if isinstance(value, float):
        try:
            return Decimal(repr(value))
        except InvalidOperation:
            return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        _refuse_controls(value, Where(key_of(path), None))
        return str(value)
    if value is None or isinstance(value, bool | int | Decimal | date):
        return value
    raise BadData(
        N_("%(where)s: is neither text, a number, a day, a list nor a mapping."), where=Where(key_of(path), None)
    )
