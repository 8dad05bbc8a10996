"""What a connection test may find: for each code, what it means and what to do, as gettext msgids with named parameters.

Parameters are the finding's `detail`. A finding that is "ok" or "info" may have nothing to do: its second text is empty.
"""

from __future__ import annotations


def N_(message: str) -> str:  # noqa: N802  the usual name of a gettext marker; governance.errors lies beside, not below
    """Mark a message for translation without translating it here."""
    return message


#: code -> (what it means, what to do)
FINDINGS: dict[str, tuple[str, str]] = {
    # the faults of SourceFault that may end the whole test
    "unreachable": (N_("The host cannot be reached: %(words)s"), N_("Check host, port, network and firewall.")),
    "host_key": (
        N_("The host shows a key that known_hosts does not hold for it: %(words)s"),
        N_("Compare the key's fingerprint with its administrator, then write it into known_hosts. Nothing was sent."),
    ),
    "refused": (
        N_("The host refused the sign-in: %(words)s"),
        N_("Check the user, and that the public key is in its authorized_keys. No password is ever tried."),
    ),
    "secret_missing": (
        N_("A file the connection names cannot be read: %(words)s"),
        N_("Put it there and let the portal's user, and nobody else, read it."),
    ),
    "command_missing": (
        N_("A command is missing on the host: %(words)s"),
        N_("Install it, or set bin_dir of the connection."),
    ),
    "timed_out": (
        N_("There was no answer in time: %(words)s"),
        N_("Look at the load of the host and of slurmctld (sdiag), and test again."),
    ),
    "output_cut": (
        N_("An answer stopped in the middle: %(words)s"),
        N_("Test again; if it stays, look at the network and the daemon's log."),
    ),
    "unknown_field": (
        N_("A field that is asked for is unknown: %(words)s"),
        N_("This Slurm is older than 20.11: bring it up to date."),
    ),
    "version": (
        N_("This version is not read here: %(words)s"),
        N_("Bring Slurm's client tools there to the version of its daemons."),
    ),
    "not_permitted": (N_("This may not be asked: %(words)s"), N_("Make the login an operator of the accounting.")),
    "bad_answer": (
        N_("The answer is none to what was asked: %(words)s"),
        N_("Let the login's shell print nothing when it starts, and test again."),
    ),
    "failed": (N_("A command failed: %(words)s"), N_("Run it there by hand as the same user to see why.")),
    # the findings
    "clock_agrees": (N_("The host's clock agrees with ours (%(skew_s)s s apart)."), ""),
    "clock_skew": (
        N_("The host's clock is %(skew_s)s seconds off ours. Records are dated by the host's clock."),
        N_("Set up time synchronisation (chrony or ntpd) on both hosts. Until then the newest records come late."),
    ),
    "time_zone": (N_("The host keeps local time %(offset)s. Times are asked for in UTC, so this changes nothing."), ""),
    "commands_present": (N_("Slurm's commands are there: %(version)s."), ""),
    "commands_missing": (
        N_("These commands are missing on the host or not executable: %(commands)s."),
        N_("Install Slurm's client tools there, or set bin_dir of the connection to where they are."),
    ),
    "controller_answers": (N_("slurmctld answers for the cluster %(cluster)s."), ""),
    "controller_down": (
        N_("slurmctld does not answer: %(words)s"),
        N_("Start slurmctld or look at its log. Meanwhile records are pulled; queue and node states stand still."),
    ),
    "accounting_answers": (N_("slurmdbd answers."), ""),
    "accounting_down": (
        N_("slurmdbd does not answer: %(words)s"),
        N_(
            "Start slurmdbd or look at its log and its database. Usage waits in slurmctld and is pulled once it is back."
        ),
    ),
    "accounting_off": (
        N_("The cluster keeps no accounting database (AccountingStorageType is %(kind)s)."),
        N_(
            "Set up slurmdbd and AccountingStorageType=accounting_storage/slurmdbd: without it there is no usage to read."
        ),
    ),
    "unknown_cluster": (
        N_("The accounting knows no cluster “%(cluster)s”; it knows %(known)s."),
        N_("Correct the cluster in the connection. sacct would answer with nothing and without an error."),
    ),
    "several_clusters": (
        N_("The accounting serves several clusters: %(known)s. The connection names none, so the host's own is read."),
        N_(
            "Name the cluster in the connection, so that a change of the host's configuration cannot change what is read."
        ),
    ),
    "rights_enough": (N_("The login %(login)s is %(level)s of the accounting."), ""),
    "rights_few": (
        N_("The login %(login)s has no administrative level in the accounting (%(level)s)."),
        N_(
            "Let an administrator run: sacctmgr modify user %(login)s set adminlevel=Operator. Runaway jobs and limits need it."
        ),
    ),
    "sees_all_jobs": (N_("Jobs of %(users)s users were seen in the last %(days)s days."), ""),
    "sees_only_own_jobs": (
        N_("Only jobs of %(login)s itself are shown, and PrivateData is %(private)s."),
        N_(
            "Make %(login)s an operator (sacctmgr modify user %(login)s set adminlevel=Operator), or take jobs out of PrivateData."
        ),
    ),
    "one_user_seen": (
        N_("All jobs of the last %(days)s days belong to %(login)s itself. Others may be hidden, or there were none."),
        N_("Ask somebody else to run a job, and test again."),
    ),
    "no_recent_jobs": (
        N_("There were no jobs in the last %(days)s days, so it is not known whether others' jobs are shown."),
        N_("Run a job as another user, and test again."),
    ),
    "gpus_tracked": (N_("GPUs are tracked: %(tres)s."), ""),
    "gpus_not_tracked": (
        N_(
            "Nodes have accelerators (%(types)s), but AccountingStorageTRES does not track them: %(tres)s. Runs have no count of GPUs."
        ),
        N_(
            "Set AccountingStorageTRES=gres/gpu and one gres/gpu:TYPE for each type in slurm.conf, and restart slurmctld."
        ),
    ),
    "types_not_tracked": (
        N_("GPUs are counted, but not by type: %(types)s is not in AccountingStorageTRES."),
        N_(
            "Add gres/gpu:TYPE for each to AccountingStorageTRES. Until then a run takes the sole model of its nodes or pool."
        ),
    ),
    "no_gpus": (
        N_("No node has an accelerator as a generic resource."),
        N_("If there are any, declare them in gres.conf and with Gres= in slurm.conf."),
    ),
    "limits_enforced": (N_("Limits are enforced: AccountingStorageEnforce is %(enforce)s."), ""),
    "limits_not_enforced": (
        N_("Limits are kept but not enforced: AccountingStorageEnforce is %(enforce)s."),
        N_(
            "Set AccountingStorageEnforce=associations,limits,qos,safe and restart slurmctld before quotas are given out."
        ),
    ),
    "limits_not_safe": (
        N_("Limits are enforced without “safe” (%(enforce)s): a job that uses up a budget of GPU-hours is killed."),
        N_("Add safe to AccountingStorageEnforce: then only jobs start that can end within the budget."),
    ),
    "query_range_limited": (
        N_("Whoever is no operator may ask for %(range)s at a time (MaxQueryTimeRange)."),
        N_("Make %(login)s an operator; a first pull asks for longer spans."),
    ),
    "records_purged": (
        N_("The accounting forgets jobs after %(jobs)s and node events after %(events)s."),
        N_("Pull the whole history before it is forgotten: afterwards the portal is its only record."),
    ),
    "records_kept": (N_("The accounting keeps jobs and node events for good."), ""),
    "attempts_visible": (N_("Earlier attempts of requeued jobs are read too (sacct -D)."), ""),
    "no_usage_gathered": (
        N_("Slurm does not measure what jobs use (JobAcctGatherType is %(kind)s). Allocations are read all the same."),
        N_("Set JobAcctGatherType=jobacct_gather/cgroup if you want CPU and memory use in sacct."),
    ),
    "usage_gathered": (N_("Slurm measures what jobs use (%(kind)s)."), ""),
    "first_pull": (
        N_(
            "The oldest jobs found are of %(since_on)s. At some %(jobs_per_day)s jobs a day the first pull brings about %(jobs)s jobs."
        ),
        N_("Pull from that day on, in windows; the watermark shows how far it is."),
    ),
    "no_history": (N_("No finished jobs were found in the last %(days)s days: the first pull is empty."), ""),
    "no_runaway_jobs": (N_("The accounting holds no runaway jobs."), ""),
    "runaway_jobs": (
        N_("%(count)s jobs run in the accounting and not in the controller: %(jobs)s. They would be charged for ever."),
        N_("Let an administrator run sacctmgr show runaway, and answer y to mend them."),
    ),
    "runaway_unknown": (
        N_("Runaway jobs cannot be asked for: %(words)s"),
        N_("Only an operator may: sacctmgr modify user %(login)s set adminlevel=Operator."),
    ),
    # slurmrestd's own
    "rest_version": (N_("slurmrestd is asked in %(version)s; it serves %(served)s."), ""),
    "token_in_clear": (
        N_("The token is sent to %(url)s unencrypted: who reads the network can act as the portal."),
        N_("Put a proxy with TLS before slurmrestd and name its https address, or use a Unix socket."),
    ),
    "certificate_unchecked": (
        N_("The certificate of %(url)s is not checked: anybody may answer in its place and take the token."),
        N_("Set ca_file to the authority's certificate, and take verify out of the connection."),
    ),
    "token_expires": (
        N_("The token is valid until %(until)s."),
        N_(
            "Write a new one into the token's file before then (scontrol token username=LOGIN lifespan=SECONDS); "
            "it is read again for every question."
        ),
    ),
    "login_unknown": (
        N_("Who the portal is to Slurm cannot be told: there is neither a token nor a user in the connection."),
        N_("Nothing, if others' jobs are seen; else let slurmrestd run as an operator of the accounting."),
    ),
    "rest_attempts_visible": (N_("Earlier attempts of requeued jobs are shown over REST (%(version)s)."), ""),
    "attempts_hidden": (
        N_(
            "Earlier attempts of requeued jobs are hidden: %(count)s jobs were started more than once and have one row "
            "(%(jobs)s, %(version)s). What those attempts used is not counted."
        ),
        N_("Read this cluster by Slurm's commands instead, or let no proxy take the query out of requests."),
    ),
    "attempts_unseen": (
        N_(
            "Whether earlier attempts of requeued jobs are shown is not known: no job was requeued in the last %(days)s days (%(version)s)."
        ),
        N_("Requeue a running test job (scontrol requeue), and test again."),
    ),
    "no_events_over_rest": (
        N_("slurmrestd tells no node events: the history of nodes is what the portal saw at each pull."),
        N_("Read this cluster by Slurm's commands where short outages of nodes matter."),
    ),
    "no_runaway_over_rest": (
        N_("slurmrestd tells no runaway jobs: a job that is lost to the controller looks as if it ran on."),
        N_("Let an administrator run sacctmgr show runaway from time to time."),
    ),
    "enforcement_unknown": (
        N_("slurmrestd does not tell whether limits are enforced."),
        N_("Look at scontrol show config | grep AccountingStorageEnforce before quotas are given out."),
    ),
    "exit_codes_lost": (
        N_("%(version)s gives 0 for every exit code: that of a failed job stays unknown. Its state is right."),
        "",
    ),
}
