"""Day facts: cuts at midnight, bands, matching, suspended time, unknown cards, capacity."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from governance.catalogue import actions as catalogue
from governance.usage import actions
from governance.usage.models import CapacityDay, DirtyDay, UsageDay
from portal.organisation.actions import load
from tests.books import MACHINE, bring, company, declare, line, settle

pytestmark = pytest.mark.django_db
HOUR = 3600


def facts(*names: str) -> list[tuple[object, ...]]:
    return sorted(UsageDay.objects.values_list(*names))


def test_a_run_is_cut_at_midnight_of_the_billing_zone(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T22:00", "2026-03-01T22:30", "2026-03-02T00:15", gpus=4)])
    settle()
    assert facts("day", "milligpu_seconds", "runs_started", "runs_ended") == [
        (date(2026, 3, 1), 4_000 * 5400, 1, 0),
        (date(2026, 3, 2), 4_000 * 900, 0, 1),
    ]


def test_a_run_that_ends_at_midnight_leaves_no_second_on_the_next_day_but_ends_on_it(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T22:00", "2026-03-01T23:00", "2026-03-02T00:00")])
    settle()
    assert facts("day", "milligpu_seconds", "runs_ended") == [
        (date(2026, 3, 1), 8_000 * HOUR, 0),
        (date(2026, 3, 2), 0, 1),
    ]


def test_days_are_25_hours_long_where_the_clock_goes_back(tmp_path):
    declare(settings={"time_zone": "Europe/Berlin"})
    bring(tmp_path, [line(1, "2026-10-24T20:00Z", "2026-10-24T22:00+00:00", "2026-10-25T23:00+00:00", gpus=1)])
    settle()
    assert facts("day", "wall_seconds") == [(date(2026, 10, 25), 25 * HOUR), (date(2026, 10, 26), 0)]


def test_bands_cut_the_day_and_add_up(tmp_path):
    declare(settings={"bands": [{"code": "peak", "from": "08:00", "to": "22:00"}, {"code": "night"}]})
    bring(tmp_path, [line(1, "2026-03-01T00:00", "2026-03-01T06:00", "2026-03-01T23:00", gpus=1)])
    settle()
    assert facts("band", "wall_seconds", "runs_started", "runs_ended") == [
        ("night", 3 * HOUR, 1, 1),
        ("peak", 14 * HOUR, 0, 0),
    ]


def test_suspended_time_is_left_out_of_cpu_time_only_and_days_add_up(tmp_path):
    declare()
    row = line(
        1,
        "2026-03-01T20:00",
        "2026-03-01T22:00",
        "2026-03-02T02:00",
        Suspended="01:00:00",
        ElapsedRaw=3 * HOUR,
        AllocCPUS=7,
    )
    bring(tmp_path, [row])
    settle()
    found = facts("day", "cpu_seconds", "milligpu_seconds")
    assert sum(cpu for _, cpu, _ in found) == 7 * 3 * HOUR
    assert [gpu for *_, gpu in found] == [8_000 * 2 * HOUR] * 2


def test_a_count_that_was_asked_for_but_not_given_is_unknown_never_zero(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", gpus=None)])
    settle()
    assert facts("model", "milligpu_seconds", "unknown_gpu_runs", "cpu_only_cpu_seconds") == [("unknown", 0, 1, 0)]


def test_on_a_cluster_that_does_not_track_cards_every_started_run_without_a_count_is_unknown(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", gpus=0)])
    settle()
    assert facts("model", "unknown_gpu_runs") == [("none", 0)]
    document = company()
    document["clusters"][0]["scheduler"]["tracks_gpus"] = False
    load(document, actor=MACHINE)
    settle()
    assert facts("model", "unknown_gpu_runs") == [("unknown", 1)]


@pytest.mark.parametrize(
    ("record", "pool", "model"),
    [
        ({}, "train-h800", "h800"),  # untyped: the model of its node
        ({"kind": "nvidia-h800"}, "train-h800", "h800"),  # typed by an alias, whatever its case
        ({"NodeList": "other9"}, "train-h800", "h800"),  # a node nobody knows: the pool's sole model
        ({"Partition": "infer-fast", "NodeList": "inf001"}, "infer-l20", "l20"),  # a glob
        ({"Partition": "nowhere", "NodeList": "gpu001"}, "unassigned", "h800"),  # no pool claims it
        ({"Partition": "nowhere", "NodeList": "other9"}, "unassigned", "unknown"),
        (
            {"kind": "mystery"},
            "unassigned",
            "unknown",
        ),  # no model has that name, so no pool that names its models takes it
    ],
)
def test_where_a_run_belongs(tmp_path, record, pool, model):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", **record)])
    settle()
    assert facts("pool", "model", "milligpu_seconds") == [(pool, model, 8_000 * HOUR)]


def test_a_run_on_two_models_is_two_facts_and_its_cpus_count_once(tmp_path):
    document = company()
    document["clusters"][0]["pools"][0] = {"code": "train-h800", "name": "train", "partitions": ["train"]}
    load(document, actor=MACHINE)
    both = "cpu=64,mem=512G,node=2,gres/gpu=6,gres/gpu:h800=4,gres/gpu:l20=2"
    nodes = {"NNodes": 2, "NodeList": "gpu001,inf001"}
    bring(tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00", AllocTRES=both, **nodes)])
    settle()
    assert facts("model", "milligpu_seconds", "runs_ended") in (
        [("h800", 4_000 * HOUR, 1), ("l20", 2_000 * HOUR, 0)],
        [("h800", 4_000 * HOUR, 0), ("l20", 2_000 * HOUR, 1)],
    )
    assert sum(cpu for (cpu,) in facts("cpu_seconds")) == 64 * HOUR


def test_mappings_rank_account_and_user_over_account_over_user(tmp_path):
    mappings = [
        {"cluster": "bj", "account": "*", "user": "*", "project": "rank"},
        {"cluster": "bj", "account": "ocr", "project": "ocr"},
        {"cluster": "bj", "account": "ocr", "user": "bot", "project": "rank"},
    ]
    declare(mappings=mappings)
    hours = ("2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")
    bring(tmp_path, [line(1, *hours), line(2, *hours, User="bot"), line(3, *hours, Account="stray")])
    settle()
    assert facts("account", "user", "project") == [
        ("ocr", "ada", "ocr"),
        ("ocr", "bot", "rank"),
        ("stray", "ada", "rank"),
    ]


def test_a_run_over_a_mapping_change_is_split_by_day(tmp_path):
    mappings = [
        {"cluster": "bj", "account": "ocr", "project": "ocr", "to": date(2026, 3, 2)},
        {"cluster": "bj", "account": "ocr", "project": "rank", "from": date(2026, 3, 2)},
    ]
    declare(mappings=mappings)
    bring(tmp_path, [line(1, "2026-03-01T20:00", "2026-03-01T22:00", "2026-03-02T03:00")])
    settle()
    assert facts("project", "milligpu_seconds") == [("ocr", 8_000 * 2 * HOUR), ("rank", 8_000 * 3 * HOUR)]


def test_waits_are_classed_by_reason_and_counted_on_the_day_of_the_start(tmp_path):
    declare()
    hours = ("2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")
    reasons = {1: "None", 2: "AssocGrpGRES", 3: "Dependency", 4: ""}
    bring(tmp_path, [line(job, *hours, Reason=reason) for job, reason in reasons.items()])
    settle()
    names = ("wait_capacity_seconds", "wait_quota_seconds", "wait_other_seconds", "wait_unknown_seconds")
    assert facts(*names) == [(HOUR, HOUR, HOUR, HOUR)]


def test_capacity_closes_and_states_by_hand_take_their_share(tmp_path):
    declare()
    down = (datetime(2026, 3, 1, 0, tzinfo=UTC), datetime(2026, 3, 1, 2, tzinfo=UTC))
    catalogue.set_node_state("bj", "gpu004", "down", down[0], down[1], "power supply", actor=MACHINE)
    bring(
        tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")], observed_at="2026-03-02T00:00"
    )
    settle()
    day = CapacityDay.objects.get(model="h800")
    assert (day.installed, day.allocated, day.down, day.over, day.reserved) == (
        32_000 * 24 * HOUR,
        8_000 * HOUR,
        8_000 * 2 * HOUR,
        0,
        0,
    )
    assert day.free == day.installed - day.allocated - day.down


def test_more_allocated_than_installed_is_listed_with_its_cause(tmp_path):
    declare()
    hours = ("2026-03-01T08:00", "2026-03-01T00:00", "2026-03-02T00:00")
    bring(tmp_path, [line(job, *hours) for job in range(5)])
    settle()
    day = CapacityDay.objects.get(model="h800", day=date(2026, 3, 1))
    assert (day.over, day.free, day.cause) == (8_000 * 24 * HOUR, 0, "more_allocated_than_installed")


def test_a_second_metering_writes_nothing(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")])
    settle()
    assert actions.meter("bj", actor=MACHINE).rows_written == 0
    actions.mark_dirty("bj", None, None)
    assert actions.meter("bj", actor=MACHINE).rows_written == 0
    assert not DirtyDay.objects.exists()


def test_until_counts_nothing_at_or_after_it(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T15:00")])
    until = datetime(2026, 3, 1, 4, tzinfo=UTC)  # noon in Shanghai
    assert actions.meter("bj", actor=MACHINE, until_at=until).through == "2026-03-01T04:00:00+00:00"
    assert facts("wall_seconds") == [(3 * HOUR,)]
    actions.meter("bj", actor=MACHINE)
    assert facts("wall_seconds") == [(6 * HOUR,)]


def test_a_run_that_never_started_uses_nothing(tmp_path):
    declare()
    row = line(1, "2026-03-01T08:00", None, "2026-03-01T09:00", State="CANCELLED by 1001", Start="None")
    bring(tmp_path, [row, line(2, "2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")])
    settle()
    assert facts("runs_started", "runs_ended") == [(1, 1)]


def test_capacity_begins_with_the_earliest_submit_however_late_its_record_comes(tmp_path):
    declare()
    bring(tmp_path, [line(1, "2026-03-05T08:00", "2026-03-05T09:00", "2026-03-05T10:00")])
    settle()
    assert {day for (day,) in CapacityDay.objects.values_list("day")} == {date(2026, 3, 5)}
    bring(
        tmp_path,
        [line(2, "2026-03-03T08:00", None, None), line(3, "2026-03-03T08:00", "2026-03-05T09:00", "2026-03-05T10:00")],
    )
    settle()
    assert {day for (day,) in CapacityDay.objects.values_list("day")} == {date(2026, 3, n) for n in (3, 4, 5)}
