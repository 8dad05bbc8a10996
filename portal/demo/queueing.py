"""A pool's own scheduler: priority by QoS, then first come first served, with EASY backfill over named nodes.

Sets of nodes are bits of one integer, so that picking a node costs the same in a pool of 5 nodes and of 500, and picks
the same one everywhere. The first job that does not fit gets nodes held for it until the latest planned end on them
(the shadow); others may use those only when their limit ends before it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

from portal.demo.estate import CARDS_PER_NODE, Pool
from portal.demo.jobs import RANKS, Job, Outage

END, NODE, CANCEL, ARRIVE = range(4)  # order within a second: what frees cards comes first
DEPTH = 120  # jobs looked at in one pass
PROTECTED_S = 7200  # a running elastic job is safe from preemption this long
PATIENCE_S = 900  # a blocked job asks for preemption at most this often
REQUEUE_HOLD_S = 121
NEVER = 1 << 62
LOW = RANKS.index("low")

Ended = Callable[[Job, str, str, int], None]  # job (still with its nodes), state, exit code, end


class PoolQueue:
    """One pool's nodes, queue and running jobs, moved forward by `advance`."""

    def __init__(self, pool: Pool, rng: Random, ended: Ended, account_part: float = 0.4) -> None:
        """`ended` is called for every attempt that ends; `account_part` is what one account may hold of the cards."""
        self.pool = pool
        self.rng = rng
        self.ended = ended
        self.free = list(pool.cards)
        self.spare = [pool.plan.machine.spare_cpus] * len(pool.cards)
        self.by_free = [0] * (CARDS_PER_NODE + 1)
        for node, cards in enumerate(pool.cards):
            self.by_free[cards] |= 1 << node
        self.up = (1 << len(pool.cards)) - 1
        self.on_node: list[list[Job]] = [[] for _ in pool.cards]
        self.waiting: tuple[list[Job], ...] = tuple([] for _ in RANKS)
        self.elastic: list[Job] = []  # running and preemptible, oldest first
        self.cap = max(CARDS_PER_NODE, int(pool.total_cards * account_part))
        self.held: dict[str, int] = {}  # cards in use by account
        self.head: Job | None = None
        self.hold = 0
        self.shadow = NEVER
        self.events: list[tuple[int, int, int, Any]] = []
        self.serial = 0
        self.changed = False
        self.outages: list[Outage] = []
        self.draining: dict[int, tuple[int, str]] = {}  # node: (until, reason), jobs still on it
        self.out: dict[int, tuple[str, int, int, str]] = {}  # node: (state, from, until, reason)

    # ---- what comes from outside

    def submit(self, job: Job) -> None:
        """Let the job come when it is eligible; one that never is (0) goes when its owner gives up."""
        if job.eligible:
            self._later(job.eligible, ARRIVE, job)
        else:
            self._later(job.cancel_at, CANCEL, (job, job.attempt))

    def fail_node(self, at: int, node: int, state: str, until: int, reason: str) -> None:
        """Plan an outage: `down` kills what runs on the node, `drained` waits for it."""
        self._later(at, NODE, (node, state, until, reason))

    def advance(self, until: int) -> None:
        """Work through everything before `until`."""
        events = self.events
        while events and events[0][0] < until:
            now = events[0][0]
            self.changed = False
            fresh: list[Job] = []
            while events and events[0][0] == now:
                _, kind, _, what = heappop(events)
                if kind == ARRIVE:
                    fresh.append(what)
                else:
                    self._happen(now, kind, what)
            for job in fresh:
                self._arrive(job, now)
            if self.changed:
                self._pass(now)

    def running(self) -> list[Job]:
        """What runs now, by job id."""
        return sorted({id(job): job for jobs in self.on_node for job in jobs}.values(), key=_by_id)

    def close(self) -> list[Outage]:
        """The outages so far, by start; those still open have no end."""
        still = [self._outage(node, *about[:2], None, about[3]) for node, about in self.out.items()]
        return sorted(self.outages + still, key=lambda outage: (outage.from_at, outage.node))

    # ---- events

    def _later(self, at: int, kind: int, what: Any) -> None:
        self.serial += 1
        heappush(self.events, (at, kind, self.serial, what))

    def _happen(self, now: int, kind: int, what: Any) -> None:
        if kind == END:
            job, attempt = what
            if job.nodes and job.attempt == attempt:
                self._finish(job, now)
        elif kind == CANCEL:
            job, attempt = what
            if not job.nodes and job.attempt == attempt and not job.gone:
                if job.eligible:
                    self.waiting[job.rank].remove(job)
                self.ended(job, "CANCELLED", "0:0", now)
                self.changed = self.changed or job is self.head
        elif len(what) == 4:
            self._node_leaves(now, *what)
        else:
            self._node_returns(now, what[0])

    def _arrive(self, job: Job, now: int) -> None:
        """Queue a job; try it at once, unless a whole pass is due anyway."""
        queue = self.waiting[job.rank]
        queue.append(job)
        if job.cancel_at:
            self._later(max(job.cancel_at, now + 1), CANCEL, (job, job.attempt))
        head = self.head
        if head is None or job.rank < head.rank:
            self.changed = True
        elif not self.changed and self._allowed(job) and self._backfill(job, now):
            queue.pop()

    def _finish(self, job: Job, now: int) -> None:
        if job.requeue_self:
            job.requeue_self -= 1
            self._stop(job, "REQUEUED", "0:0", now)
            self._again(job, now)
            return
        self._stop(job, job.end_state, job.exit_code, now)

    def _stop(self, job: Job, state: str, exit_code: str, now: int) -> None:
        """End an attempt: say so, then give back what it held."""
        job.gone = True
        self.ended(job, state, exit_code, now)
        self._release(job, now)
        self.changed = True

    def _again(self, job: Job, now: int) -> None:
        """Requeue: another attempt of the same job id with a new submit time."""
        job.submit = max(now, job.submit + 1)
        job.eligible = job.submit + REQUEUE_HOLD_S
        job.gone = False
        job.attempt += 1
        job.restarts += 1
        job.reason = "None"
        job.cancel_at = 0
        self._later(job.eligible, ARRIVE, job)

    # ---- nodes going and coming

    def _node_leaves(self, now: int, node: int, state: str, until: int, reason: str) -> None:
        bit = 1 << node
        if not self.up & bit:
            return
        self.up &= ~bit
        if self.hold & bit:
            self.head = None
        self.changed = True
        if state == "drained" and self.on_node[node]:
            self.draining[node] = (until, reason)
        else:
            for job in list(self.on_node[node]):
                self._lose(job, now)
            self.out[node] = (state, now, until, reason)
        self._later(until, NODE, (node,))

    def _lose(self, job: Job, now: int) -> None:
        job.run = max(60, job.run - (now - job.start) // 2)  # half of it was behind a checkpoint
        again = self.rng.random() < 0.8
        self._stop(job, "NODE_FAIL", "1:0", now)
        if again:
            self._again(job, now)

    def _node_returns(self, now: int, node: int) -> None:
        self.draining.pop(node, None)
        about = self.out.pop(node, None)
        if about is not None and about[1] < now:
            self.outages.append(self._outage(node, about[0], about[1], now, about[3]))
        self.up |= 1 << node
        self.changed = True

    def _outage(self, node: int, state: str, from_at: int, to_at: int | None, reason: str) -> Outage:
        return Outage(self.pool.plan.cluster, self.pool.names[node], state, from_at, to_at, reason)

    # ---- the pass

    def _pass(self, now: int) -> None:
        """Start what may start: in order until the first that does not fit, then around it."""
        head: Job | None = None
        looked = 0
        least = NEVER  # a job of so many cards found no place outside the hold
        for queue in self.waiting:
            i = 0
            while i < len(queue):
                looked += 1
                if looked > DEPTH:
                    break
                job = queue[i]
                if not self._allowed(job):
                    i += 1
                elif head is None:
                    if self._place(job, now, self.up) or self._make_room(job, now):
                        del queue[i]
                    else:
                        head = job
                        self._hold_for(job)
                        i += 1
                elif job.cards >= least and now + job.limit > self.shadow:
                    i += 1
                elif self._backfill(job, now):
                    del queue[i]
                else:
                    least = min(least, job.cards or least)
                    i += 1
        if head is None:
            self.head, self.hold, self.shadow = None, 0, NEVER

    def _allowed(self, job: Job) -> bool:
        """Whether its account's limit leaves room; the wait is marked if not."""
        if self.held.get(job.account, 0) + job.cards <= self.cap or not self.held.get(job.account):
            return True
        job.reason = "AssocGrpGRES"
        return False

    def _backfill(self, job: Job, now: int) -> bool:
        return self._place(job, now, self.up if now + job.limit <= self.shadow else self.up & ~self.hold)

    def _place(self, job: Job, now: int, allowed: int) -> bool:
        """Start the job on allowed nodes, the fullest that fit first; False if there are none."""
        cards = job.cards
        if cards >= CARDS_PER_NODE:
            count = cards // CARDS_PER_NODE
            whole = self.by_free[CARDS_PER_NODE] & allowed
            if whole.bit_count() < count:
                return False
            nodes = []
            for _ in range(count):
                bit = whole & -whole
                nodes.append(bit.bit_length() - 1)
                whole ^= bit
        elif cards:
            for free in range(cards, CARDS_PER_NODE + 1):
                fitting = self.by_free[free] & allowed
                if fitting:
                    nodes = [(fitting & -fitting).bit_length() - 1]
                    break
            else:
                return False
        else:
            node = next((n for n, spare in enumerate(self.spare) if spare >= job.cpus and allowed >> n & 1), -1)
            if node < 0:
                return False
            nodes = [node]
        self._start(job, nodes, now)
        return True

    def _start(self, job: Job, nodes: list[int], now: int) -> None:
        job.nodes = nodes
        job.start = now
        self._take(job, 1)
        for node in nodes:
            self.on_node[node].append(job)
        if job.rank == LOW and job.cards:
            self.elastic.append(job)
        self._later(now + job.run, END, (job, job.attempt))

    def _release(self, job: Job, now: int) -> None:
        self._take(job, -1)
        for node in job.nodes:
            jobs = self.on_node[node]
            jobs.remove(job)
            if not jobs and node in self.draining:
                until, reason = self.draining.pop(node)
                self.out[node] = ("drained", now, until, reason)
        if job.rank == LOW and job.cards:
            self.elastic.remove(job)
        job.nodes = []

    def _take(self, job: Job, sign: int) -> None:
        """Book the job's cards (or cores) on its nodes, or give them back."""
        if not job.cards:
            self.spare[job.nodes[0]] -= sign * job.cpus
            return
        each = sign * min(job.cards, CARDS_PER_NODE)
        for node in job.nodes:
            bit = 1 << node
            self.by_free[self.free[node]] ^= bit
            self.free[node] -= each
            self.by_free[self.free[node]] |= bit
        self.held[job.account] = self.held.get(job.account, 0) + sign * job.cards

    # ---- the head of the queue

    def _hold_for(self, job: Job) -> None:
        """Hold the nodes that are planned to be free first for the job; kept while it stays at the head."""
        if job is self.head:
            return
        self.head = job
        nodes = [
            node for node, cards in enumerate(self.pool.cards) if self.up >> node & 1 and cards >= min(job.cards, 8)
        ]
        count = max(1, job.cards // CARDS_PER_NODE)
        if len(nodes) < count or not job.cards:
            self.hold, self.shadow = 0, NEVER
            return
        first = sorted((self._free_at(node, min(job.cards, CARDS_PER_NODE)), node) for node in nodes)[:count]
        self.hold = sum(1 << node for _, node in first)
        self.shadow = first[-1][0]

    def _free_at(self, node: int, cards: int) -> int:
        """When so many cards of the node are free, should every job use its limit to the end."""
        free = self.free[node]
        at = 0
        for end, given in sorted((job.start + job.limit, min(job.cards, CARDS_PER_NODE)) for job in self.on_node[node]):
            if free >= cards:
                break
            free += given
            at = end
        return at

    def _make_room(self, job: Job, now: int) -> bool:
        """Preempt elastic jobs for a blocked one if that lets it start; the fewest nodes, the youngest jobs."""
        if job.rank == LOW or not job.cards or now - job.preempted_at < PATIENCE_S or not self.elastic:
            return False
        job.preempted_at = now
        need = min(job.cards, CARDS_PER_NODE)
        count = max(1, job.cards // CARDS_PER_NODE)
        chances = []
        for node, free in enumerate(self.free):
            if not self.up >> node & 1 or self.pool.cards[node] < need:
                continue
            given = [j for j in self.on_node[node] if j.rank == LOW and j.cards and now - j.start >= PROTECTED_S]
            if free + sum(min(j.cards, CARDS_PER_NODE) for j in given) >= need:
                chances.append((need - free, -max((j.start for j in given), default=now), node, given))
        if len(chances) < count:
            return False
        chances.sort(key=lambda chance: chance[:3])
        for _, _, node, given in chances[:count]:
            for victim in sorted(given, key=lambda j: -j.start):
                if self.free[node] >= need:
                    break
                if victim.nodes:
                    self._preempt(victim, now)
        return self._place(job, now, self.up)

    def _preempt(self, victim: Job, now: int) -> None:
        victim.run = max(300, victim.run - (now - victim.start) * 4 // 5)
        self._stop(victim, "PREEMPTED", "0:0", now)
        if self.rng.random() < 0.75:
            self._again(victim, now)


def _by_id(job: Job) -> int:
    return job.job_id
