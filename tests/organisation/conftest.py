"""What the tests of organisation files share: a small made-up file, as content to change and load."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from governance.access.actor import Actor
from portal.organisation.document import read

SMALL = Path(__file__).with_name("small.yaml")


@pytest.fixture
def machine() -> Actor:
    """The command line."""
    return Actor.machine("test")


@pytest.fixture
def small() -> dict[str, Any]:
    """The content of the small file, yours to change."""
    return copy.deepcopy(read(SMALL).content)
