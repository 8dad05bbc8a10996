"""The Slurm lab beside the project, for tests that need a real scheduler."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parents[3] / "shared" / "slurmlab" / "slurmlab"


def _lab(*words: str, timeout: int = 300) -> str:
    return subprocess.run([LAB, *words], check=True, capture_output=True, text=True, timeout=timeout).stdout


@pytest.fixture(scope="session")
def lab() -> Iterator[dict[str, str]]:
    """The environment of a running lab; a lab that was up before stays up afterwards."""
    if not LAB.exists():
        pytest.skip("needs the Slurm lab in ../shared/slurmlab")
    if os.geteuid() != 0:
        pytest.skip("the Slurm lab needs root")
    status = subprocess.run([LAB, "status"], check=False, capture_output=True, text=True, timeout=60)
    was_up = status.returncode == 0 or "slurmctld" not in status.stdout + status.stderr
    held_before = dict(line.removeprefix("export ").split("=", 1) for line in _lab("env").splitlines())
    state = Path(held_before["SLURMLAB_DIR"].strip("'"))
    if status.returncode != 0:
        _lab("up", *([] if (state / "etc" / "nodes").exists() else ["--nodes", "8"]))
    yield {name: value.strip("'") for name, value in held_before.items()}
    if not was_up:
        _lab("down")


@pytest.fixture(scope="session")
def job_mix(lab: dict[str, str]) -> dict[str, str]:
    """The lab with the jobs of `load-jobs` in it: each end state, and a standing job for each reason to wait."""
    env = {**os.environ, "SLURM_CONF": lab["SLURM_CONF"]}
    with open(Path(lab["SLURMLAB_DIR"]) / "job-mix.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        standing = subprocess.run(
            ["squeue", "-a", "-h", "-o", "%k"], check=True, capture_output=True, text=True, env=env
        ).stdout
        if "standing" not in standing.split():
            _lab("load-jobs", "--wait", timeout=600)
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
