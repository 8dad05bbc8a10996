"""What docs/notices.md says: its example verifies what is sent, its events are those there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from governance.notices import delivering, registry, robots, rules
from governance.notices.outbox import publish
from tests.cast import Cast
from tests.notices.receiver import Receiver, channel_of

TEXT = (Path(settings.BASE_DIR) / "docs/notices.md").read_text("utf-8")


def verifier() -> Any:
    """The function of the document, as a reader would copy it."""
    source = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert source
    names: dict[str, Any] = {}
    exec(source[1], names)
    return names["verify"]


@pytest.mark.django_db
def test_the_example_takes_what_is_sent_and_nothing_else(cast: Cast, happened: str, receiver: Receiver) -> None:
    verify = verifier()
    channel, secret = channel_of(cast, "administrator", receiver.url)
    publish(happened, "bj", facts={"cluster": "bj", "what": "奇怪"})
    delivering.send_due(channel.pk)
    got = receiver.got[0]
    assert verify(secret, got.headers, got.body)
    assert not verify(secret, got.headers, got.body + b" ")
    assert not verify("whsec_" + "A" * 43 + "=", got.headers, got.body)
    assert not verify(secret, got.headers | {"webhook-id": "msg_other"}, got.body)
    assert not verify(secret, got.headers | {"webhook-timestamp": "1"}, got.body)


def test_the_signature_is_that_of_the_standards_own_example() -> None:
    """From the specification of Standard Webhooks."""
    body = b'{"event_type":"ping","data":{"success":true}}'
    secret = "whsec_plJ3nmyCDGBKInavdOK15jsl"
    made = robots.webhook_signature(secret, "msg_loFOjxBNrRLzqYUf", 1731705121, body)
    assert made == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


def test_every_event_of_usage_and_account_stands_in_the_table_with_its_mail() -> None:
    words = {rules.AT_ONCE: "at once", rules.DIGEST: "digest"}
    rows = [re.split(r" \| ", line.strip("| ")) for line in TEXT.splitlines() if line.startswith("| `")]
    told = {code: row[-1] for row in rows for code in re.findall(r"`([a-z_.]+)`", row[0])}
    own = {code: words[event.mail] for code, event in registry.EVENTS.items() if event.group in
           {"account", "files", "operations", "channels"} and not code.startswith("test.")}  # fmt: skip
    assert told == own


def test_the_pauses_are_those_of_the_document() -> None:
    said = "15 s, 1 min, 5 min, 30 min, 2 h, 6 h, 12 h, 24 h, 24 h"
    assert said in TEXT
    units = {"s": 1, "min": 60, "h": 3600}
    assert tuple(int(n) * units[unit] for n, unit in (one.split() for one in said.split(", "))) == rules.PAUSES
