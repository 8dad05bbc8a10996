"""A real Slurm on this machine, from the lab beside the project: one for a whole session of tests.

The environment may name a lab (SLURMLAB_DIR, SLURMLAB_PORT): it is taken as it is. Otherwise the tests have one of their own, which waits
longer for its daemons than the lab does: on a busy machine a node that answers late would count as dead, and its jobs end in NODE_FAIL.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("STEELYARD_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SCRIPT = SHARED / "slurmlab" / "slurmlab"
# Sockets have short names, and the lab's users must pass: neither holds for pytest's own folders.
FOLDER, PORT = Path("/tmp/slurmlab-tests"), 18600
NODES = 8
#: What the lab's files say, and what they say in the patient copy.
PATIENT = {
    "conf/slurm.conf.in": {
        "SlurmdTimeout=20": "SlurmdTimeout=300",
        "MessageTimeout=": "#MessageTimeout=",
        "KillWait=2": "KillWait=2\nMessageTimeout=30\nTCPTimeout=15\nBatchStartTimeout=120",
        "UnkillableStepTimeout=30": "UnkillableStepTimeout=180",
        "cred_expire=10": "cred_expire=30",
    },
    "load-jobs.sh": {"await 30 ": "await 180 ", "await 300 ": "await 420 ", "requeue 'sleep 5'": "requeue 'sleep 20'"},
}


class Lab:
    """The lab in `env`'s SLURMLAB_DIR: its verbs, Slurm's own commands, and the environment under which those find it."""

    def __init__(self, script: Path, folder: Path, port: int) -> None:
        self.script, self.folder = script, folder
        self.env = {**os.environ, "SLURMLAB_DIR": str(folder), "SLURMLAB_PORT": str(port), "TZ": "UTC"}

    def verb(self, *words: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
        """Run one of the lab's verbs; the caller looks at the status."""
        words = (str(self.script), *words)
        return subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=seconds, check=False)

    def run(self, *words: str) -> str:
        """Run one of the lab's verbs, which must go well; answers what it printed."""
        done = self.verb(*words)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def ask(self, *argv: str, seconds: float = 120) -> str:
        """What one of Slurm's own commands prints; AssertionError with its words where it fails."""
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=seconds, check=False)
        assert done.returncode == 0, f"{argv[0]}: {done.stderr[-1000:]}"
        return done.stdout

    def stands(self) -> bool:
        """Whether it is up, even where a daemon of it has died."""
        done = self.verb("status")
        return done.returncode == 0 or (self.folder / "etc").exists() and "slurmctld" not in done.stderr

    def up(self, tries: int = 4) -> str:
        """Start what does not run, and learn the environment; why it does not come up, empty where it does."""
        for attempt in range(tries):
            if attempt:
                time.sleep(3)
            done = self.verb("up", *([] if (self.folder / "etc" / "nodes").exists() else ["--nodes", str(NODES)]))
            if done.returncode == 0:
                pairs = (row.removeprefix("export ").split("=", 1) for row in self.run("env").splitlines())
                self.env |= {name: value.strip("'\"") for name, value in pairs}
                return ""
        return done.stderr[-500:]


def patient_copy(folder: Path) -> Path:
    """A copy of the lab's scripts in `folder` that waits longer; the path of the script."""
    shutil.copytree(SCRIPT.parent, folder, ignore=shutil.ignore_patterns("captures"))
    for name, changes in PATIENT.items():
        text = (folder / name).read_text()
        for old, new in changes.items():
            text = text.replace(old, new)
        (folder / name).write_text(text)
    return folder / SCRIPT.name


@pytest.fixture(scope="session")
def slurmlab_up() -> Iterator[Lab]:
    """The lab, started where it is not up; what was up before stays up."""
    if not SCRIPT.exists():
        pytest.skip("the Slurm lab is not beside the project")
    if os.geteuid() != 0:
        pytest.skip("the Slurm lab needs root")
    named = os.environ.get("SLURMLAB_DIR")
    with tempfile.TemporaryDirectory(prefix="steelyard-slurmlab-") as copy:
        os.chmod(copy, 0o755)  # the lab's users read its files
        if named:
            lab = Lab(SCRIPT, Path(named), int(os.environ.get("SLURMLAB_PORT", "16800")))
        else:
            lab = Lab(patient_copy(Path(copy) / "lab"), FOLDER, PORT)
        was_up = lab.stands()
        fault = lab.up()
        if fault:
            pytest.skip(f"the Slurm lab does not start here: {fault}")
        yield lab
        if was_up:
            return
        lab.verb("down")
        if not named:
            # Not --purge: that would take the users from under another lab that is down at this moment.
            shutil.rmtree(FOLDER, ignore_errors=True)
