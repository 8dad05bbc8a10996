"""The machines: how `gpus` cards are spread over two clusters, six pools, nodes and racks."""

from __future__ import annotations

from dataclasses import dataclass

CARDS_PER_NODE = 8


@dataclass(frozen=True)
class Machine:
    """One kind of node. Memory in GiB; the cores beside those of the cards are for runs without cards."""

    accelerator: str
    prefix: str  # of node names: "bj-h800-" gives bj-h800-001
    cpus: int
    memory_gib: int
    cpus_per_card: int
    memory_gib_per_card: int
    nodes_per_rack: int

    @property
    def spare_cpus(self) -> int:
        """Cores that no card needs."""
        return self.cpus - CARDS_PER_NODE * self.cpus_per_card


H800 = Machine("h800", "bj-h800-", 192, 2048, 20, 200, 4)
A800 = Machine("a800", "bj-a800-", 128, 1024, 14, 100, 4)
L20 = Machine("l20", "bj-l20-", 128, 512, 14, 56, 8)
ASCEND = Machine("910b", "gz-910b-", 192, 1024, 20, 100, 4)


@dataclass(frozen=True)
class PoolPlan:
    """A pool before it has nodes: its share of all nodes and of all runs, in thousandths."""

    code: str
    cluster: str
    zh: str
    en: str
    purpose: str  # training | inference | development
    partition: str
    machine: Machine
    node_share: int
    run_share: int
    first_load: float  # offered load in the first month, as a part of the pool's cards
    last_load: float
    typed: bool = True  # whether AllocTRES names the model


PLANS = (
    PoolPlan("train-h800", "bj", "H800训练池", "H800 training", "training", "train", H800, 400, 270, 0.90, 1.00),
    PoolPlan("train-a800", "bj", "A800训练池", "A800 training", "training", "train-a", A800, 210, 260, 0.86, 0.98),
    PoolPlan(
        "infer-l20", "bj", "L20推理池", "L20 inference", "inference", "infer", L20, 150, 90, 0.76, 0.88, typed=False
    ),
    PoolPlan("train-910b", "gz", "910B训练池", "910B training", "training", "train", ASCEND, 150, 130, 0.64, 0.92),
    PoolPlan("dev-a800", "bj", "A800开发池", "A800 development", "development", "dev", A800, 60, 220, 0.52, 0.68),
    PoolPlan("infer-910b", "gz", "910B推理池", "910B inference", "inference", "infer", ASCEND, 30, 30, 0.56, 0.72),
)


@dataclass(frozen=True)
class Pool:
    """A pool with its nodes: names in order, and how many cards each holds."""

    plan: PoolPlan
    names: tuple[str, ...]
    cards: tuple[int, ...]

    @property
    def code(self) -> str:
        """The pool's code."""
        return self.plan.code

    @property
    def total_cards(self) -> int:
        """Cards of all its nodes."""
        return sum(self.cards)


def pools(gpus: int) -> list[Pool]:
    """The pools of a company with `gpus` cards; those that would have no node are left out.

    Whole nodes are shared out by largest remainder, earlier pools first on a tie. Cards beyond the last whole node
    stand in one smaller node of the development pool (of the first pool, where there is no development). Raises
    ValueError below one card.
    """
    if gpus < 1:
        raise ValueError("a company needs at least one card")
    whole, rest = divmod(gpus, CARDS_PER_NODE)
    counts = _share_out(whole, [plan.node_share for plan in PLANS])
    odd = next((i for i, plan in enumerate(PLANS) if plan.purpose == "development" and counts[i]), 0)
    numbers: dict[str, int] = {}
    width = max(3, len(str(whole + 1)))
    found = []
    for index, (plan, count) in enumerate(zip(PLANS, counts, strict=True)):
        cards = [CARDS_PER_NODE] * count + ([rest] if rest and index == odd else [])
        if not cards:
            continue
        first = numbers.get(plan.machine.prefix, 0) + 1
        numbers[plan.machine.prefix] = first + len(cards) - 1
        names = tuple(f"{plan.machine.prefix}{first + i:0{width}d}" for i in range(len(cards)))
        found.append(Pool(plan, names, tuple(cards)))
    return found


def _share_out(total: int, weights: list[int]) -> list[int]:
    """`total` in whole parts by weight, largest remainder first."""
    of = sum(weights)
    parts = [total * weight // of for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % of), i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


def folded(names: list[str]) -> str:
    """Node names of one prefix as Slurm prints them: `bj-h800-[001-003,007]`. Names come in rising order."""
    if len(names) == 1:
        return names[0]
    cut = names[0].rindex("-") + 1
    prefix, numbers = names[0][:cut], [name[cut:] for name in names]
    spans: list[list[str]] = []
    for number in numbers:
        if spans and int(number) == int(spans[-1][1]) + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return f"{prefix}[{','.join(a if a == b else f'{a}-{b}' for a, b in spans)}]"


@dataclass(frozen=True)
class Rack:
    """A rack and the neighbours in it: place code, its row's and room's codes, nodes of one pool."""

    code: str
    row: str
    room: str
    site: str
    pool: str
    first: int  # position of its first node in the pool
    count: int


RACKS_PER_ROW = 10
ROWS_PER_ROOM = 6


def racks(found: list[Pool]) -> list[Rack]:
    """The racks of each site in order; a rack holds nodes of one pool only."""
    standing: dict[str, int] = {}
    result = []
    for pool in found:
        site = f"{pool.plan.cluster}1"
        per_rack = pool.plan.machine.nodes_per_rack
        for first in range(0, len(pool.names), per_rack):
            position = standing.get(site, 0)
            standing[site] = position + 1
            row_number, rack_number = divmod(position, RACKS_PER_ROW)
            room = f"{site}-m{row_number // ROWS_PER_ROOM + 1}"
            row = f"{room}-{chr(ord('a') + row_number % ROWS_PER_ROOM)}"
            count = min(per_rack, len(pool.names) - first)
            result.append(Rack(f"{row}{rack_number + 1:02d}", row, room, site, pool.code, first, count))
    return result
