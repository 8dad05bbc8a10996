"""What changes while metering or posting is under way is not lost."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from billing.ledger import actions as ledger
from billing.ledger.models import AccruedDay, AccruedLine, Line, PostedDay
from billing.ledger.posting import Rating, post_day
from billing.ledger.reads import statement
from governance.catalogue.models import Cluster
from governance.usage.actions import meter
from governance.usage.metering import Meter
from governance.usage.models import UsageDay
from tests.books import MACHINE, bring, declare, line, settle

pytestmark = pytest.mark.django_db
OTHER_PRICE = [{"pool": "train-h800", "accelerator": "h800", "qos": "*", "gpu_hour": "9"}]
HOURS = ("2026-03-01T08:00", "2026-03-01T09:00", "2026-03-01T10:00")


def owed() -> Decimal:
    return sum((row.amount for row in Line.objects.filter(account_kind="department")), Decimal(0))


def test_a_mapping_changed_after_metering_began_is_used(tmp_path):
    declare()
    bring(tmp_path, [line(1, *HOURS)], observed_at="2026-03-02T12:00")
    begun = Meter(Cluster.objects.get(code="bj"))
    declare(mappings=[{"cluster": "bj", "account": "ocr", "project": "rank"}])
    begun.run(None, None, None)
    assert list(UsageDay.objects.values_list("project", flat=True)) == ["rank"]


def test_a_price_changed_after_posting_began_is_posted_by_the_next(tmp_path):
    declare()
    bring(tmp_path, [line(1, *HOURS)], observed_at="2026-03-02T12:00")
    meter("bj", actor=MACHINE)
    begun = Rating()
    declare(prices=OTHER_PRICE)
    post_day(Cluster.objects.get(code="bj"), date(2026, 3, 1), begun, by="test")
    assert PostedDay.objects.get().is_stale
    ledger.post(actor=MACHINE)
    assert owed() == 72
    assert not PostedDay.objects.get().is_stale


def test_what_is_accrued_is_kept_and_worked_out_anew_when_facts_or_terms_change(tmp_path):
    declare()
    bring(tmp_path, [line(1, *HOURS)], observed_at="2026-03-01T12:00")
    settle()
    assert AccruedLine.objects.get().amount == 80
    assert statement("2026-03", actor=MACHINE).total.accrued == 80
    declare(prices=OTHER_PRICE)
    assert AccruedDay.objects.get().is_stale
    assert statement("2026-03", actor=MACHINE).total.accrued == 72  # worked out now
    settle()
    assert AccruedLine.objects.get().amount == 72
    bring(tmp_path, [line(2, *HOURS)], observed_at="2026-03-02T12:00")
    settle()
    assert (owed(), AccruedLine.objects.filter(used_on=date(2026, 3, 1)).count()) == (144, 0)
    assert statement("2026-03", actor=MACHINE).total.accrued == 0
