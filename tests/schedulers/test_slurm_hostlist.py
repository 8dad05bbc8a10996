"""Compressed node lists, and those that must be refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.slurm.hostlist import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu[001-003,007],b3", ["gpu001", "gpu002", "gpu003", "gpu007", "b3"]),
        ("cn-a006", ["cn-a006"]),
        ("a[9-11]", ["a9", "a10", "a11"]),
        ("rack[1-2]-node[01-02]", ["rack1-node01", "rack1-node02", "rack2-node01", "rack2-node02"]),
        ("cpn-f13-03-[01-02],cpn-f13-04-[01]", ["cpn-f13-03-01", "cpn-f13-03-02", "cpn-f13-04-01"]),
        ("n[1]x", ["n1x"]),
        ("None assigned", []),
        ("", []),
        ("(null)", []),
    ],
)
def test_names_in_order_with_their_zeros(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "a[1-3",
        "a1-3]",
        "a[1-[2-3]]",
        "a]1[",
        "a[3-1]",
        "a[x-y]",
        "a[]",
        "a,,b",
        "a[000000001-999999999]",
        "a[1-300]b[1-300]",
        "a[1-40000],b[1-40000]",
        "a[1-99999999999999999999999]",
    ],
)
def test_lists_that_cannot_be_meant_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="range|brackets|name|nodes"):
        expand(text)


@given(st.integers(0, 9000), st.integers(0, 300), st.integers(1, 6))
def test_a_range_has_as_many_names_as_numbers(first: int, more: int, width: int) -> None:
    text = f"n[{first:0{width}d}-{first + more}]"
    names = expand(text)
    assert len(names) == len(set(names)) == more + 1
    assert [int(name[1:]) for name in names] == list(range(first, first + more + 1))


@given(st.text(alphabet="ab12[],-", max_size=20))
def test_any_list_expands_or_is_refused(text: str) -> None:
    try:
        names = expand(text)
    except ValueError:
        return
    assert all(name and not set(name) & set("[],") for name in names)
