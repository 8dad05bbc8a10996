"""A real Slurm pulled through the whole chain: its own report says what our books say, to the second."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Sum

from billing.ledger.checks import ledger_checks
from governance.usage import actions, live
from governance.usage.checks import usage_checks
from governance.usage.live_models import QueueSample
from governance.usage.models import Run, UsageDay
from portal.organisation.actions import load
from tests.books import MACHINE

pytestmark = [pytest.mark.slurm, pytest.mark.django_db]

ORGANISATION = {
    "steelyard": 1,
    "settings": {"time_zone": "UTC"},
    "departments": [{"code": "lab", "name": "lab"}],
    "projects": [{"code": "all", "name": "all", "placements": [{"department": "lab"}]}],
    "accelerators": [{"code": "a100", "name": "A100"}, {"code": "h100", "name": "H100"}],
    "clusters": [
        {
            "code": "lab",
            "name": "lab",
            "scheduler": {"kind": "slurm", "time_zone": "UTC"},
            "pools": [
                {"code": "lab-train", "name": "train", "partitions": ["train"], "accelerators": ["a100"]},
                {"code": "lab-infer", "name": "infer", "partitions": ["infer"], "accelerators": ["h100"]},
            ],
        }
    ],
    "mappings": [{"cluster": "lab", "account": "*", "project": "all"}],
    "prices": [{"pool": "lab-train", "accelerator": "*", "qos": "*", "gpu_hour": "1"}],
}


@pytest.fixture
def organisation(slurmlab):
    load(ORGANISATION, actor=MACHINE)


def sreport(lab, since: datetime, until: datetime) -> dict[tuple[str, str], dict[str, int]]:
    """Seconds by (account, login) and resource, as slurmdbd's own roll-up has them."""
    window = [f"start={since:%Y-%m-%dT%H:%M:%S}", f"end={until:%Y-%m-%dT%H:%M:%S}"]
    command = [
        "sreport",
        "-t",
        "Seconds",
        "-T",
        "gres/gpu,cpu",
        "-P",
        "-n",
        "cluster",
        "AccountUtilizationByUser",
        *window,
    ]
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in subprocess.run(command, env=lab, capture_output=True, text=True, check=True).stdout.splitlines():
        _, account, login, _, resource, used = row.split("|")
        if login:
            found[(account, login)][resource] = int(used)
    return found


def test_history_pulled_equals_sreport_to_the_second_up_to_the_closed_hour(organisation, slurmlab):
    slurmlab.run("load-history", "3000")
    slurmlab.run("roll-up")
    now = datetime.now(UTC)
    closed = now.replace(minute=0, second=0, microsecond=0)
    since = (now - timedelta(days=95)).replace(hour=0, minute=0, second=0, microsecond=0)
    done = live.pull("lab", actor=MACHINE, since_at=since)
    assert done.records.new >= 3000 and done.records.quarantined == 0
    actions.meter("lab", actor=MACHINE, until_at=closed)
    ours = UsageDay.objects.values_list("account", "user").annotate(gpu=Sum("milligpu_seconds"), cpu=Sum("cpu_seconds"))
    theirs = sreport(slurmlab.env, since, closed)
    assert {
        (account, user): {"gres/gpu": gpu // 1000, "cpu": cpu} for account, user, gpu, cpu in ours if gpu or cpu
    } == theirs


def test_every_end_state_and_reason_of_the_job_mix_is_classed_right(organisation, slurmlab, mix):
    live.pull("lab", actor=MACHINE, since_at=datetime.now(UTC) - timedelta(days=1))
    runs = Run.objects.values_list("job_id", "state", "outcome")
    states = {(state, outcome) for job_id, state, outcome in runs if mix.holds(job_id)}
    assert states >= {
        ("COMPLETED", "completed"),
        ("FAILED", "failed"),
        ("CANCELLED", "cancelled"),
        ("TIMEOUT", "timeout"),
        ("DEADLINE", "timeout"),
        ("NODE_FAIL", "node_failure"),
        ("PREEMPTED", "preempted"),
        ("REQUEUED", "cancelled"),
        ("OUT_OF_MEMORY", "out_of_memory"),
        ("RUNNING", "running"),
    }
    waits = dict(QueueSample.objects.values_list("reason", "waits_for"))
    assert waits["AssocGrpGRES"] == waits["QOSMaxGRESPerUser"] == "quota"
    assert waits["ReqNodeNotAvail"] == "capacity"
    assert {
        waits[reason] for reason in ("BeginTime", "JobHeldUser", "DependencyNeverSatisfied", "JobArrayTaskLimit")
    } == {"other"}
    actions.meter("lab", actor=MACHINE)
    assert [check.identity for check in (*usage_checks(), *ledger_checks()) if not check.holds] == []


def test_a_second_pull_of_the_same_finds_nothing_new(organisation, slurmlab):
    live.pull("lab", actor=MACHINE, since_at=datetime.now(UTC) - timedelta(days=1))
    again = live.pull("lab", actor=MACHINE, since_at=datetime.now(UTC) - timedelta(days=1))
    assert again.records.new == 0
    assert json.dumps(again.as_dict())
