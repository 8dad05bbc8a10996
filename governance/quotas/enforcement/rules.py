"""Rules of enforcement, without a database: which limits carry the quotas of a cluster, and how they stand there.

Each line of quota is one QOS of its own, which carries its ceiling, its budget and its type of GPU; the project's accounts
may use these QOS and no other, and carry the sum of the ceilings over all of them. Decision 11 has the why.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from governance.errors import N_
from governance.schedulers.limits import ACCOUNT, NO_DECAY, QOS, USER, Limit, ObservedLimit, Values, same

from .. import rules as quota_rules

CARD = "gres/gpu"
PREFIX = "sy"  # of each QOS that is the portal's own
NO_GPU_QOS = f"{PREFIX}.nogpu"  # for jobs without GPUs, where the others want a type
HOUR = 60  # minutes

Key = tuple[str, str]  # (kind, name) of an object that carries limits

# Why a line cannot be enforced, or not whole: code -> words
REFUSALS = {
    "no_account": N_(
        "The project has no account of its own on this cluster, so nothing carries its quota. Map an account to it, for all users and QoS."
    ),
    "shared_account": N_(
        "The account %(accounts)s is shared with other projects: one limit cannot hold one project of several. "
        "Give each project an account of its own."
    ),
    "type_unknown": N_(
        "The scheduler counts no GPU type %(models)s, so the model cannot be told apart there. "
        "Give the model the scheduler's name for it in the catalogue, or have the type counted."
    ),
}
NOTES = {
    "also_shared": N_("Jobs under the shared account %(accounts)s are not held by this quota."),
    "any_type": N_(
        "The pool has several types of GPUs, of which the cluster has more: a job that names no type may run outside the pool."
    ),
}


@dataclass(frozen=True)
class Queue:
    """How the line's jobs stand in the queue, where the pool has a rule for its level or its offering says."""

    priority: int | None = None  # None: as the offering's QOS
    displaces: tuple[str, ...] | None = None  # levels of the same pool; None: as the offering's QOS
    displaced_qos: tuple[str, ...] = ()  # the offerings' QOS of these levels
    when_displaced: str = ""  # requeue or cancel: what becomes of the line's own jobs
    min_run_s: int | None = None
    max_wall_s: int | None = None


@dataclass(frozen=True)
class Line:
    """A line of quota in the scheduler's words. `types` are those of the scheduler that it may use, () for all it has."""

    quota: str
    project: str
    pool: str
    level: str = quota_rules.NORMAL
    model: str = ""
    base: str = ""  # the QOS of the offering: where priority and preemption are taken from
    accounts: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    unknown_models: tuple[str, ...] = ()
    guaranteed: int = 0
    ceiling: int = 0
    hours: int | None = None
    period: str = quota_rules.MONTH
    is_suspended: bool = False
    queue: Queue = Queue()

    @property
    def qos(self) -> str:
        """The QOS that carries it."""
        return qos_name(self.project, self.pool, self.level, self.model)


@dataclass(frozen=True)
class Site:
    """What a cluster is like: its types of GPUs, and the QOS that stand there already with what they carry."""

    types: tuple[str, ...] = ()
    keeps_qos: tuple[str, ...] = ()  # QOS that each account keeps beside its own
    requires_type: bool = True
    bases: Mapping[str, Values] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """What an object should carry, for which project and lines."""

    values: Values
    project: str = ""
    quotas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Desired:
    """All that a cluster should carry, and the lines that nothing can carry there: number -> (code, particulars)."""

    limits: dict[Key, Wanted]
    refused: dict[str, tuple[str, dict[str, str]]]
    notes: dict[str, tuple[str, dict[str, str]]]


def qos_name(project: str, pool: str, level: str, model: str) -> str:
    """The QOS of a line. sacctmgr lowers names and takes commas apart, so that a code with other signs gets a digest.

    Its fourth part is the level, unless that is normal without a model: use against a line is found by it (sql/use_by_day.sql).
    """
    parts = [project, pool]
    if level != quota_rules.NORMAL or model:
        parts.append(level)
    if model:
        parts.append(model)
    plain = [re.sub(r"[^a-z0-9_-]", "_", part.lower()) for part in parts]
    name = ".".join([PREFIX, *plain])
    if plain != parts:
        name += "." + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:6]
    return name


def level_of(qos: str) -> str | None:
    """The level of a line by the QOS that carries it; None for a QOS that is not the portal's own."""
    parts = qos.split(".")
    if len(parts) < 3 or parts[0] != PREFIX:
        return None
    return parts[3] if len(parts) > 3 and parts[3] in quota_rules.LEVELS else quota_rules.NORMAL


def desired(lines: Iterable[Line], site: Site, budgets: Mapping[str, int] | None = None) -> Desired:
    """What should be in force. `budgets` has the minutes counted before the period, by QOS."""
    refused: dict[str, tuple[str, dict[str, str]]] = {}
    notes: dict[str, tuple[str, dict[str, str]]] = {}
    carried: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        reason = _refusal(line)
        if reason is not None:
            refused[line.quota] = reason
            continue
        if line.shared:
            notes[line.quota] = ("also_shared", {"accounts": ", ".join(line.shared)})
        elif site.requires_type and 1 < len(line.types) < len(site.types):
            notes[line.quota] = ("any_type", {})
        carried[line.project].append(line)
    limits: dict[Key, Wanted] = {}
    for project, held in carried.items():
        for line in held:
            limits[QOS, line.qos] = Wanted(
                _of_line(line, site, (budgets or {}).get(line.qos, 0)), project, (line.quota,)
            )
        wanted = Wanted(_of_account(held, site), project, tuple(line.quota for line in held))
        for account in held[0].accounts:
            limits[ACCOUNT, account] = wanted
    if any(NO_GPU_QOS in str(one.values.get("QOS", "")).split(",") for one in limits.values()):
        limits[QOS, NO_GPU_QOS] = Wanted({f"GrpTRES:{CARD}": 0})
    _let_displace(limits, [line for held in carried.values() for line in held], site)
    return Desired(limits, refused, notes)


def _refusal(line: Line) -> tuple[str, dict[str, str]] | None:
    if not line.accounts:
        return ("shared_account", {"accounts": ", ".join(line.shared)}) if line.shared else ("no_account", {})
    if line.unknown_models and not line.types:
        return "type_unknown", {"models": ", ".join(line.unknown_models)}
    return None


def _ceiling(line: Line) -> int:
    return 0 if line.is_suspended else line.ceiling


def _of_line(line: Line, site: Site, counted: int) -> dict[str, int | str]:
    ceiling = _ceiling(line)
    types = set(line.types or site.types)
    values: dict[str, int | str] = {f"GrpTRES:{CARD}": ceiling, "Flags": NO_DECAY}
    for kind in site.types:
        values[f"GrpTRES:{CARD}:{kind}"] = ceiling if kind in types else 0
    if _wants_type(line, site):
        values[f"MinTRES:{CARD}:{line.types[0]}"] = 1
    if line.hours is not None:
        values[f"GrpTRESMins:{CARD}"] = max(0, counted + line.hours * HOUR)
    return values | _of_queue(line, site.bases.get(line.base, {}))


def _of_queue(line: Line, base: Values) -> dict[str, int | str]:
    """Priority, wall time and what becomes of displaced jobs: by the pool's rule, else as the offering's QOS has it."""
    queue = line.queue
    values: dict[str, int | str] = {
        key: base[key] for key in ("Priority", "PreemptMode", "PreemptExemptTime", "MaxWall") if key in base
    }
    if queue.priority is not None:
        values["Priority"] = queue.priority
    if queue.when_displaced:
        values["PreemptMode"] = queue.when_displaced
    for key, seconds in (("PreemptExemptTime", queue.min_run_s), ("MaxWall", queue.max_wall_s)):
        if seconds is not None:
            values[key] = -(-seconds // 60)
    return values


def _wants_type(line: Line, site: Site) -> bool:
    """A limit on a type holds no job that names none, unless the QOS wants the type named."""
    return site.requires_type and len(line.types) == 1 and len(site.types) > 1


def _of_account(lines: Sequence[Line], site: Site) -> dict[str, int | str]:
    values: dict[str, int | str] = {
        f"GrpTRES:{CARD}": sum(map(_ceiling, lines)),
        "Fairshare": max(1, sum(line.guaranteed for line in lines)),
    }
    for kind in site.types:
        values[f"GrpTRES:{CARD}:{kind}"] = sum(_ceiling(line) for line in lines if kind in (line.types or site.types))
    allowed = {line.qos for line in lines} | set(site.keeps_qos)
    if any(_wants_type(line, site) for line in lines):
        allowed.add(NO_GPU_QOS)
    values["QOS"] = ",".join(sorted(allowed))
    order = {quota_rules.NORMAL: 0, quota_rules.URGENT: 1, quota_rules.ELASTIC: 2}
    values["DefaultQOS"] = min(lines, key=lambda line: (order.get(line.level, 3), -line.ceiling, line.qos)).qos
    return values


def _let_displace(limits: dict[Key, Wanted], lines: Sequence[Line], site: Site) -> None:
    """A QOS displaces the levels that the pool's rule names: their offerings' QOS, and the QOS of their lines. Without a rule it
    displaces what its offering's QOS does, and the lines whose offering's QOS that is."""
    for line in lines:
        if line.queue.displaces is None:
            named = [name for name in str(site.bases.get(line.base, {}).get("Preempt", "")).split(",") if name]
            own = [other.qos for other in lines if other.base in named]
        else:
            named = [name for name in line.queue.displaced_qos if name in site.bases]
            own = [other.qos for other in lines if other.pool == line.pool and other.level in line.queue.displaces]
        displaced = {*named, *own} - {line.qos}
        if displaced:
            wanted = limits[QOS, line.qos]
            values = {**wanted.values, "Preempt": ",".join(sorted(displaced))}
            limits[QOS, line.qos] = Wanted(values, wanted.project, wanted.quotas)


def retired(values: Values) -> dict[str, int | str]:
    """What is wanted of an object that carries no quota any more: its counts of GPUs at nothing.

    A limit is never cleared, for that would mean unlimited; names and the account's QOS stay as they are.
    """
    return {key: 0 if key.startswith("GrpTRES:") else value for key, value in values.items()}


#: Of a QOS that had a budget and has none: more minutes than a cluster of a million GPUs gives in a thousand years.
NO_BUDGET = 10**15
#: What undoes a key of a queue that is no longer wanted.
UNDONE: dict[str, int | str] = {"Preempt": "", "MaxWall": -1, "PreemptExemptTime": -1, "PreemptMode": "cluster"}


def carried_over(before: Values, wanted: Values) -> dict[str, int | str]:
    """What is wanted with what must undo what was wanted before: a budget that is no more, a type that need not be named."""
    undone: dict[str, int | str] = {}
    for key in before.keys() - wanted.keys():
        if key.startswith("GrpTRESMins:"):
            undone[key] = NO_BUDGET
        elif key.startswith("MinTRES:"):
            undone[key] = 0
        elif key in UNDONE:
            undone[key] = UNDONE[key]
    return {**wanted, **undone}


# --- how what stands there compares with what should

IN_FORCE, TO_APPLY, CHANGED, MISSING = "in_force", "to_apply", "changed", "missing"
EXTRA, UNMANAGED = "extra", "unmanaged"
DRIFTS = (MISSING, CHANGED, EXTRA, UNMANAGED)


@dataclass(frozen=True)
class Verdict:
    """How one object stands. `differs`: key -> (wanted, found); `lags`: keys its controller holds otherwise."""

    state: str
    differs: dict[str, tuple[int | str | None, int | str | None]]
    lags: tuple[str, ...] = ()


def compare(wanted: Values, found: ObservedLimit | None, held: Values | None) -> Verdict:
    """`held` is what was last wanted and seen in force, None if nothing yet or if it is to be restored.

    Where that still is what is wanted and no longer stands there, somebody else changed it.
    """
    if found is None:
        differs: dict[str, tuple[int | str | None, int | str | None]] = {
            key: (value, None) for key, value in wanted.items()
        }
        return Verdict(MISSING if _holds(held, wanted) else TO_APPLY, differs)
    differs = {key: (value, found.values.get(key)) for key, value in found.differs(wanted).items()}
    if not differs:
        return Verdict(IN_FORCE, {}, tuple(found.lags(wanted)))
    if not _holds(held, wanted):
        return Verdict(TO_APPLY, differs)
    gone = all(there is None for _, there in differs.values())
    return Verdict(MISSING if gone else CHANGED, differs)


def _holds(held: Values | None, wanted: Values) -> bool:
    return held is not None and all(same(key, held.get(key), value) for key, value in wanted.items())


def strangers(
    observed: Mapping[Key, ObservedLimit], governed: Mapping[Key, Values]
) -> dict[Key, tuple[str, dict[str, tuple[int | str | None, int | str | None]]]]:
    """What stands there and was not born here: limits of GPUs on objects that carry no quota (unmanaged), and users of a
    governed account who may use other QOS than it (extra)."""
    found: dict[Key, tuple[str, dict[str, tuple[int | str | None, int | str | None]]]] = {}
    for key, one in observed.items():
        if key in governed:
            continue
        kind, name = key
        account = governed.get((ACCOUNT, name.partition("/")[0])) if kind == USER else None
        if account is not None:
            loose = _own_qos(one.values, account)
            if loose:
                found[key] = (EXTRA, loose)
            continue
        limits = {k: v for k, v in one.values.items() if k.startswith(("GrpTRES:", "GrpTRESMins:"))}
        if limits:
            found[key] = (UNMANAGED, {k: (None, v) for k, v in limits.items()})
    return found


def _own_qos(values: Values, account: Values) -> dict[str, tuple[int | str | None, int | str | None]]:
    allowed = set(str(account.get("QOS", "")).split(","))
    loose: dict[str, tuple[int | str | None, int | str | None]] = {}
    for key in ("QOS", "DefaultQOS"):
        own = {name for name in str(values.get(key, "")).split(",") if name}
        if own - allowed:
            loose[key] = (account.get(key), values.get(key))
    return loose


def is_limited(values: Values) -> bool:
    """Whether an object carries a limit of GPUs at all."""
    return any(key.startswith(("GrpTRES:", "GrpTRESMins:")) for key in values)


# --- over what is allowed, draining


def over(wanted: Values, used: Mapping[str, int]) -> dict[str, int]:
    """GPUs in use beyond the limit, by TRES."""
    return {
        key.partition(":")[2]: used.get(key.partition(":")[2], 0) - int(value)
        for key, value in wanted.items()
        if key.startswith("GrpTRES:") and used.get(key.partition(":")[2], 0) > int(value)
    }


def clear_at(excess: Mapping[str, int], ends: Iterable[tuple[int | None, Mapping[str, int]]]) -> int | None:
    """The latest moment by which enough of the running jobs reach their time limit, epoch seconds.

    None where jobs without a limit stand in the way: then nobody can tell. `ends`: (end, GPUs by TRES) of each job.
    """
    left = dict(excess)
    for end, held in sorted(ends, key=lambda one: (one[0] is None, one[0] or 0)):
        if end is None:
            return None
        for tres in left:
            left[tres] -= held.get(tres, 0)
        if all(count <= 0 for count in left.values()):
            return end
    return None


# --- budgets: Slurm counts up and never back, so that a period begins where the count then stood


@dataclass(frozen=True)
class Base:
    """Where a QOS's count of minutes stood when the period began, and where it was last seen."""

    period: str
    minutes: int
    seen: int


def period_of(kind: str, day: date) -> str:
    """The period that a day lies in: "2026-12", or "total" of a budget that is given once."""
    return f"{day:%Y-%m}" if kind == quota_rules.MONTH else quota_rules.TOTAL


def next_base(base: Base | None, period: str, counted: int) -> Base:
    """The base after the count was read. A count that fell was reset: what was used of the budget before stays used."""
    if base is None or base.period != period:
        return Base(period, counted, counted)
    if counted < base.seen:
        return Base(period, base.minutes - base.seen, counted)
    return Base(period, base.minutes, counted)


def orders(
    wanted: Mapping[Key, Values], observed: Mapping[Key, ObservedLimit]
) -> list[tuple[Limit, ObservedLimit | None]]:
    """What to tell the scheduler for the objects given."""
    return [(Limit(*key, values), observed.get(key)) for key, values in wanted.items()]
