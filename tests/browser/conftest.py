"""A portal to look at, and a browser to look with; where Chromium is missing these tests are skipped with the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection
from playwright.sync_api import Browser, Page, sync_playwright
from psycopg import sql

PROJECT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything below this folder needs Chromium."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Stage:
    """The portal that is looked at."""

    address: str
    sessions: dict[str, str]
    child: Any = field(default=None, repr=False, compare=False)

    def short(self, who: str, seconds: int) -> str:
        """A session of somebody that ends after so many seconds."""
        self.child.stdin.write(f"{who} {seconds}\n")
        self.child.stdin.flush()
        return str(json.loads(self.child.stdout.readline())["session"])

    def end(self, session: str) -> None:
        """End a session now, as its hour would."""
        self.short(session, 0)


@pytest.fixture(scope="package")
def binary() -> str:
    """The browser that playwright has, else the machine's own."""
    with sync_playwright() as driver:
        candidates = (driver.chromium.executable_path, "/usr/bin/chromium", "/usr/bin/google-chrome")
    found = next((path for path in candidates if Path(path).exists()), None)
    if found is None:
        pytest.skip("no Chromium here: python -m playwright install chromium")
    return found


@pytest.fixture(scope="package")
def stage(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The cast behind a real server, in a database of its own."""
    with _database() as url:
        environment = {**os.environ, "DATABASE_URL": url, "BROKER_URL": "memory://", "STEELYARD_DEBUG": "0"}
        command = [sys.executable, "-m", "tests.browser.stage", str(tmp_path_factory.mktemp("stage"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        child = subprocess.Popen(command, cwd=PROJECT, env=environment, text=True, **pipes)
        assert child.stdin and child.stdout
        try:
            said = child.stdout.readline()
            if not said:
                pytest.fail(f"the stage ended with {child.wait(10)}")
            yield Stage(**json.loads(said), child=child)
        finally:
            child.stdin.close()
            child.wait(20)


@contextmanager
def _database() -> Iterator[str]:
    """The address of an empty database beside the tests' own. Nothing of Django's: its database is not for these tests."""
    of = connection.settings_dict
    name = f"{of['TEST']['NAME'] or 'test_' + of['NAME']}_stage"
    where = {"host": of["HOST"], "port": of["PORT"], "user": of["USER"], "password": of["PASSWORD"]}
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(dbname="postgres", autocommit=True, **where) as server:
        server.execute(drop)
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    user = f"{quote(of['USER'])}:{quote(of['PASSWORD'])}" if of["PASSWORD"] else quote(of["USER"])
    yield f"postgresql://{user}@{of['HOST']}:{of['PORT']}/{name}"
    with psycopg.connect(dbname="postgres", autocommit=True, **where) as server:
        server.execute(drop)


@pytest.fixture(scope="package")
def chromium(stage: Stage, binary: str) -> Iterator[Browser]:
    """Chromium. It closes before the stage does: while playwright runs, Django refuses its database in this thread."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=binary)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Browser, stage: Stage) -> Iterator[Callable[..., Page]]:
    """A window in which somebody has signed in: `look("finance", language="en", theme="dark", width=390)`."""
    opened = []

    def window(
        who: str = "", *, language: str = "zh-hans", theme: str = "light", width: int = 1440, session: str = ""
    ) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, base_url=stage.address)
        cookies = {"language": language, "theme": theme} | (
            {"sessionid": session or stage.sessions[who]} if who else {}
        )
        context.add_cookies([{"name": name, "value": value, "url": stage.address} for name, value in cookies.items()])
        opened.append(context)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.complaints = complaints = []  # type: ignore[attr-defined]
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda fault: complaints.append(str(fault)))
        return page

    yield window
    for context in opened:
        context.close()
