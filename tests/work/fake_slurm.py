"""Slurm's commands as a script that answers from a file: sacct with records, the others with nothing; date with the file's clock.

    FakeSlurm(folder).write({"west": [rows as tests.books.line makes them]}, clock)

The folder goes first on PATH. While `<cluster>.hold` lies in it, sacct asked about that cluster's windows from the instant in it on
leaves `<cluster>.waits-<host>` and answers nothing until `<cluster>.go-<host>` lies there too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.books import COLUMNS

# To sh the second line starts Python, to Python it is a text: a path with a space cannot stand behind #!.
SCRIPT = """#!/bin/sh
'''exec' "{python}" -SE "$0" "$@" # '''
import json, os, socket, sys, time
from datetime import datetime, timezone
here, name, given = os.path.dirname(os.path.abspath(__file__)), os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.path.join(here, "records.json")) as file:
    known = json.load(file)
def after(flag):
    return given[given.index(flag) + 1] if flag in given else ""
def epoch(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp())
def held(cluster, since):
    path, host, parent = os.path.join(here, cluster), socket.gethostname(), os.getppid()
    try:
        with open(path + ".hold") as file:
            if since < int(file.read()):
                return
    except FileNotFoundError:
        return
    open(path + ".waits-" + host, "w").close()
    while not os.path.exists(path + ".go-" + host):
        if os.getppid() != parent:
            sys.exit(1)
        time.sleep(0.02)
if name == "date":
    print(known["clock"])
elif name == "sacct" and "--helpformat" in given:
    print(" ".join(known["columns"]))
elif name == "sacct":
    since, until, cluster = epoch(after("-S")), epoch(after("-E")), after("-M")
    columns, gap = after("-o").split(","), next(word for word in given if word.startswith("--delimiter="))[12:]
    held(cluster, since)
    print(gap.join(columns))
    for row in known["rows"][cluster]:
        end = int(row["End"]) if row["End"].isdigit() else known["clock"]
        if int(row["Submit"]) < until and end >= since and (after("-s") != "CA" or row["State"].startswith("CANCELLED")):
            print(gap.join(row[column] for column in columns))
"""


class FakeSlurm:
    """The commands in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, rows: dict[str, list[dict[str, str]]], clock: int) -> None:
        """Make the commands answer with these rows by cluster, and this clock (epoch seconds)."""
        self.folder.mkdir(exist_ok=True)
        known = {"clock": clock, "columns": COLUMNS, "rows": rows}
        (self.folder / "records.json").write_text(json.dumps(known))
        for name in ("sacct", "squeue", "scontrol", "sacctmgr", "date"):
            path = self.folder / name
            path.write_text(SCRIPT.replace("{python}", sys.executable))
            path.chmod(0o755)

    def hold(self, cluster: str, since_at: int) -> None:
        """Hold windows of the cluster that begin at `since_at` (epoch seconds) or later."""
        (self.folder / f"{cluster}.hold").write_text(str(since_at))

    def waits(self, cluster: str, host: str) -> bool:
        """Whether sacct on the host waits to be let go."""
        return (self.folder / f"{cluster}.waits-{host}").exists()

    def let_go(self, cluster: str, host: str) -> None:
        """Let sacct on the host answer from now on."""
        (self.folder / f"{cluster}.go-{host}").touch()
