"""Files come in, change nothing the second time, and come back by dump_organisation."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from django.db import transaction

from governance.access.models import Person
from governance.audit.models import AuditLine
from governance.catalogue.intervals import in_order
from governance.catalogue.models import Cluster, NodeTerm, Pool
from governance.tenants.models import Department, PayerShare, ProjectGrant
from portal.demo.company import organisation
from portal.organisation.actions import load
from portal.organisation.document import Document, read
from portal.organisation.dump import dump
from portal.organisation.wanted import rows_of

from .conftest import SMALL

EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "examples" / "organisation.yaml"
FILES = [
    pytest.param(SMALL, id="small"),
    pytest.param(
        EXAMPLE,
        id="shared example",
        marks=pytest.mark.skipif(not EXAMPLE.exists(), reason="the shared example is not beside the project"),
    ),
]
pytestmark = pytest.mark.django_db


def told(document: Document) -> tuple:
    """What a document says, whatever the order of its rows."""
    rows = rows_of(document)
    assert rows.faults == []
    dated = {kind: {key: in_order(days) for key, days in found.items()} for kind, found in rows.dated.items()}
    return rows.things, dated


@pytest.mark.parametrize("file", FILES)
def test_a_file_loads_and_a_second_time_changes_nothing(file, machine):
    assert load(read(file), actor=machine).counts["add"] > 20
    lines = AuditLine.objects.filter(actor="test").count()
    again = load(read(file), actor=machine)
    assert again.changes == [] and again.consequences.usage == [] and again.consequences.money == []
    assert AuditLine.objects.filter(actor="test").count() == lines


@pytest.mark.parametrize("file", FILES)
def test_what_was_loaded_comes_back_and_loading_that_changes_nothing(file, machine):
    load(read(file), actor=machine)
    written = read(dump(actor=machine))
    assert load(written, actor=machine).changes == []
    things, dated = told(read(file))
    back_things, back_dated = told(written)
    assert back_dated == dated
    for kind, rows in things.items():
        assert set(back_things[kind]) == set(rows)
        for key, values in rows.items():
            assert {**back_things[kind][key], **values} == back_things[kind][key], (kind, key)


def test_the_tables_hold_what_the_small_file_says(machine):
    load(read(SMALL), actor=machine)
    cluster = Cluster.objects.get(code="east")
    assert cluster.scheduler_names == ["east", "east-old"] and not cluster.tracks_gpus
    assert cluster.connection == {"host": "login.example.com", "port": 2222}
    assert (
        NodeTerm.objects.filter(node__name="n07", model__code="big", accelerators=8, place__code="rack1").count() == 1
    )
    assert NodeTerm.objects.filter(model__code="none", accelerators=0, pool__code="rest").count() == 2
    assert [m.code for m in Pool.objects.get(code="train").accelerators.all()] == ["big"]
    assert sorted(PayerShare.objects.values_list("department__code", "percent")) == [("research", 30), ("vision", 70)]
    person = Person.objects.get(username="head")
    assert not person.has_usable_password() and (person.name_zh, person.name_en) == ("负责人", "Head")
    grant = ProjectGrant.objects.get(user=person)
    assert (grant.role, str(grant.to_on), grant.granted_by) == ("lead", "2026-06-01", "test")


def test_a_dump_into_an_empty_installation_makes_the_same_organisation(machine):
    empty = transaction.savepoint()
    load(read(SMALL), actor=machine)
    text = dump(actor=machine)
    transaction.savepoint_rollback(empty)
    assert not Department.objects.exists()
    load(read(text), actor=machine)
    assert dump(actor=machine) == text
    assert "names: 'n[01-12]'" in text and "gpu_hour: '12.50'" in text


def test_the_demo_company_loads_in_few_statements(machine, django_assert_max_num_queries):
    content = organisation(1024, date(2026, 1, 1), date(2026, 6, 30))
    found = load(content, actor=machine)
    objects = AuditLine.objects.filter(actor="test").count()
    assert found.counts["add"] >= objects > 200
    with django_assert_max_num_queries(40):
        assert load(content, actor=machine).changes == []
