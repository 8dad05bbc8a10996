"""The live schedulers by kind, and the one way to reach one from what a cluster's record says of its connection.

A connection is plain values. A secret is never among them: it is named by the variable of the environment
(`token_env`) or by the file (`token_file`, `identity_file`) that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from governance.schedulers.limits import LimitPort
from governance.schedulers.live import Scheduler, SourceFault, Stopped
from governance.schedulers.slurm.commands import SlurmCommands
from governance.schedulers.slurm.connect import connect_commands
from governance.schedulers.slurm.limiting import SlurmLimits
from governance.schedulers.slurm.rest_connect import connect_rest
from governance.schedulers.slurm.stopping import stop

Connect = Callable[[str, Mapping[str, Any]], Scheduler]

# kind -> a function of (the portal's name of the cluster, its connection)
SCHEDULERS: dict[str, Connect] = {
    "slurm": connect_commands,
    "slurmrestd": connect_rest,
}


def connect(kind: str, *, name: str, connection: Mapping[str, Any]) -> Scheduler:
    """The scheduler of that kind with that connection; nothing is asked of it yet.

    Raises SourceFault: "unknown_kind", or "bad_connection" (`what` names the key at fault).
    """
    if kind not in SCHEDULERS:
        raise SourceFault("unknown_kind", kind=kind, known=sorted(SCHEDULERS))
    return SCHEDULERS[kind](name, connection)


def limit_port(kind: str, *, name: str, connection: Mapping[str, Any]) -> LimitPort:
    """Where limits of that cluster are set; nothing is asked of it yet.

    Raises SourceFault: as `connect`, and "no_limits" for a kind over which none are set.
    """
    scheduler = connect(kind, name=name, connection=connection)
    if not isinstance(scheduler, SlurmCommands):
        raise SourceFault("no_limits", kind=kind)
    return SlurmLimits(scheduler)


def stop_run(kind: str, *, name: str, connection: Mapping[str, Any], job_id: str, submit_at: int) -> Stopped:
    """End one run of that cluster, the attempt submitted at `submit_at` (epoch seconds), where it is still there.

    Raises SourceFault: as `connect`, and "no_limits" for a kind that takes no orders.
    """
    scheduler = connect(kind, name=name, connection=connection)
    if not isinstance(scheduler, SlurmCommands):
        raise SourceFault("no_limits", kind=kind)
    return stop(scheduler, job_id, submit_at)
