"""How the scheduler writes it down: `sacct -P` text with naive local times, and a side file of activity figures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from random import Random
from typing import TextIO

from portal.demo.estate import CARDS_PER_NODE, Pool, folded
from portal.demo.jobs import RANKS, Job

FIELDS = (
    "JobIDRaw|JobID|Cluster|Account|User|Partition|QOS|State|ExitCode|Submit|Eligible|Start|End|ElapsedRaw|Suspended"
    "|TimelimitRaw|NNodes|AllocCPUS|ReqTRES|AllocTRES|NodeList|Reason|Restarts|JobName"
)
ACTIVITY_FIELDS = "cluster,job_id_raw,submit,mean_activity,idle_gpu_seconds"
OFFSET_S = 8 * 3600  # Asia/Shanghai; no summer time since 1991
STEPS_PART = 0.04
MEMORY_GIB_PER_CPU = 4  # of runs without cards
EPOCH = date(1970, 1, 1)

# How much of a run its cards do nothing, by kind: (part of the runs, least idle, most idle).
IDLE = {
    "training": ((0.85, 0.0, 0.03), (0.95, 0.08, 0.40), (1.0, 0.60, 1.0)),
    "inference": ((0.70, 0.02, 0.20), (0.95, 0.20, 0.55), (1.0, 0.80, 1.0)),
    "development": ((0.30, 0.05, 0.30), (0.80, 0.30, 0.80), (1.0, 0.80, 1.0)),
}

_days: dict[int, str] = {}


def local(at: int) -> str:
    """Epoch seconds as naive local ISO time."""
    day, second = divmod(at + OFFSET_S, 86400)
    text = _days.get(day)
    if text is None:
        text = _days[day] = f"{(EPOCH + timedelta(days=day)).isoformat()}T"
    minutes, seconds = divmod(second, 60)
    return f"{text}{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"


def lasting(seconds: int) -> str:
    """A duration as sacct prints it: `[D-]HH:MM:SS`."""
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


class Writer:
    """Writes the attempts of one pool to the file of the month and to the activity file."""

    def __init__(self, pool: Pool, rng: Random) -> None:
        """`rng` decides what the queue does not: steps, suspensions, activity."""
        self.pool = pool
        self.rng = rng
        self.out: TextIO
        self.activity: TextIO
        self.head = f"|{pool.plan.cluster}|"
        self.tres: dict[tuple[int, int, bool], str] = {}
        self.rows = 0

    def to(self, out: TextIO, activity: TextIO) -> None:
        """Write to these from now on."""
        self.out, self.activity = out, activity

    def ended(self, job: Job, state: str, exit_code: str, end: int) -> None:
        """An attempt ended; without nodes it never started."""
        if state == "CANCELLED":
            state = f"CANCELLED by {job.uid if self.rng.random() < 0.95 else 0}"
        if not job.nodes:
            # sacct has both: no start at all, and a start that is the end.
            start = "None" if job.job_id % 3 else local(end)
            self._row(job, _label(job), job.job_id, job.cards, (state, exit_code, start, local(end), 0, 0), [])
            return
        self._started(job, state, exit_code, end, local(end))

    def running(self, job: Job, now: int) -> None:
        """An attempt that has not ended when the records do."""
        self._started(job, "RUNNING", "0:0", now, "Unknown")

    def pending(self, jobs: Iterable[Job]) -> None:
        """What waits when the records end; tasks of an array that were not split off are one row."""
        arrays: dict[int, list[Job]] = {}
        for job in jobs:
            if job.array_first and not job.restarts:
                arrays.setdefault(job.array_first, []).append(job)
            else:
                self._waiting(job, _label(job), job.job_id)
        for first, tasks in arrays.items():
            whole = any(task.job_id == first for task in tasks)
            for task in tasks[:1] if whole else tasks:
                numbers = f"[{','.join(str(t.task) for t in tasks)}]" if whole else str(task.task)
                self._waiting(task, f"{first}_{numbers}", first if whole else task.job_id)

    def _waiting(self, job: Job, label: str, job_id: int) -> None:
        if job.reason == "None":
            job.reason = "Priority"
        self._row(job, label, job_id, job.cards, ("PENDING", "0:0", "Unknown", "Unknown", 0, 0), [])

    def _started(self, job: Job, state: str, exit_code: str, end: int, end_text: str) -> None:
        suspended = 0
        ran = end - job.start
        if ran > 7200 and job.kind == "training" and self.rng.random() < 0.0015:
            suspended = ran // 20
        times = (state, exit_code, local(job.start), end_text, ran - suspended, suspended)
        names = [self.pool.names[node] for node in job.nodes]
        if job.het_first:
            first = job.het_first // CARDS_PER_NODE
            self._row(job, f"{job.job_id}+0", job.job_id, job.het_first, times, names[:first])
            self._row(job, f"{job.job_id}+1", job.job_id + 1, job.cards - job.het_first, times, names[first:])
            return
        self._row(job, _label(job), job.job_id, job.cards, times, names)
        if self.rng.random() < STEPS_PART:
            self._step(job, times)
        if job.cards:
            self._active(job, ran)

    def _row(
        self,
        job: Job,
        label: str,
        job_id: int,
        cards: int,
        times: tuple[str, str, str, str, int, int],
        names: list[str],
    ) -> None:
        state, exit_code, start, end, elapsed, suspended = times
        plan = self.pool.plan
        cpus = cards * plan.machine.cpus_per_card if cards else job.cpus
        nodes = max(1, cards // CARDS_PER_NODE)
        asked = self._tres(cards, cpus, job_id % 4 == 0)  # one in four names the model it wants
        given = self._tres(cards, cpus, plan.typed) if names else ""
        self.rows += 1
        self.out.write(
            f"{job_id}|{label}{self.head}{job.account}|{job.user}|{plan.partition}|{RANKS[job.rank]}|{state}|{exit_code}"
            f"|{local(job.submit)}|{local(job.eligible) if job.eligible else 'Unknown'}|{start}|{end}|{elapsed}"
            f"|{lasting(suspended)}|{job.limit // 60}|{nodes}|{cpus if names else 0}|{asked}"
            f"|{given}|{folded(names) if names else 'None assigned'}"
            f"|{job.reason}|{job.restarts}|{job.name}\n"
        )

    def _step(self, job: Job, times: tuple[str, str, str, str, int, int]) -> None:
        """The batch step: never counted by who reads right."""
        state, exit_code, start, end, elapsed, suspended = times
        cpus = job.cpus // max(1, len(job.nodes))
        tres = self._tres(min(job.cards, CARDS_PER_NODE), cpus, True).split(",", 1)[1]
        self.out.write(
            f"{job.job_id}.batch|{_label(job)}.batch{self.head}{job.account}||||{state.split()[0]}|{exit_code}|{start}|{start}"
            f"|{start}|{end}|{elapsed}|{lasting(suspended)}||1|{cpus}||{tres}|{self.pool.names[job.nodes[0]]}|||batch\n"
        )

    def _tres(self, cards: int, cpus: int, typed: bool) -> str:
        key = (cards, cpus, typed)
        text = self.tres.get(key)
        if text is None:
            machine = self.pool.plan.machine
            nodes = max(1, cards // CARDS_PER_NODE)
            memory = cards * machine.memory_gib_per_card if cards else cpus * MEMORY_GIB_PER_CPU
            named = f"gres/gpu:{machine.accelerator}={cards}," if typed else ""
            gres = f"{named}gres/gpu={cards}," if cards else ""
            text = self.tres[key] = f"billing={cards or cpus},cpu={cpus},{gres}mem={memory}G,node={nodes}"
        return text

    def _active(self, job: Job, ran: int) -> None:
        """Mean activity of the cards and how long they did nothing, as telemetry would sum it."""
        draw = self.rng.random()
        low, high = next((low, high) for part, low, high in IDLE[job.kind] if draw < part)
        idle = low + (high - low) * self.rng.random()
        activity = (1 - idle) * (0.45 + 0.5 * self.rng.random())
        key = f"{self.pool.plan.cluster},{job.job_id},{local(job.submit)}+08:00"
        self.activity.write(f"{key},{activity:.3f},{int(idle * ran) * job.cards}\n")


def _label(job: Job) -> str:
    return f"{job.array_first}_{job.task}" if job.array_first else str(job.job_id)
