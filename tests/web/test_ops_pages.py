"""The operations pages: what they say of clusters, work, nodes and quarantine, and what may be done there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, NodeState, NodeTerm
from governance.schedulers.live import Finding, SourceFault
from governance.usage import findings, live
from governance.usage.live_models import NodeSeen, QueueSample
from governance.usage.models import DirtyDay, Intake, QuarantinedRecord
from governance.usage.ops import actions, reads
from governance.work.models import ProcessSeen, WorkItem
from tests.cast import Cast

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 7, 2, 4, 0, tzinfo=UTC)


class Answering:
    """A scheduler that answers its connection test with what the test put in."""

    def __init__(self, *found: Finding) -> None:
        self.found = list(found)
        self.fault: SourceFault | None = None

    def probe(self) -> list[Finding]:
        if self.fault:
            raise self.fault
        return self.found


@pytest.fixture
def slurm(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """The cluster bj, live, with a scheduler that answers its test."""
    Cluster.objects.filter(code="bj").update(scheduler_kind="slurm", connection={"host": "login1", "known_hosts": "/k"})
    fake = Answering(Finding("clock_agrees", "ok", {"skew_s": 0}))
    monkeypatch.setattr(live, "connect", lambda kind, *, name, connection: fake)
    return fake


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def work(kind: str, key: str, state: str, **more: Any) -> WorkItem:
    now = timezone.now()
    held = {"owner": "host:1:x", "lease_until_at": now, "heartbeat_at": now - timedelta(seconds=7), "started_at": now}
    due = {"due_at": now + timedelta(minutes=4)}
    by_state = {
        "running": held,
        "waiting": due,
        "done": {"done_at": now},
        "failed": due
        | {
            "last_error_code": "NotTheMoment",
            "last_error": "It failed for %(why)s.",
            "last_error_params": {"why": "a reason"},
        }
        | {"last_error_at": now},
    }
    return WorkItem.objects.create(
        kind=kind, key=key, state=state, asked_at=now, asked_by="test", **{**by_state[state], **more}
    )


def seen(name: str, **more: Any) -> NodeSeen:
    given = {
        "state": "IDLE",
        "flags": [],
        "gpus": [["h800", 8]],
        "gpus_used": 0,
        "cpus": 128,
        "memory_mib": 1024 * 1024,
    }
    given |= {"partitions": ["train"], "seen_at": NOW}
    return NodeSeen.objects.create(cluster=Cluster.objects.get(code="bj"), name=name, **{**given, **more})


def quarantined(count: int, raw: str = "broken|line") -> None:
    bj = Cluster.objects.get(code="bj")
    intake = Intake.objects.filter(cluster=bj).first()
    start = QuarantinedRecord.objects.count()
    for number in range(start, start + count):
        QuarantinedRecord.objects.create(
            cluster=bj,
            intake=intake,
            digest=f"00000000-0000-0000-0000-{number:012d}",
            raw=f"{raw}{number}",
            code="bad_time",
            reason=f"the time of record {number} is none",
            options={"format": "sacct", "fields": ["JobID"], "delimiter": "|", "time_zone": "UTC"},
        )


def test_the_page_says_how_far_each_stage_is_and_what_was_read_last(cast: Cast) -> None:
    row = cast.client("operator").get("/ops/").context["clusters"][0]["row"]
    assert [mark.stage for mark in row.marks] == ["ingested", "metered", "posted"]
    assert all(mark.lag_seconds > 0 for mark in row.marks)
    assert (row.last.read, row.last.new) == (10, 10)
    body = text(cast.client("operator"), "/ops/")
    assert "10 read, 10 new, 0 changed" in body
    assert "behind" in body
    assert "落后" in text(cast.client("operator", language="zh-hans"), "/ops/")


def test_running_work_shows_its_progress_and_the_age_of_its_heartbeat(cast: Cast) -> None:
    work("usage.pull", "bj", "running", progress_done=3, progress_of=30, attempt=2)
    page = cast.client("auditor").get("/ops/")
    one = page.context["running"][0]
    assert one["beat_seconds"] == pytest.approx(7, abs=2)
    body = page.content.decode()
    assert "3 of 30" in body
    assert 'max="30" value="3"' in body


def test_failed_work_says_why_in_the_readers_words_and_is_retried_by_a_button(cast: Cast) -> None:
    work("usage.pull", "bj", "failed", attempt=4)
    body = text(cast.client("operator"), "/ops/")
    assert "It failed for a reason." in body
    assert "Pull records" in body
    assert 'action="/ops/work/retry/"' in body
    answer = cast.client("operator").post("/ops/work/retry/", {"kind": "usage.pull", "key": "bj"})
    assert (answer.status_code, answer["Location"]) == (302, "/ops/")
    item = WorkItem.objects.get(kind="usage.pull", key="bj")
    assert (item.state, item.attempt) == ("waiting", 0)
    assert AuditLine.objects.filter(action="work.retried", actor="operator").count() == 1


def test_those_who_only_read_see_the_failure_and_no_button(cast: Cast) -> None:
    work("usage.pull", "bj", "failed")
    body = text(cast.client("finance"), "/ops/")
    assert "It failed for a reason." in body
    assert "/ops/work/retry/" not in body
    assert "/ops/clusters/new/" not in body
    assert cast.client("finance").post("/ops/work/retry/", {"kind": "usage.pull", "key": "bj"}).status_code == 403


def test_a_worker_that_went_silent_is_told_from_one_that_lives(cast: Cast) -> None:
    now = timezone.now()
    for name, age in (("worker@a:1", 5), ("worker@b:2", 600)):
        ProcessSeen.objects.create(
            name=name, role="worker", host="a", queues="pull", started_at=now, seen_at=now - timedelta(seconds=age)
        )
    body = text(cast.client("operator"), "/ops/")
    assert body.count("lives</span>") == 1
    assert body.count("silent</span>") == 1


def test_the_queues_count_what_waits_runs_and_failed(cast: Cast) -> None:
    work("usage.pull", "bj", "running")
    work("usage.pull", "sh", "waiting", due_at=timezone.now() - timedelta(minutes=10))
    work("usage.pull", "gz", "failed")
    queue = cast.client("operator").get("/ops/").context["queues"][0]["queue"]
    assert (queue.kind, queue.queue) == ("usage.pull", "pull")
    assert (queue.waiting, queue.running, queue.failed) == (1, 1, 1)
    assert queue.overdue_seconds == pytest.approx(600, abs=5)


def test_a_live_cluster_is_pulled_next_when_its_work_is_due(slurm: Answering, cast: Cast) -> None:
    item = work("usage.pull", "bj", "waiting")
    assert cast.client("operator").get("/ops/").context["clusters"][0]["next_at"] == item.due_at
    WorkItem.objects.all().delete()
    from governance.work.models import ScheduleMark

    sent = timezone.now()
    ScheduleMark.objects.create(name="pull", sent_at=sent)
    assert cast.client("operator").get("/ops/").context["clusters"][0]["next_at"] == sent + timedelta(minutes=5)


def test_a_pull_is_asked_for_and_the_page_shows_where_it_stands(slurm: Answering, cast: Cast) -> None:
    client = cast.client("administrator")
    answer = client.post("/ops/clusters/bj/pull/")
    assert (answer.status_code, answer["Location"]) == (302, "/ops/clusters/bj/")
    item = WorkItem.objects.get(kind="usage.pull", key="bj")
    assert (item.state, item.asked_by) == ("waiting", "administrator")
    assert AuditLine.objects.filter(action="usage.pull_asked", actor="administrator").exists()
    body = text(client, "/ops/clusters/bj/")
    assert "The pull is asked for." in body
    assert "Waiting" in body


def test_asking_for_a_pull_that_failed_ends_its_pause(slurm: Answering, cast: Cast) -> None:
    work("usage.pull", "bj", "failed", attempt=9)
    cast.client("operator").post("/ops/clusters/bj/pull/")
    item = WorkItem.objects.get(kind="usage.pull", key="bj")
    assert (item.state, item.attempt) == ("waiting", 0)
    assert item.due_at is not None
    assert item.due_at <= timezone.now()


def test_a_cluster_of_files_says_why_it_cannot_be_pulled(cast: Cast) -> None:
    answer = cast.client("operator").post("/ops/clusters/bj/pull/")
    assert answer.status_code == 409
    assert "read from files" in answer.content.decode()
    assert "Pull now" not in text(cast.client("operator"), "/ops/clusters/bj/")


def test_the_connection_test_shows_each_finding_with_what_to_do(slurm: Answering, cast: Cast) -> None:
    slurm.found = [
        Finding("clock_agrees", "ok", {"skew_s": 0}),
        Finding("limits_not_enforced", "warning", {"enforce": "none"}),
        Finding("accounting_down", "blocking", {"words": "<b>no answer</b>"}),
        Finding("something_new", "info", {"about": 5}),
    ]
    page = cast.client("operator").post("/ops/clusters/bj/test/")
    assert page.status_code == 200
    assert [said.tone.tone for said in page.context["tested"]] == ["ok", "warn", "bad", "info"]
    body = page.content.decode()
    assert "AccountingStorageEnforce is none" in body
    assert "restart slurmctld before quotas are given out" in body
    assert "&lt;b&gt;no answer&lt;/b&gt;" in body
    assert "something_new: about 5" in body
    chinese = cast.client("operator", language="zh-hans").post("/ops/clusters/bj/test/").content.decode()
    assert "AccountingStorageEnforce" in chinese
    assert "are enforced" not in chinese


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (SourceFault("host_key", words="changed"), "shows a key that known_hosts does not hold"),
        (SourceFault("daemon_down", daemon="slurmdbd", words="x"), "slurmdbd does not answer: x"),
        (SourceFault("bad_connection", what="known_hosts"), "“known_hosts” is missing or wrong"),
        (SourceFault("unreachable"), "The host cannot be reached: –"),
    ],
)
def test_a_scheduler_that_cannot_be_asked_is_one_finding_in_words(
    slurm: Answering, cast: Cast, fault: SourceFault, words: str
) -> None:
    slurm.fault = fault
    page = cast.client("operator").post("/ops/clusters/bj/test/")
    assert len(page.context["tested"]) == 1
    assert words in page.content.decode()


def test_a_test_that_takes_too_long_is_not_waited_for(
    slurm: Answering, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    over = threading.Event()
    monkeypatch.setattr(slurm, "probe", lambda: (over.wait(20), [])[1])
    began = timezone.now()
    found = actions.try_connection("bj", actor=cast.actor("operator"), within=0.2)
    over.set()
    assert [one.code for one in found] == ["test_too_long"]
    assert timezone.now() - began < timedelta(seconds=5)


def test_findings_stand_with_what_they_mean_and_when_they_were_seen(cast: Cast) -> None:
    bj = Cluster.objects.get(code="bj")
    findings.replace(bj, "vanished_run", {"77 2026-06-01": {"last_seen": "2026-06-02T00:00:00Z"}}, at=NOW)
    findings.replace(bj, "source_fault", {"timed_out": {"words": "sacct"}}, at=NOW + timedelta(hours=1))
    findings.replace(bj, "telemetry_fault", {"refused": {"status": 401}}, at=NOW)
    findings.replace(bj, "runaway_job", {"5": {}}, at=NOW)
    findings.replace(bj, "runaway_job", {}, at=NOW)
    body = text(cast.client("auditor"), "/ops/clusters/bj/")
    assert "There was no answer in time: sacct" in body
    assert "Run 77 2026-06-01 has not ended" in body
    assert "refused the sign-in (status 401)" in body
    assert "Job 5 runs" not in body
    assert "first seen 2026-07-02 12:00, last seen 2026-07-02 12:00" in body
    assert body.index("no answer in time") < body.index("has not ended")
    assert ">3</a>" in text(cast.client("auditor"), "/ops/")


def test_the_queue_is_shown_by_reason_and_class(cast: Cast) -> None:
    bj = Cluster.objects.get(code="bj")
    for at, reason, kind, jobs in [
        (NOW - timedelta(hours=1), "Priority", "capacity", 99),
        (NOW, "AssocGrpGRES", "quota", 4),
        (NOW, "Resources", "capacity", 7),
        (NOW, "Dependency", "other", 1),
    ]:
        for account in ("ocr", "rank"):
            QueueSample.objects.create(
                cluster=bj, at=at, partition="train", qos="", account=account, reason=reason, waits_for=kind,
                jobs=jobs, asked_gpu_milli=jobs * 8000,
            )  # fmt: skip
    waiting = cast.client("operator").get("/ops/clusters/bj/").context["waiting"]
    assert [(row["reason"], row["jobs"], row["gpu_milli"]) for row in waiting.rows] == [
        ("Resources", 14, 112_000),
        ("AssocGrpGRES", 8, 64_000),
        ("Dependency", 2, 16_000),
    ]
    assert waiting.jobs == 24


def test_a_later_snapshot_of_nodes_means_that_nothing_waits_any_more(cast: Cast) -> None:
    bj = Cluster.objects.get(code="bj")
    QueueSample.objects.create(
        cluster=bj, at=NOW - timedelta(minutes=5), partition="p", qos="", account="a", reason="Resources",
        waits_for="capacity", jobs=1, asked_gpu_milli=0,
    )  # fmt: skip
    seen("gpu001")
    assert "No job waited at the last snapshot." in text(cast.client("operator"), "/ops/clusters/bj/")


def test_nodes_show_the_schedulers_state_beside_the_catalogues(cast: Cast) -> None:
    seen("gpu001", state="IDLE", flags=["DRAIN"], reason="bad fan")
    seen("gpu002", state="MIXED", gpus_used=3)
    seen("gpu003", seen_at=NOW - timedelta(days=1))
    seen("gpu099")
    node = NodeTerm.objects.filter(node__name="gpu001").first()
    assert node is not None
    NodeState.objects.create(node=node.node, state="drained", from_at=NOW, source="event")
    page = cast.client("finance").get("/ops/clusters/bj/?tab=nodes")
    rows = {row["node"].name: row for row in page.context["nodes"].rows}
    assert rows["gpu001"]["shown"] == "IDLE+DRAIN"
    assert rows["gpu001"]["tone"].tone == "warn"
    assert rows["gpu002"]["tone"].tone == "ok"
    assert rows["gpu003"]["is_stale"]
    assert str(rows["gpu099"]["tone"].word) == "Not in the catalogue"
    body = page.content.decode()
    assert "bad fan" in body


def test_nodes_are_paged_by_name(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "NODES_A_PAGE", 2)
    for number in range(1, 5):
        seen(f"gpu00{number}")
    client = cast.client("operator")
    first = client.get("/ops/clusters/bj/?tab=nodes").context["nodes"]
    assert ([row["node"].name for row in first.rows], first.after) == (["gpu001", "gpu002"], "gpu002")
    second = client.get(f"/ops/clusters/bj/?tab=nodes&after={first.after}").context["nodes"]
    assert ([row["node"].name for row in second.rows], second.after) == (["gpu003", "gpu004"], "")


def test_a_proposed_node_is_put_into_the_catalogue_from_a_day_on(cast: Cast) -> None:
    seen("gpu005")
    seen("gpu006")
    seen("odd", gpus=[["h900", 8]])
    client = cast.client("operator")
    body = text(client, "/ops/clusters/bj/?tab=discovery")
    assert 'name="node" value="gpu005"' in body
    assert 'value="odd"' not in body
    answer = client.post("/ops/clusters/bj/nodes/", {"node": ["gpu005"], "from_on": "2026-07-01"})
    assert (answer.status_code, answer["Location"]) == (302, "/ops/clusters/bj/?tab=discovery")
    term = NodeTerm.objects.get(node__name="gpu005")
    assert (term.pool.code, term.accelerators, term.from_on) == ("train-h800", 8, date(2026, 7, 1))
    # Those who only read may not choose.
    assert 'type="checkbox"' not in text(cast.client("finance"), "/ops/clusters/bj/?tab=discovery")
    client.post("/ops/clusters/bj/nodes/", {"every": "1", "from_on": "2026-07-01"})
    assert NodeTerm.objects.filter(node__name="gpu006").exists()
    assert not NodeTerm.objects.filter(node__name="odd").exists()


@pytest.mark.parametrize(
    ("given", "english", "chinese"),
    [
        ({"from_on": "2026-07-01"}, "No node was chosen", "没有选择节点"),
        ({"node": ["gpu005"], "from_on": "July"}, "“July” is no day", "“July”不是日期"),
        ({"node": ["gpu001"], "from_on": "2026-07-01"}, "cannot be added", "gpu001"),
    ],
)
def test_what_cannot_be_accepted_is_said_in_both_languages(
    cast: Cast, given: dict[str, Any], english: str, chinese: str
) -> None:
    seen("gpu005")
    for language, words in (("en", english), ("zh-hans", chinese)):
        answer = cast.client("operator", language=language).post("/ops/clusters/bj/nodes/", given)
        assert answer.status_code == 422
        assert words in answer.content.decode()


def test_the_quarantine_is_paged_newest_first_with_reason_and_bounded_text(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "QUARANTINE_A_PAGE", 2)
    quarantined(3)
    quarantined(1, raw="x" * 5_000 + "<script>")
    client = cast.client("auditor")
    first = client.get("/ops/clusters/bj/?tab=quarantine")
    held = first.context["quarantine"]
    assert [row.raw[-1] for row in held.rows] == ["3", "2"]
    body = first.content.decode()
    assert "the first 2,000 of 5,009 characters" in body
    assert "the time of record 3 is none" in body
    assert "x" * 2_000 in body
    assert "x" * 2_001 not in body
    second = client.get(f"/ops/clusters/bj/?tab=quarantine&before={held.before}").context["quarantine"]
    assert [row.raw[-1] for row in second.rows] == ["1", "0"]
    assert second.before == 0
    assert client.get("/ops/clusters/bj/?tab=quarantine&before=-1x").context["quarantine"].total == 4


def test_reading_again_says_what_became_of_the_records(cast: Cast) -> None:
    quarantined(2)
    client = cast.client("operator")
    answer = client.post("/ops/clusters/bj/quarantine/", follow=True)
    assert "2 records tried: 0 new runs, 0 changed, 2 still in quarantine." in answer.content.decode()
    assert AuditLine.objects.filter(action="usage.quarantine_retried", actor="operator").exists()


def test_too_many_records_for_a_page_lead_to_the_command(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "READ_AGAIN_MOST", 1)
    quarantined(2)
    answer = cast.client("operator").post("/ops/clusters/bj/quarantine/")
    assert answer.status_code == 409
    assert "manage.py retry_quarantined bj" in answer.content.decode()


def crowd() -> Iterator[None]:
    """Make more of everything, twice."""
    for start in (0, 40):
        yield
        for number in range(start, start + 40):
            Cluster.objects.create(code=f"c{number:03d}", scheduler_kind="slurm")
            work("usage.pull", f"c{number:03d}", ("running", "failed", "waiting", "done")[number % 4])
            ProcessSeen.objects.create(name=f"worker@h:{number}", role="worker", host="h")
            seen(f"new{number:03d}")
        quarantined(40)
        bj = Cluster.objects.get(code="bj")
        findings.replace(bj, "vanished_run", {f"{n}": {"last_seen": "x"} for n in range(start + 40)}, at=NOW)
    yield


@pytest.mark.parametrize(
    "address",
    [
        "/ops/",
        "/ops/clusters/bj/",
        *(f"/ops/clusters/bj/?tab={tab}" for tab in ("nodes", "discovery", "quarantine", "connection")),
    ],
)
def test_a_page_asks_a_dozen_questions_however_much_there_is(cast: Cast, address: str) -> None:
    client = cast.client("operator")
    asked = []
    for _ in crowd():
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(address).status_code == 200
        asked.append([query["sql"] for query in captured.captured_queries])
    assert len(asked[1]) == len(asked[2]), asked[2]
    assert max(map(len, asked)) <= 12, "\n".join(asked[-1])


def test_a_change_of_what_is_counted_marks_the_days_for_metering(cast: Cast) -> None:
    DirtyDay.objects.all().delete()
    bj = Cluster.objects.get(code="bj")
    values = {"tracks_gpus": not bj.tracks_gpus}
    actions.save_cluster("bj", values, is_new=False, actor=cast.actor("operator"))
    assert DirtyDay.objects.filter(cluster=bj).exists()
