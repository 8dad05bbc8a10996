"""Robots of Feishu, DingTalk and WeCom: their own forms, their own signatures, their own way of saying no."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from urllib.parse import parse_qs, urlsplit

import pytest

from governance.errors import BadData
from governance.notices import channels, delivering, robots
from governance.notices.models import Attempt, Delivery
from governance.notices.outbox import publish
from tests.cast import Cast
from tests.notices.receiver import Receiver, channel_of, say

AT = 1_599_360_473.0
MESSAGE = robots.Message(
    "Title", "Text with [a link](http://evil.example) and <tags>", "https://steelyard.example/x", "Open"
)
TAKEN = {
    "feishu": b'{"code":0,"msg":"success","data":{}}',
    "dingtalk": b'{"errcode":0,"errmsg":"ok"}',
    "wecom": b'{"errcode":0,"errmsg":"ok"}',
}
REFUSED = {
    "feishu": b'{"code":19021,"msg":"sign match fail"}',
    "dingtalk": b'{"errcode":310000,"errmsg":"sign not match"}',
    "wecom": b'{"errcode":93000,"errmsg":"invalid webhook url"}',
}
ROBOTS = ("feishu", "dingtalk", "wecom")


def test_feishu_signs_nothing_with_the_timestamp_and_the_secret() -> None:
    sent = json.loads(robots.robot_post("feishu", "https://x.example/hook", "sesame", MESSAGE, AT).body)
    assert sent["timestamp"] == "1599360473"
    key = b"1599360473\nsesame"
    assert base64.b64decode(sent["sign"]) == hmac.new(key, digestmod=hashlib.sha256).digest()
    assert sent["msg_type"] == "interactive"
    assert sent["card"]["header"]["title"]["content"] == "Title"
    assert sent["card"]["elements"][1]["actions"][0]["url"] == "https://steelyard.example/x"


def test_dingtalk_signs_in_the_address_with_milliseconds() -> None:
    post = robots.robot_post("dingtalk", "https://x.example/send?access_token=abc", "SECsesame", MESSAGE, AT)
    asked = parse_qs(urlsplit(post.url).query)
    assert asked["access_token"] == ["abc"]
    assert asked["timestamp"] == ["1599360473000"]
    expected = hmac.new(b"SECsesame", b"1599360473000\nSECsesame", hashlib.sha256).digest()
    assert base64.b64decode(asked["sign"][0]) == expected
    assert json.loads(post.body)["markdown"]["title"] == "Title"


def test_wecom_has_its_key_in_the_address_and_at_most_4096_bytes() -> None:
    long = robots.Message("标题", "很长" * 5000, "https://steelyard.example/x", "打开")
    post = robots.robot_post("wecom", "https://x.example/send?key=abc", "", long, AT)
    assert post.url == "https://x.example/send?key=abc"
    content = json.loads(post.body)["markdown"]["content"]
    assert 4090 < len(content.encode()) <= 4096
    assert "(https://steelyard.example/x)" in content


@pytest.mark.parametrize("kind", ROBOTS)
def test_words_of_others_are_no_markup(kind: str) -> None:
    body = robots.robot_post(kind, "https://x.example/", "", MESSAGE, AT).body.decode()
    if kind != "feishu":  # whose text is plain by its tag
        assert "[a link]" not in body
        assert "<tags>" not in body


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize(("language", "word"), [("en", "bj happened"), ("zh-hans", "bj happened")])
def test_a_robot_is_sent_an_event_in_the_language_of_its_group(
    cast: Cast, happened: str, receiver: Receiver, settings: object, kind: str, language: str, word: str
) -> None:
    settings.PORTAL_URL = "https://steelyard.example"  # type: ignore[attr-defined]
    channel, secret = channels.add(
        kind, "group", f"{receiver.url}?key=1", actor=cast.actor("administrator"), language=language
    )
    assert secret == ""
    receiver.answering = lambda handler: say(handler, 200, TAKEN[kind])
    publish(happened, "bj", facts={"cluster": "bj", "what": "odd"})
    assert delivering.send_due(channel.pk) == 1
    body = receiver.got[0].body.decode()
    assert word in body
    assert ("打开" in body) == (language == "zh-hans")
    assert "https://steelyard.example/ops/clusters/bj/" in body


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize("answer", ["refused", "nonsense", "list"])
def test_a_robot_that_says_no_in_a_200_did_not_take_it(
    cast: Cast, happened: str, receiver: Receiver, kind: str, answer: str
) -> None:
    channel, _secret = channel_of(cast, "administrator", receiver.url, kind)
    said = {"refused": REFUSED[kind], "nonsense": b"<html>", "list": b"[0]"}[answer]
    receiver.answering = lambda handler: say(handler, 200, said)
    publish(happened, "bj", facts={"cluster": "bj"})
    delivering.send_due(channel.pk)
    assert Delivery.objects.get().state == "waiting"
    assert Attempt.objects.get().fault == "code"


@pytest.mark.django_db
def test_the_address_of_a_robot_is_never_shown(cast: Cast, receiver: Receiver) -> None:
    url = "https://oapi.dingtalk.com/robot/send?access_token=OPENSESAME"
    channel, _secret = channel_of(cast, "administrator", url, "dingtalk", secret="SECalsoquitesecret")
    client = cast.client("administrator")
    for address in (
        "/channels/",
        f"/channels/{channel.pk}/",
        "/ops/channels/",
        "/api/v1/channels",
        f"/api/v1/channels/{channel.pk}",
    ):
        body = client.get(address).content.decode()
        assert "group" in body or "dingtalk" in body.lower()
        assert "OPENSESAME" not in body
        assert "SECalso" not in body


@pytest.mark.django_db
def test_wecom_takes_no_secret(cast: Cast, receiver: Receiver) -> None:
    with pytest.raises(BadData):
        channel_of(cast, "administrator", receiver.url, "wecom", secret="x")
