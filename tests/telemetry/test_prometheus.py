"""A real Prometheus on generated blocks: every figure below is worked out by hand from what `conftest.told` says."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.db import connection

from governance.catalogue.models import Cluster
from governance.errors import NotTheMoment
from governance.schedulers.live import SourceFault
from governance.schedulers.telemetry.activity import IdleRules
from governance.schedulers.telemetry.client import Endpoint, Prometheus
from governance.schedulers.telemetry.labels import named_maps
from governance.usage import watermarks
from governance.usage.models import DirtyDay, PullFinding, UsageDay, Watermark
from governance.usage.telemetry import actions, reads
from governance.usage.telemetry.pulling import How, Pull
from governance.usage.telemetry_models import NodeHour, RunActivity, TelemetryPiece
from tests.books import MACHINE, at, settle
from tests.telemetry.blocks import needs_prometheus
from tests.telemetry.conftest import EVENING, MIDNIGHT, MORNING

pytestmark = [pytest.mark.django_db, pytest.mark.prometheus, needs_prometheus]
FIRST, SECOND = date(2026, 6, 1), date(2026, 6, 2)
CARD_HOUR = 3_600_000
SINCE = datetime.fromtimestamp(EVENING, UTC)


def configured(url: str, **options: object) -> Cluster:
    actions.configure("bj", actor=MACHINE, url=url, **options)
    return Cluster.objects.get(code="bj")


def activity(job: str, day: date) -> RunActivity:
    return RunActivity.objects.get(job_id=job, day=day)


def content() -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM run_activity ORDER BY day, job_id, submit_at, node")
        rows = cursor.fetchall()
        cursor.execute("SELECT * FROM node_hour ORDER BY node, hour_at")
        return rows + cursor.fetchall()


@pytest.fixture
def pulled(prometheus, three_runs):
    cluster = configured(prometheus)
    actions.pull("bj", actor=MACHINE, since_at=SINCE)
    settle()
    return cluster


def test_active_idle_and_unknown_card_time_are_those_worked_out_by_hand(pulled):
    first, second = activity("1", FIRST), activity("1", SECOND)
    # Card 7 rests from 22:00 to 02:00; the others work.
    assert (first.active_milligpu_seconds, first.idle_milligpu_seconds) == (30 * CARD_HOUR, 2 * CARD_HOUR)
    # Card 3 is silent for an hour, card 5 shows a blank for ten minutes: both unknown.
    assert (second.active_milligpu_seconds, second.idle_milligpu_seconds) == (
        29 * CARD_HOUR - CARD_HOUR // 6,
        2 * CARD_HOUR,
    )
    facts = dict(UsageDay.objects.filter(outcome="completed").values_list("day", "active_milligpu_seconds"))
    known = reads.card_time(pulled, SECOND, date(2026, 6, 3))
    assert known.unknown == CARD_HOUR + CARD_HOUR // 6 and known.allocated == 32 * CARD_HOUR
    assert facts[SECOND] == second.active_milligpu_seconds


def test_a_card_that_two_exporters_tell_of_is_one_card_as_busy_as_the_busier(pulled):
    first = activity("1", FIRST)
    assert first.cards == 8
    # Seven cards at 0.8 for four hours; card 7 for two, then two hours at 0.01.
    assert first.busy_milligpu_seconds == round((7 * 4 * 0.8 + 2 * 0.8 + 2 * 0.01) * CARD_HOUR)


def test_slices_above_one_are_fully_busy_devices_of_their_own_and_counted(pulled):
    found = activity("2", FIRST)
    assert (found.cards, found.active_milligpu_seconds, found.busy_milligpu_seconds, found.clamped) == (
        2,
        2 * CARD_HOUR,
        2 * CARD_HOUR,
        120,
    )


def test_a_card_without_sm_activity_is_judged_by_gpu_utilisation_in_percent(pulled):
    found = activity("3", FIRST)
    assert (found.active_milligpu_seconds, found.idle_milligpu_seconds) == (CARD_HOUR, CARD_HOUR)
    assert found.busy_milligpu_seconds == round((0.5 + 0.04) * CARD_HOUR)


def test_a_run_nobody_tells_of_is_unknown_not_idle(pulled):
    assert not RunActivity.objects.filter(job_id="4").exists()
    known = reads.card_time(pulled, FIRST, SECOND)
    assert known.allocated == (32 + 2 + 2 + 2) * CARD_HOUR and known.unknown == 2 * CARD_HOUR


def test_wrong_labels_become_findings_and_nobodys_card_time(pulled):
    assert PullFinding.objects.get(code="telemetry_unplaced").detail["series"] > 0
    assert [f.subject for f in PullFinding.objects.filter(code="telemetry_without_run")] == ["999 2026-06-01"]
    assert not PullFinding.objects.filter(code="telemetry_excess").exists()
    assert not RunActivity.objects.filter(node="gpu003").exists()


def test_memory_leaves_blanks_out_and_energy_counts_over_a_reset(pulled):
    assert activity("1", FIRST).memory_max_mib == 40_000 and activity("1", SECOND).memory_max_mib == 70_000
    # Cards 0 and 1 by their power, 500 and 510 W; card 4 by its counter, 300 W.
    assert activity("1", FIRST).energy_joules == pytest.approx((500 + 510 + 300) * 4 * 3600, rel=0.01)
    assert activity("1", SECOND).energy_joules == pytest.approx((500 + 510 + 300) * 4 * 3600, rel=0.01)


def test_a_nodes_power_counts_each_card_once_and_its_heat_is_the_hottest_cards(pulled):
    hours = NodeHour.objects.filter(node="gpu001").order_by("hour_at")
    assert [(h.power_watts_mean, h.power_watts_max, h.temperature_max, h.samples) for h in hours] == [
        (1010, 1010, 51, 12)
    ] * 8


def test_pulling_again_changes_nothing_and_dirties_no_day(pulled):
    before = [row[:-1] for row in content()]
    done = actions.pull("bj", actor=MACHINE, since_at=SINCE)
    assert (done.rows.new, done.rows.changed) == (0, 0) and done.rows.unchanged > 0
    assert [row[:-1] for row in content()] == before and not DirtyDay.objects.exists()


def test_the_watermark_stops_at_the_records_and_never_passes_them(pulled):
    assert watermarks.reached(pulled, "telemetry") == datetime.fromtimestamp(MIDNIGHT + 24 * 3600, UTC)
    assert watermarks.reached(pulled, "ingested") == datetime.fromtimestamp(at("2026-06-03T06:00"), UTC)


def test_a_stretch_that_becomes_idle_after_a_pull_is_idle_after_the_next(prometheus, three_runs):
    cluster = configured(prometheus)
    Watermark.objects.filter(stage="ingested").update(until_at=datetime.fromtimestamp(EVENING + 2 * 3600 + 1800, UTC))
    actions.pull("bj", actor=MACHINE, since_at=SINCE)
    assert activity("1", FIRST).idle_milligpu_seconds == 0
    watermarks.move(cluster, "ingested", datetime.fromtimestamp(MORNING + 7200, UTC))
    actions.pull("bj", actor=MACHINE)
    assert activity("1", FIRST).idle_milligpu_seconds == 2 * CARD_HOUR


class Breaking(Prometheus):
    """A Prometheus whose answers stop after some questions."""

    left = 0

    def query_range(self, promql, since, until, step):
        if self.left == 0:
            raise SourceFault("output_cut", reason="it died")
        self.left -= 1
        return super().query_range(promql, since, until, step)


@pytest.mark.parametrize("answers", [1, 9, 17, 26])
def test_a_pull_that_dies_goes_on_where_it_was_and_ends_with_the_same(prometheus, three_runs, answers):
    cluster = Cluster.objects.get(code="bj")
    how = How(named_maps()["dcgm-slurm"], IdleRules(), nodes_at_once=1)
    since, until = SINCE, datetime.fromtimestamp(MORNING + 7200, UTC)
    with Prometheus(Endpoint(prometheus)) as client:
        Pull(cluster, client, how, "test").run(since, until, None)
        whole = content()
    RunActivity.objects.all().delete()
    NodeHour.objects.all().delete()
    Watermark.objects.filter(stage="telemetry").delete()
    with Breaking(Endpoint(prometheus)) as client:
        client.left = answers
        with pytest.raises(SourceFault):
            Pull(cluster, client, how, "test").run(since, until, None)
    held = TelemetryPiece.objects.count()
    with Prometheus(Endpoint(prometheus)) as client:
        done = Pull(cluster, client, how, "test").run(since, until, None)
    assert content() == whole
    assert done.pieces_skipped == held and not TelemetryPiece.objects.exists()


def test_how_many_nodes_are_read_at_once_changes_nothing(prometheus, three_runs):
    cluster = Cluster.objects.get(code="bj")
    seen = []
    for size in (1, 64):
        RunActivity.objects.all().delete()
        with Prometheus(Endpoint(prometheus)) as client:
            how = How(named_maps()["dcgm-slurm"], IdleRules(), nodes_at_once=size)
            Pull(cluster, client, how, "test").run(SINCE, datetime.fromtimestamp(MORNING, UTC), None)
        seen.append(content())
    assert seen[0] == seen[1]


def test_the_probe_says_what_is_there(prometheus, three_runs):
    configured(prometheus)
    found = {f.code: f for f in actions.probe("bj", actor=MACHINE, at=EVENING + 1800)}
    assert found["telemetry_series"].detail["metrics"]["DCGM_FI_PROF_SM_ACTIVE"] == 14
    assert found["telemetry_scrape_interval"].detail["seconds"] == 60
    assert found["telemetry_nodes"].detail == {"label": "Hostname", "nodes": 3}
    assert found["telemetry_doubled"].detail == {"series": 1, "of": 14}
    assert found["telemetry_unplaced"].detail == {"series": 1, "of": 14}
    assert found["telemetry_horizon"].detail["earliest_at"] == pytest.approx(EVENING, abs=1200)
    assert "telemetry_no_job_mapping" not in found


def test_the_probe_names_the_map_that_would_fit(prometheus, three_runs):
    configured(prometheus, label_map="npu-exporter")
    (blocking,) = [f for f in actions.probe("bj", actor=MACHINE, at=EVENING + 1800) if f.severity == "blocking"]
    assert blocking.code == "telemetry_no_activity" and "dcgm-slurm" in blocking.detail["maps_that_fit"]


def test_a_map_that_fits_nothing_leaves_the_watermark_and_a_finding(prometheus, three_runs):
    cluster = configured(prometheus, label_map="npu-exporter")
    done = actions.pull("bj", actor=MACHINE, since_at=SINCE)
    assert done.days_without_series == done.days and watermarks.reached(cluster, "telemetry") is None
    assert PullFinding.objects.filter(code="telemetry_silent", resolved_at__isnull=True).exists()


def test_a_source_that_is_gone_is_a_finding_with_words_until_it_answers(prometheus, three_runs):
    configured("http://127.0.0.1:9")
    with pytest.raises(NotTheMoment):
        actions.pull("bj", actor=MACHINE, since_at=SINCE)
    assert PullFinding.objects.get(code="telemetry_fault").subject == "unreachable"
    configured(prometheus)
    actions.pull("bj", actor=MACHINE, since_at=SINCE)
    assert PullFinding.objects.get(code="telemetry_fault").resolved_at is not None


def test_a_day_the_server_has_half_forgotten_keeps_what_was_known(pulled, tmp_path_factory):
    from tests.telemetry.blocks import make_blocks, serve
    from tests.telemetry.conftest import told

    before = content()
    left = [g._replace(points=[p for p in g.points if p[0] > MIDNIGHT + 2 * 3600]) for g in told()]
    with serve(make_blocks(left, tmp_path_factory.mktemp("half"))) as url:
        configured(url)
        done = actions.pull("bj", actor=MACHINE, since_at=datetime.fromtimestamp(MIDNIGHT, UTC))
    assert done.days_dropped == 1 and content() == before


def test_a_question_too_large_for_the_server_is_asked_in_halves(three_runs, prometheus, tmp_path_factory):
    from tests.telemetry.blocks import make_blocks, serve
    from tests.telemetry.conftest import told

    configured(prometheus)
    actions.pull("bj", actor=MACHINE, since_at=SINCE)
    whole = content()
    RunActivity.objects.all().delete()
    with serve(make_blocks(told(), tmp_path_factory.mktemp("small")), "--query.max-samples=2000") as url:
        configured(url)
        actions.pull("bj", actor=MACHINE, since_at=SINCE)
    assert content() == whole
