"""Run by test_several_hosts in a process of its own, on the database that DATABASE_URL names: does what lines of JSON ask, answers in JSON.

["prepare", FOLDER]      tables, company, the records of the clusters that are read from files
["alone"]                pull, meter and post everything, here and undisturbed
["ask", KIND, KEY]       ask for work as a page does
["content"]              the books' natural content
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from billing.ledger import actions as ledger  # noqa: E402
from governance.catalogue.models import Cluster  # noqa: E402
from governance.schedulers.files import ReadOptions  # noqa: E402
from governance.usage import actions as usage  # noqa: E402
from governance.usage import live, watermarks  # noqa: E402
from governance.usage.queue import instant  # noqa: E402
from governance.work import actions as work  # noqa: E402
from tests.books import MACHINE, declare, text  # noqa: E402
from tests.natural import content  # noqa: E402
from tests.work.fake_slurm import FakeSlurm  # noqa: E402
from tests.work.four_clusters import CLOCK, FILES, FIRST, LIVE, document, rows  # noqa: E402


def prepare(folder: str) -> None:
    """Everything up to the point where workers begin; the live clusters stand where an earlier pull has left them."""
    call_command("migrate", verbosity=0)
    declare(**document())
    FakeSlurm(Path(folder) / "bin").write({code: rows(code) for code in LIVE}, CLOCK)
    for code in LIVE:
        watermarks.move(Cluster.objects.get(code=code), "ingested", instant(FIRST))
    for code in FILES:
        path = Path(folder) / f"{code}.txt"
        path.write_text(text(rows(code)), encoding="utf-8")
        usage.import_files(code, [str(path)], actor=MACHINE, options=ReadOptions(time_zone="UTC"))


def alone() -> None:
    """All of the work in this process."""
    for code in LIVE:
        live.pull(code, actor=MACHINE)
    for code in (*LIVE, *FILES):
        usage.meter(code, actor=MACHINE)
    ledger.post(actor=MACHINE)


def ask(kind: str, key: str) -> None:
    """Ask for work."""
    work.ask(kind, key, actor=MACHINE)


DOES: dict[str, Callable[..., Any]] = {"prepare": prepare, "alone": alone, "ask": ask, "content": content}

if __name__ == "__main__":
    for line in sys.stdin:
        what, *given = json.loads(line)
        answer = DOES[what](*given)
        connection.close()  # a database that is in use cannot be copied
        print(json.dumps(answer, default=str), flush=True)
