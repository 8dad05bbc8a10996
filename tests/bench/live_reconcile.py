"""How long quotas take into a real Slurm: thousands of accounts at once, nothing to do, one more award. On a lab of the bench's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tests.bench.report import Figure
from tests.slurm.labs import SCRIPT, Lab

if TYPE_CHECKING:
    from tests.bench.measures import Bench

ASSOCIATIONS = 2_000
FOLDER, PORT = Path("/tmp/slurmlab-bench"), 18900  # sockets have short names  # noqa: S108
FEWEST_ROWS = 100_000  # a small bench only tries whether everything runs
CLUSTER = "bench-lab"
FULL_S, IDLE_S, AWARD_S = 300, 30, 60


def reconcile(bench: Bench) -> Iterator[Figure]:
    """Nothing where there is no lab beside the project, or the bench is a small one."""
    if bench.rows < FEWEST_ROWS or not SCRIPT.exists() or os.geteuid() != 0:
        print("  reconcile: left out, it wants the Slurm lab, root and a bench of the usual size", file=sys.stderr)
        return
    with _lab() as lab:
        yield from _measure(lab)


@contextmanager
def _lab() -> Iterator[Lab]:
    lab = Lab(SCRIPT, FOLDER, PORT)
    before = dict(os.environ)
    try:
        fault = lab.up()
        if fault:
            raise RuntimeError(f"the lab does not start: {fault}")
        os.environ["SLURM_CONF"] = lab.env["SLURM_CONF"]
        names = [_account(number) for number in range(ASSOCIATIONS)]
        lab.ask("sacctmgr", "-i", "-Q", "add", "account", ",".join(names), "cluster=lab", "parent=root", seconds=600)
        yield lab
    finally:
        os.environ.clear()
        os.environ.update(before)
        lab.verb("down")
        shutil.rmtree(FOLDER, ignore_errors=True)  # deleting so many accounts one by one takes half an hour


def _account(number: int) -> str:
    return f"bn{number:04}"


def _measure(lab: Lab) -> Iterator[Figure]:
    from governance.access.actor import Actor
    from governance.quotas import actions as quotas
    from governance.quotas.enforcement import actions
    from governance.quotas.enforcement.models import IN_FORCE, EnforcedLimit
    from governance.quotas.enforcement.reconciling import reconcile as round_
    from governance.quotas.enforcement.tasks import enforce

    machine = Actor.machine("bench")
    spare = _quotas()
    actions.opt_in(CLUSTER, actor=machine)

    def timed(what: str, goal_s: int, done: Any) -> Figure:
        began = perf_counter()
        done()
        seconds = perf_counter() - began
        held = EnforcedLimit.objects.filter(cluster__code=CLUSTER, state=IN_FORCE).count()
        wanted = EnforcedLimit.objects.filter(cluster__code=CLUSTER).count()
        assert held == wanted >= 2 * ASSOCIATIONS - 4, (held, wanted)
        return Figure("reconcile", what, seconds, wanted, ratio=seconds / goal_s, against=f"{goal_s} s", goal="<= 1")

    yield timed(f"{ASSOCIATIONS:,} accounts and their QOS, all to set", FULL_S, lambda: round_(CLUSTER, actor=machine))
    yield timed("the same, nothing to do", IDLE_S, lambda: round_(CLUSTER, actor=machine))

    def award() -> None:
        quotas.award(spare, actor=machine, override="bench")
        enforce(CLUSTER)

    yield timed("one more award in force, by the background step", AWARD_S, award)


def _quotas() -> Any:
    """A company of so many projects with an account and a quota each; answers the terms of one more."""
    from governance.catalogue.models import AcceleratorModel, Cluster, Pool, PoolPartition
    from governance.quotas.actions import Terms
    from governance.quotas.models import Quota
    from governance.tenants.models import AccountMapping, Department, Placement, Project

    today = datetime.now(UTC).date() - timedelta(days=1)
    cluster = Cluster.objects.create(code=CLUSTER, scheduler_kind="slurm", scheduler_names=["lab"])
    pool = Pool.objects.create(code="bench-train", cluster=cluster)
    PoolPartition.objects.create(pool=pool, pattern="train")
    model, _ = AcceleratorModel.objects.get_or_create(code="a100")
    pool.accelerators.add(model)
    department = Department.objects.create(code="bench")
    projects = Project.objects.bulk_create([Project(code=f"bench-{number}") for number in range(ASSOCIATIONS)])
    Placement.objects.bulk_create([Placement(project=project, department=department) for project in projects])
    AccountMapping.objects.bulk_create(
        AccountMapping(cluster=cluster, account=_account(number), project=project)
        for number, project in enumerate(projects)
    )
    Quota.objects.bulk_create(
        Quota(project=project, pool=pool, guaranteed_gpus=0, ceiling_gpus=1 + number % 64, from_on=today)
        for number, project in enumerate(projects[:-1])
    )
    return Terms(projects[-1].code, pool.code, 0, 16, today)
