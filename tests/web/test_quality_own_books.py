"""Previews in books of their own: a module of its own, since the company of `cast` stands for a whole module."""

from __future__ import annotations

from typing import Any

import pytest

from tests.books import bring, declare, line, settle
from tests.web.test_quality_pages import NOBODY, goes_as_previewed

pytestmark = pytest.mark.django_db


def test_a_day_within_the_grace_moves_what_is_accrued(tmp_path: Any) -> None:
    declare()
    bring(
        tmp_path,
        [line(1, "2026-06-02T08:00", "2026-06-02T09:00", "2026-06-02T10:00", Account="nobody")],
        observed_at="2026-06-02T12:00",
    )
    settle()
    found = goes_as_previewed(NOBODY)
    assert {row.project: row.accrued for row in found.rows} == {"ocr": 80, "unattributed": -80}
    assert found.posted == 0


def test_the_list_goes_on_behind_its_cursor(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from portal.quality import reads

    declare()
    rows = [
        line(n, "2026-06-02T08:00", "2026-06-02T09:00", "2026-06-02T10:00", gpus=gpus, Account=f"a{n}")
        for n, gpus in enumerate((8, 4, 4, 1), start=11)
    ]
    bring(tmp_path, rows, observed_at="2026-07-02T00:00")
    settle()
    monkeypatch.setattr(reads, "ACCOUNTS_A_PAGE", 2)
    first = reads.unclaimed(None, with_money=True)
    assert [row.account for row in first] == ["a11", "a12", "a13"]
    rest = reads.unclaimed((first[1].milligpu_seconds, "bj", "a12"), with_money=True)
    assert [(row.account, row.amount) for row in rest] == [("a13", 40), ("a14", 10)]
