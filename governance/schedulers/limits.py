"""What a scheduler's accounting holds of limits and of who changed them, and the port by which limits are set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from .live import Finding, Window


class Association(NamedTuple):
    """A node of the tree of accounts: an account's own line, or a user's (in a partition) below it."""

    cluster_name: str
    account: str
    user: str  # "" on an account's own line
    partition: str  # "" for all
    parent: str  # the account above an account; "" on a user's line and on the root
    share: str  # a number or "parent"
    grp_tres: str  # "gres/gpu=64,gres/gpu:h100=64"; "" no limit
    grp_tres_mins: str
    grp_tres_run_mins: str
    grp_jobs: int | None
    grp_submit: int | None
    max_tres: str
    max_wall_s: int | None
    qos: tuple[str, ...]  # allowed, sorted
    default_qos: str


class Qos(NamedTuple):
    """A quality of service and the limits it carries."""

    name: str
    priority: int | None
    flags: tuple[str, ...]  # "NoDecay", "DenyOnLimit", ..., sorted
    preempts: tuple[str, ...]
    usage_factor: str  # decimal text
    grp_tres: str
    grp_tres_mins: str
    grp_tres_run_mins: str
    max_tres_per_user: str
    max_tres_per_account: str
    max_wall_s: int | None


class Transaction(NamedTuple):
    """A change of the accounting's own records, as it wrote it down."""

    at: int  # epoch seconds
    action: str  # "Modify Associations"
    actor: str  # login
    where: str
    info: str


# --- limits as a portal sets them and reads them back

ACCOUNT, QOS, USER = "account", "qos", "user"  # the kinds of objects that carry limits
NO_DECAY = "NoDecay"

#: What an object carries, by flat keys. "GrpTRES:<tres>", "GrpTRESMins:<tres>" and "MinTRES:<tres>" are counts, as are
#: "Fairshare", "Priority" and "MaxSubmitJobs"; "MaxWall" and "PreemptExemptTime" are minutes; "QOS", "Preempt" and "Flags" are
#: sorted names with commas, "DefaultQOS" and "PreemptMode" a name.
Values = Mapping[str, int | str]


class Limit(NamedTuple):
    """What one object should carry. The name is an account, a QOS, or "account/login" of a user in an account."""

    kind: str
    name: str
    values: Values


class ObservedLimit(NamedTuple):
    """An object as it stands: in the accounting's database, and what its controller holds in memory and enforces."""

    kind: str
    name: str
    number: str  # the database's own id: transactions name associations by it
    values: Values  # of the database; a key that is absent is no limit
    enforced: Values  # of the controller, as far as it tells: counts only
    known_to_controller: bool
    used: Mapping[str, int]  # tres -> in use now, by the controller
    used_minutes: Mapping[str, int]  # tres -> minutes counted against GrpTRESMins so far

    def differs(self, wanted: Values) -> dict[str, int | str]:
        """The keys of `wanted` that the database has otherwise, with what is wanted."""
        return {key: value for key, value in wanted.items() if not same(key, self.values.get(key), value)}

    def lags(self, wanted: Values) -> list[str]:
        """The keys of `wanted` that the controller holds otherwise, of those it tells at all."""
        told = ("GrpTRES:", "GrpTRESMins:", "MinTRES:")
        keys = [key for key in wanted if key.startswith(told)]
        if not self.known_to_controller:
            return keys
        return [key for key in keys if not same(key, self.enforced.get(key), wanted[key])]


def same(key: str, one: int | str | None, other: int | str | None) -> bool:
    """Whether two values of a key mean the same: nothing asked for at least is none, and so is an empty list of names."""
    if key.startswith("MinTRES:") or key in ("Priority", "QOS", "Preempt", "Flags", "DefaultQOS"):
        return (one or None) == (other or None)
    return (
        _UNSET.get(key, one) == other
        if one is None
        else _UNSET.get(key, other) == one
        if other is None
        else one == other
    )


#: What a key is set to where there is to be nothing.
_UNSET: dict[str, int | str] = {"MaxWall": -1, "PreemptExemptTime": -1, "PreemptMode": "cluster"}


class Receipt(NamedTuple):
    """What was told the scheduler, and what it answered."""

    at: int  # epoch seconds, of the host that was told
    command: str  # exactly as it was run, quoted for a shell
    exit_code: int | None  # None: it did not end by itself
    answer: str  # both outputs, bounded
    limits: tuple[tuple[str, str], ...]  # (kind, name) of each object it was for
    fault: str = ""  # "" where it was taken, else a code of SourceFault or "nothing_modified"

    @property
    def was_taken(self) -> bool:
        """Whether the scheduler said that it took it. That it holds is known from reading back alone."""
        return not self.fault


class Running(NamedTuple):
    """A job that runs, as far as limits are concerned; `ends_at` None: without a time limit."""

    job_id: str
    account: str
    user: str
    qos: str
    held: Mapping[str, int]  # tres -> cards: "gres/gpu" all of them, "gres/gpu:a100" those of a type
    ends_at: int | None


class LimitPort(Protocol):
    """Where limits are read and set. Every call is bounded in time and raises SourceFault where there is no answer."""

    def observed(self) -> Iterator[ObservedLimit]:
        """Each object that can carry a limit, as it stands."""

    def apply(self, limit: Limit, standing: ObservedLimit | None) -> Receipt:
        """Tell the scheduler what of `limit` it has otherwise. A refusal is a receipt, not a fault."""

    def apply_all(self, limits: Sequence[tuple[Limit, ObservedLimit | None]]) -> Iterator[Receipt]:
        """As `apply` for many, those that are told the same in one command."""

    def preflight(self) -> list[Finding]:
        """Whether limits set here would hold: what is right, and what must be put right first. Raises nothing."""

    def running(self) -> Iterator[Running]:
        """The jobs that hold GPUs now."""

    def gpu_types(self) -> list[str]:
        """The types of GPUs the scheduler counts apart, sorted: "a100" of the TRES "gres/gpu:a100"."""

    def changes(self, window: Window) -> Iterator[Change]:
        """Who changed objects that carry limits, within the window."""


class Change(NamedTuple):
    """A change of one object by somebody."""

    at: int
    actor: str
    kind: str  # QOS, or ACCOUNT for any association
    key: str  # the name of a QOS, the number of an association
    info: str
