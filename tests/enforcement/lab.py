"""Accounts of our own on the lab, and a portal that knows them: what the tests of enforcement do with a real Slurm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from typing import Any

from governance.catalogue.reads import installation, today
from governance.quotas import actions as quotas
from governance.quotas.actions import Terms
from governance.quotas.enforcement import actions
from governance.quotas.enforcement.models import EnforcedLimit
from governance.quotas.enforcement.reconciling import Round, reconcile
from governance.quotas.models import Quota
from portal.organisation.actions import load
from tests.books import MACHINE
from tests.slurm.labs import Lab

PATIENCE = 120.0  # seconds for what Slurm does by itself within ten on an idle machine
ACCOUNTS = {"alpha": "te-alpha", "beta": "te-beta"}
LOGINS = {"alpha": "lab-ben", "beta": "lab-cai"}


def organisation(**changes: Any) -> dict[str, Any]:
    """Two projects with an account each, and the lab's two pools. `changes` replace whole sections."""
    nodes = [("gpu[001-006]", "lab-train", "a100"), ("gpu[007-008]", "lab-infer", "h100")]
    return {
        "steelyard": 1,
        "settings": {"time_zone": "UTC"},
        "departments": [{"code": "lab", "name": "lab"}],
        "projects": [{"code": code, "name": code, "placements": [{"department": "lab"}]} for code in ACCOUNTS],
        "accelerators": [{"code": "a100", "name": "A100"}, {"code": "h100", "name": "H100"}],
        "clusters": [
            {
                "code": "lab",
                "name": "lab",
                "scheduler": {"kind": "slurm", "time_zone": "UTC"},
                "pools": [
                    {"code": "lab-train", "name": "train", "partitions": ["train"], "accelerators": ["a100"]},
                    {"code": "lab-infer", "name": "infer", "partitions": ["infer"], "accelerators": ["h100"]},
                ],
                "nodes": [
                    {"names": name, "pool": pool, "accelerator": kind, "accelerators": 8, "cpus": 64, "memory_gib": 900}
                    for name, pool, kind in nodes
                ],
            }
        ],
        "mappings": [{"cluster": "lab", "account": account, "project": code} for code, account in ACCOUNTS.items()],
        **changes,
    }


class Site:
    """The lab with the tests' accounts, and the portal's cluster “lab” that stands for it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.jobs: list[str] = []

    def sacctmgr(self, *words: str) -> str:
        """What an administrator does by hand."""
        return self.lab.ask("sacctmgr", "-i", "-Q", *words)

    def show(self, *words: str) -> list[str]:
        """What the accounting has: lines of `sacctmgr show`."""
        return self.lab.ask("sacctmgr", "-n", "-P", "show", *words).split()

    def award(self, project: str = "alpha", gpus: int = 16, pool: str = "lab-train", **other: Any) -> Quota:
        """A quota from today on."""
        values = {"guaranteed_gpus": gpus, "ceiling_gpus": gpus, "from_on": today(installation()), **other}
        return quotas.award(Terms(project=project, pool=pool, **values), actor=MACHINE)

    def change(self, quota: Quota, **amounts: Any) -> Quota:
        """Other amounts from today on."""
        return quotas.change(quota.number, on=today(installation()), actor=MACHINE, note="test", **amounts)

    def opt_in(self) -> None:
        """The portal may set limits."""
        actions.opt_in("lab", actor=MACHINE)

    def round(self, **given: Any) -> Round:
        """One round of enforcement."""
        return reconcile("lab", actor=MACHINE, **given)

    def limit(self, name: str) -> EnforcedLimit:
        """How an object stands by the portal's tables."""
        return EnforcedLimit.objects.get(cluster__code="lab", name=name)

    def submit(self, *words: str, project: str = "alpha", seconds: int = 600) -> str:
        """A job of the project's own user."""
        said = self.lab.run(
            "as", LOGINS[project], "sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", "-A", ACCOUNTS[project],
            *words, "--wrap", f"sleep {seconds}",
        )  # fmt: skip
        self.jobs.append(said.strip().partition(";")[0])
        return self.jobs[-1]

    def _queue(self) -> dict[str, tuple[str, str]]:
        lines = self.lab.ask("squeue", "-h", "-o", "%A %T %r").splitlines()
        return {job: (state, reason) for job, state, reason in (line.split(maxsplit=2) for line in lines)}

    def state(self, job: str) -> tuple[str, str]:
        """(state, reason) as squeue has it; ("", "") when the job is gone."""
        return self._queue().get(job, ("", ""))

    def wait_for(self, what: Callable[[], bool], words: Callable[[], object]) -> None:
        """Until it is so; AssertionError with the words when patience ends."""
        until = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < until, words()
            time.sleep(0.5)

    def runs(self, job: str) -> None:
        """Wait until the job runs."""
        self.wait_for(lambda: self.state(job)[0] == "RUNNING", lambda: (job, self.state(job)))

    def waits(self, job: str, *reasons: str) -> None:
        """Wait until the job pends for one of the reasons."""

        def so() -> bool:
            state, reason = self.state(job)
            return state == "PENDING" and reason in reasons

        self.wait_for(so, lambda: (job, self.state(job), reasons))

    def cancel(self) -> None:
        """End all jobs that were submitted here."""
        if self.jobs:
            self.lab.ask("scancel", *self.jobs)
            self.wait_for(lambda: not self._queue().keys() & set(self.jobs), self._queue)
            self.jobs.clear()


def days_from_today(days: int) -> date:
    """The day so many days from today."""
    return today(installation()) + timedelta(days=days)


@contextmanager
def accounts(lab: Lab) -> Iterator[Site]:
    """The tests' accounts for as long as they are needed; what else the lab has is left as it was."""
    site = Site(lab)
    _remove(site)
    for code, account in ACCOUNTS.items():
        site.sacctmgr("add", "account", account, "cluster=lab", "parent=root")
        site.sacctmgr("add", "user", LOGINS[code], f"account={account}", "cluster=lab")
    try:
        yield site
    finally:
        site.cancel()
        _remove(site)


def _remove(site: Site) -> None:
    """Administrators of a lab may delete; the portal never does."""

    def gone() -> bool:  # not before slurmdbd has heard that the jobs have ended
        known = site.show("account", "format=Account")
        mine = [account for account in ACCOUNTS.values() if account in known]
        with suppress(AssertionError):
            if mine:
                site.sacctmgr("delete", "account", "where", f"name={','.join(mine)}")
            qos = [name for name in site.show("qos", "format=Name") if name.startswith("sy.")]
            if qos:
                site.sacctmgr("delete", "qos", "where", f"name={','.join(qos)}")
            return True
        return False

    site.wait_for(gone, lambda: site.show("account", "format=Account"))


def declare(**changes: Any) -> None:
    """The portal's side."""
    load(organisation(**changes), actor=MACHINE)
