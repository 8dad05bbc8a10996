"""What was foreseen beside what came: after 14 and 30 days, once each, and only where the days are metered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine

from governance.approvals import scoring
from governance.approvals.actions import approve
from governance.approvals.models import Score
from governance.quotas.models import Quota
from governance.tenants.models import day_of_today
from tests import books
from tests.approvals.conftest import asked, line, who
from tests.books import MACHINE

pytestmark = pytest.mark.usefixtures("company")
BEGIN = datetime(2026, 9, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expected", "used", "said"),
    [(None, 5, "unknown"), (10, 10, "as_foreseen"), (10, 8, "as_foreseen"), (10, 7, "below"), (10, 13, "above"), (0, 0, "as_foreseen")],
)  # fmt: skip
def test_within_a_fifth_counts_as_foreseen(expected, used, said):
    assert scoring.verdict(None if expected is None else Decimal(expected), Decimal(used)) == said


def test_an_award_is_scored_after_14_and_30_days_once_each(tmp_path):
    with time_machine.travel(BEGIN, tick=False):
        first = day_of_today()
        ask = asked("ann", "new", line(8, from_on=first, to_on=first + timedelta(days=90)))
        approve(ask.number, actor=who("amy"))
        approve(ask.number, actor=who("cap"))
    with time_machine.travel(BEGIN + timedelta(days=20), tick=False):
        assert scoring.score(datetime.now(UTC), actor=MACHINE) == 0  # nothing is metered yet
        days = [str(first + timedelta(days=n)) for n in range(20)]
        rows = [
            books.line(n, f"{day}T00:00", f"{day}T00:00", f"{after}T00:00", gpus=2)
            for n, (day, after) in enumerate(zip(days, days[1:], strict=False))
        ]
        books.bring(tmp_path, rows, observed_at=f"{first + timedelta(days=20)}T01:00")
        books.settle()
        assert [scoring.score(datetime.now(UTC), actor=MACHINE) for _ in range(2)] == [1, 0]
    (found,) = Score.objects.all()
    assert (found.after_days, found.verdict, found.actual["used_p95_gpus"]) == (14, "below", "2.0")
    assert found.predicted["lines"][0]["used_p95_gpus"] == "6.0"  # three quarters, of who has held nothing yet
    assert Quota.objects.get().guaranteed_gpus == 8
    seen = scoring.outcome(1, actor=who("cap"))
    assert (seen.asks, seen.by_state, seen.scores) == (1, {"approved": 1}, {14: {"below": 1}})
