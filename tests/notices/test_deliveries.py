"""Webhooks against a real receiver: signed, tried again, bounded, and only what the owner may see."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from governance.access.actor import Actor
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.notices import channels, delivering, guard
from governance.notices.models import Attempt, Channel, Delivery, Notice
from governance.notices.outbox import publish
from governance.tenants.models import GRANTS
from tests.cast import Cast
from tests.notices.receiver import Receiver, channel_of, drip, say

FACTS = {"cluster": "bj", "what": "odd"}


def only(channel: Channel) -> Delivery:
    return Delivery.objects.get(channel=channel)


def test_a_webhook_says_what_the_api_shows_and_is_signed(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel, secret = channel_of(cast, "administrator", receiver.url)
    publish(happened, "bj", facts=FACTS)
    assert delivering.send_due(channel.pk) == 1
    got = receiver.got[0]
    sent = json.loads(got.body)
    assert sent["type"] == happened
    assert sent["version"] == 1
    assert sent["data"]["about"] == {"kind": "cluster", "code": "bj"}
    assert sent["data"]["facts"] == FACTS
    assert sent["data"]["title"] == "bj happened"
    shown = cast.client("administrator").get("/api/v1/clusters/bj").json()
    assert sent["data"]["object"].keys() == shown.keys()
    assert sent["data"]["object"]["code"] == "bj"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == expected
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60
    assert got.headers["webhook-id"] == only(channel).message_id
    assert only(channel).state == "sent"
    assert delivering.send_due(channel.pk) == 0


def test_what_is_not_taken_is_tried_again_under_the_same_id_and_then_given_up(
    cast: Cast, happened: str, receiver: Receiver
) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    receiver.answering = lambda handler: say(handler, 500, "不行".encode())
    publish(happened, "bj", facts=FACTS)
    now, waits = timezone.now(), []
    for _attempt in range(20):
        with time_machine.travel(now, tick=False):
            Channel.objects.update(failing_since_at=None)  # days of failure are another test's
            delivering.send_due(channel.pk)
        delivery = only(channel)
        if delivery.due_at is None:
            break
        waits.append((delivery.due_at - now).total_seconds())
        now = max(delivery.due_at, Channel.objects.get().paused_until_at or delivery.due_at) + timedelta(seconds=1)
    assert delivery.state == "failed"
    assert delivery.attempts == len(receiver.got) == 10
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1
    assert len({got.body for got in receiver.got}) == 1
    assert 10 < waits[0] < 20
    assert all(later > earlier for earlier, later in zip(waits[:6], waits[1:7], strict=True))
    last = Attempt.objects.latest("pk")
    assert (last.status, last.fault, last.head) == (500, "status", "不行")


def test_a_receiver_that_comes_back_gets_what_waited(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    receiver.answering = lambda handler: say(handler, 503)
    for number in range(5):
        publish(happened, "bj", threshold=str(number), facts=FACTS)
    delivering.send_due(channel.pk)
    assert len(receiver.got) == 1, "a place that is down is asked once a pause"
    receiver.answering = lambda handler: say(handler, 204)
    with time_machine.travel(timezone.now() + timedelta(minutes=1)):
        assert delivering.send_due(channel.pk) == 5
    channel.refresh_from_db()
    assert (channel.failures, channel.failing_since_at) == (0, None)


@pytest.mark.parametrize("where", ["http://127.0.0.1:1/stolen", "/elsewhere"])
def test_a_redirect_is_not_followed(cast: Cast, happened: str, receiver: Receiver, where: str) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    receiver.answering = lambda handler: say(handler, 302, location=where)
    publish(happened, "bj", facts=FACTS)
    delivering.send_due(channel.pk)
    assert len(receiver.got) == 1
    assert Attempt.objects.get().status == 302
    assert only(channel).state == "waiting"


@pytest.mark.parametrize("how", ["silent", "dripping", "headers"])
def test_a_slow_receiver_holds_nothing_up(receiver: Receiver, how: str) -> None:
    def headers(handler: object) -> None:
        for _ in range(200):
            handler.wfile.write(b"x")  # type: ignore[attr-defined]
            handler.wfile.flush()  # type: ignore[attr-defined]
            time.sleep(0.05)

    receiver.answering = {
        "silent": lambda handler: time.sleep(6),
        "dripping": drip(b"a", 200, 0.05),
        "headers": headers,
    }[how]
    began = time.monotonic()
    answer = guard.post(receiver.url, b"{}", {}, seconds=0.5)
    assert time.monotonic() - began < 3
    assert answer.fault == "timeout"


def test_of_a_long_answer_the_beginning_is_kept(receiver: Receiver) -> None:
    receiver.answering = lambda handler: say(handler, 200, b"\x00" + b"a" * 5_000_000)
    answer = guard.post(receiver.url, b"{}", {})
    assert (answer.status, answer.fault) == (200, "")
    assert answer.head == "a" * (guard.HEAD_BYTES - 1)


def test_what_is_not_there_is_told_apart(settings: object, receiver: Receiver) -> None:
    assert guard.post("http://127.0.0.1:1/", b"", {}).fault == "no_connection"
    assert guard.post("http://no-such-host.invalid/", b"", {}).fault == "no_name"
    assert guard.post(receiver.url.replace("http:", "https:"), b"", {}).fault == "tls"
    receiver.answering = lambda handler: handler.wfile.write(b"this is no HTTP\r\n\r\n")
    assert guard.post(receiver.url, b"", {}).fault == "broken"


LOCAL = [
    "http://127.0.0.1/", "http://127.1.2.3/", "http://[::1]/", "http://0.0.0.0/", "http://169.254.169.254/latest/meta-data",
    "http://[fe80::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/", "http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://localhost/", "http://LOCALHOST./",
    "http://a.localhost/", "http://224.0.0.1/", "http://255.255.255.255/",
]  # fmt: skip


@pytest.mark.parametrize("url", LOCAL)
def test_nothing_is_sent_to_this_machine_or_its_link(url: str) -> None:
    with pytest.raises(BadData):
        guard.check_url(url)
    assert guard.post(url, b"", {}, seconds=2).fault in (
        {"refused", "no_name"} if "local" in url.lower() else {"refused"}
    )


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1"])
def test_an_address_in_disguise_is_refused_when_it_is_connected_to(host: str) -> None:
    assert guard.post(f"http://{host}/", b"", {}, seconds=2).fault in {"refused", "no_name"}


def test_a_name_that_leads_here_is_refused_when_it_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, settings: object
) -> None:
    settings.CHANNELS_LOCAL = False  # type: ignore[attr-defined]
    port = int(receiver.url.split(":")[2].split("/")[0])
    row = (2, 1, 6, "", ("127.0.0.1", port))
    monkeypatch.setattr(guard.socket, "getaddrinfo", lambda *given, **more: [row])
    url = f"http://innocent.example:{port}/hook"
    guard.check_url(url)
    assert guard.post(url, b"", {}).fault == "refused"
    assert not receiver.got


def test_private_addresses_may_be_closed(settings: object) -> None:
    guard.check_url("http://10.0.0.7/hook")
    settings.CHANNELS_PRIVATE = False  # type: ignore[attr-defined]
    with pytest.raises(BadData):
        guard.check_url("http://10.0.0.7/hook")
    guard.check_url("https://8.8.8.8/hook")


@pytest.mark.parametrize(
    "url",
    [
        "", "ftp://a/", "file:///etc/passwd", "https://", "https://me:pw@a.example/", "javascript:alert(1)", "https://a b/",
        "http://[::1", "https://a.example:99999/", "https://例子.example/", "https://a.example/" + "x" * 1000, "gopher://a/",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_in_words(url: str) -> None:
    with pytest.raises(BadData):
        guard.check_url(url)


def test_addresses_and_secrets_lie_sealed_in_the_database(cast: Cast, receiver: Receiver) -> None:
    url = f"{receiver.url}?key=OPENSESAME"
    channel, secret = channel_of(cast, "administrator", url)
    channel_of(cast, "administrator", url, "dingtalk", secret="SECclosesesame")
    with connection.cursor() as cursor:
        cursor.execute("SELECT c::text FROM channel c UNION ALL SELECT l::text FROM audit_line l")
        kept = "\n".join(row[0] for row in cursor.fetchall())
    for clear in (secret, secret[6:], "OPENSESAME", "SECclosesesame"):
        assert clear not in kept
    assert channel.secret_hint == secret[-4:]


def test_a_secret_under_another_key_is_said_and_not_sent(
    cast: Cast, happened: str, receiver: Receiver, settings: object
) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    publish(happened, "bj", facts=FACTS)
    old = settings.SECRET_KEY  # type: ignore[attr-defined]
    settings.SECRET_KEY = "another" * 8  # type: ignore[attr-defined]
    delivering.send_due(channel.pk)
    assert Attempt.objects.get().fault == "sealed"
    assert not receiver.got
    settings.SECRET_KEY_FALLBACKS = [old]  # type: ignore[attr-defined]
    with time_machine.travel(timezone.now() + timedelta(minutes=5)):
        assert delivering.send_due(channel.pk) == 1


def test_after_days_of_failure_a_channel_is_switched_off_and_its_owner_told(
    cast: Cast, happened: str, receiver: Receiver
) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    receiver.answering = lambda handler: say(handler, 500)
    now = timezone.now()
    for day in range(7):
        with time_machine.travel(now + timedelta(days=day, minutes=day), tick=False):
            publish(happened, "bj", threshold=str(day), facts=FACTS)
            delivering.send_due(channel.pk)
    channel.refresh_from_db()
    assert (channel.stopped_why, channel.stopped_at is not None) == ("failing", True)
    notice = Notice.objects.get(happening__event="channel.stopped")
    assert notice.person.username == "administrator"
    before = len(receiver.got)
    publish(happened, "bj", threshold="later", facts=FACTS)
    delivering.send_due(channel.pk)
    assert len(receiver.got) == before
    channels.switch(channel.pk, True, actor=cast.actor("administrator"))
    receiver.answering = lambda handler: say(handler, 200)
    with time_machine.travel(now + timedelta(days=9)):
        assert delivering.send_due(channel.pk) > 0


def test_a_receiver_that_says_gone_is_switched_off_at_once(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    receiver.answering = lambda handler: say(handler, 410)
    publish(happened, "bj", facts=FACTS)
    delivering.send_due(channel.pk)
    channel.refresh_from_db()
    assert channel.stopped_why == "gone"


def test_a_delivery_is_sent_again_by_hand_under_the_same_id(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    publish(happened, "bj", facts=FACTS)
    delivering.send_due(channel.pk)
    channels.send_again(only(channel).pk, actor=cast.actor("administrator"))
    delivering.send_due(channel.pk)
    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    channels.switch(channel.pk, False, actor=cast.actor("administrator"))
    with pytest.raises(NotTheMoment):
        channels.send_again(only(channel).pk, actor=cast.actor("administrator"))


def test_a_test_says_how_it_went_and_is_not_tried_again(cast: Cast, receiver: Receiver) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    assert delivering.attempt(channels.begin_test(channel.pk, actor=cast.actor("administrator"))) == "sent"
    assert json.loads(receiver.got[0].body)["type"] == "channel.test"
    receiver.answering = lambda handler: say(handler, 404)
    assert delivering.attempt(channels.begin_test(channel.pk, actor=cast.actor("administrator"))) == "failed"
    channel.refresh_from_db()
    assert channel.failures == 0


def test_events_are_chosen(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url, events=["usage.pull_failing"])
    publish(happened, "bj", facts=FACTS)
    assert not Delivery.objects.exists()
    publish("usage.pull_failing", "bj", facts=FACTS)
    assert only(channel).happening is not None
    for event in ("nothing", "account.password_changed"):  # what is one person's goes nowhere else
        with pytest.raises(BadData):
            channel_of(cast, "administrator", receiver.url, events=[event])


def test_what_is_personal_goes_to_no_channel(cast: Cast, receiver: Receiver) -> None:
    channel_of(cast, "administrator", receiver.url)
    publish("account.password_changed", "x", [cast.people["member"]])
    assert not Delivery.objects.exists()


# Leaks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["member", "viewer", "operator", "finance", "security", "former", "capacity_manager"])
def test_who_may_not_has_no_channel_of_the_site(cast: Cast, receiver: Receiver, who: str) -> None:
    with pytest.raises(NotAllowed):
        channel_of(cast, who, receiver.url)


@pytest.mark.parametrize(
    ("who", "scope"),
    [
        ("lead", ("project", "rank")), ("lead", ("department", "vision")), ("approver", ("department", "search")),
        ("approver", ("project", "rank")), ("outsider", ("project", "ocr")), ("outsider", ("department", "vision")),
        ("member", ("project", "ocr")), ("former", ("project", "ocr")), ("lead", ("project", "nothing")), ("lead", ("king", "ocr")),
    ],
)  # fmt: skip
def test_a_scope_that_is_not_yours_is_not_there(
    cast: Cast, receiver: Receiver, who: str, scope: tuple[str, str]
) -> None:
    with pytest.raises(NotFound):
        channel_of(cast, who, receiver.url, scope=scope)


def test_channels_of_another_department_are_not_there(cast: Cast, receiver: Receiver) -> None:
    own, _secret = channel_of(cast, "lead", receiver.url, scope=("project", "ocr"))
    for who in ("outsider", "former", "member", "security"):
        assert not channels.visible_to(cast.actor(who)).exists()
        with pytest.raises(NotFound):
            channels.change(own.pk, name="mine", actor=cast.actor(who))
    for who in ("lead", "approver", "administrator"):
        assert [one.pk for one in channels.visible_to(cast.actor(who))] == [own.pk]
    assert not channels.visible_to(Actor.anonymous()).exists()


def test_a_channel_carries_nothing_that_its_owner_may_not_see(cast: Cast, happened: str, receiver: Receiver) -> None:
    """A cluster's operations are not the lead's to see, even where the scope would fit."""
    from governance.notices import registry

    kind = registry.KINDS["cluster"]
    registry.register(
        registry.Kind("cluster", kind.visible, kind.url, kind.show, scopes=lambda code: [("project", "ocr")])
    )
    try:
        channel, _secret = channel_of(cast, "lead", receiver.url, scope=("project", "ocr"))
        publish(happened, "bj", facts=FACTS)
    finally:
        registry.register(kind)
    delivering.send_due(channel.pk)
    assert not receiver.got
    assert only(channel).state == "withheld"
    assert only(channel).body == ""


def test_what_lies_in_another_scope_is_not_sent(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel_of(cast, "approver", receiver.url, scope=("department", "vision"))
    publish(happened, "bj", facts=FACTS)
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("how", ["grant ends", "switched off"])
def test_the_channel_of_who_has_left_sends_nothing(cast: Cast, happened: str, receiver: Receiver, how: str) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    publish(happened, "bj", facts=FACTS)
    if how == "grant ends":
        GRANTS["site"].objects.filter(user__username="administrator").update(
            to_on=datetime(2026, 1, 1, tzinfo=UTC).date()
        )
    else:
        type(channel.owner).objects.filter(username="administrator").update(is_active=False)
    delivering.send_due(channel.pk)
    assert not receiver.got
    assert only(channel).state == "withheld"


def test_who_gives_a_channel_another_address_becomes_its_owner(cast: Cast, receiver: Receiver) -> None:
    """Else an administrator could have another's events sent anywhere."""
    channel, _secret = channel_of(cast, "lead", receiver.url, scope=("project", "ocr"))
    channels.change(channel.pk, name="renamed", actor=cast.actor("administrator"))
    assert Channel.objects.get().owner.username == "lead"
    channels.change(channel.pk, url=f"{receiver.url}/other", actor=cast.actor("administrator"))
    assert Channel.objects.get().owner.username == "administrator"


def test_a_channel_that_is_removed_forgets_its_address(cast: Cast, happened: str, receiver: Receiver) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url)
    publish(happened, "bj", facts=FACTS)
    channels.remove(channel.pk, actor=cast.actor("administrator"))
    channel.refresh_from_db()
    assert (channel.url_sealed, channel.secret_sealed) == ("", "")
    delivering.send_due(channel.pk)
    assert not receiver.got
    with pytest.raises(NotFound):
        channels.switch(channel.pk, True, actor=cast.actor("administrator"))


def test_by_a_proxy_names_are_the_proxys_to_find_and_local_addresses_are_refused_all_the_same(
    settings: object, receiver: Receiver
) -> None:
    settings.CHANNELS_LOCAL = False  # type: ignore[attr-defined]
    settings.CHANNELS_PROXY = receiver.url.removesuffix("/hook")  # type: ignore[attr-defined]
    assert guard.post("http://only-the-proxy-knows.invalid/hook", b"{}", {}).status == 200
    assert receiver.got[0].path == "http://only-the-proxy-knows.invalid/hook"
    assert guard.post("http://169.254.169.254/", b"{}", {}).fault == "refused"
    assert len(receiver.got) == 1
