"""A home folder, and Python processes that use it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
HOLD = """
import sys
from portal import embedded
print(embedded.database_url(), flush=True)
sys.stdin.readline()
"""


class House:
    """A home folder and the processes that live on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.processes: list[subprocess.Popen[str]] = []

    def environment(self, **more: str) -> dict[str, str]:
        dropped = ("DATABASE_URL", "BROKER_URL", "PORT")
        kept = {name: text for name, text in os.environ.items() if name not in dropped}
        return {**kept, "STEELYARD_HOME": str(self.path), "PYTHONPATH": str(PROJECT), "LC_ALL": "C.UTF-8", **more}

    def run(self, *arguments: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments to its end."""
        return subprocess.run(
            [more.pop("python", sys.executable), *arguments],
            cwd=PROJECT,
            env=self.environment(**(env or {})),
            capture_output=True,
            text=True,
            timeout=90,
            **more,
        )

    def start(self, *arguments: str, **more: Any) -> "subprocess.Popen[str]":
        """Start Python with these arguments; it is killed after the test."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=PROJECT,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **more,
        )
        self.processes.append(process)
        return process

    def user(self) -> "tuple[subprocess.Popen[str], str]":
        """A process that holds the database until `leave`, and the address that it was given."""
        process = self.start("-c", HOLD)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    def leave(self, process: "subprocess.Popen[str]") -> None:
        """Let a `user` end in order."""
        process.communicate("\n", timeout=60)
        assert process.returncode == 0

    def server(self) -> int | None:
        """The process id of the running PostgreSQL of this home."""
        try:
            pid = int((self.path / "postgres" / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
            os.kill(pid, 0)
        except (OSError, ValueError):
            return None
        return pid

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.run("-m", "portal.embedded", "stop")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An empty home; its processes and its server end with the test."""
    house = House(tmp_path / "a home")
    yield house
    house.close()
