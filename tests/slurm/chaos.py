"""A portal and a Slurm, both killed piece by piece while jobs run; afterwards the books must equal those of one fresh import.

    python -m tests.slurm.chaos SECONDS SEED     (as root; SLURMLAB_DIR and SLURMLAB_PORT name a lab that is nobody else's)

Prints JSON: what was killed and what told of it, how many jobs there were, and whether the books are the same. The exit status is 0 when
they are. A lab that was down before is down afterwards.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import yaml

from tests.slurm.chaos_lab import NODES, ChaosLab, Jobs
from tests.slurm.chaos_portal import ChaosPortal, Watcher, kill

#: Each with the signs of which one at least tells of it.
SIGNS = {
    "slurmctld": ("slurmctld",),
    "slurmdbd": ("slurmdbd",),
    "slurmd": ("node ",),
    "worker": ("went silent", "health: worker", "silent worker"),
    "child": ("went silent", "health: worker"),
    "beat": ("health: beat", "silent beat"),
    "database": ("health: database", "health: unready", "health: no answer", "OperationalError"),
    "database stopped": (
        "health: database",
        "health: unready",
        "health: no answer",
        "OperationalError",
        "AdminShutdown",
    ),
    "broker": ("health: broker", "health: degraded"),
    "supervisor": ("health: no answer",),
}
#: A sign may come this long after the deed: a lease must lapse, a node must be missed, a process be silent for 45 s.
LATE_SECONDS = 60.0
BACK_DAYS = 31  # further than a first pull reaches by itself


def organisation(price: str) -> dict[str, Any]:
    """The lab's organisation. The price changes while the chaos goes on, so that there is always something to post."""
    pools = [
        {"code": "lab-train", "name": "train", "partitions": ["train"], "accelerators": ["a100"]},
        {"code": "lab-infer", "name": "infer", "partitions": ["infer"], "accelerators": ["h100"]},
    ]
    return {
        "steelyard": 1,
        "settings": {"time_zone": "UTC"},
        "departments": [{"code": "one", "name": "one"}, {"code": "two", "name": "two"}],
        "projects": [
            {"code": "first", "name": "first", "placements": [{"department": "one"}]},
            {"code": "second", "name": "second", "placements": [{"department": "two"}]},
        ],
        "people": [{"username": "ops", "display_name": "ops", "roles": [{"role": "operator"}]}],
        "accelerators": [{"code": "a100", "name": "A100"}, {"code": "h100", "name": "H100"}],
        "clusters": [
            {"code": "lab", "name": "lab", "scheduler": {"kind": "slurm", "time_zone": "UTC"}, "pools": pools}
        ],
        "mappings": [
            {"cluster": "lab", "account": "*", "project": "first"},
            {"cluster": "lab", "account": "nlp", "project": "second"},
        ],
        "prices": [
            {"pool": "lab-train", "accelerator": "*", "qos": "*", "gpu_hour": price},
            {"pool": "lab-infer", "accelerator": "*", "qos": "*", "gpu_hour": "2"},
        ],
    }


@dataclass
class Deed:
    """One fault: what was killed, when, and when it was mended by us (None: it mends itself)."""

    what: str
    at: float
    done: bool
    mended_at: float | None = None
    signs: list[str] = field(default_factory=list)


@dataclass
class Chaos:
    """One run. `folder` holds the portal's home, its log and the exports."""

    folder: Path
    lab: ChaosLab
    seed: int
    began: float = 0.0
    deeds: list[Deed] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    phases: list[int] = field(default_factory=list)  # prepare, rage, settle, compare

    def __post_init__(self) -> None:
        self.portal = ChaosPortal(self.folder / "home", self.lab.env)
        self.watcher = Watcher(self.portal)
        self.jobs = Jobs(self.lab, self.seed, (0.8, 2.2))
        self.chance = random.Random(self.seed)
        self.since = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=BACK_DAYS)

    def timed(self, phase: Callable[[], Any]) -> Any:
        """Do it, and note how many seconds it took."""
        began = time.monotonic()
        try:
            return phase()
        finally:
            self.phases.append(round(time.monotonic() - began))

    def prepare(self) -> None:
        """The lab with some history, the portal on empty books that know its organisation."""
        self.lab.up()
        first = self.lab.sacct(f"{self.since:%Y-%m-%dT%H:%M:%S}", f"{self.since + timedelta(days=9):%Y-%m-%dT%H:%M:%S}")
        if first.count("\n") < 2:
            self._must("the lab's history", self.lab.verb("load-history", "1000").returncode)
        self.portal.look()
        if not self.portal.until_ready(180):
            raise RuntimeError("the portal does not start:\n" + self.portal.said())
        self.declare("1")
        self._must("the operator", self.portal.manage("-m", "tests.slurm.chaos_books", "person").returncode)
        # While beat's own first pull goes on: both write the same.
        self._must("the first pull", self.portal.manage("pull", "lab", "--since", self.since.isoformat()).returncode)

    def declare(self, price: str, url: str = "") -> bool:
        """Load the organisation with this price; False where there is no database at this moment."""
        path = self.folder / "organisation.yaml"
        path.write_text(yaml.safe_dump(organisation(price), allow_unicode=True))
        return self.portal.manage("load_organisation", str(path), url=url).returncode == 0

    def rage(self, seconds: float) -> None:
        """Kill one thing after another at random moments; each once before any twice."""
        self.began, bag = time.monotonic(), list[str]()
        self.watcher.start()
        self.jobs.start()
        repricing = threading.Thread(target=self._reprice, name="prices", daemon=True)
        repricing.start()
        menders: list[threading.Thread] = []
        while time.monotonic() - self.began < seconds:
            self._wait(self.chance.uniform(3, 12))
            if not bag:
                bag = sorted(SIGNS)
                self.chance.shuffle(bag)
            mender = self._do(bag.pop())
            menders += [mender] if mender else []
        for mender in menders:
            mender.join(120)
        self.jobs.over.set()
        self.jobs.join(60)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.portal.look()
            time.sleep(0.25)

    def _reprice(self) -> None:
        prices = random.Random(self.seed + 1)
        while not self.jobs.over.wait(15):
            self.declare(str(prices.randint(1, 9)))

    def _do(self, what: str) -> threading.Thread | None:
        """Do it; the thread that mends it, where it does not mend itself."""
        deed = Deed(what, time.monotonic() - self.began, done=False)
        self.deeds.append(deed)
        if what in ("slurmctld", "slurmdbd", "slurmd"):
            node = f"gpu{self.chance.randint(1, NODES):03d}"
            deed.done = self.lab.kill(node if what == "slurmd" else what)
            pause = self.chance.uniform(45, 60) if what == "slurmd" else self.chance.uniform(4, 25)
            mender = threading.Thread(target=self._mend, args=(deed, pause), name=f"mend {what}", daemon=True)
            mender.start()
            return mender
        number = signal.SIGINT if what == "database stopped" else signal.SIGKILL
        deed.done = kill(self.portal.pid_of(what.split()[0]), number)
        return None

    def _mend(self, deed: Deed, pause: float) -> None:
        time.sleep(pause)
        try:
            self.lab.up()
        except RuntimeError as fault:
            self.trouble.append(str(fault))
        deed.mended_at = time.monotonic() - self.began

    def settle(self) -> None:
        """Everything is up again, no job is left, the accounting knows all."""
        self.lab.up()
        if not self.lab.drain(30):
            self.trouble.append("the lab did not drain")
        self.runaways = self.lab.mend_runaways()
        if not self.portal.until_ready(180):
            self.trouble.append("the portal did not come back:\n" + self.portal.said())
        time.sleep(3)
        self.watcher.stop()
        self._must("the last organisation", 0 if self.declare("3") else 1)
        self.exit_status = self.portal.stop()
        for deed in self.deeds:
            low = self.began + deed.at
            high = self.began + (deed.mended_at or deed.at) + LATE_SECONDS
            told = {sign for at, sign in self.watcher.seen if low <= at <= high}
            deed.signs = sorted(sign for sign in told if any(mark in sign for mark in SIGNS[deed.what]))[:3]

    def compare(self) -> dict[str, Any]:
        """The portal's books against those of a fresh import, after one more pull, and after reading the whole window again."""
        now = datetime.now(UTC) + timedelta(seconds=1)
        day = f"{(now + timedelta(days=2)):%Y-%m-%d}"
        fresh = self._fresh(now, day)
        self._must("the final pull", self.portal.manage("pull", "lab").returncode)
        before = self._settled(day)
        self._must("the whole pull", self.portal.manage("pull", "lab", "--since", self.since.isoformat()).returncode)
        after = self._settled(day)
        checks = self.portal.manage("check_books", "--json")
        return {
            "rows": {part: len(rows) for part, rows in after.items()},
            "equal_after_the_final_pull": {part: before[part] == fresh[part] for part in fresh},
            "equal_after_reading_all_again": {part: after[part] == fresh[part] for part in fresh},
            "differences": {
                part: _differences(after[part], fresh[part]) for part in fresh if after[part] != fresh[part]
            },
            "read_again_only": {part: len(_differences(before[part], after[part], 10**9)) for part in fresh},
            "doubled_keys": _doubled(after["runs"]),
            "books_hold": checks.returncode == 0,
            "checks": "" if checks.returncode == 0 else checks.stdout[-1500:] + checks.stderr[-500:],
        }

    def _settled(self, day: str, url: str = "") -> dict[str, list[Any]]:
        self._must("settling", self.portal.manage("-m", "tests.slurm.chaos_books", "settle", day, url=url).returncode)
        said = self.portal.manage("-m", "tests.slurm.chaos_books", "content", url=url)
        self._must("reading the books", said.returncode)
        return dict(json.loads(said.stdout))

    def _fresh(self, now: datetime, day: str) -> dict[str, list[Any]]:
        """Everything that sacct tells, imported from files in one go into a database of its own."""
        window = (f"{self.since:%Y-%m-%dT%H:%M:%S}", f"{now:%Y-%m-%dT%H:%M:%S}")
        time.sleep(2)
        files = []
        for name, more in (("all.txt", ()), ("cancelled.txt", ("-s", "CA"))):
            path = self.folder / name
            path.write_text(self.lab.sacct(*window, *more), encoding="utf-8")
            files.append(str(path))
        with psycopg.connect(self.portal.url("postgres"), autocommit=True) as server:
            server.execute("CREATE DATABASE fresh TEMPLATE template0")
        url = self.portal.url("fresh")
        self._must("fresh tables", self.portal.manage("migrate", url=url).returncode)
        self._must("fresh organisation", 0 if self.declare("3", url) else 1)
        how = ("--delimiter", r"\x1f", "--time-zone", "UTC", "--observed-at", f"{now:%Y-%m-%dT%H:%M:%S}+00:00")
        self._must("fresh import", self.portal.manage("import_usage", "lab", *files, *how, url=url).returncode)
        return self._settled(day, url)

    def _must(self, what: str, status: int) -> None:
        if status != 0:
            self.trouble.append(f"{what}: status {status}")

    def report(self, seconds: float, compared: dict[str, Any]) -> dict[str, Any]:
        """What is printed."""
        said = Counter(sign for _, sign in self.watcher.seen)
        return {
            "seconds": seconds,
            "seed": self.seed,
            "faults": [
                vars(deed) | {"at": round(deed.at), "mended_at": deed.mended_at and round(deed.mended_at)}
                for deed in self.deeds
            ],
            "faults_done": sum(deed.done for deed in self.deeds),
            "faults_seen": sum(deed.done and bool(deed.signs) for deed in self.deeds),
            "jobs": dict(self.jobs.done),
            "runaway_jobs_mended": self.runaways,
            "supervisor_starts": self.portal.starts,
            "supervisor_exit_status": self.exit_status,
            "deaths_in_the_log": self.portal.deaths(),
            "phases_s": self.phases,
            "signs": dict(said.most_common(40)),
            "pages_read": self.watcher.pages,
            "on_the_page": sorted(self.watcher.on_page)[:30],
            "trouble": self.trouble,
            **compared,
        }


def _differences(ours: list[Any], theirs: list[Any], most: int = 5) -> list[Any]:
    here, there = {json.dumps(row) for row in ours}, {json.dumps(row) for row in theirs}
    return [["ours", row] for row in sorted(here - there)[:most]] + [
        ["theirs", row] for row in sorted(there - here)[:most]
    ]


def _doubled(runs: list[Any]) -> int:
    return len(runs) - len({tuple(row[:3]) for row in runs})


def chaos(seconds: float, seed: int, folder: Path, lab: ChaosLab) -> dict[str, Any]:
    """The whole of it; everything it started ends with it, except the lab. RuntimeError where it cannot begin."""
    of = Chaos(folder, lab, seed)
    try:
        for phase in (of.prepare, lambda: of.rage(seconds), of.settle):
            of.timed(phase)
        with of.portal.held():
            compared = of.timed(of.compare)
        return of.report(seconds, compared)
    finally:
        of.jobs.over.set()
        of.watcher.over.set()
        of.portal.stop()
        of.portal.manage("-m", "portal.embedded", "stop")  # where a supervisor that was killed has left it


def holds(found: dict[str, Any]) -> bool:
    """Whether nothing was lost, doubled or kept from whoever looked."""
    equal = all(found["equal_after_reading_all_again"].values())
    return (
        equal
        and found["books_hold"]
        and not found["doubled_keys"]
        and not found["trouble"]
        and found["faults_seen"] > 0
    )


def main(seconds: str, seed: str) -> int:
    """Run on the lab that the environment names; the exit status."""
    given = os.environ
    lab = ChaosLab(Path(given.get("SLURMLAB_DIR", "/tmp/slurmlab-chaos")), int(given.get("SLURMLAB_PORT", "17800")))
    was_up = lab.verb("status").returncode == 0
    folder = Path(tempfile.mkdtemp(prefix="steelyard-chaos-"))
    try:
        found = chaos(float(seconds), int(seed), folder, lab)
    finally:
        if not was_up:
            lab.verb("down")
        if "KEEP" not in given:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found, indent=1, ensure_ascii=False, default=str))
    return 0 if holds(found) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
