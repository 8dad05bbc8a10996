"""Two requests with one key at the same moment, on connections of their own: the second waits and gets the first's answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from rest_framework.response import Response

from governance.doors import once
from governance.doors.models import KeptAnswer


def at_once(acts: list[Any]) -> list[Any]:
    """What each of two threads was answered, or its fault; the second starts while the first is at it."""
    found: list[Any] = [None, None]

    def ask(number: int) -> None:
        try:
            found[number] = once.answered("k", "person race", "d", acts[number])
        except RuntimeError as fault:
            found[number] = fault
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    for thread in threads:
        thread.join(20)
    return found


@pytest.fixture
def committed(db: None) -> Iterator[None]:
    """What the threads commit lies outside of the test's transaction: a thread takes it away again."""
    yield

    def forget() -> None:
        KeptAnswer.objects.filter(who="person race").delete()
        connection.close()

    thread = threading.Thread(target=forget)
    thread.start()
    thread.join(20)


def test_of_two_requests_at_the_same_moment_one_is_done_and_both_are_answered_alike(committed: None) -> None:
    done = []

    def act() -> Response:
        time.sleep(0.6)
        done.append(1)
        return Response({"done": len(done)}, status=201)

    first, second = at_once([act, act])
    assert done == [1]
    assert (first.status_code, second.status_code, first.data) == (201, 201, second.data)
    assert second["Idempotency-Replayed"] == "true"


def test_where_the_first_fails_the_second_does_it(committed: None) -> None:
    def fails() -> Response:
        time.sleep(0.6)
        raise RuntimeError("no")

    first, second = at_once([fails, lambda: Response({"done": True})])
    assert isinstance(first, RuntimeError)
    assert second.data == {"done": True}
    assert "Idempotency-Replayed" not in second
