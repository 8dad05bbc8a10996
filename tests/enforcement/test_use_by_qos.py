"""Use under the QOS that carry quotas counts against the line that each carries."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from governance.catalogue.models import Pool
from governance.quotas import actions, reads
from governance.quotas.actions import Terms
from governance.quotas.enforcement.rules import qos_name
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
