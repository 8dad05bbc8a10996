"""Every text that a person sees is said in Chinese and in English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from django.conf import settings
from django.template.base import Lexer, TokenType

from portal.extraction import Identity, is_translated, marked_texts, read_catalogue, refreshed, write_catalogue

ROOT = Path(settings.BASE_DIR)
CATALOGUE = ROOT / "locale/zh_Hans/LC_MESSAGES/django.po"
PLACEHOLDER = re.compile(r"%\((\w+)\)([#0 +-]*\d*(?:\.\d+)?[a-z])|%%")
CJK = re.compile("[\u3400-\u9fff\uff00-\uffef\u3000-\u303f]")
WORD = re.compile(r"[A-Za-z]{2,}")
#: Names that are the same in both languages, and words that are no language.
NAMES = frozenset(("Steelyard", "CPU", "GPU", "QoS", "UTC", "CSV", "XLSX", "JSON", "Slurm", "MiB", "GiB"))
#: Where Chinese stands in the code on purpose: names of the two languages and of the invented company, number words.
CHINESE_ON_PURPOSE = ("portal/context.py", "portal/formats.py", "portal/demo/")
SPOKEN_ATTRIBUTES = frozenset(["aria-label", "title", "placeholder", "alt", "label"])
SILENT_TAGS = frozenset(["script", "style", "code", "pre", "kbd"])  # a key is called the same in both languages


@cache
def texts() -> dict[Identity, list[str]]:
    return marked_texts(ROOT)


@cache
def catalogue() -> Catalog:
    return read_catalogue(CATALOGUE)


def messages() -> list[Message]:
    return [message for message in catalogue() if message.id]


def forms(string: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)


def test_the_texts_are_found_in_code_in_templates_and_within_f_strings() -> None:
    places = {place for found in texts().values() for place in found}
    assert {Path(place).suffix for place in places} == {".py", ".html", ".txt"}
    assert "version %(version)s" in texts()  # stands in an f-string of the command metrics
    assert any(isinstance(text, tuple) for text in texts())


def test_every_text_stands_in_the_catalogue_and_no_other_does() -> None:
    there = {message.id if isinstance(message.id, str) else tuple(message.id) for message in messages()}
    missing, gone = texts().keys() - there, there - texts().keys()
    assert not missing, f"manage.py extract_messages adds: {sorted(map(str, missing))}"
    assert not gone, f"manage.py extract_messages drops: {sorted(map(str, gone))}"
    assert not catalogue().obsolete


def test_every_text_is_translated_and_none_is_a_guess() -> None:
    assert not [message.id for message in messages() if not is_translated(message.string)]
    assert not [message.id for message in messages() if message.fuzzy]


def test_a_translation_has_the_placeholders_of_its_text() -> None:
    for message in messages():
        wanted = {match.groups() for text in forms(message.id) for match in PLACEHOLDER.finditer(text)}
        for text in filter(None, forms(message.string)):
            assert {match.groups() for match in PLACEHOLDER.finditer(text)} == wanted, message.id
            assert "%" not in PLACEHOLDER.sub("", text) or "%" in PLACEHOLDER.sub("", forms(message.id)[0]), message.id


def test_chinese_is_written_as_the_style_asks() -> None:
    for message in messages():
        for text in forms(message.string):
            assert not re.search("(?<!申)请(?!求)|您|!|！", text), text
            assert not re.search(r"[\u4e00-\u9fff] +[A-Za-z0-9]|[A-Za-z0-9] +[\u4e00-\u9fff]", text), text


def test_refreshing_again_writes_the_same_bytes(tmp_path: Path) -> None:
    file = tmp_path / "zh_Hans/LC_MESSAGES/django.po"
    file.parent.mkdir(parents=True)
    write_catalogue(refreshed(catalogue(), texts()), file)
    once = file.read_text("utf-8")
    write_catalogue(refreshed(read_catalogue(file), texts()), file)
    assert file.read_text("utf-8") == once
    assert "版" in once


def test_refreshing_keeps_translations_drops_what_is_gone_and_adds_what_is_new(tmp_path: Path) -> None:
    old = Catalog("zh_Hans")
    old.add("Kept", "留下")
    old.add("Gone", "走了")
    file = tmp_path / "zh_Hans/LC_MESSAGES/django.po"
    file.parent.mkdir(parents=True)
    write_catalogue(refreshed(old, {"Kept": ["a.py"], ("%(n)s thing", "%(n)s things"): ["b.html"]}), file)
    found = {str(forms(message.id)[0]): message.string for message in read_catalogue(file) if message.id}
    assert found == {"Kept": "留下", "%(n)s thing": ("",)}


# Nothing unmarked.


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


class Spoken(HTMLParser):
    """Collects what is read out or shown: text outside scripts, styles and code, and spoken attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in SILENT_TAGS
        self.found += [value for name, value in attrs if name in SPOKEN_ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in SILENT_TAGS

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(data)


def spoken(template: str) -> list[str]:
    """The words of a template that no tag says: translated blocks, tags and variables are left out."""
    kept, inside = [], False
    for token in Lexer(template).tokenize():
        words = token.contents.split()
        if token.token_type == TokenType.BLOCK and words and words[0] in {"blocktranslate", "blocktrans"}:
            inside = True
        elif token.token_type == TokenType.BLOCK and words and words[0] in {"endblocktranslate", "endblocktrans"}:
            inside = False
        elif token.token_type == TokenType.TEXT and not inside:
            kept.append(token.contents)
        elif token.token_type != TokenType.COMMENT:
            kept.append("0")  # something is said here
    parser = Spoken()
    parser.feed("".join(kept))
    parser.close()
    return parser.found


@pytest.mark.parametrize("path", templates(), ids=lambda path: path.relative_to(ROOT / "templates").as_posix())
def test_a_template_says_nothing_that_is_not_marked(path: Path) -> None:
    unmarked = []
    for text in spoken(path.read_text("utf-8")):
        words = set(WORD.findall(text)) - NAMES
        if words or CJK.search(text.replace("权衡", "")):
            unmarked.append(text.strip())
    assert not unmarked


def code() -> list[Path]:
    return sorted(
        path
        for folder in ("billing", "governance", "portal")
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
    )


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node


def test_no_code_holds_chinese_of_its_own() -> None:
    found = []
    for path in code():
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(CHINESE_ON_PURPOSE):
            continue
        for node in strings(ast.parse(path.read_text("utf-8"))):
            if CJK.search(node.value.replace("权衡", "")):
                found.append(f"{place}:{node.lineno}")
    assert not found


ERRORS = frozenset(["DomainError", "NotFound", "NotAllowed", "NotTheMoment", "BadData", "CommandError", "CannotStart"])


def unmarked(node: ast.expr) -> bool:
    """Whether an expression says words of its own, rather than through a marker or a variable."""
    if isinstance(node, ast.BinOp):
        return unmarked(node.left) or (isinstance(node.op, ast.Add) and unmarked(node.right))
    if isinstance(node, ast.IfExp):
        return unmarked(node.body) or unmarked(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return any(unmarked(part) for part in node.values)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(WORD.search(node.value))


def test_errors_and_answers_of_commands_are_marked() -> None:
    found = []
    for path in code():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            writes = isinstance(node.func, ast.Attribute) and ast.unparse(node.func) in {
                "self.stdout.write",
                "self.stderr.write",
                "self.say",
            }
            if (called in ERRORS or writes) and unmarked(node.args[0]):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.args[0])}")
    assert not found
