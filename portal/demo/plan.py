"""The door of the demo: arguments in, an organisation document and files of records out. No Django, no database.

plan = generate(DemoArguments(until=date(2026, 11, 30)))
for cluster in plan.clusters:
    paths = plan.write(folder, cluster)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, TextIO

from portal.demo import company, estate, outages, rhythm
from portal.demo.estate import Pool
from portal.demo.jobs import Job, Outage
from portal.demo.queueing import PoolQueue
from portal.demo.sacct import ACTIVITY_FIELDS, FIELDS, OFFSET_S, Writer
from portal.demo.workload import PoolDemand

Progress = Callable[[int, int], None]  # days done, days in all
FIRST_JOB_ID = 100_001
SMALL_POOL_PART = 0.85  # two nodes cannot be as busy as fifty without endless waits
JOBS_PER_RUN = 0.98  # requeues, preemptions and second components make the other rows


@dataclass(frozen=True, kw_only=True)
class DemoArguments:
    """What decides every byte. `until` is the last day with records (inclusive), in the billing zone."""

    until: date
    gpus: int = 1024
    months: int = 6
    seed: int = 1
    runs_per_day: int = 900

    def __post_init__(self) -> None:
        """Raises ValueError where a number is below one."""
        for name in ("gpus", "months", "runs_per_day"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")

    @property
    def end_on(self) -> date:
        """The day after the last one."""
        return self.until + timedelta(days=1)

    @property
    def first_on(self) -> date:
        """The first day: as many months before `end_on`, on the same day of the month, at most the 28th."""
        month = self.end_on.year * 12 + self.end_on.month - 1 - self.months
        day = self.end_on.day
        return date(month // 12, month % 12 + 1, day if day <= 28 else 28)


@dataclass
class DemoPlan:
    """A company ready to be written. Writing the same cluster twice gives the same bytes."""

    arguments: DemoArguments
    pools: list[Pool]
    organisation: dict[str, Any]
    _outages: dict[str, list[Outage]] = field(default_factory=dict)

    @property
    def clusters(self) -> list[str]:
        """Codes of the clusters, in the order in which to write them."""
        return sorted({pool.plan.cluster for pool in self.pools})

    @property
    def end_at(self) -> int:
        """The instant at which the records end: running jobs were seen last, in epoch seconds."""
        return midnight(self.arguments.end_on)

    def write(self, folder: Path, cluster: str, progress: Progress | None = None) -> list[Path]:
        """Write `folder/CLUSTER/sacct-YYYY-MM.txt` for each month and `activity.csv`; answers the sacct files in order.

        A row stands in the month in which the attempt ended; what still runs or waits stands in the last.
        """
        target = folder / cluster
        target.mkdir(parents=True, exist_ok=True)
        scene = _Scene(self, cluster)
        paths: list[Path] = []
        with ExitStack() as stack:
            activity = stack.enter_context((target / "activity.csv").open("w", encoding="utf-8", newline="\n"))
            activity.write(f"{ACTIVITY_FIELDS}\n")
            out: TextIO | None = None
            for number, day in enumerate(scene.days):
                if out is None or day.day == 1:
                    paths.append(target / f"sacct-{day:%Y-%m}.txt")
                    out = stack.enter_context(paths[-1].open("w", encoding="utf-8", newline="\n"))
                    out.write(f"{FIELDS}\n")
                    scene.begin_month(day, out, activity)
                scene.play(number)
                if progress:
                    progress(number + 1, len(scene.days))
            scene.close()
        self._outages[cluster] = scene.outages()
        return paths

    def outages(self) -> list[Outage]:
        """Outages of all clusters by start. When a node is drained depends on its jobs, so the files are written first.

        Raises ValueError if a cluster was not written yet.
        """
        if missing := [cluster for cluster in self.clusters if cluster not in self._outages]:
            raise ValueError(f"write {', '.join(missing)} first")
        found = [outage for cluster in self.clusters for outage in self._outages[cluster]]
        return sorted(found, key=lambda outage: (outage.from_at, outage.node))


def generate(arguments: DemoArguments) -> DemoPlan:
    """The plan of a demo company; nothing is simulated before `write`."""
    document = company.organisation(arguments.gpus, arguments.first_on, arguments.until)
    return DemoPlan(arguments, estate.pools(arguments.gpus), document)


def midnight(on: date) -> int:
    """Epoch seconds of the beginning of a day in the demo's zone."""
    return (on - date(1970, 1, 1)).days * 86400 - OFFSET_S


class _Scene:
    """One cluster while it is played."""

    def __init__(self, plan: DemoPlan, cluster: str) -> None:
        arguments = plan.arguments
        self.arguments = arguments
        self.end_at = plan.end_at
        self.days = [
            arguments.first_on + timedelta(days=i) for i in range((arguments.end_on - arguments.first_on).days)
        ]
        self.own = [pool for pool in plan.pools if pool.plan.cluster == cluster]
        self.demands = [PoolDemand(pool, self._rng("demand", pool)) for pool in self.own]
        self.writers = [Writer(pool, self._rng("writer", pool)) for pool in self.own]
        self.queues = [
            PoolQueue(pool, self._rng("queue", pool), writer.ended)
            for pool, writer in zip(self.own, self.writers, strict=True)
        ]
        for queue in self.queues:
            outages.plan(queue, midnight(self.days[0]), len(self.days), self._rng("outages", queue.pool))
        self.counts = self._jobs_by_day(plan.pools)
        self.next_id = FIRST_JOB_ID

    def _rng(self, what: str, pool: Pool) -> Random:
        return Random(f"{self.arguments.seed}/{what}/{pool.code}")  # noqa: S311

    def _jobs_by_day(self, everywhere: list[Pool]) -> list[list[int]]:
        """Jobs of each own pool on each day; shares of pools that do not exist go to the others."""
        total = sum(pool.plan.run_share for pool in everywhere)
        runs = rhythm.runs_by_day(self.days[0], len(self.days), self.arguments.runs_per_day)
        sums = list(accumulate(runs))
        counts = []
        for pool in self.own:
            reached = [int(part * JOBS_PER_RUN * pool.plan.run_share / total + 0.5) for part in sums]
            counts.append([now - before for before, now in zip([0, *reached], reached, strict=False)])
        return counts

    def begin_month(self, first: date, out: TextIO, activity: TextIO) -> None:
        """Turn to the month's file and fit demand to the month's load."""
        at = self.days.index(first)
        days = sum((day.year, day.month) == (first.year, first.month) for day in self.days)
        for pool, demand, writer, counts in zip(self.own, self.demands, self.writers, self.counts, strict=True):
            writer.to(out, activity)
            progress = (at + days / 2) / len(self.days)
            load = pool.plan.first_load + (pool.plan.last_load - pool.plan.first_load) * progress
            load *= SMALL_POOL_PART if pool.total_cards <= 2 * estate.CARDS_PER_NODE else 1.0
            fitting = self._rng(f"fit/{first.isoformat()}", pool)
            demand.fit(sum(counts[at : at + days]), days * 86400, load, fitting)

    def play(self, number: int) -> None:
        """One day: what is submitted, then what happens until midnight."""
        start = midnight(self.days[number])
        jobs: list[tuple[int, int, int, Job]] = []
        for index, (demand, counts) in enumerate(zip(self.demands, self.counts, strict=True)):
            jobs += [(job.submit, index, i, job) for i, job in enumerate(demand.on_day(start, counts[number]))]
        jobs.sort(key=lambda row: row[:3])
        self._number([row[3] for row in jobs])
        for _, index, _, job in jobs:
            self.queues[index].submit(job)
        for queue in self.queues:
            queue.advance(start + 86400)

    def _number(self, jobs: list[Job]) -> None:
        """Ids in the order of submission. The last task of an array has the array's own id, as Slurm does it."""
        for job in jobs:
            if job.array_tasks and job.task == 0:
                first = self.next_id
                self.next_id += job.array_tasks
            if job.array_tasks:
                job.array_first = first
                job.job_id = first if job.task == job.array_tasks - 1 else first + 1 + job.task
            else:
                job.job_id = self.next_id
                self.next_id += 2 if job.het_first else 1

    def close(self) -> None:
        """Write what still runs and what still waits at the end."""
        for queue, writer in zip(self.queues, self.writers, strict=True):
            for job in queue.running():
                writer.running(job, self.end_at)
            writer.pending(self._waiting(queue))

    @staticmethod
    def _waiting(queue: PoolQueue) -> Iterator[Job]:
        for ranked in queue.waiting:
            yield from ranked

    def outages(self) -> list[Outage]:
        """What happened to the nodes of the cluster."""
        return [outage for queue in self.queues for outage in queue.close()]
