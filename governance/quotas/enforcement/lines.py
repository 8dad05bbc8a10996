"""The quotas of a cluster in its scheduler's words, as the rules of enforcement take them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from governance.catalogue.models import AcceleratorModel, Cluster, Pool

from .. import rules as quota_rules
from ..reads import holdings, queue_rules
from .rules import Line, Queue


def lines_of(cluster: Cluster, day: date, types: Sequence[str], qos: Sequence[str]) -> list[Line]:
    """What is held on the day, in order. `types` and `qos` are those that the scheduler has."""
    known = {kind.lower(): kind for kind in types}
    pools = {pool.code: pool for pool in Pool.objects.filter(cluster=cluster).prefetch_related("accelerators")}
    queues = _queues(cluster, day)
    found = []
    for held in holdings(cluster, day):
        models = [held.model_names] if held.model else [_names(one) for one in pools[held.pool].accelerators.all()]
        matched = [next((known[name.lower()] for name in names if name.lower() in known), "") for names in models]
        found.append(
            Line(
                quota=held.quota,
                project=held.project,
                pool=held.pool,
                level=held.level,
                model=held.model,
                base=_base(held.qos, held.level, qos),
                accounts=held.accounts,
                shared=held.shared_accounts,
                types=tuple(sorted({kind for kind in matched if kind})),
                unknown_models=tuple(names[0] for names, kind in zip(models, matched, strict=True) if not kind)
                if known
                else (),
                guaranteed=held.guaranteed_gpus,
                ceiling=held.ceiling_gpus,
                hours=held.gpu_hours,
                period=held.hours_period,
                is_suspended=held.state == quota_rules.SUSPENDED,
                queue=queues.get((held.pool, held.level), Queue()),
            )
        )
    return found


def _queues(cluster: Cluster, day: date) -> dict[tuple[str, str], Queue]:
    """How each level stands in the queue of each pool, where a rule or an offering says something."""
    terms = queue_rules(cluster, day)
    found = {}
    for one in terms:
        above = [other for other in terms if other.pool == one.pool and one.level in other.preempts]
        is_ruled = bool(one.priority or one.preempts)  # without a rule nothing is said: last, displacing nobody
        found[one.pool, one.level] = Queue(
            priority=one.priority if is_ruled else None,
            displaces=one.preempts if is_ruled else None,
            displaced_qos=one.preempted_qos,
            when_displaced=above[0].preempted_jobs if above else "",
            min_run_s=one.min_run_s,
            max_wall_s=one.max_wall_s,
        )
    return found


def _names(model: AcceleratorModel) -> tuple[str, ...]:
    return (model.code, *model.aliases)


def _base(offered: str, level: str, qos: Sequence[str]) -> str:
    """The QOS that priority and preemption are taken from: the offering's, else the one named as the level, else none."""
    return next((name for name in (offered, level) if name in qos), "")
