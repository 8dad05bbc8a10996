"""The judgement of idle cards, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.telemetry.activity import Attempt, IdleRules, Judge, RunActivity
from governance.schedulers.telemetry.labels import Owner

MINUTE, HOUR, DAY = 60, 3600, 86_400
CARD = Owner("gpu001", "GPU-a", "7")


def minutes(begin: int, count: int, ratio: float) -> list[tuple[float, float]]:
    """One sample a minute; the first speaks for the minute from `begin`."""
    return [(float(begin + MINUTE * (n + 1)), ratio) for n in range(count)]


def judged(
    points: list[tuple[float, float]], *attempts: Attempt, bounds: tuple[int, ...] = (0, DAY), **rules: float
) -> list[RunActivity]:
    judge = Judge(bounds, {"7": list(attempts)}, IdleRules(**rules), MINUTE)
    judge.feed(CARD, points)
    return judge.close()


def hours(rows: list[RunActivity]) -> list[tuple[float, float]]:
    return [(row.active_milligpu_seconds / 3_600_000, row.idle_milligpu_seconds / 3_600_000) for row in rows]


def test_sixty_idle_minutes_after_the_grace_count_from_the_first_of_them():
    work, rest = minutes(0, 60, 0.9), minutes(HOUR, 60, 0.0)
    assert hours(judged(work + rest, Attempt(0, 0, None))) == [(1.0, 1.0)]


def test_fifty_nine_idle_minutes_are_not_idle():
    work, rest, again = minutes(0, 60, 0.9), minutes(HOUR, 59, 0.0), minutes(HOUR + 59 * MINUTE, 61, 0.9)
    assert hours(judged(work + rest + again, Attempt(0, 0, None))) == [(3.0, 0.0)]


def test_the_first_twenty_minutes_of_a_run_are_never_idle():
    assert hours(judged(minutes(0, 80, 0.0), Attempt(0, 0, None))) == [(20 / 60, 1.0)]
    assert hours(judged(minutes(0, 79, 0.0), Attempt(0, 0, None))) == [(79 / 60, 0.0)]


def test_the_grace_of_a_run_that_is_known_runs_from_its_start_not_from_the_first_sample():
    assert hours(judged(minutes(2 * HOUR, 60, 0.0), Attempt(0, 0, None))) == [(0.0, 1.0)]


def test_five_percent_is_active_and_less_is_idle():
    assert hours(judged(minutes(0, 120, 0.05), Attempt(0, 0, None), grace_s=0)) == [(2.0, 0.0)]
    assert hours(judged(minutes(0, 120, 0.0499), Attempt(0, 0, None), grace_s=0)) == [(0.0, 2.0)]


def test_an_installation_may_judge_by_two_percent_and_thirty_minutes():
    points = minutes(0, 60, 0.9) + minutes(HOUR, 30, 0.01)
    assert hours(judged(points, Attempt(0, 0, None), below=0.02, idle_after_s=1800)) == [(1.0, 0.5)]


def test_missing_samples_are_unknown_and_end_an_idle_stretch():
    points = minutes(0, 30, 0.0) + minutes(HOUR, 50, 0.0)
    (row,) = judged(points, Attempt(0, 0, None), grace_s=0)
    assert (row.measured_milligpu_seconds, row.idle_milligpu_seconds) == (80 * 60_000, 0)


def test_two_missed_scrapes_are_bridged():
    points = minutes(0, 30, 0.0) + minutes(32 * MINUTE, 30, 0.0)
    assert hours(judged(points, Attempt(0, 0, None), grace_s=0)) == [(0.0, 62 / 60)]


def test_a_stretch_over_midnight_is_idle_on_both_days():
    points = minutes(DAY - 30 * MINUTE, 60, 0.0)
    rows = judged(points, Attempt(0, 0, None), bounds=(0, DAY, 2 * DAY))
    assert [(row.day, row.idle_milligpu_seconds) for row in rows] == [(0, 30 * 60_000), (1, 30 * 60_000)]


def test_samples_around_a_day_decide_its_edges_and_are_not_counted():
    points = minutes(-30 * MINUTE, 60, 0.0)
    (row,) = judged(points, Attempt(-DAY, -DAY, None))
    assert (row.measured_milligpu_seconds, row.idle_milligpu_seconds) == (30 * 60_000, 30 * 60_000)


def test_values_above_one_are_taken_as_fully_busy_and_counted():
    (row,) = judged(minutes(0, 60, 1.07), Attempt(0, 0, None))
    assert (row.busy_milligpu_seconds, row.measured_milligpu_seconds, row.clamped) == (3_600_000, 3_600_000, 60)


def test_a_sample_speaks_for_no_time_before_the_start_or_after_the_end():
    (row,) = judged(minutes(0, 60, 0.5), Attempt(0, 90, 1000))
    assert row.measured_milligpu_seconds == 910_000 and row.busy_milligpu_seconds == 455_000


def test_the_same_instant_twice_counts_once():
    points = sorted(minutes(0, 60, 0.5) + minutes(0, 60, 0.5))
    (row,) = judged(points, Attempt(0, 0, None))
    assert row.measured_milligpu_seconds == 3_600_000


def test_attempts_of_a_requeued_job_take_their_own_samples():
    points = minutes(0, 180, 0.0)
    first, second = judged(points, Attempt(0, 0, HOUR), Attempt(4000, 4200, None))
    assert (first.submit_at, first.measured_milligpu_seconds, first.idle_milligpu_seconds) == (0, 3_600_000, 0)
    assert (second.submit_at, second.measured_milligpu_seconds) == (4000, (180 * MINUTE - 4200) * 1000)
    assert second.idle_milligpu_seconds == (180 * MINUTE - 4200 - 1200) * 1000


def test_idle_is_per_card_not_per_job():
    judge = Judge((0, DAY), {"7": [Attempt(0, 0, None)]}, IdleRules(grace_s=0), MINUTE)
    judge.feed(CARD, minutes(0, 120, 0.9))
    judge.feed(Owner("gpu001", "GPU-b", "7"), minutes(0, 120, 0.0))
    (row,) = judge.close()
    assert (row.cards, row.active_milligpu_seconds, row.idle_milligpu_seconds) == (2, 7_200_000, 7_200_000)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from((0.0, 0.04, 0.5, 1.2))), min_size=1, max_size=200),
    st.lists(st.integers(1, 199), max_size=5),
)
def test_how_the_samples_are_cut_changes_nothing(steps, cuts):
    points, at = [], 0
    for gap, ratio in steps:
        at += MINUTE * (1 + gap)
        points.append((float(at), ratio))
    whole = judged(points, Attempt(0, 0, None))
    judge = Judge((0, DAY), {"7": [Attempt(0, 0, None)]}, IdleRules(), MINUTE)
    edges = sorted({0, *(cut for cut in cuts if cut < len(points)), len(points)})
    for low, high in zip(edges, edges[1:], strict=False):
        judge.feed(CARD, points[low:high])
    assert judge.close() == whole
    assert all(
        row.active_milligpu_seconds + row.idle_milligpu_seconds == row.measured_milligpu_seconds for row in whole
    )


@pytest.mark.parametrize("value", [2147483632, 9223372036854775794, 140737488355328.0, float("nan"), -1.0])
def test_blank_sentinels_are_no_activity(value):
    from governance.schedulers.telemetry.activity import is_blank

    assert is_blank("activity", value) and is_blank("activity", value / 100) and is_blank("memory", value)
