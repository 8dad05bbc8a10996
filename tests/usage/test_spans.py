"""The days of a run as its page tells them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from governance.catalogue.models import Cluster
from governance.usage.models import Run
from governance.usage.reads import Counting
from tests.books import declare


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("stop", "days"),
    [
        ("2026-06-02T16:00Z", [(date(2026, 6, 2), 7200)]),  # midnight in Shanghai
        ("2026-06-02T16:00:01Z", [(date(2026, 6, 2), 7200), (date(2026, 6, 3), 1)]),
        ("2026-06-02T14:00Z", [(date(2026, 6, 2), 0)]),  # it ran for no second: still a day of its own
    ],
)
def test_midnight_ends_a_day_and_begins_none(stop, days):
    declare()
    run = Run(start_at=datetime(2026, 6, 2, 14, tzinfo=UTC), stop_at=datetime.fromisoformat(stop))
    assert Counting(Cluster.objects.get(code="bj")).spans(run) == days
