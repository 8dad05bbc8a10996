"""The connection test, by commands the test writes: one thing is wrong at a time, and the finding says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from governance.schedulers.findings import FINDINGS
from governance.schedulers.live import Finding
from governance.schedulers.slurm.commands import SlurmCommands
from governance.schedulers.slurm.runner import LocalRunner, Patience
from tests.schedulers.conftest import write_command

GOOD: dict[str, str] = {
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageTRES": "cpu,mem,node,gres/gpu,gres/gpu:a100",
    "AccountingStorageEnforce": "associations,limits,qos,safe",
    "JobAcctGatherType": "jobacct_gather/cgroup",
    "PrivateData": "none",
    "ClusterName": "lab",
}
NODE = "NodeName=gpu001 CPUTot=64 Gres=gpu:a100:8 RealMemory=1000 State=IDLE"


def cluster(
    folder: Path,
    *,
    config: dict[str, str] | None = None,
    database: str = "PurgeJobAfter = NONE\nPurgeEventAfter = NONE\nMaxQueryTimeRange = UNLIMITED",
    node: str = NODE,
    level: str = "Operator",
    users: str = r"ada\nben",
    clusters: str = "lab",
    runaway: str = "echo 'Runaway Jobs: No runaway jobs found on cluster lab'",
    clock: str = "exec /bin/date +%s",
) -> None:
    """Write a small cluster of shell scripts: everything is right but for what the caller says."""
    settings = "\\n".join(f"{name} = {value}" for name, value in (GOOD | (config or {})).items())
    write_command(folder, "date", f'case "$*" in +%s) {clock};; *) exec /bin/date "$@";; esac\n')
    write_command(folder, "id", "echo portal\n")
    write_command(folder, "squeue", "echo slurm 23.11.4\n")
    write_command(
        folder,
        "scontrol",
        f"case \"$*\" in *config*) printf '{settings}\\n';; *node*) echo '{node}';; *) echo slurm 23.11.4;; esac\n",
    )
    write_command(
        folder,
        "sacct",
        f'case "$*" in *User*) printf \'{users}\\n\';; *Submit*) t=$(/bin/date -d "$(echo "$*" | sed \'s/.*-S \\([^ ]*\\).*/\\1/\')Z" +%s);'
        ' echo "$((t + 60))";; *) echo slurm 23.11.4;; esac\n',
    )
    write_command(
        folder,
        "sacctmgr",
        f'case "$*" in *"show cluster"*) echo {clusters};; *"show config"*) printf \'{database}\\n\';;'
        f' *"show user"*) echo "portal|{level}";; *runaway*) {runaway};; *) echo slurm 23.11.4;; esac\n',
    )


def found(chosen: str = "") -> dict[str, Finding]:
    """The findings by code; each has words, and its detail fits them."""
    short = Patience(20, 20)
    findings = SlurmCommands(LocalRunner(), cluster=chosen, patience=short, short=short).probe()
    for one in findings:
        for words in FINDINGS[one.code]:
            assert "%(" not in (words % one.detail)
    assert len({one.code for one in findings}) == len(findings)
    return {one.code: one for one in findings}


def test_where_all_is_right_nothing_warns(fake_bin: Path) -> None:
    cluster(fake_bin)
    findings = found()
    assert {one.severity for one in findings.values()} == {"ok", "info"}
    assert list(findings) == [
        "clock_agrees",
        "time_zone",
        "commands_present",
        "controller_answers",
        "accounting_answers",
        "gpus_tracked",
        "limits_enforced",
        "usage_gathered",
        "attempts_visible",
        "rights_enough",
        "sees_all_jobs",
        "records_kept",
        "no_runaway_jobs",
        "first_pull",
    ]
    assert findings["first_pull"].detail["jobs_per_day"] == 1


@pytest.mark.parametrize(
    "wrong, code, severity, detail",
    [
        ({"clock": "echo $(($(/bin/date +%s) - 600))"}, "clock_skew", "warning", {}),
        ({"clock": "echo $(($(/bin/date +%s) + 45))"}, "clock_skew", "warning", {}),
        ({"clock": "echo $(($(/bin/date +%s) + 20))"}, "clock_agrees", "ok", {}),
        ({"config": {"AccountingStorageType": "accounting_storage/none"}}, "accounting_off", "blocking", {}),
        ({"config": {"AccountingStorageTRES": "cpu,mem,node"}}, "gpus_not_tracked", "warning", {"types": "a100 × 8"}),
        ({"config": {"AccountingStorageTRES": "cpu,gres/gpu"}}, "types_not_tracked", "warning", {"types": "a100"}),
        ({"node": "NodeName=cpu001 CPUTot=64 Gres=(null) State=IDLE"}, "no_gpus", "info", {}),
        (
            {"config": {"AccountingStorageEnforce": "associations"}},
            "limits_not_enforced",
            "warning",
            {"enforce": "associations"},
        ),
        ({"config": {"AccountingStorageEnforce": "none"}}, "limits_not_enforced", "warning", {}),
        ({"config": {"AccountingStorageEnforce": "associations,limits"}}, "limits_not_safe", "warning", {}),
        ({"config": {"JobAcctGatherType": "jobacct_gather/none"}}, "no_usage_gathered", "info", {}),
        ({"level": "None"}, "rights_few", "warning", {"login": "portal", "level": "None"}),
        (
            {"level": "None", "config": {"PrivateData": "jobs,usage"}, "users": "portal"},
            "sees_only_own_jobs",
            "blocking",
            {"users": 1},
        ),
        (
            {"level": "None", "config": {"PrivateData": "jobs"}, "users": ""},
            "sees_only_own_jobs",
            "blocking",
            {"users": 0},
        ),
        ({"users": "portal"}, "one_user_seen", "warning", {"users": 1}),
        ({"users": ""}, "no_recent_jobs", "info", {}),
        (
            {"level": "None", "database": "MaxQueryTimeRange = 7-00:00:00"},
            "query_range_limited",
            "warning",
            {"range": "7-00:00:00"},
        ),
        ({"database": "PurgeJobAfter = 12months"}, "records_purged", "info", {"jobs": "12months", "events": "NONE"}),
        ({"clusters": "'lab other'"}, "several_clusters", "warning", {"known": "lab, other"}),
        (
            {"runaway": "echo '7|x|train|lab|RUNNING|1796000000|Unknown'"},
            "runaway_jobs",
            "warning",
            {"count": 1, "jobs": "7"},
        ),
        (
            {"runaway": "echo 'error: You must have an AdminLevel>=Operator' >&2; exit 1"},
            "runaway_unknown",
            "info",
            {"login": "portal"},
        ),
    ],
)
def test_one_thing_that_is_wrong_is_one_finding(
    fake_bin: Path, wrong: dict[str, Any], code: str, severity: str, detail: dict[str, Any]
) -> None:
    cluster(fake_bin, **wrong)
    finding = found()[code]
    assert finding.severity == severity
    assert detail.items() <= finding.detail.items()


@pytest.mark.parametrize("off", [-600, -3, 20, 45])
def test_the_skew_of_the_clock_is_measured_to_the_second(fake_bin: Path, off: int) -> None:
    cluster(fake_bin, clock=f"echo $(($(/bin/date +%s) + {off}))")
    (skew,) = (one.detail["skew_s"] for one in found().values() if one.code.startswith("clock_"))
    assert abs(skew - off) <= 1


def test_a_cluster_nobody_knows_is_told_with_those_there_are(fake_bin: Path) -> None:
    cluster(fake_bin)
    finding = found("other")["unknown_cluster"]
    assert (finding.severity, finding.detail["known"]) == ("blocking", "lab")


def test_runaway_jobs_are_asked_for_and_never_mended(fake_bin: Path, tmp_path: Path) -> None:
    cluster(fake_bin, runaway=f'cat > {tmp_path}/told; echo "$*" > {tmp_path}/asked')
    found()
    assert (tmp_path / "told").read_text() == "N\n"
    assert (tmp_path / "asked").read_text().split() == ["-n", "-P", "show", "runaway"]


def test_a_silent_controller_leaves_the_accounting_to_be_tested(fake_bin: Path) -> None:
    cluster(fake_bin)
    write_command(
        fake_bin,
        "scontrol",
        "case $1 in -V) echo slurm;; *) echo 'error: Unable to contact slurm controller (connect failure)' >&2; exit 1;; esac\n",
    )
    findings = found()
    assert findings["controller_down"].severity == "blocking"
    assert {"accounting_answers", "sees_all_jobs", "first_pull"} <= findings.keys()


def test_a_silent_database_leaves_the_controller_to_be_tested(fake_bin: Path) -> None:
    cluster(fake_bin)
    words = "sacctmgr: error: Sending PersistInit msg: Connection refused"
    write_command(fake_bin, "sacctmgr", f"case $1 in -V) echo slurm;; *) echo '{words}' >&2; exit 1;; esac\n")
    findings = found()
    assert (findings["accounting_down"].severity, findings["accounting_down"].detail["words"]) == ("blocking", words)
    assert {"controller_answers", "gpus_tracked", "limits_enforced"} <= findings.keys()
    assert "first_pull" not in findings


def test_missing_commands_are_named_all_at_once(fake_bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(fake_bin)
    monkeypatch.setenv("PATH", str(fake_bin))
    (fake_bin / "sacct").unlink()
    (fake_bin / "sacctmgr").unlink()
    assert found()["commands_missing"] == Finding("commands_missing", "blocking", {"commands": "sacct, sacctmgr"})


def test_a_host_that_cannot_be_asked_is_the_only_finding(fake_bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_bin))
    assert {code: one.severity for code, one in found().items()} == {"command_missing": "blocking"}
