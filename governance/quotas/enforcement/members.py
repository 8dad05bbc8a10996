"""People of a project into its accounts of the scheduler, where a cluster is opted in to that as well.

Only who was added here is ever barred, by MaxSubmitJobs=0; an association is never deleted, for that would end its jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from governance.access.rules import Role
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation, today
from governance.schedulers.limits import USER, Limit, LimitPort, ObservedLimit
from governance.tenants.models import Login, ProjectGrant

from ..reads import holdings
from .models import EnforcedCluster, LimitOrder, SyncedMember
from .rules import Key

Member = tuple[str, str]  # (account, login)
SUBMITS = "MaxSubmitJobs"
ANY_NUMBER = -1


def wanted_members(cluster: Cluster) -> set[Member]:
    """Members and leads of each project that holds a quota on the cluster, by their logins there, in each of its own accounts."""
    day = today(installation())
    accounts: dict[str, set[str]] = {}
    for held in holdings(cluster, day):
        accounts.setdefault(held.project, set()).update(held.accounts)
    grants = ProjectGrant.objects.on(day).filter(
        permission__codename__in=[Role.MEMBER.value, Role.LEAD.value], content_object__code__in=list(accounts)
    )
    people: dict[int, list[str]] = {}
    for person, project in grants.values_list("user", "content_object__code"):
        people.setdefault(person, []).append(project)
    logins = Login.objects.filter(cluster=cluster, person__in=list(people), person__is_active=True)
    return {
        (account, login)
        for login, person in logins.values_list("login", "person")
        for project in people[person]
        for account in accounts[project]
    }


def sync(
    setup: EnforcedCluster, port: LimitPort, observed: Mapping[Key, ObservedLimit], step: Callable[[int, int], None]
) -> int:
    """Add who is missing, bar who left and was added here, let back who returned. Answers the commands run."""
    cluster = setup.cluster
    wanted = wanted_members(cluster)
    known = {(row.account, row.login): row for row in SyncedMember.objects.filter(cluster=cluster)}
    now = datetime.now(UTC)
    told = 0
    for account, login in sorted(wanted | set(known)):
        member, standing = known.get((account, login)), observed.get((USER, f"{account}/{login}"))
        if (account, login) in wanted and standing is None:
            # Noted first: who was added and not noted would never be barred.
            SyncedMember.objects.get_or_create(
                cluster=cluster, account=account, login=login, defaults={"added_at": now}
            )
            told += _tell(setup, port, Limit(USER, f"{account}/{login}", {}), None)
        elif member is not None and standing is not None and (account, login) not in wanted:
            if standing.values.get(SUBMITS) != 0:
                told += _tell(setup, port, Limit(USER, f"{account}/{login}", {SUBMITS: 0}), standing)
            if member.barred_at is None:
                SyncedMember.objects.filter(pk=member.pk).update(barred_at=now)
        elif member is not None and standing is not None and member.barred_at is not None:
            if standing.values.get(SUBMITS) == 0:
                told += _tell(setup, port, Limit(USER, f"{account}/{login}", {SUBMITS: ANY_NUMBER}), standing)
            SyncedMember.objects.filter(pk=member.pk).update(barred_at=None)
        else:
            continue
        step(told, 0)
    return told


def _tell(setup: EnforcedCluster, port: LimitPort, limit: Limit, standing: ObservedLimit | None) -> int:
    receipt = port.apply(limit, standing)
    LimitOrder.objects.create(
        cluster=setup.cluster,
        command=receipt.command,
        exit_code=receipt.exit_code,
        answer=receipt.answer,
        fault=receipt.fault,
        limits=[list(one) for one in receipt.limits],
    )
    return 1
