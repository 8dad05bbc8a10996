"""Rules of quotas: states by day, warnings, room, lending."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.quotas import rules
from governance.quotas.rules import Capacity, Days, Promise, lending, nearest_rank, room, state_on, warning_due

D = date(2026, 7, 1)


def day(n: int) -> date:
    return D + timedelta(days=n)


@pytest.mark.parametrize(
    ("n", "state"),
    [
        (-1, "scheduled"), (0, "active"), (4, "active"), (5, "suspended"), (6, "suspended"), (7, "active"), (9, "active"),
        (10, "grace"), (12, "grace"), (13, "ended"),
    ],
)  # fmt: skip
def test_the_state_of_a_line_is_asked_for_a_day(n, state):
    pauses = [Days(day(5), day(7))]
    assert state_on(day(n), Days(D, day(10)), grace_days=3, pauses=pauses) == state


def test_a_line_that_was_ended_has_no_grace_and_a_void_one_never_was():
    assert state_on(day(10), Days(D, day(10)), grace_days=3, ended_as="reclaimed") == "ended"
    assert state_on(day(2), Days(D, None), is_void=True) == "ended"


@pytest.mark.parametrize(
    ("left", "due"), [(31, None), (30, 30), (29, 30), (14, 14), (8, 14), (7, 7), (2, 7), (1, 1), (0, None), (-3, None)]
)
def test_a_warning_is_due_until_the_next_one_so_that_a_missed_day_still_tells(left, due):
    assert warning_due(D, day(left)) == due
    assert warning_due(D, None) is None


def test_room_is_that_of_the_tightest_day():
    capacity = [
        Capacity(Days(D, None), 64, "h800"),
        Capacity(Days(day(20), None), 16, "h800"),
        Capacity(Days(D, day(5)), 8, "a100"),
    ]
    promises = [Promise(Days(D, day(10)), 40), Promise(Days(day(8), day(12)), 16, "h800")]
    found = room(Days(D, day(30)), capacity=capacity, promises=promises)
    assert (found.gpus, found.on, found.capacity, found.promised) == (8, day(8), 64, 56)
    assert room(Days(day(12), day(20)), capacity=capacity, promises=promises).gpus == 64
    assert room(Days(D, day(4)), capacity=capacity, promises=promises, model="a100").gpus == 8
    assert room(Days(D, day(6)), capacity=capacity, promises=promises, model="a100").gpus == 0  # gone on the fifth
    assert room(Days(D, day(4)), capacity=capacity, promises=promises, factor=Decimal("1.25")).gpus == 90 - 40


def test_a_pooled_pool_is_bound_by_each_department_above():
    promises = [
        Promise(Days(D, None), 30, departments=frozenset({"vision", "research"})),
        Promise(Days(D, None), 90, departments=frozenset({"search"})),
    ]
    shares = {
        "vision": [(Days(date.min, None), 48)],
        "research": [(Days(date.min, day(10)), 40), (Days(day(10), None), 35)],
    }
    found = room(Days(D, day(20)), capacity=[], promises=promises, policy=rules.POOLED, shares=shares)
    assert (found.gpus, found.on, found.share_of) == (5, day(10), "research")


def test_percentile_by_nearest_rank():
    values = [Decimal(n) for n in range(1, 21)]
    assert nearest_rank(values, 95) == 19
    assert nearest_rank(values[:1], 95) == 1
    assert nearest_rank([], 95) is None


names = st.sampled_from("abcdef")


@given(st.dictionaries(names, st.integers(0, 50)), st.dictionaries(names, st.decimals(0, 90, places=2)))
def test_nobody_lends_more_than_is_left_free_and_all_lent_was_borrowed(guaranteed, used):
    found = lending(guaranteed, used)
    lent, borrowed = sum(x.lent for x in found.values()), sum(x.borrowed for x in found.values())
    idle = sum(max(Decimal(0), guaranteed.get(n, 0) - used.get(n, Decimal(0))) for n in found)
    assert abs(lent - min(idle, borrowed)) < Decimal("0.000001")
    for name, one in found.items():
        assert one.lent == 0 or one.borrowed == 0
        assert one.lent <= max(0, guaranteed.get(name, 0) - used.get(name, Decimal(0))) + Decimal("0.000001")


windows = st.tuples(st.integers(0, 20), st.one_of(st.none(), st.integers(1, 20))).map(
    lambda w: Days(day(w[0]), None if w[1] is None else day(w[0] + w[1]))
)


@given(
    windows,
    st.lists(st.tuples(windows, st.integers(0, 30)), max_size=5),
    st.lists(st.tuples(windows, st.integers(0, 30)), max_size=5),
)
def test_room_equals_the_least_over_every_single_day(window, capacity, promises):
    lines = [Capacity(days, gpus, "m") for days, gpus in capacity]
    held = [Promise(days, gpus) for days, gpus in promises]
    days = [day(n) for n in range(60) if window.has(day(n))]
    least = min(sum(c.gpus for c in lines if c.days.has(d)) - sum(p.gpus for p in held if p.days.has(d)) for d in days)
    assert room(window, capacity=lines, promises=held).gpus == least
