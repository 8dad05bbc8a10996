"""What people submit: sizes, durations, ends, habits of projects; scaled so that a pool is as busy as its plan says.

Durations are drawn unscaled; once a month a sample of the pool's own jobs says by how much to stretch them (and how
large to let jobs be) for the month's load. So any number of cards and of runs a day gives a busy company.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from portal.demo import projects
from portal.demo.estate import CARDS_PER_NODE, Pool
from portal.demo.jobs import Job
from portal.demo.projects import Project
from portal.demo.rhythm import HOURS, Durations, Table

WEEK_S = 7 * 86400  # the longest time limit
LIMITS = (1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 259200, WEEK_S)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TILTS = (2600, 2000, 1600, 1300, 1000, 800, 600, 400, 200, 0)  # thousandths: weight of a size falls with size ** tilt

# Share of short, medium and long jobs in thousandths, for one card, up to a node, and more nodes.
CLASSES = {
    "training": ((640, 290, 70), (520, 330, 150), (430, 330, 240)),
    "inference": ((250, 350, 400), (250, 350, 400), (200, 350, 450)),
    "development": ((350, 580, 70), (400, 530, 70), (500, 450, 50)),
}
DURATIONS = {
    "training": (Durations(160, 1.2), Durations(5400, 1.1), Durations(50_000, 1.0)),
    "inference": (Durations(400, 1.2), Durations(14_000, 1.0), Durations(200_000, 0.9)),
    "development": (Durations(300, 1.2), Durations(8_000, 0.9), Durations(40_000, 0.7)),
}
# State and exit code, with its weight; node failures, requeues, preemptions and impatience come on top by themselves.
ENDS = (
    ("COMPLETED", "0:0", 655),
    ("FAILED", "1:0", 150),
    ("FAILED", "0:11", 18),
    ("FAILED", "137:0", 12),
    ("CANCELLED", "0:0", 95),
    ("TIMEOUT", "0:0", 40),
    ("OUT_OF_MEMORY", "0:125", 30),
)
NAMES = {
    "training": ("pretrain-7b", "sft", "train", "eval", "finetune", "ablation", "dpo", "profile", "resume-ckpt"),
    "inference": ("serve", "serve-canary", "batch-infer", "replica", "warmup"),
    "development": ("notebook", "debug", "bash", "vscode", "smoke-test", "unit-bench"),
}
ODD_NAME = "sweep lr=1e-4|bs=64"  # nothing escapes a delimiter in sacct's text


class Shape(NamedTuple):
    """What a job wants, before it is anybody's: durations in seconds, unscaled."""

    cards: int
    seconds: float
    stretches: bool  # short jobs stay short in a large company
    end: int  # position in ENDS
    part: float  # of its duration that passes before the end


class PoolDemand:
    """What the projects of one pool submit to it."""

    def __init__(self, pool: Pool, rng: Random) -> None:
        """`rng` is the pool's own; nothing else may draw from it."""
        self.pool = pool
        self.rng = rng
        self.kind = pool.plan.purpose
        own = projects.in_pool(pool.code)
        self.projects = own
        self.by_project = Table([project.weight for project in own])
        self.users = [projects.users_of(project) for project in own]
        self.ends = Table([weight for _, _, weight in ENDS])
        self.hours = Table(HOURS[self.kind])
        self.sizes = self._sizes_that_fit()
        self.by_size = Table([1])
        self.scale = 1.0

    def _sizes_that_fit(self) -> tuple[int, ...]:
        """A job takes at most half of the pool where the pool is large, a node's cards where it is small."""
        cards = self.pool.total_cards
        most = {"training": cards // 2, "inference": CARDS_PER_NODE, "development": CARDS_PER_NODE}[self.kind]
        return tuple(size for size in SIZES if size <= max(most, min(cards, CARDS_PER_NODE)) and self._fits(size))

    def _fits(self, size: int) -> bool:
        if size < CARDS_PER_NODE:
            return max(self.pool.cards) >= size
        return self.pool.cards.count(CARDS_PER_NODE) * CARDS_PER_NODE >= size

    # ---- scaling

    def fit(self, runs: int, seconds: int, load: float, rng: Random) -> None:
        """Choose sizes and stretch so that `runs` jobs in `seconds` keep `load` of the pool's cards busy."""
        wanted = load * self.pool.total_cards * seconds / max(1, runs)  # card-seconds of a run
        for tilt in TILTS:
            weights = [max(1, round(1e6 * size ** (-tilt / 1000))) for size in self.sizes]
            self.by_size = Table(weights)
            sample = [self._shape(rng) for _ in range(1500)]
            if self._mean(sample, 1.0) >= wanted:
                break
        sample += [self._shape(rng) for _ in range(4500)]
        low, high = 0.001, 60.0
        for _ in range(22):
            middle = (low + high) / 2
            low, high = (middle, high) if self._mean(sample, middle) < wanted else (low, middle)
        self.scale = low

    def _mean(self, sample: list[Shape], scale: float) -> float:
        return sum(shape.cards * self._run_of(shape, scale)[0] for shape in sample) / len(sample)

    def _shape(self, rng: Random) -> Shape:
        cards = self.sizes[self.by_size.draw(rng)]
        shares = CLASSES[self.kind][0 if cards == 1 else 1 if cards <= CARDS_PER_NODE else 2]
        at = int(rng.random() * 1000)
        which = 0 if at < shares[0] else 1 if at < shares[0] + shares[1] else 2
        end = self.ends.draw(rng)
        u = rng.random()
        part = {"FAILED": u * u, "CANCELLED": u, "OUT_OF_MEMORY": 0.3 * u * u}.get(ENDS[end][0], 1.0)
        return Shape(cards, DURATIONS[self.kind][which].draw(rng), which > 0, end, part)

    @staticmethod
    def _run_of(shape: Shape, scale: float) -> tuple[float, int]:
        """How long it runs until its end, and its time limit, in seconds."""
        seconds = shape.seconds * (scale if shape.stretches else min(1.0, scale))
        if ENDS[shape.end][0] == "TIMEOUT":
            limit = next((limit for limit in LIMITS if limit >= seconds), WEEK_S)
            return limit, limit
        seconds = min(seconds, WEEK_S - 60)
        return max(2.0, seconds * shape.part), next(limit for limit in LIMITS if limit > seconds)

    # ---- jobs

    def on_day(self, midnight: int, count: int) -> list[Job]:
        """`count` jobs submitted on the day that begins at `midnight` (epoch seconds), unsorted, without ids."""
        jobs: list[Job] = []
        while len(jobs) < count:
            first = self._job(midnight)
            jobs.append(first)
            if self._may_be_array(first) and self.rng.random() < 0.012:
                jobs += self._rest_of_array(first, count - len(jobs))
        return jobs

    @staticmethod
    def _may_be_array(job: Job) -> bool:
        return job.kind == "training" and 0 < job.cards <= CARDS_PER_NODE and job.eligible > 0

    def _job(self, midnight: int) -> Job:
        rng = self.rng
        at = midnight + self.hours.draw(rng) * 3600 + int(rng.random() * 3600)
        i = self.by_project.draw(rng)
        project = self.projects[i]
        shape = self._shape(rng)
        run, limit = self._run_of(shape, self.scale)
        if ENDS[shape.end][0] == "TIMEOUT":
            run += int(rng.random() * 30)  # the limit is looked at every half minute
        elif limit < WEEK_S and rng.random() < 0.4:
            limit = LIMITS[min(LIMITS.index(limit) + 1 + int(rng.random() * 2), len(LIMITS) - 1)]
        cpus = shape.cards * self.pool.plan.machine.cpus_per_card
        job = Job(at, shape.cards, cpus, int(run), limit, self.kind)
        job.end_state, job.exit_code = self._end(shape.end, project)
        self._owned(job, project, self.users[i])
        self._oddities(job)
        return job

    def _end(self, end: int, project: Project) -> tuple[str, str]:
        """The drawn end, bent by the project's own rate of failures."""
        state, exit_code, _ = ENDS[end]
        if state == "FAILED" and self.rng.random() * 100 > project.failing:
            return "COMPLETED", "0:0"
        if state == "COMPLETED" and project.failing > 100 and self.rng.random() * 100 < (project.failing - 100) * 0.28:
            return "FAILED", "1:0"
        return state, exit_code

    def _owned(self, job: Job, project: Project, users: tuple[str, ...]) -> None:
        rng = self.rng
        pick = rng.random()
        which = int(pick * pick * len(users))  # the first users submit most
        job.account, job.user = project.account, users[which]
        job.uid = 20_000 + projects.PROJECTS.index(project) * 20 + which
        if rng.random() * 1000 < projects.UNMAPPED_PERMILLE:
            job.account = projects.UNMAPPED_ACCOUNT
        elastic = rng.random() * 100
        if self.kind == "inference":
            job.rank = 0 if elastic < 40 else 1
        elif elastic < project.elastic:
            job.rank = 2
        elif elastic > 96:
            job.rank = 0
        names = NAMES[self.kind]
        job.name = names[int(rng.random() * len(names))]

    def _oddities(self, job: Job) -> None:
        """The rare things that every accounting table is full of."""
        rng = self.rng
        draw = rng.random()
        if draw < 0.055:
            job.cancel_at = job.submit + 30 + int(rng.random() * 5400)  # gives up if it still waits then
        elif draw < 0.075:
            job.eligible = job.submit + 60 + int(rng.random() * 14_400)  # --begin, or after another job
        elif draw < 0.079:
            job.requeue_self = 1 + int(rng.random() * 3)  # a loop of crash and requeue
        elif draw < 0.105 and self.kind != "inference":
            job.cards, job.cpus = 0, 1 << int(rng.random() * 4)
            job.name = "preprocess"
        elif draw < 0.1056:
            job.name = ODD_NAME
        elif draw < 0.108:
            job.eligible, job.cancel_at = 0, job.submit + 600 + int(rng.random() * 90_000)  # held, then given up
        elif draw < 0.125 and job.cards >= 2 * CARDS_PER_NODE:
            job.het_first = CARDS_PER_NODE

    def _rest_of_array(self, first: Job, most: int) -> list[Job]:
        """The other tasks of an array that `first` becomes task 0 of: the same wish, each its own duration and end."""
        rng = self.rng
        first.cancel_at = first.requeue_self = 0
        rest = []
        for task in range(1, min(2 + int(rng.random() * 14), most + 1)):
            job = Job(
                first.submit,
                first.cards,
                first.cpus,
                max(2, int(first.run * (0.5 + rng.random()))),
                first.limit,
                first.kind,
            )
            job.run = min(job.run, job.limit)
            job.eligible = first.eligible
            job.account, job.user, job.uid, job.rank = first.account, first.user, first.uid, first.rank
            job.name, job.task = first.name, task
            job.end_state, job.exit_code = ("COMPLETED", "0:0") if rng.random() < 0.8 else ("FAILED", "1:0")
            rest.append(job)
        for job in (first, *rest):
            job.array_tasks = len(rest) + 1 if rest else 0
        return rest
