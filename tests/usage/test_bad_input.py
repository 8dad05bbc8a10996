"""Bad files: each a clear message in both languages, and nothing half done."""

from __future__ import annotations

import gzip
import os
import sys
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management import CommandError, call_command

from governance.usage.models import Intake, QuarantinedRecord, Run
from tests.books import declare, line, text
from tests.natural import content

pytestmark = pytest.mark.django_db
GOOD = text([line(n, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00") for n in range(50)])


def packed(data: str) -> bytes:
    return gzip.compress(data.encode())


BAD = {
    "empty": (b"", "is empty", "是空的"),
    "binary": (bytes(range(256)) * 40, "binary", "二进制"),
    "truncated gzip": (packed(GOOD)[:-20], "ends in the middle", "中间"),
    "damaged gzip": (packed(GOOD)[:30] + b"\x00" * 40 + packed(GOOD)[70:], "gzip", "gzip"),
    "no columns": (b"apples|pears\n1|2\n", "no columns", "列"),
    "columns missing": (b"JobIDRaw|Account|User\n1|a|b\n", "lacks columns", "缺"),
    "truncated JSON": (b'{"jobs": [{"job_id": 1, "time": {"sub', "JSON", "JSON"),
    "JSON without jobs": (b'{"cats": []}', "no list of jobs", "作业"),
}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_cannot_be_read_is_refused_in_words_and_leaves_nothing(tmp_path, monkeypatch, kind, language):
    declare()
    data, english, chinese = BAD[kind]
    path = tmp_path / "records.txt"
    path.write_bytes(data)
    before = content()
    monkeypatch.setenv("STEELYARD_LANGUAGE", language)
    with pytest.raises(CommandError) as caught:
        call_command("import_usage", "bj", str(path), stdout=StringIO())
    assert (english if language == "en" else chinese) in str(caught.value)
    assert caught.value.returncode == 1
    assert content() == before
    assert not Intake.objects.exists()


@pytest.mark.parametrize(("language", "words"), [("en", "is a directory"), ("zh-hans", "目录")])
def test_a_directory_is_refused(tmp_path, monkeypatch, language, words):
    declare()
    monkeypatch.setenv("STEELYARD_LANGUAGE", language)
    with pytest.raises(CommandError, match=words):
        call_command("import_usage", "bj", str(tmp_path), stdout=StringIO())


@pytest.mark.parametrize(("language", "words"), [("en", "does not exist"), ("zh-hans", "不存在")])
def test_a_file_that_is_not_there_is_refused(tmp_path, monkeypatch, language, words):
    declare()
    monkeypatch.setenv("STEELYARD_LANGUAGE", language)
    with pytest.raises(CommandError, match=words):
        call_command("import_usage", "bj", str(tmp_path / "none.txt"), stdout=StringIO())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path):
    declare()
    path = tmp_path / "closed.txt"
    path.write_text(GOOD, encoding="utf-8")
    path.chmod(0)
    with pytest.raises(CommandError):
        call_command("import_usage", "bj", str(path), stdout=StringIO())


@pytest.mark.parametrize(("language", "words"), [("en", "no cluster “sh”"), ("zh-hans", "没有集群“sh”")])
def test_an_unknown_cluster_is_refused(tmp_path, monkeypatch, language, words):
    monkeypatch.setenv("STEELYARD_LANGUAGE", language)
    with pytest.raises(CommandError, match=words):
        call_command("import_usage", "sh", str(tmp_path), stdout=StringIO())


def test_a_line_of_100_mb_goes_to_quarantine_and_the_others_come_in(tmp_path):
    declare()
    path = tmp_path / "long.txt"
    with path.open("wb") as file:
        file.write(GOOD.encode())
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n")
    call_command("import_usage", "bj", str(path), stdout=StringIO())
    assert Run.objects.count() == 50
    held = QuarantinedRecord.objects.get()
    assert held.code == "line_too_long" and len(held.raw) <= 10_000


def test_a_half_line_at_the_end_is_quarantined_and_the_rest_comes_in(tmp_path):
    declare()
    path = tmp_path / "half.txt"
    path.write_text(GOOD[:-150], encoding="utf-8")
    call_command("import_usage", "bj", str(path), stdout=StringIO())
    assert Run.objects.count() == 49
    assert QuarantinedRecord.objects.count() == 1


def test_where_not_one_record_can_be_read_the_status_is_1_and_quarantine_keeps_them(tmp_path):
    declare()
    path = tmp_path / "all-bad.txt"
    path.write_text(
        text([line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", State="DANCING")]), encoding="utf-8"
    )
    with pytest.raises(CommandError) as caught:
        call_command("import_usage", "bj", str(path), stdout=StringIO())
    assert caught.value.returncode == 1
    assert QuarantinedRecord.objects.get().code == "unknown_state"


def test_standard_input_is_read(monkeypatch):
    declare()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(packed(GOOD))))
    out = StringIO()
    call_command("import_usage", "bj", "-", "--json", stdout=out)
    assert '"new": 50' in out.getvalue()


def test_a_record_out_of_range_is_quarantined_not_a_crash(tmp_path):
    declare()
    path = tmp_path / "huge.txt"
    rows = [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", NNodes=10**12)]
    path.write_text(
        text([*rows, line(2, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")]), encoding="utf-8"
    )
    call_command("import_usage", "bj", str(path), stdout=StringIO())
    assert Run.objects.count() == 1
    assert QuarantinedRecord.objects.count() == 1
