"""Ending one run: the attempt that is meant, and no other that has its number."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from governance.schedulers.live import SourceFault
from governance.schedulers.registry import stop_run
from tests.schedulers.conftest import write_command

QUEUE = "777 1796100000 RUNNING\\n778 1796100000 COMPLETING\\n779 1796100000 PENDING\\n"


@pytest.fixture
def told(fake_bin: Path, tmp_path: Path) -> Path:
    """What scancel was told; nothing yet."""
    path = tmp_path / "told"
    write_command(fake_bin, "squeue", f"printf '{QUEUE}'")
    write_command(fake_bin, "scancel", f'echo "$*" >> {path}')
    return path


def stop(job: str, submit: int = 1_796_100_000):
    return stop_run("slurm", name="bj", connection={}, job_id=job, submit_at=submit)


def test_a_run_that_is_there_is_ended_by_its_number(told: Path) -> None:
    assert stop("777") == ("scancel --quiet 777", True)
    assert stop("779").was_there
    assert told.read_text() == "--quiet 777\n--quiet 779\n"


@pytest.mark.parametrize(
    ("job", "submit"), [("777", 1_796_099_999), ("77", 1_796_100_000), ("778", 1_796_100_000), ("5", 1)]
)
def test_another_attempt_one_that_ends_already_and_one_that_is_gone_are_let_be(
    told: Path, job: str, submit: int
) -> None:
    assert not stop(job, submit).was_there
    assert not told.exists()


@pytest.mark.parametrize("job", ["", "777 778", "--user=root", "7_1", "７７７"])
def test_what_is_no_number_reaches_no_command(told: Path, job: str) -> None:
    with pytest.raises(SourceFault):
        stop(job)
    assert not told.exists()


def test_rest_takes_no_orders() -> None:
    with pytest.raises(SourceFault) as caught:
        stop_run("slurmrestd", name="bj", connection={"url": "http://127.0.0.1:9"}, job_id="7", submit_at=1)
    assert caught.value.code == "no_limits"


@pytest.mark.slurm
def test_in_a_real_slurm_only_the_attempt_that_is_meant_ends(lab: dict[str, str]) -> None:
    env = {**os.environ, "SLURM_CONF": lab["SLURM_CONF"]}

    def say(*words: str) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True, env=env, timeout=60).stdout.strip()

    job = say("sbatch", "--parsable", "-A", "root", "-D", "/tmp", "-H", "--wrap", "sleep 600")
    shown = subprocess.run(
        ["squeue", "-h", "-j", job, "-O", "SubmitTime:32"],
        check=True, capture_output=True, text=True, env={**env, "TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}, timeout=60,
    )  # fmt: skip
    submit = int(shown.stdout)
    connection = {"slurm_conf": lab["SLURM_CONF"]}
    wrong = stop_run("slurm", name="lab", connection=connection, job_id=job, submit_at=submit - 1)
    assert not wrong.was_there
    assert say("squeue", "-h", "-j", job, "-o", "%T") == "PENDING"
    assert stop_run("slurm", name="lab", connection=connection, job_id=job, submit_at=submit).was_there
    for _ in range(60):
        if "CANCELLED" in say("scontrol", "show", "job", job):
            break
        time.sleep(1)
    assert "JobState=CANCELLED" in say("scontrol", "show", "job", job)
