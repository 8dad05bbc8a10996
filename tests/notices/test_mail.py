"""Mail: at once or in a digest at the person's own hour, in their language, and of nothing they no longer see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.core import mail
from django.utils import timezone

from governance.access.models import Person
from governance.errors import BadData
from governance.notices import actions, mailing, rules
from governance.notices.models import Notice
from governance.notices.outbox import publish
from governance.notices.registry import Recipient
from governance.tenants.models import GRANTS
from tests.cast import Cast

pytestmark = pytest.mark.django_db
FACTS = {"cluster": "bj", "what": "odd"}


@pytest.fixture
def operator(cast: Cast, settings: Any) -> Person:
    settings.MAIL_IS_ON = True
    settings.PORTAL_URL = "https://steelyard.example"
    person = cast.people["operator"]
    person.email, person.language = "operator@example.com", "en"
    person.save()
    return person


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("now", "zone", "hour", "due"),
    [
        ("2026-07-01T08:59+08:00", "Asia/Shanghai", 9, "2026-07-01T09:00+08:00"),
        ("2026-07-01T09:00+08:00", "Asia/Shanghai", 9, "2026-07-02T09:00+08:00"),
        # The night in March in which two o'clock is skipped, and the one in November in which one o'clock comes twice.
        ("2026-03-08T00:30-05:00", "America/New_York", 2, "2026-03-08T07:00+00:00"),
        ("2026-03-08T03:30-04:00", "America/New_York", 2, "2026-03-09T02:00-04:00"),
        ("2026-11-01T00:30-04:00", "America/New_York", 1, "2026-11-01T01:00-04:00"),
        ("2026-11-01T01:30-04:00", "America/New_York", 1, "2026-11-02T01:00-05:00"),
        ("2026-11-01T01:30-05:00", "America/New_York", 1, "2026-11-02T01:00-05:00"),
        ("2026-10-24T12:00+02:00", "Europe/Berlin", 9, "2026-10-25T09:00+01:00"),
        ("2026-10-03T12:00+10:30", "Australia/Lord_Howe", 2, "2026-10-04T02:30+11:00"),
        ("2026-01-01T23:59+14:00", "Pacific/Kiritimati", 0, "2026-01-02T00:00+14:00"),
    ],
)
def test_the_digest_goes_out_at_the_hour_of_the_persons_own_day(now: str, zone: str, hour: int, due: str) -> None:
    assert rules.next_digest(at(now), ZoneInfo(zone), hour) == at(due)


def test_every_day_of_a_year_has_one_digest_in_any_zone() -> None:
    for zone in ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Shanghai", "Africa/Casablanca"):
        for hour in (0, 1, 2, 3, 9, 23):
            now, seen = datetime(2026, 1, 1, tzinfo=UTC), []
            while len(seen) < 365:
                now = rules.next_digest(now, ZoneInfo(zone), hour)
                seen.append(now.astimezone(ZoneInfo(zone)).date())
            assert len(set(seen)) == 365
            assert (max(seen) - min(seen)).days == 364


def test_what_is_wanted_at_once_is_mailed_once_in_both_forms(operator: Person, happened: str) -> None:
    for _again in range(2):
        publish(happened, "bj", [Recipient(operator.pk, "operator")], facts=FACTS)
        mailing.send_due(operator.pk)
    sent = mail.outbox
    assert len(sent) == 1
    assert sent[0].subject == "[Steelyard] bj happened"
    assert sent[0].to == ["operator@example.com"]
    assert "Operator, it was odd." in sent[0].body
    assert "https://steelyard.example/ops/clusters/bj/" in sent[0].body
    html, kind = sent[0].alternatives[0]  # type: ignore[misc]
    assert kind == "text/html"
    assert "Operator, it was odd." in html
    assert Notice.objects.get().mailed_at is not None


def test_a_digest_is_one_mail_at_its_hour_and_a_missed_day_is_made_up_for(
    operator: Person, happened: str, cast: Cast
) -> None:
    actor = cast.actor("operator")
    actions.choose({"operations": (True, "digest")}, digest_hour=7, time_zone="America/New_York", actor=actor)
    with time_machine.travel("2026-11-01T04:00:00Z", tick=False):
        for number in range(3):
            publish(happened, "bj", [operator], str(number), FACTS)
        assert mailing.send_due(operator.pk) == 0
        due = Notice.objects.first().mail_due_at  # type: ignore[union-attr]
        assert due == at("2026-11-01T07:00-05:00")
    with time_machine.travel("2026-11-04T00:00:00Z", tick=False):  # the portal was down for days
        assert mailing.overdue(timezone.now()) == [operator.pk]
        assert mailing.send_due(operator.pk) == 1
        assert mailing.send_due(operator.pk) == 0
    assert mail.outbox[0].subject == "[Steelyard] 3 notices"
    assert mail.outbox[0].body.count("bj happened") == 3


def test_muting_takes_mail_away_and_no_right(operator: Person, happened: str, cast: Cast) -> None:
    actor = cast.actor("operator")
    publish(happened, "bj", [operator], "owed", FACTS)
    actions.choose({"operations": (True, "off")}, actor=actor)
    publish(happened, "bj", [operator], "new", FACTS)
    mailing.send_due(operator.pk)
    assert not mail.outbox
    assert actor.may("operations.view")
    assert cast.client("operator").get("/notices/").content.decode().count("bj happened") >= 2


def test_a_changed_hour_moves_what_is_owed(operator: Person, happened: str, cast: Cast) -> None:
    with time_machine.travel("2026-07-01T00:00:00Z", tick=False):
        actions.choose({"operations": (True, "digest")}, digest_hour=9, time_zone="UTC", actor=cast.actor("operator"))
        publish(happened, "bj", [operator], facts=FACTS)
        actions.choose({}, digest_hour=5, actor=cast.actor("operator"))
    assert Notice.objects.get().mail_due_at == at("2026-07-01T05:00+00:00")


def test_mail_is_in_the_language_of_who_gets_it(operator: Person, cast: Cast) -> None:
    operator.language = "zh-hans"
    operator.save()
    publish("account.password_changed", "1", [operator], facts={"address": "10.0.0.1"})
    mailing.send_due(operator.pk)
    assert "Your password was changed" not in mail.outbox[0].subject
    assert "10.0.0.1" in mail.outbox[0].body


def test_a_mail_sent_twice_has_one_name(operator: Person, happened: str) -> None:
    """Killed between sending and noting, the same goes out again: mail programs tell by the Message-ID."""
    publish(happened, "bj", [operator], facts=FACTS)
    mailing.send_due(operator.pk)
    Notice.objects.update(mail_due_at=timezone.now() - timedelta(seconds=1), mailed_at=None)
    mailing.send_due(operator.pk)
    names = {one.extra_headers["Message-ID"] for one in mail.outbox}
    assert (len(mail.outbox), len(names)) == (2, 1)


@pytest.mark.parametrize("why", ["grant ended", "no address", "no mail", "inactive"])
def test_who_may_not_or_cannot_gets_no_mail_and_it_is_noted(
    operator: Person, happened: str, settings: Any, why: str
) -> None:
    publish(happened, "bj", [operator], facts=FACTS)
    if why == "grant ended":
        GRANTS["site"].objects.filter(user=operator).update(to_on="2026-01-01")
    elif why == "no address":
        Person.objects.filter(pk=operator.pk).update(email="")
    elif why == "inactive":
        Person.objects.filter(pk=operator.pk).update(is_active=False)
    else:
        settings.MAIL_IS_ON = False
    assert mailing.send_due(operator.pk) == 0
    assert not mail.outbox
    notice = Notice.objects.get()
    expected = {"grant ended": "unseen", "no address": "no_address", "no mail": "no_mail", "inactive": "no_address"}
    assert (notice.mail_left, notice.mail_due_at) == (expected[why], None)


def test_a_server_that_takes_none_is_tried_again(operator: Person, happened: str, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "127.0.0.1", 1, False
    publish(happened, "bj", [operator], facts=FACTS)
    with pytest.raises(OSError):
        mailing.send_due(operator.pk)
    assert Notice.objects.get().mail_due_at is not None


def test_names_in_a_subject_begin_no_header(operator: Person, happened: str) -> None:
    publish(happened, "bj", [operator], facts={"cluster": "bj\r\nBcc: evil@example.com", "what": "<b>odd</b>"})
    mailing.send_due(operator.pk)
    assert "\n" not in mail.outbox[0].message()["Subject"]
    assert "Bcc" not in mail.outbox[0].message()
    assert "<b>odd" not in mail.outbox[0].alternatives[0][0]  # type: ignore[operator,index]


@pytest.mark.parametrize(
    "chosen",
    [
        {"ways": {"king": (True, "off")}}, {"ways": {"operations": (True, "pigeon")}}, {"ways": {"account": (False, "off")}},
        {"ways": {}, "digest_hour": 24}, {"ways": {}, "digest_hour": -1}, {"ways": {}, "time_zone": "Mars/Olympus"},
        {"ways": {}, "time_zone": "../../etc/passwd"},
    ],
)  # fmt: skip
def test_a_bad_choice_is_refused_and_changes_nothing(cast: Cast, chosen: dict[str, Any]) -> None:
    with pytest.raises(BadData):
        actions.choose(chosen.pop("ways"), actor=cast.actor("member"), **chosen)
