"""The small verbs that pages will call too: roles, states of nodes, and rows by code."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.utils import translation

from governance.access.actor import Actor
from governance.access.models import Person
from governance.access.rules import Role
from governance.audit.models import AuditLine
from governance.catalogue import actions as catalogue
from governance.catalogue.models import NodeState
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.tenants import actions as tenants
from governance.tenants.models import SiteGrant
from portal.organisation.actions import load

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def english():
    """Words are compared in English."""
    with translation.override("en"):
        yield


@pytest.fixture
def loaded(small, machine):
    """The small file, already loaded."""
    load(small, actor=machine)


def at(hour: int) -> datetime:
    """An hour of one day."""
    return datetime(2026, 3, 1, hour, tzinfo=UTC)


def test_a_role_is_granted_held_and_ended(loaded, machine):
    person = Person.objects.get(username="books")
    tenants.grant("books", Role.OPERATOR, "site", from_on=date(2026, 1, 1), actor=machine)
    assert person.has_perm("records.import")
    tenants.end_grant("books", Role.OPERATOR, "site", on=date(2026, 2, 1), actor=machine)
    assert SiteGrant.objects.get(permission__codename="operator").to_on == date(2026, 2, 1)
    assert AuditLine.objects.filter(object_kind="grant", object_code="books/operator").count() == 2


def test_a_role_is_not_granted_twice_nor_where_it_does_not_belong(loaded, machine):
    with pytest.raises(BadData, match="already holds"):
        tenants.grant("books", Role.FINANCE, "site", from_on=date(2030, 1, 1), actor=machine)
    with pytest.raises(BadData, match="not held on"):
        tenants.grant("books", Role.FINANCE, "project", "ocr", actor=machine)
    with pytest.raises(NotFound):
        tenants.grant("nobody", Role.FINANCE, "site", actor=machine)
    with pytest.raises(NotTheMoment):
        tenants.end_grant("books", Role.LEAD, "project", "ocr", on=date(2026, 1, 1), actor=machine)


def test_separated_roles_are_not_granted_to_one_person(loaded, machine):
    tenants.grant("books", Role.AUDITOR, "site", actor=machine)
    with pytest.raises(BadData, match="different hands"):
        tenants.grant("books", Role.SECURITY, "site", actor=machine)


def test_only_who_keeps_roles_grants_them(loaded, machine):
    tenants.grant("head", Role.SECURITY, "site", actor=machine)
    tenants.grant("books", Role.ADMINISTRATOR, "site", actor=machine)
    keeper, administrator = (Actor.of(Person.objects.get(username=name)) for name in ("head", "books"))
    tenants.grant("head", Role.VIEWER, "department", "research", actor=keeper)
    with pytest.raises(NotAllowed):
        tenants.grant("books", Role.VIEWER, "department", "research", actor=administrator)


def test_a_state_of_a_node_is_entered_and_one_that_overlaps_is_refused_kindly(loaded, machine):
    catalogue.set_node_state("east", "n01", "down", at(8), at(12), "power", actor=machine)
    catalogue.set_node_state("east", "n01", "repair", at(12), None, actor=machine)
    catalogue.set_node_state("east", "n02", "down", at(9), at(10), actor=machine)
    with pytest.raises(BadData, match="Node n01 is already down from 2026-03-01T08:00"):
        catalogue.set_node_state("east", "n01", "drained", at(7), at(9), actor=machine)
    with pytest.raises(BadData, match="already repair"):
        catalogue.set_node_state("east", "n01", "drained", at(20), None, actor=machine)
    assert NodeState.objects.count() == 3
    assert AuditLine.objects.filter(action="node_state.added").count() == 3


@pytest.mark.parametrize(
    ("node", "state", "hours", "error"),
    [
        ("n99", "down", (1, 2), NotFound),
        ("n01", "broken", (1, 2), BadData),
        ("n01", "down", (2, 2), BadData),
    ],
)
def test_a_state_that_cannot_be_is_refused(node, state, hours, error, loaded, machine):
    with pytest.raises(error):
        catalogue.set_node_state("east", node, state, at(hours[0]), at(hours[1]), actor=machine)
    assert not NodeState.objects.exists()


def test_a_parent_may_be_as_new_as_its_child_whatever_their_order(machine):
    rows = {("b",): {"parent": "a"}, ("a",): {"name_en": "A"}, ("c",): {"parent": "b"}}
    assert tenants.put_departments(rows, actor=machine) == 3
    assert tenants.put_departments(rows, actor=machine) == 0
    assert tenants.put_departments({("b",): {"parent": None}}, actor=machine) == 1
    with pytest.raises(NotFound, match="There is no parent “x”"):
        tenants.put_departments({("d",): {"parent": "x"}}, actor=machine)
