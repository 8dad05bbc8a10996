"""The two one-click changes: give an account to a project, give a partition to a pool; each from a day on. Nothing is written here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from governance.access.actor import Actor
from governance.catalogue import actions as catalogue
from governance.catalogue.intervals import Interval, ended, in_order, overlap
from governance.catalogue.models import UNASSIGNED_POOL, Pool
from governance.catalogue.writing import Key, read_dated
from governance.errors import N_, BadData, NotFound
from governance.tenants import actions as tenants
from governance.tenants.models import UNATTRIBUTED, Project

Rows = Mapping[Key, list[Interval]]

NO_PROJECT = N_("There is no project “%(code)s”. Choose one of the list.")
NO_POOL = N_("There is no pool “%(code)s” on this cluster. Choose one of the list.")
NO_ACCOUNT = N_("Say which account, user or QoS: a mapping of everything is written in the organisation file.")
NO_PARTITION = N_("Runs without a partition are claimed by the pattern * alone; write it in the organisation file.")
TIE = N_(
    "The pool “%(pool)s” claims the partition “%(pattern)s” on these days too, and their GPU models do not keep them apart."
)


class _Form:
    """A change as the fields of its form."""

    @property
    def as_form(self) -> list[tuple[str, str]]:
        """Names and values, days as 2026-06-30 and "" for always."""
        return [("from" if name == "from_on" else name, str(value or "")) for name, value in vars(self).items()]


@dataclass(frozen=True)
class MapAccount(_Form):
    """Use of (account, user, QoS) on a cluster belongs to a project from a day on (None: always); `*` stands for any."""

    cluster: str
    account: str
    user: str
    qos: str
    project: str
    from_on: date | None
    capability = "organisation.change"

    @property
    def key(self) -> Key:
        """The key of its mapping."""
        return (self.cluster, self.account, self.user, self.qos)

    def rows(self) -> Rows:
        """The mapping's intervals with the new one: what held from that day on gives way, what begins later stays."""
        if {self.account, self.user, self.qos} == {"*"}:
            raise BadData(NO_ACCOUNT)
        if self.project == UNATTRIBUTED or not Project.objects.filter(code=self.project).exists():
            raise NotFound(NO_PROJECT, code=self.project)
        standing = read_dated(tenants.MAPPINGS, {self.key}).get(self.key, [])
        return {self.key: taken_over(standing, self.from_on, {"project": self.project})}

    def write(self, actor: Actor) -> int:
        """Write the mapping."""
        return tenants.set_mappings(self.rows(), actor=actor)

    def catches(self, account: str, user: str, qos: str) -> bool:
        """Whether the pattern fits this use."""
        return self.account in ("*", account) and self.user in ("*", user) and self.qos in ("*", qos)


@dataclass(frozen=True)
class ClaimPartition(_Form):
    """Runs in a partition belong to a pool of its cluster from a day on (None: always)."""

    cluster: str
    partition: str
    pool: str
    from_on: date | None
    capability = "catalogue.change"

    @property
    def key(self) -> Key:
        """The key of its claim."""
        return (self.pool, self.partition)

    def rows(self) -> Rows:
        """The claim's intervals with the new one; refused where another pool's claim could not be told apart."""
        if not self.partition:
            raise BadData(NO_PARTITION)
        pool = Pool.objects.filter(code=self.pool, cluster__code=self.cluster).exclude(code=UNASSIGNED_POOL).first()
        if pool is None:
            raise NotFound(NO_POOL, code=self.pool)
        standing = read_dated(catalogue.PARTITIONS, {self.key}).get(self.key, [])
        wanted = taken_over(standing, self.from_on, {})
        self._refuse_tie(pool, wanted)
        return {self.key: wanted}

    def write(self, actor: Actor) -> int:
        """Write the claim."""
        return catalogue.set_partitions(self.rows(), actor=actor)

    def _refuse_tie(self, pool: Pool, wanted: list[Interval]) -> None:
        cards = set(pool.accelerators.values_list("code", flat=True))
        others = Pool.objects.filter(cluster=pool.cluster_id, partitions__pattern=self.partition).exclude(pk=pool.pk)
        for other in others.distinct().prefetch_related("accelerators", "partitions"):
            spans = [(p.from_on, p.to_on) for p in other.partitions.all() if p.pattern == self.partition]
            theirs = {one.code for one in other.accelerators.all()}
            if any(overlap(one.span, span) for one in wanted for span in spans) and (
                cards & theirs or not (cards or theirs)
            ):
                raise BadData(TIE, pool=other.code, pattern=self.partition)


Change = MapAccount | ClaimPartition


def taken_over(standing: list[Interval], from_on: date | None, values: dict[str, str]) -> list[Interval]:
    """The intervals when `values` hold from the day on until what begins after it, if anything does."""
    if from_on is None:
        kept, later = [], [one for one in in_order(standing) if one.from_on is not None]
    else:
        kept = ended(standing, from_on)
        later = [one for one in in_order(standing) if one.from_on is not None and one.from_on > from_on]
    return in_order([*kept, Interval(from_on, later[0].from_on if later else None, dict(values)), *later])
