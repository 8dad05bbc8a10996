"""From asking to forgetting: progress, refusals, cancelling, rights that shrink, files that expire."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from governance.access.actor import Actor
from governance.audit.models import AuditLine
from governance.errors import NotAllowed, NotFound, NotTheMoment
from governance.notices import wording
from governance.notices.models import Notice
from governance.tenants.models import DepartmentGrant, ProjectGrant
from governance.work.models import WorkItem
from portal.exports import actions, rules
from portal.exports.models import Export
from portal.exports.rules import State
from tests.api.conftest import program
from tests.cast import FOREIGN, PERIOD, Cast

from .conftest import Made, text_of

pytestmark = pytest.mark.django_db
V1 = "/api/v1/exports"


def test_a_large_file_is_asked_for_once_and_waits_for_a_worker(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "SMALL_ROWS", 2)
    client = cast.client("finance")
    for _twice in (1, 2):
        answer = client.post("/exports/", {"page": f"/ledger/~/{PERIOD}/lines/", "format": "xlsx"}, follow=True)
        assert answer.redirect_chain == [("/exports/", 302)]
        assert "You may leave this page" in answer.content.decode()
        assert 'data-refresh="2000"' in answer.content.decode()
    export = Export.objects.get()
    assert (export.state, export.kind) == (State.WAITING, "ledger-lines")
    assert WorkItem.objects.get(kind=actions.WORK).key == str(export.pk)
    assert AuditLine.objects.filter(action="export.asked", object_code=str(export.pk)).count() == 1


def test_progress_is_told_and_a_cancelled_export_stops_and_leaves_nothing(
    cast: Cast, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "LOOK_SECONDS", 0.0)
    actor = Actor.of(cast.people["finance"])
    export = actions.ask("ledger-lines", {"period": PERIOD}, "csv", "en", actor=actor)
    of = actions._Counter(export.pk, lambda done, of: None)
    for _row in range(499):
        of.step(True)
    actions.discard(export.pk, actor=actor)
    with pytest.raises(actions._Discarded):
        of.step(True)
    actions.make(export.pk, attempt=1, heard=lambda done, of: None)
    export.refresh_from_db()
    assert export.state == State.CANCELLED
    assert list(folder.iterdir()) == []


def test_a_fault_is_tried_again_and_then_told(cast: Cast, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = actions.ask("nodes", {}, "csv", "en", actor=Actor.of(cast.people["finance"]))
    monkeypatch.setattr(actions, "folder", lambda: folder / "gone")  # the disk went away
    with pytest.raises(FileNotFoundError):
        actions.make(export.pk, attempt=1, heard=lambda done, of: None)
    export.refresh_from_db()
    assert export.state == State.RUNNING
    actions.make(export.pk, attempt=rules.MOST_ATTEMPTS, heard=lambda done, of: None)
    export.refresh_from_db()
    assert export.state == State.FAILED
    assert "several attempts" in cast.client("finance").get("/exports/").content.decode()
    assert Notice.objects.get(person=cast.people["finance"]).happening.event == "export.failed"


def test_who_asked_is_told_when_the_file_is_there(made: Made, cast: Cast) -> None:
    export = made("finance", "nodes")
    told = Notice.objects.get()
    assert (told.person, told.happening.event, told.happening.about) == (
        cast.people["finance"], "export.ready", str(export.pk)
    )  # fmt: skip
    said = wording.said(told.happening, told.role, ZoneInfo("Asia/Shanghai"))
    assert (said.title, said.url) == ("Your export “Nodes” is ready", "/exports/")


def test_too_many_at_once_are_refused(cast: Cast) -> None:
    actor = Actor.of(cast.people["finance"])
    for month in range(1, 1 + rules.MOST_UNDER_WAY):
        actions.ask("ledger-lines", {"period": f"2026-{month:02}"}, "csv", "en", actor=actor)
    with pytest.raises(NotTheMoment, match="under way"):
        actions.ask("ledger-lines", {"period": "2026-09"}, "csv", "en", actor=actor)


@pytest.mark.parametrize("kind", ["ledger-statement", "ledger-lines", "runs", "usage"])
@pytest.mark.parametrize("who", ["member", "lead", "approver", "viewer"])
def test_no_file_holds_anything_of_another_department(made: Made, kind: str, who: str) -> None:
    query = {"period": PERIOD} if kind.startswith("ledger") else {"from": "2026-06-01", "to": "2026-06-30"}
    export = made(who, kind, **query)
    assert export.state == State.DONE
    found = [word for word in FOREIGN if word in text_of(export).replace("\n", ",").split(",")]
    assert not found
    assert export.rows_done > 0


@pytest.mark.parametrize("kind", ["ledger-statement", "ledger-lines"])
def test_another_department_is_not_there_to_ask_for(cast: Cast, kind: str) -> None:
    actor = Actor.of(cast.people["approver"])
    for query in ({"department": "search"}, {"project": "rank"}):
        with pytest.raises(NotFound):
            actions.ask(kind, {"period": PERIOD, **query}, "csv", "en", actor=actor)


def test_a_file_of_a_foreign_filter_is_empty(made: Made) -> None:
    for query in ({"project": "rank"}, {"department": "search"}, {"user": "eve"}):
        export = made("approver", "runs", **{"from": "2026-06-01", "to": "2026-06-30", **query})
        assert (export.state, export.rows_done) == (State.DONE, 0)


def test_the_progress_of_who_sees_little_does_not_count_what_others_ran(cast: Cast) -> None:
    from governance.usage.run_stream import looked_at
    from portal.exports.sources.asked import days

    span = days({"from": "2026-06-01", "to": "2026-06-30"})
    assert looked_at(*span, actor=cast.actor("finance")) > 0
    assert looked_at(*span, actor=cast.actor("approver")) == 0


def test_a_file_is_not_given_out_once_its_reader_sees_less(made: Made, cast: Cast) -> None:
    mine, theirs = made("approver", "ledger-lines", period=PERIOD), made("lead", "runs")
    client = cast.client("approver")
    got = client.get(f"/exports/{mine.pk}/file/")
    assert got.status_code == 200
    assert b"".join(got.streaming_content).decode("utf-8-sig") == text_of(mine)
    assert client.get(f"/exports/{theirs.pk}/file/").status_code == 404
    DepartmentGrant.objects.filter(user=cast.people["approver"]).delete()
    assert client.get(f"/exports/{mine.pk}/file/").status_code == 403
    ProjectGrant.objects.filter(user=cast.people["lead"]).delete()
    with pytest.raises((NotAllowed, NotFound)):
        actions.fetched(theirs.pk, actor=Actor.of(cast.people["lead"]))


def test_rights_are_asked_again_when_the_file_is_made(cast: Cast) -> None:
    actor = Actor.of(cast.people["approver"])
    query = {"department": "vision", "period": PERIOD}
    export = actions.ask("ledger-lines", query, "csv", "en", actor=actor)
    DepartmentGrant.objects.filter(user=cast.people["approver"]).delete()
    actions.make(export.pk, attempt=1, heard=lambda done, of: None)
    export.refresh_from_db()
    assert export.state == State.FAILED
    assert "vision" in cast.client("approver").get("/exports/").content.decode()


def test_files_expire_and_are_deleted(made: Made, cast: Cast, folder: Path) -> None:
    export = made("finance", "nodes")
    assert actions.forget() == 0
    Export.objects.filter(pk=export.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert cast.client("finance").get(f"/exports/{export.pk}/file/").status_code == 409
    assert actions.forget() == 1
    assert list(folder.iterdir()) == []
    assert Export.objects.get().state == State.EXPIRED
    assert AuditLine.objects.filter(action="export.expired").count() == 1


def test_a_file_can_be_deleted_before_its_time(
    made: Made, cast: Cast, folder: Path, django_capture_on_commit_callbacks: Any
) -> None:
    export = made("finance", "nodes")
    assert cast.client("lead").post(f"/exports/{export.pk}/discard/").status_code == 404
    with django_capture_on_commit_callbacks(execute=True):
        assert cast.client("finance").post(f"/exports/{export.pk}/discard/").status_code == 302
    assert list(folder.iterdir()) == []


def test_a_program_asks_waits_and_fetches(cast: Cast) -> None:
    client = program(cast, "finance", "read", "write")
    asked = client.post(
        V1, {"kind": "ledger-lines", "query": {"period": PERIOD}, "format": "csv"}, content_type="application/json"
    )
    assert asked.status_code == 202, asked.content
    number = asked.json()["id"]
    assert client.get(f"{V1}/{number}/file").status_code == 409
    actions.make(uuid.UUID(number), attempt=1, heard=lambda done, of: None)
    assert client.get(f"{V1}/{number}").json()["state"] == "done"
    got = client.get(f"{V1}/{number}/file")
    assert got["Content-Type"].startswith("text/csv")
    assert b"used_on" in b"".join(got.streaming_content)
    assert [row["id"] for row in client.get(V1).json()["rows"]] == [number]
    assert program(cast, "lead", "read").get(f"{V1}/{number}").status_code == 404
    assert client.post(f"{V1}/{number}/discard", content_type="application/json").json()["state"] == "expired"
    bad = client.post(V1, {"kind": "moon", "format": "csv"}, content_type="application/json")
    assert bad.status_code == 422
