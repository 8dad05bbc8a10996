"""Which texts the code and the templates mark for translation, and a catalogue brought up to date with them.

In Python, since GNU gettext may be missing. Code is read as a syntax tree, which also sees into f-strings; templates
are turned into tokens by Django and read by Babel.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

SOURCES = ("billing", "governance", "portal", "templates")
KEYWORDS: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("_", "N_", "gettext", "gettext_lazy", "gettext_noop")),
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
}
HEADER = "# Simplified Chinese for Steelyard."
#: A text, or its singular and plural.
Identity = str | tuple[str, str]


def marked_texts(root: Path) -> dict[Identity, list[str]]:
    """Every text marked below `root`, with the files (relative, sorted) that mark it."""
    found: dict[Identity, set[str]] = {}
    for path in sorted(_files(root)):
        place = path.relative_to(root).as_posix()
        for text in _texts_of(path):
            found.setdefault(text, set()).add(place)
    return {text: sorted(places) for text, places in found.items()}


def _files(root: Path) -> Iterator[Path]:
    for folder in SOURCES:
        for pattern in ("*.py", "*.html", "*.txt"):
            yield from (path for path in (root / folder).rglob(pattern) if "migrations" not in path.parts)


def _texts_of(path: Path) -> Iterator[Identity]:
    source = path.read_text(encoding="utf-8")
    return _of_code(source) if path.suffix == ".py" else _of_template(source)


def _of_code(source: str) -> Iterator[Identity]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            places = KEYWORDS[node.func.id] or (1,)
            given = [node.args[place - 1] for place in places if place <= len(node.args)]
            texts = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if len(texts) == len(places):
                yield texts[0] if len(texts) == 1 else (texts[0], texts[1])


def _of_template(source: str) -> Iterator[Identity]:
    # What Django leaves of a template is tokens, not a program: its indentation means nothing.
    tokens = "\n".join(line.lstrip() for line in templatize(source).splitlines())
    for _, text, _, _ in extract("python", io.BytesIO(tokens.encode()), KEYWORDS, (), {"encoding": "utf-8"}):
        yield text if isinstance(text, str) else (str(text[0]), str(text[1]))


def refreshed(catalogue: Catalog, texts: dict[Identity, list[str]]) -> Catalog:
    """A catalogue of just these texts, in the order of their files, with the translations that `catalogue` has."""
    fresh = Catalog(
        catalogue.locale,
        header_comment=HEADER,
        project="Steelyard",
        version="0.1.0",
        charset="utf-8",
        fuzzy=False,
    )
    for text, places in sorted(texts.items(), key=lambda item: (item[1], str(item[0]))):
        known = catalogue.get(text[0] if isinstance(text, tuple) else text)
        string = known.string if known and isinstance(known.id, tuple) == isinstance(text, tuple) else None
        comments = known.user_comments if known else ()
        flags = known.flags if known else ()
        fresh.add(text, string, [(place, 0) for place in places], flags=flags, user_comments=comments)
    return fresh


def read_catalogue(file: Path) -> Catalog:
    """The catalogue in the file; raises PoFileError where it does not parse."""
    with file.open("rb") as source:
        return read_po(source, locale=file.parents[1].name, abort_invalid=True)


def write_catalogue(catalogue: Catalog, file: Path) -> None:
    """Write it without dates and line numbers, so that it changes only where a text does."""
    out = io.BytesIO()
    write_po(out, catalogue, width=100, omit_header=True, include_lineno=False)
    head = (
        f'{HEADER}\nmsgid ""\nmsgstr ""\n"Project-Id-Version: Steelyard 0.1.0\\n"\n"Language: {catalogue.locale}\\n"\n'
        f'"Plural-Forms: {catalogue.plural_forms.rstrip(";")};\\n"\n"MIME-Version: 1.0\\n"\n'
        '"Content-Type: text/plain; charset=utf-8\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n\n'
    )
    file.write_text(head + out.getvalue().decode(), encoding="utf-8")


def is_translated(string: object) -> bool:
    """Whether a translation, or each of its plural forms, is there."""
    return all(string) if isinstance(string, tuple | list) else bool(string)
