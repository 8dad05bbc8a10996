"""A real Slurm on this machine, from the lab beside the project."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.books import SHARED

LAB = SHARED / "slurmlab" / "slurmlab"


class Lab:
    """The lab's commands, and the environment under which Slurm's own find it."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env

    def run(self, *arguments: str) -> str:
        """Run one of the lab's verbs; answers what it printed."""
        done = subprocess.run([str(LAB), *arguments], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout


@pytest.fixture(scope="session")
def slurmlab_up():
    """The lab, started where it is not up; what was up before stays up."""
    if not LAB.exists():
        pytest.skip("the Slurm lab is not beside the project")
    if os.geteuid() != 0:
        pytest.skip("the Slurm lab needs root")
    was_up = subprocess.run([str(LAB), "status"], capture_output=True, timeout=60, check=False).returncode == 0
    done = subprocess.run([str(LAB), "up", "--nodes", "8"], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"the Slurm lab does not start here: {done.stderr[-500:]}")
    exported = subprocess.run([str(LAB), "env"], capture_output=True, text=True, timeout=60, check=True).stdout
    pairs = (row.removeprefix("export ").split("=", 1) for row in exported.splitlines() if "=" in row)
    env = {**os.environ, **{name: value.strip("'\"") for name, value in pairs}}
    yield Lab(env)
    if not was_up:
        subprocess.run([str(LAB), "down"], capture_output=True, timeout=120, check=False)


@pytest.fixture
def slurmlab(slurmlab_up, monkeypatch):
    """The lab, with this process's environment set so that the portal's own commands reach it."""
    for name, value in slurmlab_up.env.items():
        if name.startswith("SLURM"):
            monkeypatch.setenv(name, value)
    return slurmlab_up
