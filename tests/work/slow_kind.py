"""A kind of work for workers that are killed: it writes down when it begins and ends, and goes on until it is let go."""

from __future__ import annotations

import os
import time
from pathlib import Path

from celery import shared_task

from governance.work.running import Claim, run

KIND = "tests.slow"


@shared_task(name=KIND)
def slow(key: str) -> None:
    """Work until the file `go` is there, a checkpoint every 50 ms."""
    folder = Path(os.environ["SLOW_FOLDER"])

    def work(claim: Claim) -> None:
        (folder / f"begun-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.05)
            claim.check()
        (folder / f"ended-{os.getpid()}").touch()

    run(KIND, key, work)
