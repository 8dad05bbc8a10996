"""The way to a cluster's limits, and its faults in words."""

from __future__ import annotations

from governance.catalogue.models import Cluster
from governance.errors import N_, NotTheMoment
from governance.schedulers.limits import LimitPort
from governance.schedulers.live import SourceFault
from governance.schedulers.registry import SCHEDULERS, limit_port

from .models import EnforcedCluster

NO_SCHEDULER = N_(
    "The cluster “%(code)s” is known from files only: the portal has no scheduler there to set limits in."
)

#: What a fault of the scheduler means for limits: code -> words. What already holds there goes on holding.
FAULTS = {
    "slurmctld": N_(
        "slurmctld does not answer: %(words)s. Limits that hold go on holding; nothing was changed. It is tried again."
    ),
    "slurmdbd": N_(
        "slurmdbd does not answer: %(words)s. Limits that hold go on holding; nothing was changed. It is tried again."
    ),
    "unreachable": N_(
        "The scheduler's host cannot be reached: %(words)s. Limits that hold go on holding. It is tried again."
    ),
    "no_limits": N_(
        "Limits are not set over slurmrestd. "
        "Give the cluster a connection by Slurm's commands, or let the site pull the desired state."
    ),
    "not_permitted": N_(
        "The portal's login may not ask for limits: %(words)s. Make it an administrator of the accounting."
    ),
    "other": N_("The scheduler could not be asked for its limits: %(words)s. Nothing was changed. It is tried again."),
}

#: What it means when a command was not taken: fault of the receipt -> words.
SAID = {
    "not_permitted": N_(
        "Slurm refused it: the portal's login may not set limits. "
        "Make it an administrator of the accounting. It said: %(answer)s"
    ),
    "daemon_down": N_(
        "A daemon of Slurm did not answer, so it is not known whether it was taken. "
        "It is read and tried again. It said: %(answer)s"
    ),
    "timed_out": N_(
        "Slurm did not answer in time, so it is not known whether it was taken. "
        "It is read and tried again. It said: %(answer)s"
    ),
    "nothing_modified": N_(
        "Slurm changed nothing: the object is not there, or appeared meanwhile. "
        "It is read and tried again. It said: %(answer)s"
    ),
    "failed": N_("Slurm did not take it: %(answer)s"),
}


def port_of(cluster: Cluster) -> LimitPort:
    """Where the cluster's limits are set. Raises NotTheMoment where it has no scheduler, SourceFault where it cannot carry any."""
    if cluster.scheduler_kind not in SCHEDULERS:
        raise NotTheMoment(NO_SCHEDULER, code=cluster.code)
    names = [name for name in cluster.scheduler_names if name != "*"]
    return limit_port(cluster.scheduler_kind, name=names[0] if names else cluster.code, connection=cluster.connection)


def setup_of(cluster: Cluster) -> EnforcedCluster:
    """How enforcement is set up there; off where nobody has said."""
    return EnforcedCluster.objects.select_related("cluster").get_or_create(cluster=cluster)[0]


def fault_words(fault: SourceFault) -> tuple[str, dict[str, str]]:
    """(msgid, params) of a fault."""
    code = str(fault.detail.get("daemon", "")) if fault.code == "daemon_down" else fault.code
    words = str(fault.detail.get("words") or "") or ", ".join(f"{name} {value}" for name, value in fault.detail.items())
    return FAULTS.get(code, FAULTS["other"]), {"words": (words or fault.code)[:300]}
