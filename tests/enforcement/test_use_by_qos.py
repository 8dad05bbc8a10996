"""Use under the QOS that carry quotas counts against the line that each carries."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from billing.prices.reads import PriceHistory
from billing.prices.rules import ANY, GPU_HOUR
from governance.catalogue.models import Pool
from governance.quotas import actions, reads
from governance.quotas.actions import Terms
from governance.quotas.enforcement.rules import level_of, qos_name
from governance.quotas.models import Offering
from governance.quotas.rules import Days
from tests.books import MACHINE, bring, declare, line, settle

pytestmark = pytest.mark.django_db
JUNE = Days(date(2026, 6, 1), date(2026, 7, 1))


def test_each_level_is_found_by_its_own_qos_beside_the_offering_s(tmp_path: Path) -> None:
    declare()
    pool = Pool.objects.get(code="train-h800")
    for level, qos in (("normal", "normal"), ("elastic", "low")):
        Offering.objects.create(code=level, pool=pool, level=level, qos=qos)
    names = [qos_name("ocr", pool.code, level, "") for level in ("normal", "elastic")]
    given = [("normal", 8), (names[0], 16), ("low", 1), (names[1], 2)]
    day = ("2026-06-02T00:00", "2026-06-02T00:00", "2026-06-03T00:00")
    bring(tmp_path, [line(n, *day, gpus=gpus, QOS=qos) for n, (qos, gpus) in enumerate(given, start=1)])
    settle()
    for level, used in (("normal", 24), ("elastic", 3)):
        quota = actions.award(Terms("ocr", pool.code, 0, 32, *JUNE, level=level), actor=MACHINE)
        assert reads.use_of(quota, JUNE).by_day == [(date(2026, 6, 2), used)]


def test_use_under_the_qos_of_a_line_costs_what_the_offering_of_its_level_does(tmp_path: Path) -> None:
    own = [
        {"pool": "train-h800", "accelerator": "h800", "qos": qos, "gpu_hour": price}
        for qos, price in (("normal", "10.00"), ("low", "4.00"))
    ]
    declare(prices=own)
    pool = Pool.objects.get(code="train-h800")
    for level, qos in (("normal", "normal"), ("elastic", "low")):
        Offering.objects.create(code=level, pool=pool, level=level, qos=qos)
    tariff = PriceHistory().on(date(2026, 6, 2))

    def price(qos: str) -> Decimal | None:
        return tariff.unit_price(GPU_HOUR, pool.code, "h800", qos, ANY)

    assert price(qos_name("ocr", pool.code, "normal", "")) == price("normal") == 10
    assert price(qos_name("ocr", pool.code, "elastic", "h800")) == price("low") == 4
    assert price(qos_name("o.cr", pool.code, "normal", "")) == 10  # with a digest at its end
    assert price("another") is None
    assert price(qos_name("ocr", pool.code, "urgent", "")) is None  # a level that is not offered has no price


@pytest.mark.parametrize(
    ("qos", "level"),
    [
        ("sy.nogpu", None),
        ("normal", None),
        ("sy.a.b", "normal"),
        ("sy.a.b.urgent", "urgent"),
        ("sy.a.b.normal.h800", "normal"),
    ],
)
def test_the_level_is_read_off_the_name(qos: str, level: str | None) -> None:
    assert level_of(qos) == level
