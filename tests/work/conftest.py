"""A database in which what is written is there for other processes and threads: leases need that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

TABLES = ("work_item", "work_lease", "work_schedule_mark", "work_process")


def _empty() -> None:
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"DELETE FROM {table}")


@pytest.fixture
def committed(test_database: None, django_db_blocker: Any) -> Iterator[None]:
    """Work's tables outside any transaction, empty before and after. (The journal refuses to be flushed by Django.)"""
    with django_db_blocker.unblock():
        _empty()
        yield
        _empty()
        connection.close()
