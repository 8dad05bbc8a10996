"""The lab's mix of jobs, which ends in every state and waits for every reason: loaded whole, or loaded again.

A busy machine may disturb it: a launch that takes too long is requeued, a node that answers late loses its jobs. Slurm's own words
tell, before any reader of ours is asked. What is tested then are the jobs of that one load; whatever else the lab holds is not of it.
"""

from __future__ import annotations

import fcntl
import json
import re
import time
from collections import defaultdict
from dataclasses import asdict, dataclass

import pytest

from governance.schedulers.records import Outcome
from tests.slurm.labs import Lab

# job of load-jobs -> the (state, outcome, GPUs) that its attempts end in
ENDS: dict[str, set[tuple[str, str, int]]] = {
    "finetune-8": {("COMPLETED", Outcome.COMPLETED, 8)},
    "second-account": {("COMPLETED", Outcome.COMPLETED, 2)},
    "cpu-only": {("COMPLETED", Outcome.COMPLETED, 0)},
    "pretrain-32": {("COMPLETED", Outcome.COMPLETED, 32)},
    "a|b, `c` 训练": {("COMPLETED", Outcome.COMPLETED, 1)},
    "zero-seconds": {("COMPLETED", Outcome.COMPLETED, 1)},
    "hetjob": {("COMPLETED", Outcome.COMPLETED, 1), ("COMPLETED", Outcome.COMPLETED, 2)},
    "interactive": {("COMPLETED", Outcome.COMPLETED, 1)},
    "exit-1": {("FAILED", Outcome.FAILED, 1)},
    "exit-42": {("FAILED", Outcome.FAILED, 1)},
    "segfault": {("FAILED", Outcome.FAILED, 1)},
    "step-fails": {("COMPLETED", Outcome.COMPLETED, 1)},
    "over-memory": {("FAILED", Outcome.FAILED, 0)},
    "sweep": {("COMPLETED", Outcome.COMPLETED, 1), ("FAILED", Outcome.FAILED, 1)},
    "oom": {("OUT_OF_MEMORY", Outcome.OUT_OF_MEMORY, 1)},
    "timeout": {("TIMEOUT", Outcome.TIMEOUT, 1)},
    "deadline": {("DEADLINE", Outcome.TIMEOUT, 0)},
    "cancelled-by-owner": {("CANCELLED", Outcome.CANCELLED, 1)},
    "cancelled-by-root": {("CANCELLED", Outcome.CANCELLED, 1)},
    "cancelled-pending": {("CANCELLED", Outcome.CANCELLED, 0)},
    "requeued": {("REQUEUED", Outcome.CANCELLED, 1), ("COMPLETED", Outcome.COMPLETED, 1)},
    "node-fail": {("NODE_FAIL", Outcome.NODE_FAILURE, 2)},
    "node-fail-requeued": {("NODE_FAIL", Outcome.NODE_FAILURE, 2), ("COMPLETED", Outcome.COMPLETED, 2)},
    "preempted": {("PREEMPTED", Outcome.PREEMPTED, 4)},
    "preempted-requeued": {("PREEMPTED", Outcome.PREEMPTED, 4), ("COMPLETED", Outcome.COMPLETED, 4)},
    "preemptor": {("COMPLETED", Outcome.COMPLETED, 8)},
}
#: What the standing jobs of these names wait for.
WAITS = (
    "AssocGrpGRES",
    "QOSMaxGRESPerUser",
    "ReqNodeNotAvail",
    "JobHeldUser",
    "BeginTime",
    "DependencyNeverSatisfied",
)
STANDING = {"at-the-limit": "RUNNING", "long-training": "RUNNING", **dict.fromkeys(WAITS, "PENDING")}
MOST_LOADS = 4
#: The accounting hears of an end late, a reason to wait settles with the next turn of the scheduler.
SETTLED_SECONDS = 90
_GAP = "\x1f"
_LATEST_SECONDS = 20 * 3600  # tests read the last day


@dataclass(frozen=True)
class Mix:
    """One whole load: its jobs are those with first <= number < after, submitted from `began_at` (epoch seconds) on."""

    first: int
    after: int
    began_at: int

    def holds(self, job_id: str) -> bool:
        """Whether a job is one of the mix, by its id as Slurm prints it (7, 7_3, 7+1)."""
        number = re.match(r"\d+", job_id)
        return number is not None and self.first <= int(number[0]) < self.after


@pytest.fixture(scope="session")
def mix(slurmlab_up: Lab) -> Mix:
    """The newest whole load of the mix in the lab; its standing jobs stand."""
    with open(slurmlab_up.folder / "job-mix.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _kept(slurmlab_up) or _loaded(slurmlab_up)


def _kept(lab: Lab) -> Mix | None:
    try:
        found = Mix(**json.loads((lab.folder / "job-mix.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    is_recent = time.time() - found.began_at < _LATEST_SECONDS
    return found if is_recent and not disturbance(lab, found) else None


def _loaded(lab: Lab) -> Mix:
    told = []
    for _ in range(MOST_LOADS):
        fault = lab.up()
        assert not fault, fault
        _clear(lab)
        first, began = _next_job(lab), int(time.time())
        done = lab.verb("load-jobs", "--wait", seconds=1200)
        found = Mix(first, _next_job(lab), began)
        fault = done.stderr[-300:] if done.returncode else _settled(lab, found)
        if not fault:
            (lab.folder / "job-mix.json").write_text(json.dumps(asdict(found)))
            return found
        told.append(fault)
    raise AssertionError(f"Slurm ended the job mix otherwise than it was made to, {MOST_LOADS} times: {told}")


def _clear(lab: Lab) -> None:
    """No job is left of a load that broke off."""
    deadline = time.monotonic() + 120
    while jobs := lab.ask("squeue", "-a", "-h", "-o", "%A").split():
        assert time.monotonic() < deadline, f"the lab keeps its jobs: {jobs}"
        lab.ask("scancel", "--quiet", *sorted(set(jobs)))
        time.sleep(1)


def _next_job(lab: Lab) -> int:
    found = re.search(r"NEXT_JOB_ID\s*=\s*(\d+)", lab.ask("scontrol", "show", "config"))
    assert found
    return int(found[1])


def _settled(lab: Lab, found: Mix) -> str:
    """Wait until Slurm tells of the mix what was made; what is still otherwise."""
    deadline = time.monotonic() + SETTLED_SECONDS
    while (fault := disturbance(lab, found)) and time.monotonic() < deadline:
        time.sleep(1)
    return fault


def disturbance(lab: Lab, found: Mix) -> str:
    """What Slurm's own commands tell of the mix that it was not made to do; empty: nothing."""
    ended, standing = _ended(lab, found), _standing(lab, found)
    meant = {name: {state for state, _, _ in ends} for name, ends in ENDS.items()}
    wrong = [f"{name}: {sorted(ended[name])}" for name in meant if ended[name] != meant[name]]
    wrong += [f"{name}: {standing.get(name)}" for name in STANDING if not _stands(name, standing.get(name, ("", "")))]
    nodes = lab.ask("sinfo", "-h", "-N", "-o", "%N %T").split("\n")
    broken = sorted({line for line in nodes if "*" in line or "down" in line or "unk" in line})
    return "; ".join(wrong + broken)


def _stands(name: str, told: tuple[str, str]) -> bool:
    state, reason = told
    return state == STANDING[name] and (name not in WAITS or reason.startswith(name))


def _ended(lab: Lab, found: Mix) -> dict[str, set[str]]:
    """The states by name of the attempts of the mix; those of standing jobs aside."""
    states: dict[str, set[str]] = defaultdict(set)
    span = (f"{time.strftime('%FT%T', time.gmtime(at))}" for at in (found.began_at - 1, time.time() + 60))
    window = ("-S", next(span), "-E", next(span))
    fields = ("-n", "-P", f"--delimiter={_GAP}", "-o", "JobIDRaw,JobName,State,Comment")
    for more in ((), ("-s", "CA")):  # what was cancelled before it was eligible shows only when asked for
        for line in lab.ask("sacct", "-a", "-X", "-D", *window, *fields, *more).splitlines():
            job, name, state, comment = line.split(_GAP)
            if found.holds(job) and comment != "standing":
                states[name].add(state.split()[0])
    return states


def _standing(lab: Lab, found: Mix) -> dict[str, tuple[str, str]]:
    """State and reason of the standing jobs by name."""
    lines = lab.ask("squeue", "-a", "-h", "-o", _GAP.join(("%A", "%j", "%T", "%r", "%k"))).splitlines()
    rows = (line.split(_GAP) for line in lines)
    return {
        name: (state, reason)
        for job, name, state, reason, comment in rows
        if comment == "standing" and found.holds(job)
    }
