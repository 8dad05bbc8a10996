"""Matching rules of the catalogue: which pool claims a partition, which model a card is. Plain Python.

Pool by partition: exact over glob, longer glob over shorter, `*` last (it also takes an empty partition);
`accelerators` decides when pools share a partition. An untyped card takes the sole model of its nodes, else of its pool,
else the model *unknown* (blueprint, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

NO_MODEL, UNKNOWN_MODEL, UNASSIGNED = "none", "unknown", "unassigned"


class Claim(NamedTuple):
    """A pool's claim on a partition pattern."""

    pattern: str
    pool: str
    accelerators: frozenset[str]  # empty: any


class Part(NamedTuple):
    """Where a part of a run's use belongs. `milli` is that part's cards x 1000, or None for all the run's cards."""

    pool: str
    model: str
    milli: int | None


#: Base states and flags, as Slurm names them, that take a node out of service; the first that fits decides.
DOWN_STATES = frozenset({"DOWN", "ERROR", "FAIL", "FUTURE", "UNKNOWN"})
DOWN_FLAGS = frozenset({"NOT_RESPONDING", "FAIL", "POWERED_DOWN", "POWERING_DOWN", "INVALID_REG"})
RESERVED_FLAGS = frozenset({"RESERVED", "MAINTENANCE", "MAINT"})


class Observed(Protocol):
    """A node as a snapshot or an event shows it."""

    @property
    def state(self) -> str:
        """Base state."""

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags."""


def out_of_service(seen: Observed) -> tuple[str, int | None] | None:
    """The state that takes the node out of service and how many of its cards (None: all), None where it serves.

    A draining node's busy cards still serve: only the idle ones are out. Planned nodes serve: they are free until the job starts.
    """
    flags = set(seen.flags)
    if seen.state in DOWN_STATES or flags & DOWN_FLAGS:
        return ("down", None)
    if "DRAIN" in flags or seen.state in {"DRAINED", "DRAINING"}:
        used = getattr(seen, "gpus_used", None)
        total = sum(count for _, count in getattr(seen, "gpus", ()))
        return ("drained", max(total - used, 0) if used and total else None)
    if flags & RESERVED_FLAGS:
        used = getattr(seen, "gpus_used", None)
        total = sum(count for _, count in getattr(seen, "gpus", ()))
        return ("reserved", max(total - used, 0) if used and total else None)
    return None


def is_glob(pattern: str) -> bool:
    """Whether the pattern is more than one exact name."""
    return any(sign in pattern for sign in "*?[")


def rank(pattern: str, partition: str) -> tuple[int, int] | None:
    """How well `pattern` fits `partition`, larger is better, None is not at all."""
    if pattern == partition and partition:
        return (2, len(pattern))
    if pattern == "*":
        return (0, 0)
    if partition and is_glob(pattern) and fnmatchcase(partition, pattern):
        return (1, len(pattern))
    return None


@dataclass(frozen=True)
class CatalogueDay:
    """One cluster's catalogue on one day, as far as matching needs it."""

    claims: tuple[Claim, ...]
    aliases: Mapping[str, str]  # lower-cased alias or code -> model code
    pool_models: Mapping[str, frozenset[str]]  # pool -> models it is declared to have, else models of its nodes
    node_models: Callable[[str], frozenset[str]] = field(
        default=lambda _: frozenset()
    )  # node list -> models of its nodes


def model_of_type(printed: str, aliases: Mapping[str, str]) -> str:
    """The model a scheduler's type name means; *unknown* where no model has that alias."""
    return aliases.get(printed.lower(), UNKNOWN_MODEL)


def parts(
    day: CatalogueDay, partition: str, gpu_type: str, node_list: str, *, has_gpu: bool, gpu_unknown: bool
) -> list[Part]:
    """Where the use of a run of this shape belongs, at least one part. `gpu_type` is the signature of `schedulers.slurm.tres`."""
    best = best_claims(day.claims, partition)
    if gpu_unknown or not has_gpu:
        model = UNKNOWN_MODEL if gpu_unknown else NO_MODEL
        return [Part(_pool_without_model(best), model, None)]
    if "+" not in gpu_type and ":" not in gpu_type:
        return [_part(day, best, gpu_type, node_list, None)]
    pieces = [piece.rpartition(":") for piece in gpu_type.split("+")]
    return _merged(_part(day, best, name, node_list, int(milli)) for name, _, milli in pieces)


def best_claims(claims: Iterable[Claim], partition: str) -> list[Claim]:
    """The claims that fit the partition best, by pool; several where pools share it."""
    ranked = [(fit, claim) for claim in claims if (fit := rank(claim.pattern, partition)) is not None]
    top = max((fit for fit, _ in ranked), default=None)
    return sorted((claim for fit, claim in ranked if fit == top), key=lambda claim: claim.pool)


def _part(day: CatalogueDay, best: list[Claim], printed: str, node_list: str, milli: int | None) -> Part:
    model = model_of_type(printed, day.aliases) if printed else _sole(day.node_models(node_list))
    # A pool that names the model comes before one that is open to all.
    named = [claim for claim in best if model and model in claim.accelerators]
    fitting = named or ([claim for claim in best if not claim.accelerators] if model else best)
    pool = _pool_without_model(fitting) if fitting else UNASSIGNED
    if not model:
        model = _sole(day.pool_models.get(pool, frozenset())) or UNKNOWN_MODEL
    return Part(pool, model, milli)


def _pool_without_model(claims: list[Claim]) -> str:
    """A pool that names accelerators steps back behind one that does not, when a run has no card to tell them apart."""
    open_to_all = [claim for claim in claims if not claim.accelerators]
    return (open_to_all or claims)[0].pool if claims else UNASSIGNED


def _sole(models: frozenset[str]) -> str:
    return next(iter(models)) if len(models) == 1 else ""


def _merged(found: Iterable[Part]) -> list[Part]:
    sums: dict[tuple[str, str], int] = {}
    for part in found:
        key = (part.pool, part.model)
        sums[key] = sums.get(key, 0) + (part.milli or 0)
    return [Part(pool, model, milli) for (pool, model), milli in sums.items()]
