"""Killed by SIGKILL at twenty seeded points of import, metering and posting, and run again: the books equal the undisturbed ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests.books import line, text

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own_database(django_db_setup, django_db_blocker):
    """A database of the test's own, dropped afterwards; answers its URL."""
    given = connection.settings_dict
    name = f"{settings.DATABASES['default']['NAME']}_killed"
    login = {"host": given["HOST"], "port": given["PORT"], "user": given["USER"], "password": given["PASSWORD"]}
    with psycopg.connect(dbname="postgres", autocommit=True, **login) as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        yield f"postgresql://{quote(given['USER'])}:{quote(given['PASSWORD'])}@{given['HOST']}:{given['PORT']}/{name}"
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def records() -> list[list[dict[str, str]]]:
    """Three days of runs in two files that overlap: some change from running to ended, one is of another cluster."""
    days = [f"2026-03-0{n}" for n in (1, 2, 3)]
    first = [
        line(n, f"{day}T0{n % 8}:00", f"{day}T09:00", f"{day}T{10 + n % 12}:30", gpus=n % 9, User=f"u{n % 3}")
        for day in days[:2]
        for n in range(20)
    ]
    first += [
        line(100, f"{days[0]}T08:00", f"{days[0]}T09:00", None),
        line(101, f"{days[0]}T08:00", f"{days[0]}T09:00", None, Cluster="sh"),
    ]
    second = [line(n, f"{days[2]}T08:00", f"{days[2]}T09:00", f"{days[2]}T11:00", Account="rank") for n in range(10)]
    second += [line(100, f"{days[0]}T08:00", f"{days[0]}T09:00", f"{days[2]}T20:00"), *first[:5]]
    return [first, second]


def test_killed_at_twenty_points_and_run_again(own_database, tmp_path):
    for number, rows in enumerate(records()):
        (tmp_path / f"{number}.txt").write_text(text(rows), encoding="utf-8")
    environment = {**os.environ, "DATABASE_URL": own_database, "BROKER_URL": "memory://", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.usage.crash_driver", str(tmp_path), "7", "20"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["rows"]["balances"] > 5 and answer["rows"]["quarantine"] == 1
    assert [point for point in answer["points"] if not point["killed"]] == []
    assert [point for point in answer["points"] if not point["equal"]] == []
    assert len(answer["points"]) == 20
