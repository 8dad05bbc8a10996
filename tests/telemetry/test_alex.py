"""ClusterCockpit's records of a real cluster against figures worked out by hand from the file."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from datetime import date

import pytest
from django.core.management import call_command

from governance.catalogue.models import Cluster
from governance.usage.models import QuarantinedRecord, Run, UsageDay
from governance.usage.telemetry import reads
from governance.usage.telemetry_models import RunActivity
from portal.organisation.actions import load
from tests.books import MACHINE, SHARED, company, settle

JOBS = SHARED / "data/clustercockpit-alex/jobs_alex_a40.jsonl.gz"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.real_data,
    pytest.mark.skipif(not JOBS.is_file(), reason="the real records are not beside the project"),
]


def declare_alex() -> None:
    cluster = {
        "code": "alex",
        "name": {"zh": "alex", "en": "alex"},
        "scheduler": {"kind": "files", "time_zone": "UTC"},
        "pools": [
            {"code": "a40", "name": "a40", "purpose": "training", "partitions": ["a40"], "accelerators": ["a40"]}
        ],
        "nodes": [
            {"names": "a0121", "pool": "a40", "accelerator": "a40", "accelerators": 8, "cpus": 128, "memory_gib": 512}
        ],
    }
    cards = [{"code": "a40", "vendor": "NVIDIA", "name": "A40", "memory_gib": 48, "power_watts": 300}]
    load(company(clusters=[cluster], accelerators=cards, mappings=[], prices=[]), actor=MACHINE)


@pytest.fixture
def alex(db):
    declare_alex()
    call_command("import_usage", "alex", str(JOBS), "--format", "clustercockpit")
    call_command("import_telemetry", "alex", str(JOBS), "--format", "clustercockpit")
    settle("alex")
    return Cluster.objects.get(code="alex")


def everything(cluster):
    return reads.card_time(cluster, date(2000, 1, 1), date(2100, 1, 1))


def test_card_hours_and_what_was_not_active_are_those_of_the_file(alex):
    found = everything(alex)
    assert f"{found.allocated / 3_600_000:.4f}" == "2175.3683"
    assert f"{found.not_active / 3_600_000:.4f}" == "721.9236"
    assert f"{100 * found.not_active / found.measured:.2f}" == "33.19"
    assert found.measured == found.allocated
    assert reads.runs_without_activity(alex) == 57


def test_a_mean_cannot_tell_idle_cards_and_no_submit_time_cannot_tell_waits(alex):
    found = everything(alex)
    assert (found.active, found.idle, found.unknown) == (0, 0, found.allocated)
    waits = UsageDay.objects.values_list(
        "wait_quota_seconds", "wait_capacity_seconds", "wait_other_seconds", "wait_unknown_seconds"
    )
    assert set(waits) == {(0, 0, 0, 0)}
    assert not Run.objects.filter(submit_known=True).exists()
    assert Run.objects.count() == 216 and not QuarantinedRecord.objects.exists()


def test_each_project_and_node_has_its_own_share(alex):
    by_project, by_node = defaultdict(float), defaultdict(float)
    with gzip.open(JOBS) as lines:
        for job in map(json.loads, lines):
            for place in job["resources"]:
                hours = len(place["accelerators"]) * job["duration"] / 3600
                by_project[job["project"]] += hours * job["footprint"]["acc_utilization_avg"] / 100
                by_node[place["hostname"]] += hours
    found: dict[str, int] = defaultdict(int)
    for account, busy in UsageDay.objects.values_list("account", "busy_milligpu_seconds"):
        found[account] += busy
    assert {k: v / 3_600_000 for k, v in found.items()} == pytest.approx(dict(by_project), abs=1e-4)
    nodes: dict[str, int] = defaultdict(int)
    for node, measured in RunActivity.objects.values_list("node", "measured_milligpu_seconds"):
        nodes[node] += measured
    assert {k: v / 3_600_000 for k, v in nodes.items()} == pytest.approx(dict(by_node))


def test_telemetry_before_the_records_gives_the_same_books(alex, django_db_blocker):
    names = ("day", "account", "milligpu_seconds", "measured_milligpu_seconds", "busy_milligpu_seconds")
    first = sorted(UsageDay.objects.values_list(*names))
    RunActivity.objects.all().delete()
    Run.objects.all().delete()
    UsageDay.objects.all().delete()
    call_command("import_telemetry", "alex", str(JOBS))
    from governance.usage.models import Intake

    Intake.objects.all().update(fingerprint="")
    call_command("import_usage", "alex", str(JOBS))
    settle("alex")
    assert sorted(UsageDay.objects.values_list(*names)) == first
