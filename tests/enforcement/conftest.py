"""The lab of the session with accounts of our own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.enforcement.lab import Site, accounts, declare
from tests.slurm.labs import Lab


@pytest.fixture
def site(slurmlab_up: Lab, monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[Site]:
    """The lab with two empty accounts, and a portal that knows their projects; both as before when the test is over."""
    for name, value in slurmlab_up.env.items():
        if name.startswith("SLURM"):
            monkeypatch.setenv(name, value)
    with accounts(slurmlab_up) as found:
        declare()
        yield found
