"""Catalogues are compiled in Python, only when stale, and a wrong translation never reaches a page."""

import gettext
import os
from pathlib import Path

import pytest

from portal.embedded import PROJECT_ROOT
from portal.messages import compile_catalogues

HEAD = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """The path of a catalogue that is still to be written."""
    source = tmp_path / "a locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True)
    return source


def translated(source: Path, text: str) -> str:
    with source.with_suffix(".mo").open("rb") as file:
        return gettext.GNUTranslations(file).gettext(text)


def test_a_catalogue_is_compiled_once_and_again_when_it_changes(catalogue: Path) -> None:
    locale = catalogue.parents[2]
    catalogue.write_text(HEAD + 'msgid "Ledger"\nmsgstr "账本"\n')
    assert len(compile_catalogues(locale).written) == 1
    assert translated(catalogue, "Ledger") == "账本"
    again = compile_catalogues(locale)
    assert (len(again.written), len(again.current)) == (0, 1)
    catalogue.write_text(HEAD + 'msgid "Ledger"\nmsgstr "用算账本"\n')
    later = catalogue.with_suffix(".mo").stat().st_mtime + 1
    os.utime(catalogue, (later, later))
    assert len(compile_catalogues(locale).written) == 1
    assert translated(catalogue, "Ledger") == "用算账本"


def test_a_translation_with_other_placeholders_is_reported_and_left_out(catalogue: Path) -> None:
    catalogue.write_text(HEAD + '#, python-format\nmsgid "%(count)d cards"\nmsgstr "%(number)d 张卡"\n')
    done = compile_catalogues(catalogue.parents[2])
    assert [(fault.file, fault.line) for fault in done.faults] == [(catalogue, 5)]
    assert translated(catalogue, "%(count)d cards") == "%(count)d cards"


def test_a_file_that_is_no_catalogue_is_reported_and_not_compiled(catalogue: Path) -> None:
    catalogue.write_text("Ledger: 账本\n")
    done = compile_catalogues(catalogue.parents[2])
    assert len(done.faults) == 1 and not done.written
    assert not catalogue.with_suffix(".mo").exists()


def test_the_catalogues_of_the_project_have_no_fault(tmp_path: Path) -> None:
    copy = tmp_path / "locale"
    for source in (PROJECT_ROOT / "locale").glob("*/LC_MESSAGES/*.po"):
        target = copy / source.relative_to(PROJECT_ROOT / "locale")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    assert [str(fault) for fault in compile_catalogues(copy).faults] == []
