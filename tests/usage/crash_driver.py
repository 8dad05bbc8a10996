"""Run by test_killed_anywhere in a process of its own: import, meter and post, killed by SIGKILL at the n-th statement, then run again.

    python -m tests.usage.crash_driver FOLDER SEED POINTS     (DATABASE_URL names a database of its own)

Prints JSON: how many statements the undisturbed run took, and for each point whether the content was equal afterwards.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from billing.ledger import actions as ledger  # noqa: E402
from governance.schedulers.files import ReadOptions  # noqa: E402
from governance.usage import actions as usage  # noqa: E402
from tests.books import MACHINE, declare  # noqa: E402
from tests.natural import content  # noqa: E402


def work(files: list[str]) -> None:
    usage.import_files("bj", files, actor=MACHINE, options=ReadOptions(time_zone="UTC"))
    usage.meter("bj", actor=MACHINE)
    ledger.post(actor=MACHINE)


class Fuse:
    """Counts statements; at the n-th the process is killed, before or after the statement ran."""

    def __init__(self, at: int | None, after: bool) -> None:
        self.count, self._at, self._after = 0, at, after

    def __call__(self, execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        self.count += 1
        mine = self.count == self._at
        if mine and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = execute(statement, params, many, context)
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


def empty() -> None:
    """The owner's path back to empty books."""
    tables = "run, run_seen, run_seen_together, run_span, usage_day, capacity_day, fact_day, dirty_day, watermark"
    tables += ", quarantined_record, intake, line, entry, posted_day, period"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SET steelyard.maintenance = 'on'; TRUNCATE {tables} CASCADE; SET steelyard.maintenance = 'off'"
        )


def killed_at(point: int, after: bool, files: list[str]) -> int:
    """Run in a forked child with a fuse; answers the signal that ended it, 0 where it came to its end."""
    connection.close()
    child = os.fork()
    if child == 0:
        with connection.execute_wrapper(Fuse(point, after)):
            work(files)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main(folder: str, seed: str, points: str) -> None:
    files = sorted(str(path) for path in Path(folder).glob("*.txt"))
    call_command("migrate", verbosity=0)
    declare()
    work(files)
    undisturbed = content()
    empty()
    fuse = Fuse(
        None, after=False
    )  # counts a second run: the partitions that the first one made stay, as they do for the runs to be killed
    with connection.execute_wrapper(fuse):
        work(files)
    chance, found = random.Random(int(seed)), []
    for point in sorted(chance.sample(range(1, fuse.count + 1), int(points))):
        empty()
        signal_number = killed_at(point, chance.random() < 0.5, files)
        work(files)
        found.append({"point": point, "killed": signal_number == signal.SIGKILL, "equal": content() == undisturbed})
    rows = {name: len(part) for name, part in undisturbed.items()}
    print(json.dumps({"statements": fuse.count, "rows": rows, "points": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
