"""import_telemetry: the same from files as from a server, in any order, and words where a file cannot be read."""

from __future__ import annotations

import csv
import gzip
import json
import random
from datetime import date

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from governance.access.actor import Actor
from governance.errors import BadData, NotAllowed
from governance.usage.models import DirtyDay, PullFinding, UsageDay
from governance.usage.telemetry import actions, reads
from governance.usage.telemetry_models import NodeHour, RunActivity, TelemetryIntake
from tests.books import MACHINE, at, bring, declare, line, settle
from tests.telemetry.conftest import EVENING, told

pytestmark = pytest.mark.django_db
CARD_HOUR = 3_600_000


def answers(folder, gauges, name="answer.json"):
    """The gauges as Prometheus answers them, a file a metric."""
    paths = []
    for metric in sorted({g.metric for g in gauges}):
        chosen = [gauge for gauge in gauges if gauge.metric == metric]
        result = [
            {"metric": {**g.labels, "__name__": metric}, "values": [[t, repr(v)] for t, v in g.points]} for g in chosen
        ]
        path = folder / f"{metric}-{name}"
        path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
        paths.append(str(path))
    return paths


def content():
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM run_activity ORDER BY day, job_id, submit_at, node")
        rows = cursor.fetchall()
        cursor.execute("SELECT * FROM node_hour ORDER BY node, hour_at")
        return rows + cursor.fetchall()


def rows_csv(path, rows, columns=("time", "node", "card", "job", "activity")):
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(rows)
    return str(path)


def test_prometheus_answers_give_what_the_server_gives(three_runs, tmp_path_factory):
    paths = answers(tmp_path_factory.mktemp("json"), told())
    done = actions.import_files("bj", paths, actor=MACHINE)
    settle()
    assert (done.step_seconds, done.jobs_without_run) == (60, 1)
    assert done.blank == 11 and [f["code"] for f in done.faults] == ["no_owner"]
    first, second = (RunActivity.objects.get(job_id="1", day=day) for day in (date(2026, 6, 1), date(2026, 6, 2)))
    assert (first.active_milligpu_seconds, first.idle_milligpu_seconds, first.cards) == (
        30 * CARD_HOUR,
        2 * CARD_HOUR,
        8,
    )
    assert (second.active_milligpu_seconds, second.idle_milligpu_seconds) == (
        29 * CARD_HOUR - CARD_HOUR // 6,
        2 * CARD_HOUR,
    )
    assert (first.memory_max_mib, second.memory_max_mib) == (40_000, 70_000)
    assert second.energy_joules == pytest.approx((500 + 510 + 300) * 4 * 3600, rel=0.01)
    hours = NodeHour.objects.filter(node="gpu001").values_list("power_watts_mean", "power_watts_max", "temperature_max")
    assert set(hours) == {(1010, 1010, 51)} and len(hours) == 8
    assert UsageDay.objects.get(day=date(2026, 6, 2), milligpu_seconds__gt=0).idle_milligpu_seconds == 2 * CARD_HOUR


def test_the_same_files_again_and_in_another_order_change_nothing(three_runs, tmp_path_factory):
    paths = answers(tmp_path_factory.mktemp("json"), told())
    actions.import_files("bj", paths, actor=MACHINE)
    settle()
    before = content()
    done = actions.import_files("bj", list(reversed(paths)), actor=MACHINE)
    assert (done.rows.new, done.rows.changed) == (0, 0)
    assert content() == before and not DirtyDay.objects.exists()


def test_any_order_of_observations_leaves_the_latest(three_runs, tmp_path):
    hours = [[(EVENING + 60 * (n + 1), "gpu001", "c0", "1", 0.5) for n in range(60 * count)] for count in (1, 2, 3)]
    seen = []
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 2, 1)):
        RunActivity.objects.all().delete()
        for number in order:
            actions.import_files("bj", [rows_csv(tmp_path / "a.csv", hours[number])], actor=MACHINE)
        seen.append(content())
    assert all(rows == seen[0] for rows in seen) and RunActivity.objects.get().active_milligpu_seconds == 3 * CARD_HOUR


def test_rows_in_disorder_with_repetitions_read_as_in_order(three_runs, tmp_path):
    rows = [(EVENING + 60 * (n + 1), "gpu001", "c0", "1", 0.9 if n < 60 else 0.0) for n in range(180)]
    actions.import_files("bj", [rows_csv(tmp_path / "a.csv", rows)], actor=MACHINE)
    whole = content()
    RunActivity.objects.all().delete()
    mixed = rows + rows[:50]
    random.Random(7).shuffle(mixed)
    actions.import_files("bj", [rows_csv(tmp_path / "b.csv", mixed)], actor=MACHINE)
    assert content() == whole and RunActivity.objects.get().idle_milligpu_seconds == 2 * CARD_HOUR


def test_telemetry_before_its_run_is_taken_when_the_run_comes(db, tmp_path, tmp_path_factory):
    declare()
    folder = tmp_path_factory.mktemp("csv")
    rows = [(EVENING + 60 * (n + 1), "gpu001", "c0", "1", 0.5) for n in range(120)]
    assert actions.import_files("bj", [rows_csv(folder / "a.csv", rows)], actor=MACHINE).jobs_without_run == 1
    settle()
    bring(tmp_path, [line(1, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-01T22:00", gpus=1)])
    settle()
    assert UsageDay.objects.get().active_milligpu_seconds == 2 * CARD_HOUR
    found = RunActivity.objects.get()
    assert found.submit_at.timestamp() == at("2026-06-01T19:50")


def test_more_card_time_than_the_run_held_is_cut_and_a_finding(three_runs, tmp_path):
    rows = [
        (EVENING + 60 * (n + 1), "gpu002", f"c{card}", "3", 0.9 if card else 0.0)
        for card in range(3)
        for n in range(120)
    ]
    actions.import_files("bj", [rows_csv(tmp_path / "a.csv", rows)], actor=MACHINE)
    settle()
    known = reads.card_time(RunActivity.objects.get().cluster, date(2026, 6, 1), date(2026, 6, 2))
    assert known.active + known.idle == 2 * CARD_HOUR and known.measured == 2 * CARD_HOUR
    (found,) = PullFinding.objects.filter(code="telemetry_excess")
    assert (found.subject, found.detail["cards"], found.detail["held_milligpu_seconds"]) == (
        "3 2026-06-01",
        3,
        2 * CARD_HOUR,
    )


def test_bands_and_models_share_a_run_out_and_add_up(db, tmp_path, tmp_path_factory):
    declare(settings={"bands": [{"code": "peak", "from": "08:00", "to": "22:00"}, {"code": "night"}]})
    tres = "cpu=64,mem=512G,node=1,gres/gpu:h800=3,gres/gpu:l20=4,gres/gpu=7"
    bring(
        tmp_path,
        [line(1, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-01T23:00", gpus=7, AllocTRES=tres, ReqTRES=tres)],
    )
    folder = tmp_path_factory.mktemp("csv")
    rows = [
        (EVENING + 60 * (n + 1), "gpu001", f"c{card}", "1", 0.7 if n < 61 + card else 0.0)
        for card in range(7)
        for n in range(179)
    ]
    actions.import_files("bj", [rows_csv(folder / "a.csv", rows)], actor=MACHINE)
    settle()
    facts = list(UsageDay.objects.filter(milligpu_seconds__gt=0))
    assert {(f.band, f.model_id) for f in facts} == {(b, m) for b in ("peak", "night") for m in ("h800", "l20")}
    row = RunActivity.objects.get()
    for name in (
        "active_milligpu_seconds",
        "idle_milligpu_seconds",
        "measured_milligpu_seconds",
        "busy_milligpu_seconds",
    ):
        assert sum(getattr(f, name) for f in facts) == getattr(row, name), name
    assert row.idle_milligpu_seconds > 0
    assert all(f.active_milligpu_seconds + f.idle_milligpu_seconds <= f.milligpu_seconds for f in facts)


def test_the_command_says_what_it_read_and_what_it_could_not(three_runs, tmp_path, capsys):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as out:
        out.write(
            f"time,node,card,job,activity_percent,temperature_c\n{EVENING + 60},gpu001,c0,1,50,40\nyesterday,gpu001,c0,1,50,40\n"
        )
    call_command("import_telemetry", "bj", str(path), "--json")
    told_json = json.loads(capsys.readouterr().out)
    assert (told_json["samples"], told_json["bad"], told_json["rows"]["new"], told_json["rows"]["node_hours"]) == (
        2,
        1,
        1,
        1,
    )
    assert told_json["faults"][0]["code"] == "bad_time"
    assert TelemetryIntake.objects.get().counts["bad"] == 1
    path.write_text("time,node,card,job,activity\nyesterday,gpu001,c0,1,1\n")
    with pytest.raises(CommandError):
        call_command("import_telemetry", "bj", str(path))


@pytest.mark.parametrize(
    "text", ["", '{"status": "success"', '{"status": "success", "data": {}}', "node,card\n", "\x00\x01"]
)
def test_a_file_that_cannot_be_read_leaves_nothing(three_runs, tmp_path, text):
    good = rows_csv(tmp_path / "good.csv", [(EVENING + 60, "gpu001", "c0", "1", 0.5)])
    bad = tmp_path / "bad"
    bad.write_text(text)
    with pytest.raises(BadData):
        actions.import_files("bj", [good, str(bad)], actor=MACHINE)
    assert not RunActivity.objects.exists() and not TelemetryIntake.objects.exists()


def test_a_clock_that_is_years_off_is_told(three_runs, tmp_path):
    path = rows_csv(tmp_path / "a.csv", [(1000, "gpu001", "c0", "1", 0.5), (EVENING, "gpu001", "c0", "1", 0.5)])
    with pytest.raises(BadData, match="days"):
        actions.import_files("bj", [path], actor=MACHINE)


def test_an_outsider_may_neither_import_pull_nor_configure(three_runs):
    nobody = Actor.anonymous()
    for deed in (
        lambda: actions.import_files("bj", [], actor=nobody),
        lambda: actions.pull("bj", actor=nobody),
        lambda: actions.configure("bj", actor=nobody, url="http://127.0.0.1:9"),
        lambda: actions.probe("bj", actor=nobody),
    ):
        with pytest.raises(NotAllowed):
            deed()


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ftp://p"},
        {"url": "http://user:secret@p"},
        {"bearer": "eyJhbGciOi"},
        {"label_map": "unheard-of"},
        {"own_map": {"node": ["n"]}},
        {"idle_rules": {"below": 5}},
        {"idle_rules": {"after": 1}},
        {"colour": "blue"},
    ],
)
def test_a_source_that_cannot_work_is_refused_with_words(three_runs, options):
    with pytest.raises(BadData):
        actions.configure("bj", actor=MACHINE, **{"url": "http://127.0.0.1:9", **options})


def test_a_job_may_be_named_by_its_printed_id(db, tmp_path, tmp_path_factory):
    declare()
    bring(tmp_path, [line(77, "2026-06-01T19:50", "2026-06-01T20:00", "2026-06-01T22:00", gpus=1, JobID="50_3")])
    rows = [(EVENING + 60 * (n + 1), "gpu001", "c0", "50_3", 0.5) for n in range(120)]
    done = actions.import_files("bj", [rows_csv(tmp_path_factory.mktemp("csv") / "a.csv", rows)], actor=MACHINE)
    assert done.jobs_without_run == 0 and RunActivity.objects.get().job_id == "77"
