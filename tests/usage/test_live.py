"""Pulling a live scheduler: windows, watermark, vanished runs, waits by class, node states, faults in words. The scheduler is a fake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest

from billing.ledger import actions as ledger
from governance.catalogue.models import Cluster, NodeState
from governance.errors import BadData, NotTheMoment
from governance.schedulers.files import ReadOptions, read
from governance.schedulers.live import Finding, NodeEvent, NodeRecord, PendingRecord, SourceFault, Window
from governance.schedulers.records import RunRecord
from governance.usage import actions, discovery, findings, live, pulling
from governance.usage.live_models import QueueSample, RefusedSubmission
from governance.usage.models import CapacityDay, Run, UsageDay, Watermark
from tests.books import COLUMNS, MACHINE, at, bring, company, declare, line, text
from tests.natural import content

pytestmark = pytest.mark.django_db
HOUR = 3600


class FakeScheduler:
    """Answers what the test put in; remembers what it was asked for."""

    def __init__(self) -> None:
        self.now = at("2026-03-03T12:00")
        self.rows: list[dict[str, str]] = []
        self.waiting: list[PendingRecord] = []
        self.seen: list[NodeRecord] = []
        self.told: list[NodeEvent] = []
        self.asked: list[Window] = []
        self.fault: SourceFault | None = None
        self.fault_after = 10**9

    @property
    def reading(self) -> dict[str, Any]:
        return {"format": "sacct", "fields": list(COLUMNS), "delimiter": "|", "time_zone": "UTC"}

    def clock(self) -> int:
        return self.now

    def runs(self, window: Window) -> Iterator[Any]:
        self.asked.append(window)
        number = 0
        for record in read(BytesIO(text(self.rows).encode()), name="fake", options=ReadOptions()):
            if (
                isinstance(record, RunRecord)
                and record.submit_at < window.until_at
                and (record.end_at or self.now) >= window.since_at
            ):
                number += 1
                if number > self.fault_after and self.fault:
                    raise self.fault
                yield record
        if self.fault:
            raise self.fault

    def queue(self) -> Iterator[PendingRecord]:
        yield from self.waiting

    def nodes(self) -> Iterator[NodeRecord]:
        yield from self.seen

    def events(self, window: Window) -> Iterator[NodeEvent]:
        yield from self.told

    def runaway(self) -> list[str]:
        return ["9"]

    def probe(self) -> list[Finding]:
        return [Finding("reachable", "ok", {})]


@pytest.fixture
def slurm(monkeypatch):
    fake = FakeScheduler()
    document = company()
    document["clusters"][0]["scheduler"] = {"kind": "slurm", "time_zone": "UTC"}
    declare(clusters=document["clusters"])
    monkeypatch.setattr(live, "connect", lambda kind, *, name, connection: fake)
    monkeypatch.setattr(pulling, "our_clock", lambda: float(fake.now))
    return fake


def node(
    name: str,
    state: str = "IDLE",
    flags: tuple[str, ...] = (),
    used: int = 0,
    gpus: int = 8,
    kind: str = "h800",
    part: str = "train",
) -> NodeRecord:
    return NodeRecord(name, state, flags, "", None, "", ((kind, gpus),), used, 128, 1024 * 1024, (part,), None)


def waits(job: int, reason: str, submit: str, tasks: int = 1) -> PendingRecord:
    return PendingRecord(
        str(job), str(job), at(submit), at(submit), "ocr", "ada", "train", "normal", reason, 8000, "", 1, 1, tasks
    )


def test_the_watermark_is_the_schedulers_clock_at_the_start_of_the_call(slurm):
    slurm.rows = [line(1, "2026-03-03T08:00", "2026-03-03T09:00", "2026-03-03T10:00")]
    done = live.pull("bj", actor=MACHINE)
    assert done.records.new == 1
    assert Watermark.objects.get(stage="ingested").until_at == datetime.fromtimestamp(slurm.now, UTC)


def test_the_first_pull_goes_back_in_windows_that_grow_and_later_ones_overlap_by_two_hours(slurm):
    live.pull("bj", actor=MACHINE)
    assert [(b - a) // (24 * HOUR) for a, b in slurm.asked] == [1, 2, 4, 8, 8, 7]
    assert all(b.since_at == a.until_at for a, b in zip(slurm.asked, slurm.asked[1:], strict=False))
    slurm.asked.clear()
    slurm.now += 300
    live.pull("bj", actor=MACHINE)
    assert slurm.asked == [Window(slurm.now - 300 - 2 * HOUR, slurm.now)]


def test_half_an_answer_is_not_taken_and_the_watermark_stays(slurm):
    live.pull("bj", actor=MACHINE)
    before = Watermark.objects.get(stage="ingested").until_at
    slurm.now += 300
    slurm.rows = [line(n, "2026-03-03T08:00", "2026-03-03T11:00", "2026-03-03T11:30") for n in range(5)]
    slurm.fault, slurm.fault_after = SourceFault("output_cut", rows=3), 3
    with pytest.raises(NotTheMoment, match="stopped in the middle"):
        live.pull("bj", actor=MACHINE)
    assert not Run.objects.exists()
    assert Watermark.objects.get(stage="ingested").until_at == before
    assert [f.subject for f in findings.open_findings()] == ["output_cut"]
    slurm.fault = None
    assert live.pull("bj", actor=MACHINE).records.new == 5
    assert findings.open_findings() == []


def test_a_gap_before_the_window_does_not_move_the_watermark_over_it(slurm):
    live.pull("bj", actor=MACHINE)
    before = Watermark.objects.get(stage="ingested").until_at
    slurm.now += 10 * HOUR
    live.pull("bj", actor=MACHINE, since_at=datetime.fromtimestamp(slurm.now - HOUR, UTC))
    assert Watermark.objects.get(stage="ingested").until_at == before


def test_a_running_run_that_the_scheduler_forgot_is_a_finding_until_it_shows_again(slurm):
    slurm.rows = [line(1, "2026-03-03T08:00", "2026-03-03T09:00", None)]
    live.pull("bj", actor=MACHINE)
    running, slurm.rows = slurm.rows, []
    slurm.now += 300
    assert live.pull("bj", actor=MACHINE).vanished == 1
    assert [f.code for f in findings.open_findings()] == ["vanished_run"]
    slurm.rows = running
    slurm.now += 300
    assert live.pull("bj", actor=MACHINE).vanished == 0
    assert findings.open_findings() == []


def test_the_nightly_reading_takes_eight_days_and_asks_for_runaway_jobs(slurm):
    live.pull("bj", actor=MACHINE)
    slurm.asked.clear()
    assert live.reread("bj", actor=MACHINE).runaway == 1
    assert slurm.now - slurm.asked[0].since_at == 8 * 24 * HOUR
    assert [(f.code, f.subject) for f in findings.open_findings()] == [("runaway_job", "9")]


def test_sampled_waits_go_to_the_class_of_their_reason_and_the_rest_to_the_last_reason(slurm):
    submit = "2026-03-03T11:00"
    slurm.now = at("2026-03-03T11:10")
    slurm.waiting = [waits(1, "AssocGrpGRES", submit)]
    live.pull("bj", actor=MACHINE)
    slurm.now = at("2026-03-03T11:20")
    slurm.waiting = [waits(1, "Resources", submit)]
    live.pull("bj", actor=MACHINE)
    slurm.now = at("2026-03-03T12:00")
    slurm.waiting = []
    slurm.rows = [line(1, submit, "2026-03-03T11:30", "2026-03-03T11:50", Reason="Dependency")]
    live.pull("bj", actor=MACHINE)
    actions.meter("bj", actor=MACHINE)
    names = ("wait_quota_seconds", "wait_capacity_seconds", "wait_other_seconds", "wait_unknown_seconds")
    assert list(UsageDay.objects.values_list(*names)) == [(600, 600, 600, 0)]


def test_the_same_snapshot_twice_adds_nothing(slurm):
    slurm.waiting = [waits(1, "Resources", "2026-03-03T11:00", tasks=3)]
    live.pull("bj", actor=MACHINE)
    live.pull("bj", actor=MACHINE)
    (sample,) = QueueSample.objects.all()
    assert (sample.jobs, sample.asked_gpu_milli, sample.waits_for) == (3, 24_000, "capacity")


def test_node_states_follow_snapshots_and_feed_capacity(slurm):
    slurm.now = at("2026-03-03T00:00")
    slurm.seen = [node("gpu001"), node("gpu002"), node("gpu003"), node("gpu004")]
    live.pull("bj", actor=MACHINE)
    slurm.now = at("2026-03-03T06:00")
    slurm.seen = [
        node("gpu001", "DOWN"),
        node("gpu002", "MIXED", ("DRAIN",), used=2),
        node("gpu003", flags=("MAINTENANCE",)),
        node("gpu004", flags=("PLANNED",)),
    ]
    live.pull("bj", actor=MACHINE)
    slurm.now = at("2026-03-03T12:00")
    slurm.seen = [node("gpu001"), node("gpu002"), node("gpu003"), node("gpu004")]
    live.pull("bj", actor=MACHINE)
    actions.meter("bj", actor=MACHINE)
    day = CapacityDay.objects.get(model="h800", day=date(2026, 3, 3))
    assert (day.down, day.drained, day.reserved) == (8_000 * 6 * HOUR, 6_000 * 6 * HOUR, 8_000 * 6 * HOUR)
    assert day.installed == 32_000 * 12 * HOUR


def test_an_event_gives_the_exact_times_and_a_state_by_hand_is_left_alone(slurm):
    slurm.seen = [node("gpu001", "DOWN")]
    live.pull("bj", actor=MACHINE)
    slurm.told = [NodeEvent("gpu001", "DOWN", (), at("2026-03-03T10:00"), None, "power", "root")]
    slurm.now += 300
    live.pull("bj", actor=MACHINE)
    (state,) = NodeState.objects.all()
    assert (state.source, state.from_at, state.to_at) == (
        "event",
        datetime.fromtimestamp(at("2026-03-03T10:00"), UTC),
        None,
    )
    NodeState.objects.update(source="hand")
    slurm.seen = [node("gpu001")]
    slurm.now += 300
    live.pull("bj", actor=MACHINE)
    assert NodeState.objects.get().to_at is None


def test_discovery_proposes_and_changes_nothing_unasked(slurm):
    nodes = [
        node("gpu001"),
        node("gpu002", gpus=4),
        node("gpu003"),
        node("gpu009"),
        node("x1", part="nowhere"),
        node("gpu010", kind="b200"),
    ]
    slurm.seen = [
        *nodes,
        node("inf001", kind="l20", gpus=4, part="infer"),
        node("inf002", kind="l20", gpus=4, part="infer"),
    ]
    live.pull("bj", actor=MACHINE)
    cluster = Cluster.objects.get(code="bj")
    found = [(p.kind, p.node) for p in discovery.proposals(cluster)]
    assert found == [
        ("cards_differ", "gpu002"),
        ("gone_node", "gpu004"),
        ("new_node", "gpu009"),
        ("unclaimed_partition", "gpu010"),
        ("unclaimed_partition", "x1"),
        ("unknown_type", "gpu010"),
    ]
    assert discovery.accept(cluster, ["gpu009"], from_on=date(2026, 3, 3), actor=MACHINE) == 1
    assert "gpu009" not in [p.node for p in discovery.proposals(cluster)]
    with pytest.raises(BadData, match="x1"):
        discovery.accept(cluster, ["x1"], from_on=date(2026, 3, 3), actor=MACHINE)


def test_a_connection_that_cannot_be_made_is_one_blocking_finding(slurm, monkeypatch):
    assert live.try_connection("bj", actor=MACHINE) == [Finding("reachable", "ok", {})]

    def refuse(kind: str, **_: Any) -> None:
        raise SourceFault("host_key", host="login")

    monkeypatch.setattr(live, "connect", refuse)
    assert live.try_connection("bj", actor=MACHINE) == [Finding("host_key", "blocking", {"host": "login"})]


def test_a_cluster_read_from_files_has_nothing_to_pull():
    declare()
    with pytest.raises(NotTheMoment, match="read from files"):
        live.pull("bj", actor=MACHINE)


def test_refused_submissions_are_taken_once_and_bad_reports_whole_or_not_at_all():
    declare()
    report = {
        "key": "a",
        "at": "2026-03-03T11:00:00+08:00",
        "account": "ocr",
        "reason": "QOSMaxSubmitJobPerUserLimit",
        "asked_gpu_milli": 8000,
    }
    assert live.note_refused("bj", [report, report], actor=MACHINE) == 1
    with pytest.raises(BadData, match="Report 2"):
        live.note_refused("bj", [{**report, "key": "b"}, {"key": "c"}], actor=MACHINE)
    assert RefusedSubmission.objects.count() == 1


def test_a_pulled_cluster_reaches_the_ledger(slurm):
    slurm.rows = [line(1, "2026-03-02T08:00", "2026-03-02T09:00", "2026-03-02T10:00")]
    live.pull("bj", actor=MACHINE)
    actions.meter("bj", actor=MACHINE)
    assert str(ledger.post(actor=MACHINE).amount) == "80.000000"


@pytest.mark.parametrize(
    ("hours", "records", "then"),
    [(24, 100, 48), (24, 20_000, 24), (24, 90_000, 12), (192, 0, 192), (1, 10**6, 1)],
)
def test_a_window_grows_and_shrinks_with_what_the_last_one_brought(hours, records, then):
    assert pulling.following(timedelta(hours=hours), records) == timedelta(hours=then)


def test_a_run_of_which_the_very_text_came_again_is_seen_later_and_no_other_record_from_before_wins(slurm, tmp_path):
    slurm.rows = [
        line(1, "2026-03-03T08:00", "2026-03-03T09:00", "2026-03-03T10:00"),
        line(2, "2026-03-03T08:00", "2026-03-03T09:00", None),
    ]
    live.pull("bj", actor=MACHINE)
    before = content()
    slurm.now += 2 * HOUR
    assert vars(live.pull("bj", actor=MACHINE).records)["unchanged"] == 1  # the other has run on
    assert Run.objects.get(job_id="1").text_digest is not None
    other = [line(1, "2026-03-03T08:00", "2026-03-03T09:00", "2026-03-03T10:00", State="FAILED")]
    assert bring(tmp_path, other, observed_at="2026-03-03T13:00").unchanged == 1
    assert content("runs")["runs"][0] == before["runs"][0]
    assert bring(tmp_path, other, observed_at="2026-03-03T15:00").changed == 1
    slurm.now += HOUR + 300
    since = datetime.fromtimestamp(at("2026-03-03T08:00"), UTC)
    assert (
        live.pull("bj", actor=MACHINE, since_at=since).records.changed == 2
    )  # the text that came at first is the truth once more


def test_two_texts_of_one_run_in_one_answer_are_weighed_as_ever(slurm):
    slurm.rows = [line(1, "2026-03-03T08:00", "2026-03-03T09:00", "2026-03-03T10:00")]
    live.pull("bj", actor=MACHINE)
    slurm.rows.append({**slurm.rows[0], "State": "FAILED"})
    slurm.now += 300
    live.pull("bj", actor=MACHINE)
    once = content("runs")
    slurm.rows.reverse()
    slurm.now += 300
    live.pull("bj", actor=MACHINE)
    assert content("runs") == once


def test_a_pulled_record_in_quarantine_is_read_again_as_it_was(slurm):
    slurm.rows = [line(1, "2026-03-02T08:00", "2026-03-02T09:00", "2026-03-02T10:00", Cluster="other")]
    assert live.pull("bj", actor=MACHINE).records.quarantined == 1
    Cluster.objects.update(scheduler_names=["bj", "other"])
    assert actions.retry_quarantined("bj", actor=MACHINE).new == 1
