"""After the last reading of a round: how each object stands, what drifted and who did it, what is over and when it is clear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from governance.errors import N_
from governance.schedulers.limits import Change, LimitPort, ObservedLimit
from governance.schedulers.live import SourceFault, Window

from . import rules
from .models import DRAINING, DRIFTED, DRY, FAILED, GONE, IN_FORCE, WAITING, EnforcedCluster, EnforcedLimit, LimitDrift
from .ports import SAID
from .rules import Key

LATE = (WAITING, FAILED)
LOOK_BACK = timedelta(days=30)  # how far the scheduler's trail is asked for an author

LAGS = N_("The accounting has it, the controller does not hold it yet: %(keys)s. It is read again.")
NOT_TOLD = N_("It is to be told the scheduler in the next round.")
OVER = N_(
    "%(over)s GPUs more are in use than the limit. Nothing that runs is stopped; nothing new starts until enough has ended."
)
OVER_OPEN = N_(
    "%(over)s GPUs more are in use than the limit. Nothing that runs is stopped; "
    "when it is clear cannot be told, for jobs without a time limit run."
)
DRY_RUN = N_("Shown only: the cluster is not opted in, so nothing is told the scheduler.")
CHANGED_THERE = N_("Changed in the scheduler by %(by)s. Adopt or restore it.")
CHANGED_BY_NOBODY = N_("Changed in the scheduler; its trail does not tell by whom. Adopt or restore it.")

_WRITTEN = ["state", "words", "words_params", "clear_at", "held", "held_at", "seen", "seen_at", "used", "used_minutes"]
Observed = Mapping[Key, ObservedLimit]


@dataclass(frozen=True)
class Settled:
    """Counts of a round."""

    in_force: int
    drifted: int


@dataclass(frozen=True)
class Difference:
    """One object that somebody else changed."""

    drift: str
    differs: dict[str, Any]
    number: str  # of the association, "" of a QOS or where it is gone
    project: str = ""
    quotas: tuple[str, ...] = ()
    since: datetime | None = None


def settle(
    setup: EnforcedCluster,
    port: LimitPort,
    desired: rules.Desired,
    rows: dict[Key, EnforcedLimit],
    observed: Observed,
    *,
    read_ms: int,
) -> Settled:
    """Write down how everything stands. What else must be asked of the scheduler is asked before the transaction."""
    now = datetime.now(UTC)
    verdicts = {key: rules.compare(row.wanted, observed.get(key), row.held) for key, row in rows.items()}
    governed = {key: row.wanted for key, row in rows.items()}
    drifted = _differences(rows, verdicts, governed, observed) if setup.is_on else _strangers(governed, observed)
    authors = _authors(setup, port, drifted, now)
    over = {
        key: rules.over(row.wanted, observed[key].used) for key, row in rows.items() if key in observed and setup.is_on
    }
    clear = _clear(port, {key: excess for key, excess in over.items() if excess})
    with transaction.atomic():
        written = []
        for key, row in rows.items():
            before = [getattr(row, name) for name in _WRITTEN if name != "seen_at"]
            _stand(setup, row, verdicts[key], observed.get(key), over.get(key) or {}, clear.get(key), now)
            row.seen_at = now
            if before != [getattr(row, name) for name in _WRITTEN if name != "seen_at"]:
                written.append(row)
        found = _write_drifts(setup, drifted, authors, now)
        for key, drift in found.items():
            if key in rows:
                by = drift.changed_by
                rows[key].state = DRIFTED
                rows[key].words, rows[key].words_params = (CHANGED_THERE, {"by": by}) if by else (CHANGED_BY_NOBODY, {})
        EnforcedLimit.objects.bulk_update(written, _WRITTEN, batch_size=500)
        EnforcedLimit.objects.filter(cluster=setup.cluster).update(seen_at=now)
        _figures(setup, observed, rows, drifted, read_ms, now)
    return Settled(sum(row.state in (IN_FORCE, DRAINING) for row in rows.values()), len(found))


def _stand(
    setup: EnforcedCluster,
    row: EnforcedLimit,
    verdict: rules.Verdict,
    found: ObservedLimit | None,
    excess: dict[str, int],
    clear: tuple[int | None, int] | None,
    now: datetime,
) -> None:
    row.seen = {key: found.values[key] for key in row.wanted if key in found.values} if found else None
    row.used = {tres: count for tres, count in found.used.items() if count} if found else {}
    row.used_minutes = {tres: count for tres, count in found.used_minutes.items() if count} if found else {}
    row.clear_at, row.words, row.words_params = None, "", {}
    if verdict.state == rules.IN_FORCE and not verdict.lags:
        if row.held != row.wanted:
            row.held, row.held_at = dict(row.wanted), now
        row.state = IN_FORCE
        if excess and clear is not None:
            row.state = DRAINING
            row.clear_at = datetime.fromtimestamp(clear[0], UTC) if clear[0] is not None else None
            row.words, row.words_params = OVER if row.clear_at else OVER_OPEN, {"over": max(excess.values())}
    elif not setup.is_on:
        row.state, row.words = DRY, DRY_RUN
    elif verdict.state == rules.IN_FORCE:
        row.state, row.words, row.words_params = WAITING, LAGS, {"keys": ", ".join(verdict.lags)}
    elif verdict.state in (rules.CHANGED, rules.MISSING):
        row.state = DRIFTED
    elif row.told is not None and row.told.fault and row.told_at is not None and row.told_at >= row.wanted_at:
        row.state, row.words = FAILED, SAID.get(row.told.fault, SAID["failed"])
        row.words_params = {"answer": row.told.answer[:300] or "-"}
    else:
        row.state, row.words = WAITING, NOT_TOLD


def _strangers(governed: Mapping[Key, Any], observed: Observed) -> dict[Key, Difference]:
    return {
        key: Difference(drift, {name: list(pair) for name, pair in differs.items()}, observed[key].number)
        for key, (drift, differs) in rules.strangers(observed, governed).items()
    }


def _differences(
    rows: Mapping[Key, EnforcedLimit],
    verdicts: Mapping[Key, rules.Verdict],
    governed: Mapping[Key, Any],
    observed: Observed,
) -> dict[Key, Difference]:
    found = _strangers(governed, observed)
    for key, verdict in verdicts.items():
        if verdict.state in (rules.CHANGED, rules.MISSING):
            row = rows[key]
            number = observed[key].number if key in observed else ""
            differs = {name: list(pair) for name, pair in verdict.differs.items()}
            found[key] = Difference(verdict.state, differs, number, row.project, tuple(row.quotas), row.held_at)
    return found


def _authors(
    setup: EnforcedCluster, port: LimitPort, drifted: Mapping[Key, Difference], now: datetime
) -> dict[Key, Change]:
    """The last change of each object that is not known as drift already; nobody where the trail cannot be read."""
    known = {
        (drift.kind, drift.name): drift
        for drift in LimitDrift.objects.filter(cluster=setup.cluster, resolved_at__isnull=True)
    }
    news = {key: one for key, one in drifted.items() if key not in known or known[key].differs != one.differs}
    if not news:
        return {}
    since = min((one.since or now - LOOK_BACK for one in news.values()), default=now)
    window = Window(int(max(since, now - LOOK_BACK).timestamp()) - 2, int(now.timestamp()) + 120)
    try:
        changes = list(port.changes(window))
    except SourceFault:
        return {}
    latest: dict[tuple[str, str], Change] = {(one.kind, one.key): one for one in changes}
    found: dict[Key, Change] = {}
    for key, one in news.items():
        change = latest.get((rules.QOS, key[1]) if key[0] == rules.QOS else (rules.ACCOUNT, one.number))
        if change is not None and (one.since is None or change.at >= int(one.since.timestamp()) - 1):
            found[key] = change
    return found


def _clear(port: LimitPort, over: Mapping[Key, dict[str, int]]) -> dict[Key, tuple[int | None, int]]:
    """(when it is clear, GPUs too many) of each object that is over."""
    if not over:
        return {}
    try:
        running = list(port.running())
    except SourceFault:
        return {key: (None, max(excess.values())) for key, excess in over.items()}
    found: dict[Key, tuple[int | None, int]] = {}
    for key, excess in over.items():
        ends = [
            (job.ends_at, job.held) for job in running if key[1] == (job.qos if key[0] == rules.QOS else job.account)
        ]
        found[key] = (rules.clear_at(excess, ends), max(excess.values()))
    return found


def _write_drifts(
    setup: EnforcedCluster, drifted: Mapping[Key, Difference], authors: Mapping[Key, Change], now: datetime
) -> dict[Key, LimitDrift]:
    """Open what is new, keep what stands, and close what is gone by itself."""
    known = {
        (drift.kind, drift.name): drift
        for drift in LimitDrift.objects.select_for_update().filter(cluster=setup.cluster, resolved_at__isnull=True)
    }
    found: dict[Key, LimitDrift] = {}
    for key, one in drifted.items():
        drift = known.pop(key, None) or LimitDrift(cluster=setup.cluster, kind=key[0], name=key[1], first_at=now)
        author = authors.get(key)
        if author is not None:
            drift.changed_by, drift.changed_at = author.actor, datetime.fromtimestamp(author.at, UTC)
        drift.drift, drift.differs, drift.project, drift.quotas = one.drift, one.differs, one.project, list(one.quotas)
        drift.last_at = now
        found[key] = drift
    new = [drift for drift in found.values() if drift.pk is None]
    standing = [drift for drift in found.values() if drift.pk is not None]
    LimitDrift.objects.bulk_create(new, batch_size=500)
    LimitDrift.objects.bulk_update(
        standing,
        ["changed_by", "changed_at", "drift", "differs", "project", "quotas", "last_at"],
        batch_size=500,
    )
    LimitDrift.objects.filter(pk__in=[drift.pk for drift in known.values()]).update(resolved_at=now, resolved_as=GONE)
    return found


def _figures(
    setup: EnforcedCluster,
    observed: Observed,
    rows: Mapping[Key, EnforcedLimit],
    drifted: Mapping[Key, Difference],
    read_ms: int,
    now: datetime,
) -> None:
    """Limits in force not born here, of all. An object with a quota counts as foreign while somebody else's change stands."""
    limited = {key for key, one in observed.items() if rules.is_limited(one.values)}
    foreign = {key for key in drifted if key in limited} | {key for key in limited if key not in rows}
    setup.limits = len(limited)
    setup.foreign_limits = len(foreign)
    setup.read_at, setup.read_ms = now, read_ms
    setup.error, setup.error_params, setup.error_at = "", {}, None
    setup.save(update_fields=["limits", "foreign_limits", "read_at", "read_ms", "error", "error_params", "error_at"])
