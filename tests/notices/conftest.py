"""Fixtures of the tests of notices: events of their own, and a receiver that answers as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from governance.notices import registry
from governance.notices.registry import Event
from governance.notices.rules import AT_ONCE
from tests.notices.receiver import Receiver, receiving


@pytest.fixture
def happened() -> Iterator[str]:
    """An event about a cluster that only these tests publish."""
    registry.register(
        Event(
            "test.happened",
            "operations",
            "cluster",
            "%(cluster)s happened",
            {"": "It was %(what)s.", "operator": "Operator, it was %(what)s."},
            mail=AT_ONCE,
        )
    )
    yield "test.happened"
    del registry.EVENTS["test.happened"]


#: What the tests with threads and processes write; the journal refuses to be flushed by Django.
TABLES = (
    "delivery_attempt", "delivery", "channel", "notice", "happening", "notice_choice", "notice_plan", "work_item",
)  # fmt: skip


def _empty() -> None:
    from governance.access.models import Person

    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"DELETE FROM {table}")
    Person.objects.filter(username__startswith="committed").delete()


@pytest.fixture
def committed(test_database: None, django_db_blocker: Any) -> Iterator[None]:
    """The tables of notices outside any transaction, empty before and after."""
    with django_db_blocker.unblock():
        _empty()
        yield
        _empty()
        connection.close()


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """A receiver on this machine, to which channels may send here."""
    settings.CHANNELS_LOCAL = True
    settings.CHANNELS_DEADLINE_SECONDS = 2.0
    with receiving() as found:
        yield found
