"""Writes of what holds for whole pools: what is offered, how levels stand in the queue, how far a pool may be promised.

All of it is dated and never overlaps: to change something is to end what stands and begin another from a day on. Days that
are over keep what held on them. Each locks its pool, as awards do, and asks the scheduler's side to follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Pool
from governance.catalogue.reads import installation, today
from governance.errors import N_, BadData, NotFound, NotTheMoment
from governance.tenants.models import Department

from . import rules
from .actions import follow, pool_of, want_days
from .models import DepartmentShare, Offering, PoolPolicy, QueueRule

CODE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MOST = 2**31 - 1
PREEMPTED = ("requeue", "cancel")

OVER = N_("%(what)s holds since %(day)s: days that are over are not written over. Let the change begin today or later.")
AHEAD = N_("%(what)s begins on %(day)s already. End that one first, or let this one end before it.")
NOTHING = N_("%(what)s does not stand on %(day)s: there is nothing to end.")
OFFERED = N_(
    "The pool “%(pool)s” offers the level “%(level)s” on some of these days as “%(code)s”. Change or end that offering instead."
)


@dataclass(frozen=True)
class Offer:
    """What an offering says: codes, whole GPUs, days and seconds; None is no limit. No department: open to all."""

    code: str
    pool: str
    qos: str
    level: str = rules.NORMAL
    name_zh: str = ""
    name_en: str = ""
    service_level: Decimal | None = None
    min_gpus: int = 1
    step_gpus: int = 1
    max_gpus: int | None = None
    max_days: int | None = None
    max_wall_s: int | None = None
    min_run_s: int | None = None
    departments: tuple[str, ...] = ()
    from_on: date | None = None
    to_on: date | None = None


@transaction.atomic
def offer(terms: Offer, *, actor: Actor) -> Offering:
    """Offer a pool at a level from a day on. Raises BadData, NotFound, NotAllowed, NotTheMoment where it is offered already."""
    pool = _manage(terms.pool, actor)
    _check_offer(terms)
    departments = _departments(terms.departments)
    standing = _meeting(Offering.objects.filter(pool=pool, level=terms.level), terms.from_on, terms.to_on).first()
    if standing is not None:
        raise NotTheMoment(OFFERED, pool=pool.code, level=terms.level, code=standing.code)
    if Offering.objects.filter(code=terms.code).exists():
        raise NotTheMoment(
            N_("There is an offering “%(code)s” already, or there was. Take another code."), code=terms.code
        )
    values = {name: value for name, value in asdict(terms).items() if name not in {"pool", "departments"}}
    made: Offering = Offering.objects.create(pool=pool, **values)
    made.departments.set(departments)
    _tell(actor, "offering.begin", "offering", made.code, pool, after=asdict(terms))
    return made


@transaction.atomic
def change_offering(code: str, /, *, on: date, actor: Actor, **values: Any) -> Offering:
    """Let an offering go on from the day `on` with other values (fields of Offer): it ends, and a next one begins.

    The next one is called as `code` in `values` says, else by a number behind the old code.
    """
    standing = offering_of(code)
    end_offering(code, on=on, actor=actor)
    terms = {"code": next_code(standing.code), **values, "from_on": on}
    return offer(replace(offer_of(standing), **terms), actor=actor)


@transaction.atomic
def end_offering(code: str, *, on: date, actor: Actor) -> Offering:
    """Offer it no longer from the day `on`. Quotas that came from it stand as they are."""
    want_days(on, None)
    found = offering_of(code)
    pool = _manage(found.pool.code, actor)
    if not _holds_or_comes(found, on):
        raise NotTheMoment(NOTHING, what=found.code, day=on)
    _want_coming(found, on, found.code)
    before = asdict(offer_of(found))
    _cut(found, on)
    _tell(actor, "offering.end", "offering", found.code, pool, before=before, after={"to_on": on})
    return found


def next_code(code: str) -> str:
    """The code of what follows an offering: train-normal, train-normal-2, train-normal-3."""
    stem, _, number = code.rpartition("-")
    if stem and number.isdecimal() and len(number) < 6:
        return f"{stem}-{int(number) + 1}"
    return f"{code[:57]}-2"


def offer_of(offering: Offering) -> Offer:
    """An offering's values."""
    plain = {
        name: getattr(offering, name) for name in Offer.__dataclass_fields__ if name not in {"pool", "departments"}
    }
    departments = tuple(sorted(one.code for one in offering.departments.all()))
    return Offer(pool=offering.pool.code, departments=departments, **plain)


@transaction.atomic
def set_queue_rule(
    pool: str,
    level: str,
    *,
    actor: Actor,
    from_on: date | None,
    to_on: date | None = None,
    priority: int = 0,
    preempts: Iterable[str] = (),
    preempted_jobs: str = "requeue",
    pool_share_percent: int = 100,
) -> QueueRule:
    """How jobs of a level stand in the pool's queue from a day on; what held until then ends.

    `preempts`: levels it may displace; `preempted_jobs`: whether a displaced job is queued again (requeue) or ends (cancel).
    """
    held = _manage(pool, actor)
    displaces = sorted(set(preempts))
    _check_rule(level, priority, displaces, preempted_jobs, pool_share_percent)
    for other in _meeting(QueueRule.objects.filter(pool=held, level__in=displaces), from_on, to_on):
        if level in other.preempts:
            raise NotTheMoment(
                N_(
                    "“%(other)s” may displace “%(level)s” on some of these days: two levels cannot displace one another."
                ),
                other=other.level,
                level=level,
            )
    rows = QueueRule.objects.filter(pool=held, level=level)
    values = {
        "priority": priority,
        "preempts": displaces,
        "preempted_jobs": preempted_jobs,
        "pool_share_percent": pool_share_percent,
    }
    return _begin(rows, {"pool": held, "level": level}, values, from_on, to_on, f"{pool}/{level}", "queue_rule", actor)


@transaction.atomic
def end_queue_rule(pool: str, level: str, *, on: date, actor: Actor) -> None:
    """Let the level stand in the queue without a rule of its own from the day `on`."""
    held = _manage(pool, actor)
    _end(QueueRule.objects.filter(pool=held, level=level), on, f"{pool}/{level}", "queue_rule", held, actor)


@transaction.atomic
def set_policy(
    pool: str, kind: str, *, actor: Actor, from_on: date | None, to_on: date | None = None, factor: Decimal | str = "1"
) -> PoolPolicy:
    """How far the pool may be promised from a day on: reserve (healthy x factor) or pooled (departments within their shares)."""
    held = _manage(pool, actor)
    if kind not in rules.POLICIES:
        raise BadData(
            N_("“%(value)s” is no way to promise a pool. There are: %(known)s."),
            value=kind,
            known=", ".join(rules.POLICIES),
        )
    number = Decimal(factor)
    if not number.is_finite() or not 0 < number < 1000:
        raise BadData(N_("The factor lies between 0 and 1000, such as 1 or 1.25."))
    number = number.quantize(Decimal("0.001"))
    if not number:
        raise BadData(N_("The factor lies between 0 and 1000, such as 1 or 1.25."))
    rows = PoolPolicy.objects.filter(pool=held)
    return _begin(rows, {"pool": held}, {"kind": kind, "factor": number}, from_on, to_on, pool, "pool_policy", actor)


@transaction.atomic
def end_policy(pool: str, *, on: date, actor: Actor) -> None:
    """Reserve the pool at factor 1 again from the day `on`."""
    held = _manage(pool, actor)
    _end(PoolPolicy.objects.filter(pool=held), on, pool, "pool_policy", held, actor)


@transaction.atomic
def set_share(
    pool: str, department: str, gpus: int, *, actor: Actor, from_on: date | None, to_on: date | None = None
) -> DepartmentShare:
    """How many GPUs the projects of a department and of all below it may be guaranteed together, from a day on."""
    held = _manage(pool, actor)
    (of,) = _departments((department,))
    if not 0 <= gpus <= MOST:
        raise BadData(N_("A share is a whole number of GPUs, 0 or more."))
    rows = DepartmentShare.objects.filter(pool=held, department=of)
    key, name = {"pool": held, "department": of}, f"{pool}/{department}"
    return _begin(rows, key, {"gpus": gpus}, from_on, to_on, name, "department_share", actor)


@transaction.atomic
def end_share(pool: str, department: str, *, on: date, actor: Actor) -> None:
    """Bind the department no longer from the day `on`."""
    held = _manage(pool, actor)
    (of,) = _departments((department,))
    rows = DepartmentShare.objects.filter(pool=held, department=of)
    _end(rows, on, f"{pool}/{department}", "department_share", held, actor)


def _manage(code: str, actor: Actor) -> Pool:
    pool = pool_of(code, lock=True)
    require(actor, "offering.change", pool)
    return pool


def _begin(
    rows: Any,
    key: dict[str, Any],
    values: dict[str, Any],
    from_on: date | None,
    to_on: date | None,
    name: str,
    kind: str,
    actor: Actor,
) -> Any:
    """Let `values` hold on [from_on, to_on). What holds on the first day ends there; what begins later on these days is a conflict."""
    want_days(from_on, to_on)
    before = None
    for row in _meeting(rows.order_by("from_on"), from_on, to_on):
        begins_later = row.from_on is not None and (from_on is None or row.from_on > from_on)
        if begins_later:
            raise NotTheMoment(AHEAD, what=name, day=row.from_on)
        if from_on is None:
            raise NotTheMoment(OVER, what=name, day=row.from_on or "–")
        _want_coming(row, from_on, name)
        before = _values(row, values)
        _cut(row, from_on)
    made = rows.model.objects.create(**key, **values, from_on=from_on, to_on=to_on)
    after = {**_values(made, values), "from_on": from_on, "to_on": to_on}
    _tell(actor, f"{kind}.begin", kind, name, key["pool"], before=before, after=after)
    return made


def _end(rows: Any, on: date, name: str, kind: str, pool: Pool, actor: Actor) -> None:
    want_days(on, None)
    row = next((one for one in rows if _holds_or_comes(one, on)), None)
    if row is None:
        raise NotTheMoment(NOTHING, what=name, day=on)
    _want_coming(row, on, name)
    before = {
        field.name: getattr(row, field.name)
        for field in row._meta.fields
        if not field.is_relation and field.name != "id"
    }
    _cut(row, on)
    _tell(actor, f"{kind}.end", kind, name, pool, before=before, after={"to_on": on})


def _cut(row: Any, on: date) -> None:
    """End a row on a day; one that would hold on none goes, and the trail has it."""
    if row.from_on is not None and row.from_on >= on:
        row.delete()
    else:
        row.to_on = on
        row.save()


def _want_coming(row: Any, on: date, name: str) -> None:
    if on < today(installation()):
        raise NotTheMoment(OVER, what=name, day=row.from_on or "–")


def _holds_or_comes(row: Any, on: date) -> bool:
    return row.to_on is None or row.to_on > on


def _meeting(rows: Any, from_on: date | None, to_on: date | None) -> Any:
    """The rows that hold on some day of [from_on, to_on)."""
    if from_on is not None:
        rows = rows.filter(Q(to_on__isnull=True) | Q(to_on__gt=from_on))
    return rows if to_on is None else rows.filter(Q(from_on__isnull=True) | Q(from_on__lt=to_on))


def _values(row: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def offering_of(code: str) -> Offering:
    """The offering with this code, whenever it is offered. Raises NotFound."""
    found: Offering | None = (
        Offering.objects.select_related("pool").prefetch_related("departments").filter(code=code).first()
    )
    if found is None:
        raise NotFound(N_("There is no offering “%(code)s”."), code=code)
    return found


def _departments(codes: Iterable[str]) -> list[Department]:
    wanted = sorted(set(codes))
    found = {one.code: one for one in Department.objects.filter(code__in=wanted)}
    for code in wanted:
        if code not in found:
            raise NotFound(N_("There is no department “%(code)s”."), code=code)
    return [found[code] for code in wanted]


def _check_offer(terms: Offer) -> None:
    if not CODE.fullmatch(terms.code):
        raise BadData(
            N_("A code has small letters, digits, dots, dashes and underscores, 64 at most: “%(code)s” has not."),
            code=terms.code,
        )
    _want_level(terms.level)
    if not terms.qos.strip() or len(terms.qos) > 128:
        raise BadData(N_("Say the QoS under which the scheduler knows the level, in 128 characters at most."))
    if not 1 <= terms.min_gpus <= MOST or not 1 <= terms.step_gpus <= MOST:
        raise BadData(N_("The least GPUs and the step are whole numbers from 1 on."))
    for value in (terms.max_gpus, terms.max_days, terms.max_wall_s, terms.min_run_s):
        if value is not None and not 1 <= value <= MOST:
            raise BadData(N_("A limit is a whole number from 1 on; leave it out where there is none."))
    if terms.max_gpus is not None and terms.max_gpus < terms.min_gpus:
        raise BadData(N_("The most GPUs of an ask lie below the least."))
    if terms.service_level is not None and not 0 < terms.service_level <= 100:
        raise BadData(N_("A service level is a percentage of the month, above 0 and at most 100."))
    if max(len(terms.name_zh), len(terms.name_en)) > 200:
        raise BadData(N_("A name has 200 characters at most."))
    want_days(terms.from_on, terms.to_on)


def _check_rule(level: str, priority: int, preempts: list[str], preempted_jobs: str, share: int) -> None:
    for one in (level, *preempts):
        _want_level(one)
    if level in preempts:
        raise BadData(N_("A level cannot displace itself."))
    if preempted_jobs not in PREEMPTED:
        raise BadData(N_("A displaced job is either queued again (requeue) or ended (cancel)."))
    if not 0 <= priority <= MOST:
        raise BadData(N_("A priority is a whole number, 0 or more; the higher goes first."))
    if not 1 <= share <= 100:
        raise BadData(N_("The share of the pool lies between 1 and 100 percent."))


def _want_level(level: str) -> None:
    if level not in rules.LEVELS:
        raise BadData(N_("“%(value)s” is no level. There are: %(known)s."), value=level, known=", ".join(rules.LEVELS))


def _tell(
    actor: Actor, action: str, kind: str, name: str, pool: Pool, *, before: Any = None, after: Any = None
) -> None:
    audit(actor, action, kind, name, before=before, after={"pool": pool.code, **after} if after else None)
    follow(pool, actor)
