"""Which record of a run is the truth, whatever the order they come in."""

from __future__ import annotations

import pytest

from governance.usage import actions
from governance.usage.models import DirtyDay, Intake, Run, UsageDay
from tests.books import MACHINE, bring, declare, line, settle
from tests.natural import content

pytestmark = pytest.mark.django_db

DAY = "2026-06-01"


@pytest.fixture(autouse=True)
def organisation():
    declare()


def test_the_same_file_twice_changes_nothing(tmp_path):
    rows = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")]
    assert vars(bring(tmp_path, rows)) == {
        "read": 1,
        "new": 1,
        "changed": 0,
        "unchanged": 0,
        "steps_skipped": 0,
        "quarantined": 0,
    }
    assert vars(bring(tmp_path, rows)) == {
        "read": 1,
        "new": 0,
        "changed": 0,
        "unchanged": 1,
        "steps_skipped": 0,
        "quarantined": 0,
    }


def test_an_unchanged_pull_leaves_no_dirty_day(tmp_path):
    rows = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")]
    bring(tmp_path, rows, observed_at=f"{DAY}T12:00")
    settle()
    assert bring(tmp_path, rows, observed_at=f"{DAY}T13:00").unchanged == 1
    assert not DirtyDay.objects.exists()


def test_the_later_observation_wins_even_when_it_comes_first(tmp_path):
    ended = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")]
    running = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", None)]
    bring(tmp_path, ended, observed_at=f"{DAY}T12:00")
    assert bring(tmp_path, running, observed_at=f"{DAY}T10:00").unchanged == 1
    assert Run.objects.get().outcome == "completed"


def test_ended_wins_over_running_at_the_same_instant(tmp_path):
    bring(tmp_path, [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")], observed_at=f"{DAY}T11:00")
    bring(tmp_path, [line(1, f"{DAY}T08:00", f"{DAY}T09:00", None)], observed_at=f"{DAY}T11:00")
    assert Run.objects.get().outcome == "completed"


def test_an_older_version_does_not_win_over_one_seen_again_later(tmp_path):
    first = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")]
    other = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T12:00")]
    bring(tmp_path, first, observed_at=f"{DAY}T13:00")
    bring(tmp_path, first, observed_at=f"{DAY}T15:00")
    assert bring(tmp_path, other, observed_at=f"{DAY}T14:00").changed == 0
    assert bring(tmp_path, other, observed_at=f"{DAY}T16:00").changed == 1


def test_a_recycled_job_id_is_another_run(tmp_path):
    bring(
        tmp_path,
        [
            line(7, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T10:00"),
            line(7, f"{DAY}T18:00", f"{DAY}T19:00", f"{DAY}T20:00"),
        ],
    )
    settle()
    assert Run.objects.count() == 2
    assert sum(UsageDay.objects.values_list("milligpu_seconds", flat=True)) == 2 * 8_000 * 3600


def test_each_attempt_of_a_requeued_job_counts(tmp_path):
    rows = [
        line(7, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T10:00", State="REQUEUED"),
        line(7, f"{DAY}T10:00:30", f"{DAY}T10:30", f"{DAY}T11:00"),
    ]
    bring(tmp_path, rows)
    settle()
    facts = dict(UsageDay.objects.values_list("outcome", "milligpu_seconds"))
    assert facts == {"cancelled": 8_000 * 3600, "completed": 8_000 * 1800}


def test_a_record_without_submit_is_adopted_by_one_that_knows_it(tmp_path):
    unknown = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00", Submit="Unknown", Eligible="Unknown")]
    known = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")]
    bring(tmp_path, unknown)
    settle()
    first = Run.objects.get()
    assert (first.submit_known, first.submit_at) == (False, first.start_at)
    bring(tmp_path, known)
    settle()
    adopted = Run.objects.get()
    assert adopted.submit_known and adopted.submit_at < adopted.start_at
    assert sum(UsageDay.objects.values_list("milligpu_seconds", flat=True)) == 8_000 * 7200


def test_adoption_gives_the_same_content_in_both_orders(tmp_path):
    unknown = [
        line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00", Submit="Unknown", Eligible="Unknown", JobName="later")
    ]
    known = [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00")]
    bring(tmp_path, unknown, observed_at=f"{DAY}T14:00")
    bring(tmp_path, known, observed_at=f"{DAY}T13:00")
    one_way = content("runs")
    Run.objects.all().delete()
    Intake.objects.all().delete()
    bring(tmp_path, known, observed_at=f"{DAY}T13:00")
    bring(tmp_path, unknown, observed_at=f"{DAY}T14:00")
    assert content("runs") == one_way
    assert one_way["runs"][0][17] == "later"


def test_a_running_run_counts_to_its_own_observation_and_then_to_its_end(tmp_path):
    bring(tmp_path, [line(1, f"{DAY}T08:00", f"{DAY}T09:00", None)], observed_at=f"{DAY}T12:00")
    settle()
    assert list(UsageDay.objects.values_list("outcome", "milligpu_seconds")) == [("running", 8_000 * 3 * 3600)]
    bring(tmp_path, [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T12:00")], observed_at=f"{DAY}T13:00")
    settle()
    assert list(UsageDay.objects.values_list("outcome", "milligpu_seconds")) == [("completed", 8_000 * 3 * 3600)]


def test_a_record_of_another_cluster_is_quarantined_and_says_so(tmp_path):
    counts = bring(tmp_path, [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00", Cluster="sh")])
    assert (counts.quarantined, counts.new) == (1, 0)
    assert content("quarantine")["quarantine"][0][2] == "other_cluster"


def test_a_quarantined_record_becomes_a_run_when_a_retry_can_read_it(tmp_path):
    bring(tmp_path, [line(1, f"{DAY}T08:00", f"{DAY}T09:00", f"{DAY}T11:00", Cluster="sh")])
    assert actions.retry_quarantined("bj", actor=MACHINE).quarantined == 1
    clusters = [
        {"code": "bj", "name": "bj", "scheduler": {"kind": "files", "time_zone": "UTC", "cluster_name": ["bj", "sh"]}}
    ]
    declare(clusters=clusters, mappings=[], prices=[])
    counts = actions.retry_quarantined("bj", actor=MACHINE)
    assert (counts.new, counts.quarantined) == (1, 0)
    assert actions.retry_quarantined("bj", actor=MACHINE).read == 0
