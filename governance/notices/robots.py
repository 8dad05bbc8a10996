"""What each kind of channel is sent, how it is signed, and when its answer means that it was taken. Plain functions.

Feishu, DingTalk and WeCom group robots by their public documents (docs/notices.md names them); a webhook by Standard Webhooks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from .channel_models import DINGTALK, FEISHU, WEBHOOK, WECOM
from .guard import Answer

SECRET_PREFIX = "whsec_"  # noqa: S105  no secret: what each begins with
WECOM_BYTES = 4096
MARKDOWN_CHARACTERS = 4000
#: Their wide forms lie this far behind them.
_WIDE = {ord(one): ord(one) + 0xFEE0 for one in "[]<>*`"}


@dataclass(frozen=True)
class Message:
    """What is said, in the channel's language; `url` is whole, "" where the portal does not know its own address."""

    title: str
    text: str
    url: str
    open_word: str


@dataclass(frozen=True)
class Post:
    """What goes out."""

    url: str
    body: bytes
    headers: dict[str, str]


def webhook_signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the Base64 of HMAC-SHA256 over id.timestamp.body; the key is the Base64 behind `whsec_`."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def webhook_post(url: str, secret: str, message_id: str, body: bytes, at: float) -> Post:
    """A webhook's body as it is kept, signed for this attempt."""
    timestamp = int(at)
    headers = {
        "content-type": "application/json; charset=utf-8",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": webhook_signature(secret, message_id, timestamp, body),
    }
    return Post(url, body, headers)


def robot_post(kind: str, url: str, secret: str, message: Message, at: float) -> Post:
    """A robot's message, signed where it has a secret."""
    if kind == FEISHU:
        data = _feishu(message) | (_feishu_sign(secret, int(at)) if secret else {})
    elif kind == DINGTALK:
        data = _dingtalk(message)
        url = _dingtalk_url(url, secret, round(at * 1000)) if secret else url
    else:
        data = _wecom(message)
    body = json.dumps(data, ensure_ascii=False).encode()
    return Post(url, body, {"content-type": "application/json; charset=utf-8"})


def _feishu_sign(secret: str, timestamp: int) -> dict[str, str]:
    """Feishu: the key is "timestamp\\nsecret", what is signed is nothing."""
    key = f"{timestamp}\n{secret}".encode()
    return {
        "timestamp": str(timestamp),
        "sign": base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode(),
    }


def _feishu(message: Message) -> dict[str, Any]:
    elements: list[dict[str, Any]] = [
        {"tag": "div", "text": {"tag": "plain_text", "content": message.text[:MARKDOWN_CHARACTERS]}}
    ]
    if message.url:
        button = {
            "tag": "button",
            "type": "primary",
            "text": {"tag": "plain_text", "content": message.open_word},
            "url": message.url,
        }
        elements.append({"tag": "action", "actions": [button]})
    header = {"title": {"tag": "plain_text", "content": message.title}, "template": "blue"}
    return {"msg_type": "interactive", "card": {"header": header, "elements": elements}}


def _dingtalk_url(url: str, secret: str, timestamp_ms: int) -> str:
    """DingTalk: the key is the secret, what is signed is "timestamp\\nsecret"; both go into the address."""
    signed = f"{timestamp_ms}\n{secret}".encode()
    sign = base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'timestamp': timestamp_ms, 'sign': sign})}"


def _dingtalk(message: Message) -> dict[str, Any]:
    return {"msgtype": "markdown", "markdown": {"title": message.title, "text": _markdown(message)}}


def _wecom(message: Message) -> dict[str, Any]:
    content = _markdown(message).encode()[:WECOM_BYTES].decode(errors="ignore")
    return {"msgtype": "markdown", "markdown": {"content": content}}


def _markdown(message: Message) -> str:
    parts = [f"**{_plain(message.title)}**", _plain(message.text)[:MARKDOWN_CHARACTERS]]
    if message.url:
        parts.insert(1, f"[{message.open_word}]({message.url})")  # before the text, which may be cut
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """Text in which nothing is a link or a tag: the words hold names that others chose. Not all robots know backslashes."""
    return text.translate(_WIDE)


def taken(kind: str, answer: Answer) -> bool:
    """Whether the other side took it: a webhook by 2xx, a robot by the code in its answer as well."""
    if answer.status is None or not 200 <= answer.status < 300:
        return False
    if kind == WEBHOOK:
        return True
    try:
        said = json.loads(answer.head)
    except ValueError:
        return False
    if not isinstance(said, dict):
        return False
    names = ("code", "StatusCode") if kind == FEISHU else ("errcode",)
    return any(said.get(name) == 0 for name in names)


KINDS_WITH_SECRET = (FEISHU, DINGTALK)  # the signature is a setting of the robot; WeCom has none
KINDS_BY_ADDRESS = (FEISHU, DINGTALK, WECOM)
