"""Fixtures of the API's tests: programs that show a token, and one cast that is only read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client

from governance.access.actor import Actor
from governance.doors.throttling import COUNTS
from governance.tokens import actions as tokens
from tests.cast import Cast


class Program(Client):
    """A client that shows a token and asks in English unless it says otherwise."""

    def __init__(self, secret: str, **more: Any) -> None:
        super().__init__(headers={"authorization": f"Bearer {secret}", "accept-language": "en"}, **more)


def program(cast: Cast, who: str, *scopes: str) -> Program:
    """A program with a new token of a person."""
    _token, secret = tokens.issue("test", scopes or ("read", "write"), 30, actor=Actor.of(cast.people[who]))
    return Program(secret)


@pytest.fixture(autouse=True)
def limits_out_of_the_way(settings: Any) -> None:
    """Tests of limits set their own."""
    COUNTS.clear()
    settings.API_READS_PER_MINUTE = settings.API_WRITES_PER_MINUTE = settings.API_UNKNOWN_PER_MINUTE = 1_000_000


@pytest.fixture(scope="module")
def doors(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """One cast for many questions: what a test writes is undone by its own transaction."""
    from django.db import transaction

    from tests.cast import assemble

    with django_db_blocker.unblock(), transaction.atomic():
        yield assemble(tmp_path_factory.mktemp("records"))
        transaction.set_rollback(True)


@pytest.fixture
def cast(doors: Cast, db: None) -> Cast:
    """The cast of the module."""
    return doors


@pytest.fixture
def one_connection() -> Iterator[None]:
    """The server asks within the test's transaction, so it must not close its connection after a request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
