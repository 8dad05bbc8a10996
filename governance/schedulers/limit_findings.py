"""What a preflight of limits may find beside `findings`: for each code, what it means and what to do, as gettext msgids."""

from __future__ import annotations

from governance.schedulers.findings import N_

#: code -> (what it means, what to do); parameters are the finding's `detail`
LIMIT_FINDINGS: dict[str, tuple[str, str]] = {
    "qos_not_enforced": (
        N_("Jobs may name any QOS: AccountingStorageEnforce is %(enforce)s. A limit on a QOS can be walked round."),
        N_("Set AccountingStorageEnforce=associations,limits,qos,safe and restart slurmctld."),
    ),
    "may_set_limits": (N_("The login %(login)s may set limits (%(level)s)."), ""),
    "may_not_set_limits": (
        N_("The login %(login)s may not set limits: its level in the accounting is %(level)s."),
        N_(
            "Let an administrator run: sacctmgr modify user %(login)s set adminlevel=Administrator. QOS need that level."
        ),
    ),
    "cards_limitable": (N_("GPUs can be limited: %(tres)s."), ""),
    "cards_not_limitable": (
        N_("GPUs cannot be limited: gres/gpu is not in AccountingStorageTRES (%(tres)s)."),
        N_(
            "Set AccountingStorageTRES=gres/gpu and one gres/gpu:TYPE for each type in slurm.conf, and restart slurmctld."
        ),
    ),
    "types_not_limitable": (
        N_("GPUs of the types %(types)s cannot be limited apart: they are not in AccountingStorageTRES."),
        N_("Add gres/gpu:TYPE for each to AccountingStorageTRES in slurm.conf, and restart slurmctld."),
    ),
    "budgets_not_counted": (
        N_("Slurm counts no use over time (PriorityType is %(kind)s): a budget of GPU-hours would never be used up."),
        N_(
            "Set PriorityType=priority/multifactor before GPU-hours are given out here. Limits of GPUs hold all the same."
        ),
    ),
    "usage_stays": (N_("Use that Slurm counts neither decays nor is it reset."), ""),
    "usage_decays": (
        N_(
            "Fair share forgets use (half-life %(half_life)s, reset %(reset)s). Budgets do not: their QOS carry NoDecay."
        ),
        "",
    ),
    "qos_are_shared": (
        N_("One accounting serves several clusters (%(known)s): the portal's QOS are seen on all of them."),
        N_("Nothing: accounts of other clusters are not given these QOS."),
    ),
    "limits_not_by_rest": (
        N_("Limits are not set over slurmrestd: for accounts it answers 200 without changing anything."),
        N_("Give this cluster a connection by Slurm's commands (kind slurm), or let the site pull the desired state."),
    ),
}
