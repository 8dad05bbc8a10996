"""Verbs of enforcement: test a cluster, opt it in or out, ask for a round, adopt or restore what drifted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation, today
from governance.errors import N_, BadData, NotFound, NotTheMoment
from governance.schedulers.limits import ACCOUNT, QOS, USER
from governance.schedulers.live import Finding, SourceFault
from governance.schedulers.registry import SCHEDULERS
from governance.tenants.models import AccountMapping
from governance.work import actions as work
from governance.work import reads as work_reads
from governance.work.models import FAILED

from .. import actions as quotas
from .models import ADOPTED, RESTORED, BudgetBase, EnforcedCluster, EnforcedLimit, LimitDrift
from .ports import NO_SCHEDULER, port_of, setup_of
from .rules import CARD, EXTRA, HOUR, MISSING, UNMANAGED

ENFORCE = "quotas.enforce"
BLOCKED = N_(
    "The cluster “%(cluster)s” cannot be opted in yet: %(codes)s. Put right what the findings name, and test again."
)
NOT_ON = N_("The cluster “%(cluster)s” is not opted in, so that nothing is told its scheduler. Opt it in first.")
NOT_OPEN = N_("This difference is settled already: %(how)s on %(at)s.")
NO_LIMIT = N_("The limit was taken away there: no quota says “unlimited”. Restore it, or change the quota.")
NOT_ADOPTABLE = N_("No quota of one project says what was changed here (%(keys)s). Restore it instead.")
NOTHING_TO_RESTORE = N_(
    "This limit never came from a quota, so there is nothing to restore. Adopt it, or leave it as it is."
)
NO_PROJECT = N_("The account “%(account)s” belongs to no single project. Map it to one, then adopt the limit.")
NO_REASON = N_("Say why: the reason is kept with the change.")


def cluster_of(code: str) -> Cluster:
    """The cluster. Raises NotFound."""
    found = Cluster.objects.filter(code=code).first()
    if found is None:
        raise NotFound(N_("There is no cluster “%(code)s”."), code=code)
    return found


def check(code: str, *, actor: Actor) -> list[Finding]:
    """Ask the scheduler whether limits set there would hold, and keep the findings."""
    require(actor, "enforcement.change")
    cluster = cluster_of(code)
    try:
        found = port_of(cluster).preflight()
    except SourceFault as fault:
        code_of = "limits_not_by_rest" if fault.code == "no_limits" else fault.code
        found = [Finding(code_of, "blocking", {name: str(value)[:500] for name, value in fault.detail.items()})]
    setup = setup_of(cluster)
    setup.findings = [[one.code, one.severity, one.detail] for one in found]
    setup.checked_at = datetime.now(UTC)
    setup.save(update_fields=["findings", "checked_at"])
    return found


def opt_in(code: str, *, actor: Actor) -> None:
    """Let the portal set limits on the cluster from now on. Raises NotTheMoment while a finding blocks it."""
    blocking = [one for one in check(code, actor=actor) if one.severity == "blocking"]
    if blocking:
        raise NotTheMoment(BLOCKED, cluster=code, codes=", ".join(one.code for one in blocking))
    _switch(code, True, actor)


def opt_out(code: str, *, actor: Actor) -> None:
    """Set nothing there any more. What is in force stays in force: nothing is taken back."""
    require(actor, "enforcement.change")
    cluster_of(code)
    _switch(code, False, actor)


@transaction.atomic
def _switch(code: str, on: bool, actor: Actor) -> None:
    setup = EnforcedCluster.objects.select_for_update().get(pk=setup_of(cluster_of(code)).pk)
    if setup.is_on == on:
        return
    setup.is_on, setup.changed_at, setup.changed_by = on, datetime.now(UTC), actor.name
    setup.save(update_fields=["is_on", "changed_at", "changed_by"])
    audit(
        actor,
        "enforcement.on" if on else "enforcement.off",
        "cluster",
        code,
        before={"is_on": not on},
        after={"is_on": on},
    )
    work.ask(ENFORCE, code, actor=actor)


@transaction.atomic
def configure(code: str, *, requires_type: bool, keeps_qos: list[str], syncs_members: bool, actor: Actor) -> None:
    """How limits are set on the cluster; see EnforcedCluster."""
    require(actor, "enforcement.change")
    setup = EnforcedCluster.objects.select_for_update().get(pk=setup_of(cluster_of(code)).pk)
    names = sorted({name.strip().lower() for name in keeps_qos if name.strip()})
    if any(len(name) > 128 or set(name) & set(", =\"'|\n") for name in names):
        raise BadData(N_("A QOS has a name without commas, quotes and spaces."))
    given: dict[str, Any] = {"requires_type": requires_type, "keeps_qos": names, "syncs_members": syncs_members}
    before = {name: getattr(setup, name) for name in given}
    if before == given:
        return
    for name, value in given.items():
        setattr(setup, name, value)
    setup.save(update_fields=list(given))
    audit(actor, "enforcement.configured", "cluster", code, before=before, after=given)
    work.ask(ENFORCE, code, actor=actor)


@transaction.atomic
def ask(code: str, *, actor: Actor) -> str:
    """Ask for a round now; answers the state of the work. One that has failed is tried at once."""
    require(actor, "enforcement.change")
    cluster = cluster_of(code)
    if cluster.scheduler_kind not in SCHEDULERS:
        raise NotTheMoment(NO_SCHEDULER, code=code)
    audit(actor, "enforcement.asked", "cluster", code)
    return _hurry(code, actor)


def _hurry(code: str, actor: Actor) -> str:
    standing = work_reads.of(ENFORCE, code)
    if standing is not None and standing.state == FAILED and actor.may("records.import"):
        work.retry(ENFORCE, code, actor=actor)
        return "waiting"
    return work.ask(ENFORCE, code, actor=actor)


def drift_of(number: int, *, lock: bool = False) -> LimitDrift:
    """An open difference. Raises NotFound, NotTheMoment."""
    drifts = LimitDrift.objects.select_related("cluster")
    drift = (drifts.select_for_update(of=("self",)) if lock else drifts).filter(pk=number).first()
    if drift is None:
        raise NotFound(N_("There is no such difference."))
    if drift.resolved_at is not None:
        raise NotTheMoment(NOT_OPEN, how=drift.resolved_as, at=f"{drift.resolved_at:%Y-%m-%d %H:%M} UTC")
    return drift


@transaction.atomic
def restore(number: int, *, reason: str = "", actor: Actor) -> LimitDrift:
    """Set what the quotas say once more. Raises NotTheMoment where the cluster is off or nothing of ours was changed."""
    require(actor, "enforcement.change")
    drift = drift_of(number, lock=True)
    code = drift.cluster.code
    if not setup_of(drift.cluster).is_on:
        raise NotTheMoment(NOT_ON, cluster=code)
    if drift.drift == UNMANAGED:
        raise NotTheMoment(NOTHING_TO_RESTORE)
    if drift.drift == EXTRA:
        _govern_user(drift)
    else:
        EnforcedLimit.objects.filter(cluster=drift.cluster, kind=drift.kind, name=drift.name).update(held=None)
    _resolve(drift, RESTORED, reason, actor)
    return drift


def _govern_user(drift: LimitDrift) -> None:
    """From now on the user may use what the account may."""
    account = EnforcedLimit.objects.get(cluster=drift.cluster, kind=ACCOUNT, name=drift.name.partition("/")[0])
    wanted = {name: account.wanted[name] for name in ("QOS", "DefaultQOS")}
    EnforcedLimit.objects.update_or_create(
        cluster=drift.cluster,
        kind=USER,
        name=drift.name,
        defaults={"wanted": wanted, "wanted_at": datetime.now(UTC), "held": None, "project": account.project},
    )


@transaction.atomic
def adopt(number: int, *, reason: str, pool: str = "", actor: Actor) -> LimitDrift:
    """Let the quota say what was set in the scheduler, through the quota's own action and its right on the pool."""
    drift = drift_of(number, lock=True)
    if not reason.strip():
        raise BadData(NO_REASON)
    if drift.drift == UNMANAGED:
        _award(drift, pool, reason, actor)
    else:
        _follow(drift, reason, actor)
    EnforcedLimit.objects.filter(cluster=drift.cluster, kind=drift.kind, name=drift.name).update(held=None)
    _resolve(drift, ADOPTED, reason, actor)
    return drift


def _follow(drift: LimitDrift, reason: str, actor: Actor) -> None:
    """A changed ceiling or budget of an object that carries one line."""
    amounts: dict[str, Any] = {}
    pairs = [pair for key, pair in drift.differs.items() if key.startswith(f"GrpTRES:{CARD}")]
    gpus = {found for _, found in pairs}
    minutes = drift.differs.get(f"GrpTRESMins:{CARD}")
    if drift.drift == MISSING or None in gpus or (minutes and minutes[1] is None):
        raise NotTheMoment(NO_LIMIT)
    if len(gpus) == 1 and all(wanted for wanted, _ in pairs):  # a type that the quota does not give is no ceiling
        amounts["ceiling_gpus"] = int(gpus.pop())
    if minutes and drift.kind == QOS:
        base = (
            BudgetBase.objects.filter(cluster=drift.cluster, qos=drift.name).values_list("minutes", flat=True).first()
        )
        amounts["gpu_hours"] = max(0, (int(minutes[1]) - (base or 0)) // HOUR)
    if not amounts or len(drift.quotas) != 1:
        raise NotTheMoment(NOT_ADOPTABLE, keys=", ".join(sorted(drift.differs)))
    on = today(installation())
    terms = quotas.terms_of(quotas.standing(drift.quotas[0], on))
    if "ceiling_gpus" in amounts:
        amounts["guaranteed_gpus"] = min(terms.guaranteed_gpus, amounts["ceiling_gpus"])
    quotas.change(drift.quotas[0], on=on, actor=actor, note=reason, **amounts)


def _award(drift: LimitDrift, pool: str, reason: str, actor: Actor) -> None:
    """A limit that never was a quota becomes one: a ceiling that guarantees nothing, for the one project of the account."""
    on = today(installation())
    found = drift.differs.get(f"GrpTRES:{CARD}")
    if drift.kind != ACCOUNT or not found:
        raise NotTheMoment(NOT_ADOPTABLE, keys=", ".join(sorted(drift.differs)))
    mapped = AccountMapping.objects.on(on).filter(cluster=drift.cluster, account=drift.name)
    projects = set(mapped.values_list("project__code", flat=True))
    if len(projects) != 1:
        raise NotTheMoment(NO_PROJECT, account=drift.name)
    pools = list(drift.cluster.pools.order_by("code").values_list("code", flat=True))
    if pool not in pools and len(pools) != 1:
        raise BadData(N_("Say in which pool the limit is to be a quota: %(pools)s."), pools=", ".join(pools))
    terms = quotas.Terms(
        project=projects.pop(),
        pool=pool if pool in pools else pools[0],
        guaranteed_gpus=0,
        ceiling_gpus=int(found[1]),
        from_on=on,
    )
    quotas.award(terms, actor=actor, note=reason)


def _resolve(drift: LimitDrift, how: str, reason: str, actor: Actor) -> None:
    drift.resolved_at, drift.resolved_as, drift.resolved_by = datetime.now(UTC), how, actor.name[:200]
    drift.reason = reason.strip()[:500]
    drift.save(update_fields=["resolved_at", "resolved_as", "resolved_by", "reason"])
    after = {"object": f"{drift.kind} {drift.name}", "differs": drift.differs, "reason": drift.reason}
    audit(actor, f"enforcement.{how}", "cluster", drift.cluster.code, after=after)
    work.ask(ENFORCE, drift.cluster.code, actor=actor)
