"""The Slurm lab beside the project, for tests that need a real scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm.job_mix import Mix
from tests.slurm.labs import Lab


@pytest.fixture(scope="session")
def lab(slurmlab_up: Lab) -> dict[str, str]:
    """The environment of a running lab."""
    return slurmlab_up.env


@pytest.fixture(scope="session")
def job_mix(lab: dict[str, str], mix: Mix) -> dict[str, str]:
    """The lab with the jobs of `load-jobs` in it: each end state, and a standing job for each reason to wait."""
    return lab


@pytest.fixture
def fake_bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first on the path, for commands the test writes itself."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def write_command(folder: Path, name: str, script: str) -> None:
    """A shell script as a command of that name."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
