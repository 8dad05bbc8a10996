"""The bench at a tiny size: that it measures everything, not how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.report import Figure, table

ROOT = Path(__file__).resolve().parents[2]
WHATS = {
    "parse": ["parse"],
    "import": ["plain binary COPY", "import", "of it insert_new_runs", "of it staging COPY", "of it waiting"],
    "reimport": ["same file again, recognised", "same file again, every record compared"],
    "day": ["bare GROUP BY", "dirty day rebuilt, same facts", "dirty day rebuilt, all facts written", "the whole call"],
    "post": ["a month posted, 28 days", "the month again", "all other days"],
    "ledger": ["a month by department, 8 rows", "a month by project, 40 rows"],
    "repull": ["first pull", "re-pull, nothing changed: statements"],
    "backfill": ["sacct alone over", "back-fill", "peak of 300 runs"],
    "two_workers": ["counting in two processes", "one worker, mean of two", "two workers"],
    "memory": ["peak of an import of 200 rows", "peak of an import of 2,000 rows", "peak of an import of 6,000 rows"],
}


def test_the_whole_bench_runs_and_has_a_figure_for_everything() -> None:
    command = [sys.executable, "-m", "tests.bench", "--rows", "2000", "--days", "60", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    for part, whats in WHATS.items():
        found = [figure["what"].strip() for figure in figures if figure["part"] == part]
        assert [what for what in whats if not any(text.startswith(what) for text in found)] == []
    took = [figure for figure in figures if figure["part"] != "import" and "waiting" not in figure["what"]]
    assert all(figure["seconds"] > 0 for figure in took)
    assert sum(figure["goal"] != "" for figure in figures) >= 6
    assert [figure["rows"] for figure in figures if figure["what"] == "import"] == [2000]


@pytest.mark.parametrize(
    ("goal", "ratio", "reached"),
    [(">= 3", 3.0, True), (">= 3", 2.9, False), ("<= 2", 2.0, True), ("<= 2", 2.1, False), ("", 9.0, None)],
)
def test_a_goal_is_reached_on_the_right_side_of_its_bound(goal: str, ratio: float, reached: bool | None) -> None:
    figure = Figure("day", "rebuilt", 0.5, 100, ratio=ratio, goal=goal)
    assert figure.reached is reached
    assert ("NOT REACHED" in table([figure])) is (reached is False)


def test_the_bench_of_asks_runs_and_keeps_to_its_questions() -> None:
    command = [sys.executable, "-m", "tests.bench", "asks", "--asks", "400", "--projects", "40", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    asked = [figure for figure in json.loads(done.stdout) if figure["against"] == "questions"]
    assert len(asked) == 4 and all(figure["reached"] for figure in asked)
