"""The example that documents the form loads, and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.access.actor import Actor
from portal.organisation.actions import load
from portal.organisation.document import read

EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "examples" / "organisation.yaml"
MACHINE = Actor.machine("test")
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not EXAMPLE.exists(), reason="the shared example is not beside the project"),
]


def test_the_example_loads_and_a_second_time_changes_nothing():
    assert load(read(EXAMPLE), actor=MACHINE).counts["add"] > 20
    assert load(read(EXAMPLE), actor=MACHINE).changes == []
