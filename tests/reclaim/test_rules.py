"""What a rule finds: only on whole days, only what was not used, and never more than was held."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.reclaim import rules
from governance.reclaim.rules import Held, Idle, Terms, find, find_idle

D = date(2026, 7, 1)
DAYS = [D - timedelta(days=n) for n in range(1, 60)]
ALL = set(DAYS)


def used(*gpus: int) -> dict[date, Decimal]:
    """Mean GPUs of yesterday, the day before, ..."""
    return {day: Decimal(g) for day, g in zip(DAYS, gpus, strict=False)}


def look(terms: Terms, use: dict[date, Decimal], *, held: int = 32, since: int = 50, metered: set[date] = ALL):
    return find(terms, Held(held, D - timedelta(days=since)), use, metered, D)


HELD = Terms("held_unused", window_days=10, below_percent=30, keep_percent=25, step_gpus=8)


def test_what_is_held_and_not_used_comes_back_but_for_what_was_used_and_some_more():
    found = look(HELD, used(8, 8, 4, 0, 8, 8, 1, 2, 8, 8))
    # p95 by nearest rank of ten days is the highest, 8; a quarter more is 10, in whole nodes 16.
    assert found is not None
    assert (found.gpus, found.held, found.p95) == (16, 32, 8)
    assert found.window == (D - timedelta(days=10), D)


def test_use_at_the_share_or_above_is_left_alone():
    assert look(HELD, used(*[10] * 10), held=32) is None  # 31.25 %
    assert look(HELD, used(*[9] * 10), held=30) is None  # exactly 30 %: not below
    assert look(HELD, used(*[9] * 10), held=31) is not None


def test_a_missing_day_or_a_young_line_is_no_ground():
    assert look(HELD, {}, metered=ALL - {DAYS[4]}) is None
    assert look(HELD, {}, since=9) is None
    assert look(HELD, {}, since=10) is not None


def test_a_reservation_that_never_started_comes_back_whole():
    terms = Terms("never_started", window_days=7)
    assert look(terms, {}, since=20).gpus == 32
    assert look(terms, used(*[0] * 15, 1), since=20) is None  # once is enough
    assert look(terms, used(*[0] * 25, 1), since=20).gpus == 32  # before the line was held


def test_an_experiment_that_fell_silent_comes_back_whole():
    terms = Terms("gone_quiet", window_days=7)
    assert look(terms, used(*[0] * 7, 3)).gpus == 32
    assert look(terms, used(*[0] * 6, 1, 3)) is None
    assert look(terms, {}) is None  # it never spoke: that is another rule's


@pytest.mark.parametrize(("active", "idle", "found"), [(5, 95, True), (30, 70, True), (31, 69, False), (0, 60, False)])
def test_gpus_idle_by_what_is_known_and_the_unknown_speaks_for_them(active, idle, found):
    terms = Terms("idle_gpus", below_percent=30)
    assert find_idle(terms, Idle(100, idle, 100 - active - idle), 8) is found
    assert not find_idle(Terms("idle_gpus", min_gpus=16), Idle(100, 100, 0), 8)


kinds = st.sampled_from(rules.QUOTA_KINDS)


@given(
    kind=kinds,
    held=st.integers(0, 64),
    use=st.lists(st.integers(0, 80), max_size=40),
    gaps=st.sets(st.integers(0, 40), max_size=2),
    window=st.integers(1, 20),
    step=st.integers(1, 8),
)
def test_never_more_than_held_never_below_what_was_used_and_never_over_a_gap(kind, held, use, gaps, window, step):
    terms = Terms(kind, window_days=window, step_gpus=step)
    found = look(terms, used(*use), held=held, since=50, metered=ALL - {DAYS[n] for n in gaps})
    if found is None:
        return
    assert 0 < found.gpus <= held
    assert not any(n < window for n in gaps)
    assert held - found.gpus >= min(held, found.p95) or kind != "held_unused"
    if kind != "held_unused":
        assert found.peak == 0


def test_the_way_of_a_case_ends_and_never_goes_back():
    order = {state: n for n, state in enumerate(rules.STATES)}
    assert set(rules.WAY) == set(rules.STATES)
    assert all(order[then] > order[state] for state, following in rules.WAY.items() for then in following)
    assert rules.WAY["closed"] == ()
