"""Stopping one run in Slurm: the very attempt that is meant, never another that has its number by now."""

from __future__ import annotations

import shlex

from governance.schedulers.live import SourceFault, Stopped
from governance.schedulers.slurm.commands import SlurmCommands


def stop(slurm: SlurmCommands, job_id: str, submit_at: int) -> Stopped:
    """Cancel the attempt of `job_id` that was submitted at `submit_at` (epoch seconds), if it is still in the queue.

    Numbers recycle and a requeue keeps its number: what was submitted at another second is let be, and answered as not there.
    Raises SourceFault, "bad_connection" for a number that is none.
    """
    if not (job_id.isascii() and job_id.isdecimal()):
        raise SourceFault("bad_answer", command="scancel", words=f"{job_id[:40]} is no job number")
    argv = slurm.command("scancel", "--quiet", job_id)
    if not _is_there(slurm, job_id, submit_at):
        return Stopped(shlex.join(argv), was_there=False)
    slurm.ask(*argv)
    return Stopped(shlex.join(argv), was_there=True)


def _is_there(slurm: SlurmCommands, job_id: str, submit_at: int) -> bool:
    printed = slurm.ask(*slurm.command("squeue", "-a", "-h", "-t", "all", "-O", "JobID:20,SubmitTime:32,State:20"))
    for row in printed.splitlines():
        cells = row.split()
        if cells[:2] == [job_id, str(submit_at)]:
            return cells[2:3] in (["PENDING"], ["RUNNING"], ["SUSPENDED"])
    return False
