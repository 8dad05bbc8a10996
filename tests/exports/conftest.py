"""A folder for the files, and the way from a request to its file without a worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from governance.access.actor import Actor
from portal.exports import actions
from portal.exports.models import Export
from tests.cast import Cast

Made = Callable[..., Export]


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    """Where files go."""
    settings.EXPORTS_FOLDER = str(tmp_path / "exports")
    return actions.folder()


@pytest.fixture
def made(cast: Cast) -> Made:
    """Ask for a file as somebody, and make it: `made("finance", "ledger-lines", period="2026-06")`."""

    def make(who: str, kind: str, format: str = "csv", language: str = "en", **query: str) -> Export:
        export = actions.ask(kind, query, format, language, actor=Actor.of(cast.people[who]))
        actions.make(export.pk, attempt=1, heard=lambda done, of: None)
        export.refresh_from_db()
        return export

    return make


def text_of(export: Export) -> str:
    """The content of a CSV file."""
    return (actions.folder() / export.file_name).read_bytes().decode("utf-8-sig")
