"""What a reader is shown: their own notices, in their language, and of nothing they no longer see."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from governance.access.models import Person
from governance.errors import BadData
from governance.notices import actions, reads, watch
from governance.notices.models import Channel, Notice
from governance.notices.outbox import publish
from governance.notices.registry import Recipient, holders_of
from governance.notices.wording import words
from governance.tenants.audience import holders
from governance.tenants.models import GRANTS, Department, Project
from governance.tokens import actions as tokens
from governance.usage.actions import import_files
from governance.usage.models import Intake, QuarantinedRecord
from governance.work.models import WorkItem
from tests.cast import EVERYBODY, Cast
from tests.notices.receiver import Receiver, channel_of

pytestmark = pytest.mark.django_db
FACTS = {"cluster": "bj", "what": "verysecretfact"}


def tell(cast: Cast, event: str, *who: str, threshold: str = "") -> None:
    publish(event, "bj", [cast.people[one] for one in who], threshold, FACTS)


def test_notices_are_seen_by_their_person_alone(cast: Cast, happened: str) -> None:
    tell(cast, happened, "operator")
    number = Notice.objects.get().pk
    for who in EVERYBODY:
        client = cast.client(who)
        seen = "verysecretfact" in client.get("/notices/").content.decode()
        assert seen == (who == "operator")
        assert ("verysecretfact" in client.get("/api/v1/notices").content.decode()) == (who == "operator")
        if who != "operator":
            assert client.get(f"/notices/{number}/").status_code == 404
            client.post("/notices/read/", {"notice": number})
            client.post("/api/v1/notices/read", json.dumps({"ids": [number]}), "application/json")
    assert Notice.objects.get().read_at is None


@pytest.mark.parametrize("who", ["former", "member", "outsider", "security"])
def test_a_notice_about_what_one_may_not_see_says_nothing_of_it(cast: Cast, happened: str, who: str) -> None:
    """A mistake in the recipients, or a role that has ended, gives nothing away."""
    tell(cast, happened, who)
    client = cast.client(who)
    number = Notice.objects.get().pk
    for address in ("/notices/", "/notices/latest/", "/api/v1/notices"):
        body = client.get(address).content.decode()
        assert "not yours to see any more" in body
        for word in ("verysecretfact", "bj", "happened"):
            assert not re.search(rf"\b{word}\b", body), address  # a word of its own: tokens are random letters
    assert client.get(f"/notices/{number}/").headers["Location"] == "/notices/"
    row = client.get("/api/v1/notices").json()["rows"][0]
    assert (row["event"], row["facts"], row["about"]) == ("", {}, {"kind": "", "code": ""})


def test_what_one_saw_is_hidden_once_the_role_has_ended(cast: Cast, happened: str) -> None:
    tell(cast, happened, "operator")
    client = cast.client("operator")
    assert "verysecretfact" in client.get("/notices/").content.decode()
    GRANTS["site"].objects.filter(user__username="operator").update(to_on="2026-01-01")
    assert "verysecretfact" not in client.get("/notices/").content.decode()


def test_reading_marks_one_or_all_and_the_bell_counts_the_rest(cast: Cast, happened: str) -> None:
    for number in range(4):
        tell(cast, happened, "operator", threshold=str(number))
    client, actor = cast.client("operator"), cast.actor("operator")
    assert "Notices, 4 unread" in client.get("/notices/").content.decode()
    first = Notice.objects.first()
    assert first is not None
    assert client.get(f"/notices/{first.pk}/").headers["Location"] == "/ops/clusters/bj/"
    assert reads.unread_count(actor) == 3
    client.post("/notices/read/", {"notice": [Notice.objects.all()[1].pk, "x", "-1", "9" * 30]})
    assert reads.unread_count(actor) == 2
    response = client.post("/notices/read/", {"all": "1", "next": "https://evil.example/"})
    assert response.headers["Location"] == "/notices/"
    assert reads.unread_count(actor) == 0
    assert "verysecretfact" not in client.get("/notices/?unread=1").content.decode()


def test_pages_of_notices_miss_none_and_ask_few_questions(
    cast: Cast, happened: str, django_assert_max_num_queries: Any
) -> None:
    for number in range(75):
        tell(cast, happened, "operator", threshold=f"{number:03d}")
    client, seen, cursor = cast.client("operator"), [], ""
    for _page in range(10):
        with django_assert_max_num_queries(12):
            page = client.get(f"/api/v1/notices?limit=20{cursor}").json()
        seen += [row["id"] for row in page["rows"]]
        if page["next"] is None:
            break
        tell(cast, happened, "operator", threshold=f"meanwhile {_page}")
        cursor = f"&cursor={page['next']}"
    assert len(seen) == len(set(seen)) == 75
    with django_assert_max_num_queries(14):
        client.get("/notices/")
    body = client.get("/notices/").content.decode()
    following = body.split('rel="next"')[0].rpartition('href="')[2].split('"')[0]
    assert client.get(f"/notices/{following}").content.decode().count("verysecretfact") == 30


def test_what_is_muted_in_the_portal_is_not_shown_and_the_account_always_is(cast: Cast, happened: str) -> None:
    actor = cast.actor("operator")
    actions.choose({"operations": (False, "off")}, actor=actor)
    tell(cast, happened, "operator")
    assert reads.unread_count(actor) == 0
    publish("account.password_changed", "1", [cast.people["operator"]])
    assert reads.unread_count(actor) == 1


def test_a_fact_that_is_missing_leaves_a_dash_and_words_are_in_the_readers_language(cast: Cast, happened: str) -> None:
    publish(happened, "bj", [cast.people["operator"]], facts={"what": words("No cluster “%(code)s”.", code="x")})
    body = cast.client("operator").get("/notices/").content.decode()
    assert "— happened" in body
    assert "It was No cluster “x”.." in body


def test_instants_are_told_in_the_readers_zone(cast: Cast) -> None:
    actor = cast.actor("member")
    publish(
        "token.expiring", "1", [cast.people["member"]], facts={"name": "ci", "ends_at": "2026-07-01T00:00:00+00:00"}
    )
    client = cast.client("member")
    assert "2026-07-01 08:00 (Asia/Shanghai)" in client.get("/notices/").content.decode()
    actions.choose({}, time_zone="America/New_York", actor=actor)
    assert "2026-06-30 20:00 (America/New_York)" in client.get("/notices/").content.decode()


# Whom it concerns -----------------------------------------------------------------------------------------------------


def names(found: list[Recipient]) -> set[tuple[str, str]]:
    people = Person.objects.in_bulk([one.person_id for one in found])
    return {(people[one.person_id].username, one.role) for one in found}


def test_who_holds_a_right_today_is_found_by_the_line_of_departments(cast: Cast) -> None:
    ocr, vision = Project.objects.get(code="ocr"), Department.objects.get(code="vision")
    found = names(holders("usage.view", ocr))
    assert found == {("member", "member"), ("lead", "lead"), ("approver", "approver"), ("viewer", "viewer")}
    assert names(holders("run.view", vision)) == {("approver", "approver"), ("viewer", "viewer")}
    assert names(holders_of("audit.view")) == {("auditor", "auditor")}
    Person.objects.filter(username="auditor").update(is_active=False)
    assert names(holders_of("audit.view")) == set()


# What is looked at now and then ---------------------------------------------------------------------------------------


def test_work_that_goes_on_failing_is_told_once_since_it_last_succeeded(cast: Cast) -> None:
    now = timezone.now()
    failing = {
        "state": "failed", "due_at": now, "asked_at": now, "asked_by": "x", "last_error": "It broke: %(what)s",
        "last_error_code": "Broken", "last_error_at": now,
    }  # fmt: skip
    for kind, key in (("usage.meter", "bj"), ("usage.pull", "bj")):
        WorkItem.objects.create(kind=kind, key=key, attempt=5, last_error_params={"what": "all"}, **failing)
    WorkItem.objects.create(kind="ledger.post", key="all", attempt=2, **failing)
    for _again in range(3):
        watch.look(timezone.now())
    of_work = Notice.objects.exclude(happening__event="usage.unattributed")  # the cast has some
    told = of_work.values_list("happening__event", "person__username").distinct()
    people = {"operator", "administrator", "finance", "auditor"}
    assert set(told) == {(event, who) for event in ("work.failing", "usage.pull_failing") for who in people}
    assert "It broke: all" in cast.client("operator").get("/notices/").content.decode()


def test_a_token_is_told_of_before_it_ends_even_if_a_day_was_missed(cast: Cast) -> None:
    actor = cast.actor("member")
    tokens.issue("ci", ["read"], 30, actor=actor)
    tokens.issue("short", ["read"], 1, actor=actor)
    begun = timezone.now()

    def told_after(days: float) -> list[str]:
        with time_machine.travel(begun + timedelta(days=days)):
            watch.look(timezone.now())
            watch.look(timezone.now())
        rows = Notice.objects.filter(happening__event="token.expiring").order_by("pk")
        return list(rows.values_list("happening__threshold", flat=True))

    assert told_after(20) == []
    assert told_after(24) == ["7"]
    assert told_after(26) == ["7"]
    assert told_after(29.5) == ["7", "1"]
    assert told_after(31) == ["7", "1"]


def test_quarantine_and_unclaimed_use_are_told(cast: Cast) -> None:
    intake = Intake.objects.first()
    assert intake is not None
    QuarantinedRecord.objects.all().delete()
    QuarantinedRecord.objects.create(
        cluster=intake.cluster, intake=intake, digest="0" * 32, raw="x", code="no_such", reason="x"
    )
    for _again in range(2):
        watch.look(timezone.now())
    body = cast.client("operator").get("/notices/").content.decode()
    assert "Records of bj went into quarantine: 1" in body
    assert body.count("that no project claims:") <= 2
    tomorrow = timezone.now() + timedelta(days=1)
    with time_machine.travel(tomorrow):
        watch.look(tomorrow)
    assert Notice.objects.filter(happening__event="usage.quarantine_grew", person__username="operator").count() == 1


def test_a_file_that_cannot_be_read_is_told_to_who_brought_it(cast: Cast, tmp_path: Path) -> None:
    path = tmp_path / "records.txt"
    path.write_bytes(b"\x00\x01 nothing of ours")
    actor = cast.actor("operator")
    for _again in range(2):
        with pytest.raises(BadData):
            import_files("bj", [str(path)], actor=actor, called="june.txt")
    notice = Notice.objects.get(happening__event="usage.import_failed")
    assert notice.person.username == "operator"
    assert "june.txt" in cast.client("operator").get("/notices/").content.decode()


# Pages and doors of channels ------------------------------------------------------------------------------------------


def test_a_channel_from_the_page_to_its_end(cast: Cast, receiver: Receiver) -> None:
    client = cast.client("administrator")
    given = {"kind": "webhook", "name": "ops", "scope": "site:", "url": receiver.url, "language": "en", "secret": ""}
    body = client.post("/channels/new/", given).content.decode()
    secret = body.split('id="secret">')[1].split("<")[0]
    assert secret.startswith("whsec_")
    number = Channel.objects.get().pk
    for address in (f"/channels/{number}/", "/channels/"):
        assert secret not in client.get(address).content.decode()
    assert "The test was taken" in client.post(f"/channels/{number}/test/", follow=True).content.decode()
    assert client.post(f"/channels/{number}/", {"name": "renamed", "url": "", "language": "en"}).status_code == 302
    again = client.post(f"/channels/{number}/secret/").content.decode()
    assert again.split('id="secret">')[1].split("<")[0] not in ("", secret)
    client.post(f"/channels/{number}/switch/", {})
    assert "Switched off" in client.get("/channels/").content.decode()
    client.post(f"/channels/{number}/remove/")
    assert client.get(f"/channels/{number}/").status_code == 404


@pytest.mark.parametrize(
    ("wrong", "words_of_it"),
    [
        ({"url": "http://169.254.169.254/"}, "to which nothing is sent"),
        ({"url": "ftp://x/"}, "no address to send to"),
        ({"name": ""}, "required"),
        ({"scope": "project:rank"}, "not one of the available choices"),
        ({"kind": "wecom", "secret": "abc"}, "no secret to enter"),
        ({"events": ["account.password_changed"]}, "not one of the available choices"),
    ],
)
def test_a_bad_channel_is_said_in_words_on_the_page(cast: Cast, wrong: dict[str, Any], words_of_it: str) -> None:
    given = {"kind": "webhook", "name": "ops", "scope": "project:ocr", "url": "https://x.example/", "language": "en"}
    response = cast.client("lead").post("/channels/new/", given | wrong)
    assert response.status_code == 422
    assert words_of_it in response.content.decode()
    assert not Channel.objects.exists()


def test_a_channel_through_the_api(cast: Cast, receiver: Receiver) -> None:
    client = cast.client("lead")

    def post(address: str, body: Any = None, **headers: str) -> Any:
        return client.post(f"/api/v1/{address}", json.dumps(body or {}), "application/json", headers=headers)

    given = {"kind": "webhook", "name": "ocr", "url": receiver.url, "scope_kind": "project", "scope_code": "ocr"}
    refused = post("channels", given, **{"Idempotency-Key": "once"})
    assert refused.status_code == 422
    made = post("channels", given)
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    number = made.json()["id"]
    assert "secret" not in client.get(f"/api/v1/channels/{number}").json()
    assert post(f"channels/{number}/test").json()["state"] == "sent"
    assert post(f"channels/{number}", {"on": False}).json()["stopped_why"] == "by_hand"
    rows = client.get(f"/api/v1/channels/{number}/deliveries").json()["rows"]
    assert [row["tries"][0]["status"] for row in rows] == [200]
    assert post(f"deliveries/{rows[0]['id']}/again").status_code == 409
    assert post(f"channels/{number}", {"on": True}).status_code == 200
    assert post(f"deliveries/{rows[0]['id']}/again").status_code == 202
    assert post(f"channels/{number}/secret").json()["secret"] != made.json()["secret"]
    assert post("channels", given | {"scope_code": "rank"}).status_code == 404
    assert cast.client("outsider").get(f"/api/v1/channels/{number}").status_code == 404
    assert post(f"channels/{number}/remove").json() == {"done": True}


def test_what_does_not_get_through_is_seen_by_operations_without_what_it_carries(
    cast: Cast, receiver: Receiver
) -> None:
    channel, _secret = channel_of(cast, "lead", receiver.url, scope=("project", "ocr"))
    Channel.objects.update(failing_since_at=timezone.now(), failures=3)
    body = cast.client("operator").get("/ops/channels/").content.decode()
    assert "Does not get through" in body
    assert receiver.url not in body
    assert f"/channels/{channel.pk}/" not in body


def test_preferences_through_the_api(cast: Cast) -> None:
    client = cast.client("member")
    chosen = {
        "ways": [{"group": "files", "in_app": False, "mail": "off"}],
        "digest_hour": 7,
        "time_zone": "Europe/Berlin",
    }
    answer = client.post("/api/v1/notice-preferences", json.dumps(chosen), "application/json").json()
    assert (answer["digest_hour"], answer["time_zone"]) == (7, "Europe/Berlin")
    assert {"group": "files", "in_app": False, "mail": "off"} in answer["ways"]
    kept = client.get("/api/v1/notice-preferences").json()
    assert kept == answer
