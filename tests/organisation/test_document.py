"""Reading the file: what is no organisation file is refused in words, with its line."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.utils import translation

from governance.errors import BadData
from portal.organisation.document import Document, read


@pytest.fixture(autouse=True)
def english():
    """Words are compared in English."""
    with translation.override("en"):
        yield


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty."),
        (b"  \n\n", "The file is empty."),
        (b"# only a comment\n", "The file is empty."),
        (b"\x7fELF\x02\x00\x00", "The file is binary, not text."),
        (b"departments:\n  - {code: \xff\xfe}\n", "The file is not UTF-8 text (line 2)."),
        (
            b"- a\n- b\n",
            "An organisation file is a mapping of keys such as “departments:”, but this one is something else.",
        ),
        (b"steelyard: 1\nsteelyard: 1\n", "steelyard (line 2): the key stands twice, first in line 1."),
        (
            b"departments:\n  - {code: a, code: b}\n",
            "departments[0].code (line 2): the key stands twice, first in line 2.",
        ),
        (b"a: &x [*x]\n", "Line 1: nested too deeply."),
        (b"a: {<<: {b: 1}, ? [c] : 1}\n", "Line 1: a key must be text."),
        (b"a: " + b"[" * 60 + b"]" * 60, "Line 1: nested too deeply."),
        (b'a: "x\\0y"\n', "a (line 1): has control characters or broken letters in it."),
    ],
    ids=range(12),
)
def test_what_cannot_be_read_is_refused_in_words(content, words):
    with pytest.raises(BadData) as fault:
        read(content)
    assert str(fault.value) == words


def test_broken_yaml_is_refused_with_its_line():
    with pytest.raises(BadData, match=r"The file is not YAML \(line 4\)"):
        read("steelyard: 1\ndepartments:\n  - {code: a\nprojects: }\n")


def test_two_documents_in_one_file_are_refused():
    with pytest.raises(BadData, match="not YAML"):
        read("steelyard: 1\n---\nsteelyard: 1\n")


def test_a_deep_block_is_refused_before_it_exhausts_the_stack():
    with pytest.raises(BadData, match="nested too deeply"):
        read("- " * 50_000 + "x")


def test_a_bomb_of_aliases_is_refused_before_it_grows():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    with pytest.raises(BadData, match="The file has more than 500000 values"):
        read("\n".join(lines))


def test_an_alias_stands_for_what_it_names():
    content = read("first: &day 2026-01-01\nthen: {from: *day}\n").content
    assert content == {"first": date(2026, 1, 1), "then": {"from": date(2026, 1, 1)}}


def test_a_directory_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(BadData, match="is a directory, not a file"):
        read(tmp_path)
    with pytest.raises(BadData, match="There is no file"):
        read(tmp_path / "nothing.yaml")


def test_values_are_read_as_they_were_written():
    content = read(
        'day: 2026-01-01\nprice: 11.80\nclock: 22:00\ncode: 0612\nquoted: "12.50"\nflag: true\nnone: ~\ncount: 12\n'
    ).content
    assert content == {
        "day": date(2026, 1, 1),
        "price": Decimal("11.80"),
        "clock": "22:00",
        "code": "0612",
        "quoted": "12.50",
        "flag": True,
        "none": None,
        "count": 12,
    }


def test_a_byte_order_mark_is_no_part_of_the_first_key():
    assert read(b"\xef\xbb\xbfsteelyard: 1\n").content == {"steelyard": 1}


def test_a_place_in_the_file_has_key_and_line_and_a_missing_key_the_line_of_its_owner():
    document = read("steelyard: 1\nmappings:\n  - cluster: a\n    project: b\n  - {cluster: a}\n")
    assert str(document.where(("mappings", 0, "project"))) == "mappings[0].project (line 4)"
    assert str(document.where(("mappings", 1, "project"))) == "mappings[1].project (line 5)"
    assert str(Document.of({"mappings": []}).where(("mappings", 3))) == "mappings[3]"
