"""What the ledger answers: rows of hours and money for a period, by up to several dimensions. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal

DIMENSIONS = ("department", "project", "account", "user", "pool", "model", "qos", "day", "outcome", "cluster")
#: By these the journal has no lines: amounts are not told apart by them.
HOURS_ONLY = frozenset({"account", "outcome"})
UNATTRIBUTED = "unattributed"

_FOUR, _SIX = Decimal("0.0001"), Decimal("0.000001")


def hours(quantity: int, per_hour: int) -> Decimal:
    """Whole units as hours with four places, rounded once, half up. `per_hour` is the units in one hour."""
    return (Decimal(quantity) / Decimal(per_hour)).quantize(_FOUR, ROUND_HALF_UP)


def money(amount: Decimal | None) -> Decimal | None:
    """An amount with the ledger's six places."""
    return None if amount is None else amount.quantize(_SIX, ROUND_HALF_UP)


@dataclass
class Sums:
    """Whole sums of one row; hours are made of them once, when they are read."""

    milligpu_seconds: int = 0
    card_milligpu_seconds: Decimal = Decimal(0)  # slices converted by their dated factor
    cpu_seconds: int = 0
    node_seconds: int = 0
    wall_seconds: int = 0
    memory_mib_seconds: int = 0
    runs_started: int = 0
    runs_ended: int = 0
    amount: Decimal | None = Decimal(0)
    accrued: Decimal | None = Decimal(0)

    @property
    def gpu_hours(self) -> Decimal:
        """Device hours."""
        return hours(self.milligpu_seconds, 3_600_000)

    @property
    def card_hours(self) -> Decimal:
        """Whole-card hours."""
        return (self.card_milligpu_seconds / Decimal(3_600_000)).quantize(_FOUR, ROUND_HALF_UP)

    @property
    def cpu_hours(self) -> Decimal:
        """CPU-core hours."""
        return hours(self.cpu_seconds, 3600)

    @property
    def node_hours(self) -> Decimal:
        """Node hours."""
        return hours(self.node_seconds, 3600)

    @property
    def wall_hours(self) -> Decimal:
        """Hours that runs ran, whatever their size."""
        return hours(self.wall_seconds, 3600)

    @property
    def memory_gib_hours(self) -> Decimal:
        """GiB hours of allocated memory."""
        return hours(self.memory_mib_seconds, 3600 * 1024)


@dataclass
class Row:
    """One row: the codes it is keyed by, in the order asked for, their names in the reader's language, and its sums."""

    keys: dict[str, str]
    name: str
    sums: Sums


@dataclass
class UnpricedDay:
    """Use on a day that no price covers: it counts, its amount is zero, and it is listed."""

    day: date
    pool: str
    model: str
    qos: str
    milligpu_seconds: int

    @property
    def gpu_hours(self) -> Decimal:
        """Device hours without a price."""
        return hours(self.milligpu_seconds, 3_600_000)


@dataclass
class Exceptions:
    """What a reader must know beside the figures."""

    quarantined: int = 0
    unattributed_milligpu_seconds: int = 0
    unassigned_milligpu_seconds: int = 0
    unknown_gpu_runs: int = 0
    unpriced_days: list[UnpricedDay] = field(default_factory=list)
    over_allocated_days: int = 0

    @property
    def unattributed_gpu_hours(self) -> Decimal:
        """Device hours that no mapping claims."""
        return hours(self.unattributed_milligpu_seconds, 3_600_000)

    @property
    def unassigned_gpu_hours(self) -> Decimal:
        """Device hours in no pool."""
        return hours(self.unassigned_milligpu_seconds, 3_600_000)


@dataclass
class Statement:
    """The ledger of a period as one reader may see it."""

    period: str
    first_on: date
    last_on: date  # inclusive
    time_zone: str
    currency: str
    through: datetime | None  # the earliest cluster's metered instant, exclusive
    dimensions: tuple[str, ...]
    rows: list[Row]
    total: Sums
    exceptions: Exceptions
