"""What a scheduler's accounting holds of limits and of who changed them: frozen, texts as the scheduler prints them."""

from __future__ import annotations

from typing import NamedTuple


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
