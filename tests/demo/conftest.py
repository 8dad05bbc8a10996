"""One company of 128 cards over two months, written once and read by all tests here."""

from __future__ import annotations

import pytest

from portal.demo.plan import DemoArguments
from tests.demo.rows import UNTIL, Company, written


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory) -> Company:
    arguments = DemoArguments(gpus=128, months=2, until=UNTIL, seed=7, runs_per_day=400)
    return written(tmp_path_factory.mktemp("company"), arguments)
