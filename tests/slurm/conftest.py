"""The session's lab, as the portal's own commands reach it."""

from __future__ import annotations

import pytest

from tests.slurm.labs import Lab


@pytest.fixture
def slurmlab(slurmlab_up: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The lab, with this process's environment set so that the portal's own commands reach it."""
    for name, value in slurmlab_up.env.items():
        if name.startswith("SLURM"):
            monkeypatch.setenv(name, value)
    return slurmlab_up
