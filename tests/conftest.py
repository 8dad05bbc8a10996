"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cast import Cast


@pytest.fixture(autouse=True)
def static_files_without_a_manifest(settings: object) -> None:
    """Pages are answered without `collectstatic` having run."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}  # type: ignore[attr-defined]


@pytest.fixture
def cast(db: None, tmp_path: Path) -> Cast:
    """The small company with everybody in it, and a June of runs metered and posted."""
    from tests.cast import assemble

    return assemble(tmp_path)
