"""One round of enforcement on a cluster: read, compare, tell, read back until it holds, and write down how each object stands.

It may be killed anywhere. What was wanted is written before anything is told, and whether it holds is known from reading
alone, so that the next round goes on from what stands there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from django.db import transaction

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation, today
from governance.errors import N_, NotTheMoment
from governance.schedulers.limits import LimitPort, ObservedLimit, Values
from governance.schedulers.live import SourceFault

from . import members, rules, settling
from .lines import lines_of
from .models import BudgetBase, EnforcedCluster, EnforcedLimit, LimitOrder
from .ports import fault_words, port_of, setup_of
from .rules import Key

PAUSES = (0.0, 0.5, 1.0, 2.0)  # seconds before each reading back: slurmctld hears of a change within one
NOT_YET = N_("%(count)s limits of the cluster “%(cluster)s” are not in force yet: %(first)s. They are tried again.")

Step = Callable[[int, int], None]
Observed = dict[Key, ObservedLimit]


@dataclass(frozen=True)
class Round:
    """What a round found and did."""

    limits: int  # objects that carry quotas
    told: int  # commands
    in_force: int
    drifted: int


@dataclass
class Plan:
    """What should be carried, and the rows that say so."""

    desired: rules.Desired
    rows: dict[Key, EnforcedLimit]

    def open(self, observed: Observed) -> dict[Key, Values]:
        """What is not as it should be and was not changed by others since it was."""
        found: dict[Key, Values] = {}
        for key, row in self.rows.items():
            standing = observed.get(key)
            if rules.compare(row.wanted, standing, row.held).state == rules.TO_APPLY:
                found[key] = row.wanted
        return found

    def lagging(self, observed: Observed) -> list[Key]:
        """What the accounting has and its controller does not hold."""
        return [key for key, row in self.rows.items() if key in observed and observed[key].lags(row.wanted)]


def reconcile(code: str, *, actor: Actor, step: Step | None = None, day: date | None = None) -> Round:
    """Bring the cluster's limits to its quotas, or show what that would take where it is not opted in.

    Raises NotTheMoment where the scheduler does not answer or something is not in force yet: whoever asked tries again.
    """
    cluster = Cluster.objects.get(code=code)
    setup = setup_of(cluster)
    began = time.monotonic()
    try:
        port = port_of(cluster)
        observed = _read(port)
        types = port.gpu_types()
    except SourceFault as fault:
        noted = _noted(setup, fault)
        if fault.code == "no_limits":  # trying again would change nothing
            return Round(0, 0, 0, 0)
        raise noted from fault
    took = time.monotonic() - began
    plan = _plan(setup, observed, types, day or today(installation()))
    told = 0
    if setup.is_on:
        try:
            told, observed = _bring(setup, port, plan, observed, step or _nothing)
        except SourceFault as fault:
            raise _noted(setup, fault) from fault
    done = settling.settle(setup, port, plan.desired, plan.rows, observed, read_ms=round(took * 1000))
    late = [row for row in plan.rows.values() if row.state in settling.LATE]
    if setup.is_on and late:
        raise NotTheMoment(NOT_YET, count=len(late), cluster=cluster.code, first=f"{late[0].kind} {late[0].name}")
    return Round(len(plan.rows), told, done.in_force, done.drifted)


def _nothing(done: int, of: int) -> None:
    return None


def _read(port: LimitPort) -> Observed:
    return {(one.kind, one.name): one for one in port.observed()}


def _noted(setup: EnforcedCluster, fault: SourceFault) -> NotTheMoment:
    words, params = fault_words(fault)
    setup.error, setup.error_params, setup.error_at = words, params, datetime.now(UTC)
    setup.save(update_fields=["error", "error_params", "error_at"])
    return NotTheMoment(words, **params)


@transaction.atomic
def _plan(setup: EnforcedCluster, observed: Observed, types: Sequence[str], day: date) -> Plan:
    """What is wanted today, written down before anything is told."""
    cluster = setup.cluster
    qos = {name: one.values for (kind, name), one in observed.items() if kind == rules.QOS}
    lines = lines_of(cluster, day, types, list(qos))
    site = rules.Site(tuple(types), tuple(setup.keeps_qos), setup.requires_type, qos)
    desired = rules.desired(lines, site, _budgets(cluster, lines, observed, day))
    rows = {(row.kind, row.name): row for row in EnforcedLimit.objects.select_for_update().filter(cluster=cluster)}
    wanted = dict(desired.limits)
    for key in rows.keys() & wanted.keys():
        wanted[key] = replace(wanted[key], values=rules.carried_over(rows[key].wanted, wanted[key].values))
    over = [key for key in rows if key not in wanted]
    for key in over:
        if key in observed:
            wanted[key] = _left(key, rows[key], desired)
        else:  # nothing is made for a quota that has ended
            rows.pop(key).delete()
    now = datetime.now(UTC)
    fresh, changed = [], []
    for key, one in wanted.items():
        found = rows.get(key)
        if found is None:
            found = rows[key] = EnforcedLimit(cluster=cluster, kind=key[0], name=key[1], wanted_at=now)
            fresh.append(found)
        elif (found.wanted, found.quotas, found.project) == (one.values, list(one.quotas), one.project):
            continue
        else:
            changed.append(found)
        if found.wanted != one.values:
            found.wanted, found.wanted_at, found.attempts = dict(one.values), now, 0
        found.quotas, found.project = list(one.quotas), one.project
    EnforcedLimit.objects.bulk_create(fresh, batch_size=500)
    EnforcedLimit.objects.bulk_update(changed, ["wanted", "wanted_at", "attempts", "quotas", "project"], batch_size=500)
    setup.refused = {number: list(reason) for number, reason in desired.refused.items()}
    setup.notes = {number: list(note) for number, note in desired.notes.items()}
    setup.save(update_fields=["refused", "notes"])
    return Plan(desired, rows)


def _left(key: Key, row: EnforcedLimit, desired: rules.Desired) -> rules.Wanted:
    """Of an object that carries no quota now: a user follows the account, all else is lowered to nothing."""
    if key[0] == rules.USER:
        account = desired.limits.get((rules.ACCOUNT, key[1].partition("/")[0]))
        if account is not None:
            names = {name: account.values[name] for name in ("QOS", "DefaultQOS")}
            return rules.Wanted(names, account.project, account.quotas)
    return rules.Wanted(rules.retired(row.wanted), row.project)


def _budgets(cluster: Cluster, lines: Sequence[rules.Line], observed: Observed, day: date) -> dict[str, int]:
    """The minutes counted before the period, by QOS; the first reading in a period fixes them."""
    known = {base.qos: base for base in BudgetBase.objects.select_for_update().filter(cluster=cluster)}
    found: dict[str, int] = {}
    now = datetime.now(UTC)
    for line in lines:
        if line.hours is None:
            continue
        standing = observed.get((rules.QOS, line.qos))
        counted = standing.used_minutes.get(rules.CARD, 0) if standing else 0
        row = known.pop(line.qos, None)
        before = rules.Base(row.period, row.minutes, row.seen) if row else None
        base = rules.next_base(before, rules.period_of(line.period, day), counted)
        if base != before:
            BudgetBase.objects.update_or_create(
                cluster=cluster,
                qos=line.qos,
                defaults={"period": base.period, "minutes": base.minutes, "seen": base.seen, "at": now},
            )
        found[line.qos] = base.minutes
    BudgetBase.objects.filter(pk__in=[row.pk for row in known.values()]).delete()  # of budgets that are no more
    return found


def _bring(setup: EnforcedCluster, port: LimitPort, plan: Plan, observed: Observed, step: Step) -> tuple[int, Observed]:
    """Tell what is to be told, then read back until it holds. Answers the commands run and what stands there then."""
    told = members.sync(setup, port, observed, step) if setup.syncs_members else 0
    wanted = plan.open(observed)
    if wanted:
        told += _tell(setup, port, plan, wanted, observed, step)
    if not told:
        return 0, observed
    for pause in PAUSES:
        time.sleep(pause)
        step(told, told)
        observed = _read(port)
        if not plan.open(observed) and not plan.lagging(observed):
            break
    return told, observed


def _tell(
    setup: EnforcedCluster, port: LimitPort, plan: Plan, wanted: dict[Key, Values], observed: Observed, step: Step
) -> int:
    rows = [plan.rows[key] for key in wanted]
    for row in rows:
        row.attempts += 1
    EnforcedLimit.objects.bulk_update(rows, ["attempts"], batch_size=500)
    told = 0
    for receipt in port.apply_all(rules.orders(wanted, observed)):
        told += 1
        order = LimitOrder.objects.create(
            cluster=setup.cluster,
            command=receipt.command,
            exit_code=receipt.exit_code,
            answer=receipt.answer,
            fault=receipt.fault,
            limits=[list(one) for one in receipt.limits],
        )
        mine = [plan.rows[key] for key in receipt.limits if key in plan.rows]
        EnforcedLimit.objects.filter(pk__in=[row.pk for row in mine]).update(told=order, told_at=order.at)
        for row in mine:
            row.told, row.told_at = order, order.at
        step(told, 0)
    return told
