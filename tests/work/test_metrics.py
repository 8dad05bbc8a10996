"""/metrics, the log lines and the request's id."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.test import Client

from governance.access.actor import Actor
from governance.work import actions, correlation, presence
from portal.logs import JsonLines, ReadableLines
from tests.cast import Cast
from tests.work.helpers import age


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("token", "headers", "address", "status"),
    [
        ("", {}, "127.0.0.1", 200),
        ("", {}, "::1", 200),
        ("", {}, "10.0.0.7", 404),
        ("", {"X-Forwarded-For": "10.0.0.7"}, "127.0.0.1", 404),
        ("s", {}, "127.0.0.1", 404),
        ("s", {"Authorization": "Bearer s"}, "10.0.0.7", 200),
        ("s", {"Authorization": "Bearer é"}, "10.0.0.7", 404),
    ],
)
def test_who_may_scrape(
    settings: Any, client: Client, token: str, headers: dict[str, str], address: str, status: int
) -> None:
    settings.METRICS_TOKEN = token
    assert client.get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


def test_the_figures_of_work_watermarks_and_quarantine(cast: Cast) -> None:
    machine = Actor.machine("test")
    actions.ask("usage.meter", "bj", actor=machine)
    actions.ask("ledger.post", "all", actor=machine)
    age(90, "due_at")
    held = actions.claim("ledger.post", "all", "one", 60)
    assert held is not None
    actions.fail(held, ValueError("no"))
    presence.seen("worker")
    said = cast.client("anonymous").get("/metrics").content.decode()
    assert 'steelyard_work_items{kind="usage.meter",state="waiting"} 1.0' in said
    assert 'steelyard_work_failed_attempts{error="ValueError",key="all",kind="ledger.post"} 1.0' in said
    assert 'steelyard_work_oldest_waiting_seconds{kind="usage.meter"} 9' in said
    assert 'steelyard_watermark_lag_seconds{cluster="bj",stage="metered"}' in said
    assert 'steelyard_processes{role="worker"} 1.0' in said
    assert "# TYPE steelyard_quarantined_records gauge" in said


@pytest.mark.django_db
def test_an_answer_carries_the_id_it_was_asked_with_if_that_is_harmless(client: Client) -> None:
    assert client.get("/health/live", headers={"X-Request-ID": "abc-1"})["X-Request-ID"] == "abc-1"
    given = client.get("/health/live", headers={"X-Request-ID": "a b\x1b[31m" + "x" * 99})["X-Request-ID"]
    assert len(given) == 32 and given.isalnum()


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    made = logging.getLogger("test").makeRecord("test", logging.INFO, __file__, 1, message, args, None, extra=extra)
    assert isinstance(made, logging.LogRecord)
    return made


def test_a_json_line_is_one_line_with_the_id_and_what_was_given() -> None:
    with correlation.using("req-1"):
        said = JsonLines().format(record("two\nlines of %s", "x", path="/jobs/", status=200))
    assert "\n" not in said
    line = json.loads(said)
    assert (line["message"], line["correlation_id"], line["path"], line["status"]) == (
        "two\nlines of x",
        "req-1",
        "/jobs/",
        200,
    )


@pytest.mark.parametrize("formatter", [JsonLines(), ReadableLines("%(correlation)s%(message)s")])
def test_no_secret_stands_in_a_line(formatter: logging.Formatter) -> None:
    said = formatter.format(
        record("to %s with %s", "amqp://portal:hunter2@mq/", {"password": "hunter3"}, token="Bearer hunter4-hunter4")
    )
    assert "hunter" not in said and "***" in said


@pytest.mark.django_db
def test_ready_says_when_worker_and_beat_were_last_seen(client: Client) -> None:
    assert (client.get("/health/ready").json()["worker"], client.get("/health/ready").status_code) == ("none seen", 200)
    presence.seen("worker")
    presence.seen("beat")
    answer = client.get("/health/ready").json()
    assert (answer["status"], answer["worker"][:4], answer["beat"][:4]) == ("ok", "seen", "seen")
