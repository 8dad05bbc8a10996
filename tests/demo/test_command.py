"""`manage.py demo` goes through the ordinary doors, once, and goes on where it was interrupted."""

from __future__ import annotations

import json
from datetime import date
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.db import transaction

from billing.ledger.models import Entry
from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit import actions as audit
from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, NodeState
from governance.tenants.models import Project
from governance.usage.models import UsageDay
from portal.demo.plan import DemoArguments, generate
from portal.embedded import demo_password
from portal.organisation.actions import load
from tests.demo.rows import UNTIL, rows_of

pytestmark = pytest.mark.django_db

SMALL = {"gpus": 24, "months": 1, "until": UNTIL, "runs_per_day": 15}


def told(**options: object) -> str:
    out = StringIO()
    call_command("demo", stdout=out, **options)
    return out.getvalue()


def test_it_makes_a_company_with_facts_and_a_ledger(tmp_path: Path):
    said = told(**SMALL, folder=tmp_path)
    assert "Ledger posted" in said
    rows = [row for path in sorted(tmp_path.rglob("sacct-*.txt")) for row in rows_of([path])]
    started = sum(1 for row in rows if row.started)
    assert started > 300
    assert sum(UsageDay.objects.values_list("runs_started", flat=True)) == started
    assert Entry.objects.exists()
    assert (tmp_path / "organisation.yaml").exists()


def test_every_demo_person_signs_in_with_the_demo_password():
    told(**SMALL)
    people = Person.objects.filter(email__endswith="@example.com")
    assert people.count() == 19
    for person in people:
        assert authenticate(username=person.username, password=demo_password()) == person


def test_outages_stand_in_the_catalogue_as_they_were_planned(tmp_path: Path):
    told(**{**SMALL, "gpus": 256}, folder=tmp_path)
    plan = generate(DemoArguments(**{**SMALL, "gpus": 256}))
    for cluster in plan.clusters:
        plan.write(tmp_path / "again", cluster)
    planned = {(o.cluster, o.node, o.state, o.from_at) for o in plan.outages()}
    entered = NodeState.objects.values_list("node__cluster__code", "node__name", "state", "from_at")
    assert {(cluster, node, state, int(at.timestamp())) for cluster, node, state, at in entered} == planned
    assert planned


def test_a_second_time_changes_nothing():
    told(**SMALL)
    before = (AuditLine.objects.count(), Entry.objects.count())
    assert "already" in told(**SMALL)
    assert "already" in told()
    assert (AuditLine.objects.count(), Entry.objects.count()) == before


def test_other_arguments_need_an_empty_installation():
    told(**SMALL)
    with pytest.raises(CommandError, match="--gpus, --seed"):
        told(**{**SMALL, "gpus": 8, "seed": 5})


def test_it_says_in_json_what_it_made():
    first, second = (json.loads(told(**SMALL, as_json=True)) for _ in range(2))
    assert first == {"gpus": 24, "months": 1, "until": "2026-11-30", "seed": 1, "runs_per_day": 15, "made": True}
    assert second == {**first, "made": False}


def test_it_refuses_an_installation_that_has_clusters():
    Cluster.objects.create(code="real")
    with pytest.raises(CommandError, match="clusters already"):
        told(**SMALL)
    assert not Project.objects.filter(code="ocr").exists()


def test_an_interrupted_making_goes_on_with_what_it_began_with():
    actor = Actor.machine("demo")
    arguments = DemoArguments(**{**SMALL, "seed": 9, "until": date(2026, 5, 31)})
    with transaction.atomic():
        audit.record(actor, "demo.begun", "demo", "demo", after=vars(arguments))
    load(generate(arguments).organisation, actor=actor)
    assert "Ledger posted" in told()
    days = set(UsageDay.objects.filter(wall_seconds__gt=0).values_list("day", flat=True))
    assert (min(days), max(days)) == (date(2026, 5, 1), date(2026, 5, 31))


@pytest.mark.parametrize("wrong", [{"gpus": 0}, {"runs_per_day": -3}])
def test_a_number_below_one_is_said_and_nothing_is_made(wrong: dict[str, int]):
    with pytest.raises(CommandError, match="at least 1"):
        told(**{**SMALL, **wrong})
    assert not AuditLine.objects.filter(object_kind="demo").exists()
