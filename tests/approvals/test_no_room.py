"""Where there is no room at all the page says so and recommends sending it back."""

from __future__ import annotations

import pytest

from governance.quotas import actions as quotas
from tests.approvals.conftest import D, asked, line
from tests.approvals.test_pages import client
from tests.books import MACHINE

pytestmark = [pytest.mark.usefixtures("company")]


def test_without_any_room_the_page_speaks_for_sending_it_back():
    number = asked("ann", "new", line(8)).number
    everything = quotas.Terms("rank", "train-h800", 100_000, 100_000, D, None)
    quotas.lay(everything, actor=MACHINE, note="for the test", override="all of it")
    answer = client("amy").get(f"/inbox/{number}/")
    body = answer.content.decode()
    assert answer.status_code == 200 and "There is room for 0 GPUs only." in body
    assert 'value="return" checked' in body
    assert client("amy").get(f"/api/v1/asks/{number}/grounds").json()["recommendation"]["verdict"] == "return"
