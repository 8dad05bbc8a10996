"""The figures that Open XDMoD itself publishes for a real Slurm log come out of our books, day by day."""

from __future__ import annotations

import csv
import json
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from billing.ledger.reads import statement
from governance.usage.models import Run
from portal.organisation.actions import load
from tests.books import MACHINE, SHARED

FOLDER = SHARED / "data" / "xdmod-slurm-sacct"
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.django_db,
    pytest.mark.skipif(not FOLDER.exists(), reason="the XDMoD log is not beside the project"),
]
WINDOW = "2016-12-22..2017-01-01"


def units(path: Path) -> tuple[list[dict[str, object]], dict[str, str]]:
    """The directory as departments. Of codes that stand twice equal rows are one; of differing rows the second is `<code>-2`."""
    rows: dict[str, tuple[str, str]] = {}
    for code, name, parent in csv.reader(path.read_text(encoding="utf-8").splitlines()):
        if rows.get(code, (name, parent)) == (name, parent):
            rows[code] = (name, parent)
        else:
            rows[f"{code}-2"] = (name, parent)
    names = {code: name for code, (name, _) in rows.items()}
    return [{"code": c, "name": n, **({"parent": p} if p else {})} for c, (n, p) in rows.items()], names


def organisation() -> dict[str, object]:
    departments, _ = units(FOLDER / "hierarchy.csv")
    accounts = dict(csv.reader((FOLDER / "group-to-hierarchy.csv").read_text(encoding="utf-8").splitlines()))
    return {
        "steelyard": 1,
        "settings": {"time_zone": "UTC"},
        "departments": departments,
        "projects": [
            {"code": account, "name": account, "placements": [{"department": unit}]}
            for account, unit in accounts.items()
        ],
        "clusters": [{"code": "phillips", "name": "phillips", "scheduler": {"kind": "files", "time_zone": "UTC"}}],
        "mappings": [{"cluster": "phillips", "account": account, "project": account} for account in accounts],
    }


@pytest.fixture
def phillips():
    load(organisation(), actor=MACHINE)
    out = StringIO()
    call_command(
        "import_usage", "phillips", str(FOLDER / "phillips.sacct.log.gz"), "--fields", "xdmod", "--json", stdout=out
    )
    call_command("meter", stdout=StringIO())
    call_command("post", stdout=StringIO())
    return json.loads(out.getvalue())


def published(figure: str) -> dict[str, Decimal]:
    text = (FOLDER / "xdmod-published-figures" / f"{figure}.timeseries-Day.csv").read_text(encoding="utf-8")
    table = text.split("---------\n")[1].splitlines()[1:]
    return {day: Decimal(value) for day, value in (line.split(",") for line in table)}


def test_the_log_is_read_whole(phillips):
    assert phillips == {"read": 4285, "new": 4285, "changed": 0, "unchanged": 0, "steps_skipped": 0, "quarantined": 0}
    assert Run.objects.filter(start_at__isnull=True).count() == 239


def test_totals_are_the_published_ones(phillips):
    total = statement(WINDOW, actor=MACHINE).total
    assert (total.runs_ended, total.runs_started) == (4046, 4046)
    assert (total.cpu_hours, total.gpu_hours, total.node_hours) == (
        Decimal("11767.9883"),
        Decimal("506.9128"),
        Decimal("1344.8686"),
    )
    assert statement("2016-12", actor=MACHINE).total.gpu_hours == Decimal("465.4928")
    assert statement("2017-01", actor=MACHINE).total.gpu_hours == Decimal("41.4200")


@pytest.mark.parametrize(
    ("figure", "ours"),
    [
        ("total_cpu_hours", "cpu_hours"),
        ("total_gpu_hours", "gpu_hours"),
        ("total_node_hours", "node_hours"),
        ("total_wallduration_hours", "wall_hours"),
        ("started_job_count", "runs_started"),
        ("job_count", "runs_ended"),
    ],
)
def test_each_day_is_the_published_one_to_four_decimals(phillips, figure, ours):
    rows = statement(WINDOW, ("day",), actor=MACHINE).rows
    assert {row.keys["day"]: Decimal(getattr(row.sums, ours)) for row in rows} == published(figure)


def test_every_account_is_some_departments(phillips):
    found = statement(WINDOW, actor=MACHINE)
    accounts = dict(csv.reader((FOLDER / "group-to-hierarchy.csv").read_text(encoding="utf-8").splitlines()))
    used = set(Run.objects.values_list("account", flat=True))
    assert {row.keys["department"] for row in found.rows} == {accounts[account] for account in used}
    assert found.exceptions.unattributed_milligpu_seconds == 0
    assert date(2017, 1, 1) == found.last_on


def test_the_directory_has_seven_codes_twice():
    departments, _ = units(FOLDER / "hierarchy.csv")
    rows = list(csv.reader((FOLDER / "hierarchy.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) - len({code for code, *_ in rows}) == 7
    assert len({d["code"] for d in departments}) == len(departments)
