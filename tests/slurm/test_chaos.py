"""The short chaos: a minute of kills among portal and Slurm, on a lab of its own; then the books equal a fresh import of everything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.chaos import chaos
from tests.slurm.chaos_lab import LAB, ChaosLab

pytestmark = pytest.mark.slurm
SECONDS, SEED = 70, 5
#: Apart from the other tests' lab, and from one that somebody runs the long chaos on.
PORT = 18300


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChaosLab]:
    """A lab of the test's own, which ends with it."""
    if not LAB.exists():
        pytest.skip("the Slurm lab is not beside the project")
    if os.geteuid() != 0:
        pytest.skip("the Slurm lab needs root")
    # Sockets have short names, and the lab's users must pass: neither holds for pytest's own folders.
    lab = ChaosLab(Path("/tmp/slurmlab-ci"), PORT)
    try:
        try:
            lab.up()
        except RuntimeError as fault:
            pytest.skip(f"the Slurm lab does not start here: {fault}")
        yield lab
    finally:
        lab.verb("down")
        # Not --purge: that would take the users from under another lab that is down at this moment.
        shutil.rmtree(lab.folder, ignore_errors=True)


def test_after_a_minute_of_kills_nothing_is_lost_or_doubled_and_the_faults_were_told(
    lab: ChaosLab, tmp_path: Path
) -> None:
    found = chaos(SECONDS, SEED, tmp_path, lab)
    said = {name: found[name] for name in ("faults", "differences", "trouble", "checks", "phases_s")}
    assert found["equal_after_reading_all_again"] == {"runs": True, "facts": True, "balances": True}, said
    assert found["doubled_keys"] == 0, said
    assert found["books_hold"], said
    assert found["trouble"] == [], said
    assert found["rows"]["runs"] > 50 and found["rows"]["balances"] > 20, said
    assert found["faults_done"] > 0 and found["faults_seen"] > 0, said
