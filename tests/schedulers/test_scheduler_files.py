"""Opening sources: what a path may turn out to be, packed or not, and memory that stays flat."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.files import ReadOptions, open_source, read
from tests.schedulers.slurm_reading import ROW, answer, job, read_bytes, read_path, run, runs_of, table


def _refusal(path: Path) -> UnreadableSource:
    with pytest.raises(UnreadableSource) as caught:
        read_path(path)
    return caught.value


def test_a_packed_file_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "records.txt").write_bytes(gzip.compress(table({})))
    (tmp_path / "records.gz").write_bytes(table({}))
    (tmp_path / "two.gz").write_bytes(gzip.compress(table({})) + gzip.compress(table({"JobIDRaw": "4712"})))
    assert read_path(tmp_path / "records.txt") == read_path(tmp_path / "records.gz") == [run()]
    assert len(read_path(tmp_path / "two.gz")) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    data = gzip.compress(table({})) if packed else table({})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with open_source("-") as source:
        assert list(read(source, name="-", options=ReadOptions())) == [run()]


def test_bytes_of_the_file_itself_are_told_as_they_pass(tmp_path: Path) -> None:
    path = tmp_path / "records.gz"
    path.write_bytes(gzip.compress(table(*({"JobIDRaw": str(n)} for n in range(500)))))
    told: list[int] = []
    with open_source(str(path), on_bytes=told.append) as source:
        assert len(list(read(source, name="x", options=ReadOptions()))) == 500
    assert sum(told) == path.stat().st_size


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert _refusal(tmp_path).code == "is_a_directory"
    assert _refusal(tmp_path / "missing").code == "not_found"


def test_what_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(table({}))
    path.chmod(0)
    rank = os.geteuid()
    try:
        if rank == 0:
            os.seteuid(65534)  # root may read everything
        assert _refusal(path).code == "not_permitted"
    finally:
        os.seteuid(rank)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"  \n\n\r\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\x7fELF\x02\x01\x01\x00", "binary"),
        (b"PK\x03\x04 zip", "binary"),
        (bytes(range(256)) * 8, "binary"),
        ("JobID|State".encode("utf-16"), "binary"),
        (gzip.compress(b"", mtime=0), "empty"),
        (gzip.compress(table({}, {}), mtime=0)[:60], "truncated_gzip"),
        (b"\x1f\x8b\x08\x00garbage that is no deflate stream", "broken_gzip"),
    ],
)
def test_files_that_are_no_records_are_refused(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    found = _refusal(path)
    assert (found.code, found.detail["name"]) == (code, "file")


def test_a_packed_file_cut_off_later_gives_its_records_and_then_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    noise = [{"JobIDRaw": str(n), "JobName": os.urandom(200).hex()} for n in range(4000)]
    path.write_bytes(gzip.compress(table(*noise))[:-1000])
    records = []
    with pytest.raises(UnreadableSource) as caught, open_source(str(path)) as source:
        for record in read(source, name="cut", options=ReadOptions()):
            records.append(record)
    assert caught.value.code == "truncated_gzip" and len(records) > 1000


def test_an_empty_table_has_no_records() -> None:
    assert read_bytes(table()) == []


@pytest.mark.parametrize(
    ("options", "code"),
    [({"format": "xml"}, "unknown_format"), ({"time_zone": "Mars/Olympus"}, "unknown_time_zone")],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], code: str) -> None:
    for data in (table({}), answer(job())):
        with pytest.raises(UnreadableSource) as caught:
            read_bytes(data, **options)
        assert caught.value.code == code


def test_a_reading_says_how_it_reads() -> None:
    text = read(io.BytesIO(table({}, delimiter="|#")), name="x", options=ReadOptions())
    assert (text.format, text.fields, text.delimiter) == ("sacct", tuple(name.lower() for name in ROW), "|#")
    assert next(text) == next(iter(runs_of(read_bytes(table({}, delimiter="|#")))))
    answered = read(io.BytesIO(answer(job())), name="x", options=ReadOptions())
    assert (answered.format, answered.fields) == ("sacct-json", None)


def test_a_quarantined_line_is_read_again_with_the_fields_of_its_reading() -> None:
    first = read(io.BytesIO(table({"State": "NEW_STATE"})), name="x", options=ReadOptions())
    (found,) = list(first)
    again = read_bytes(
        found.raw.replace("NEW_STATE", "FAILED").encode(),  # type: ignore[union-attr]
        fields=first.fields,
        delimiter=first.delimiter,
    )
    assert [one.state for one in runs_of(again)] == ["FAILED"]


class _Endless(io.RawIOBase):
    """A source made up as it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, size: int = -1) -> bytes:
        return next(self._pieces, b"")


def _peak(pieces: Iterator[bytes]) -> tuple[int, int]:
    """(records, peak bytes) of reading such a source without keeping the records."""
    tracemalloc.start()
    try:
        reading = read(cast(BinaryIO, _Endless(pieces)), name="x", options=ReadOptions())
        count = sum(1 for _ in reading)
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_of_a_hundred_megabytes_stays_out_of_memory() -> None:
    block = b"x" * 262_144
    pieces = iter([table({}), *(block for _ in range(400)), b"\n"])
    count, peak = _peak(pieces)
    assert count == 2 and peak < 8 * 2**20


def test_memory_is_flat_over_many_rows_of_text() -> None:
    line = table({}).splitlines(keepends=True)[1] * 100
    (_, few), (count, many) = (_peak(iter([table(), *(line for _ in range(times))])) for times in (10, 200))
    assert count == 20_000 and many < few + 2**20


def test_memory_is_flat_over_many_jobs_of_json() -> None:
    one = answer(job())
    begin = one.index(b'[{"account"') + 1
    item, tail = one[begin : one.rindex(b'], "meta"')], one[one.rindex(b'], "meta"') :]

    def pieces(times: int) -> Iterator[bytes]:
        yield one[:begin] + item
        for _ in range(times):
            yield b"," + item
        yield tail

    (_, few), (count, many) = _peak(pieces(400)), _peak(pieces(2000))
    assert count == 2001 and many < few + 2**20


@given(st.binary(max_size=400))
def test_any_bytes_are_records_or_a_refusal(data: bytes) -> None:
    try:
        records = read_bytes(data)
    except UnreadableSource as refusal:
        assert refusal.code
    else:
        assert isinstance(records, list)
