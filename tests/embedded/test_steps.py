"""Whether the demo is made at a start, and whose names are shown with its password."""

from datetime import date

import pytest
from django.contrib.auth.models import Permission

from governance.access.models import Person
from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, Installation
from governance.tenants.models import SiteGrant
from portal.embedded import demo_password
from portal.supervisor import steps

pytestmark = pytest.mark.django_db


def mark(action: str, **after: object) -> None:
    AuditLine.objects.create(
        actor="demo", is_machine=True, action=action, object_kind="demo", object_code="demo", after=after
    )


def person(username: str, password: str, role: str, to_on: date | None = None) -> Person:
    """Somebody who holds a role on the whole installation."""
    person = Person.objects.create_user(username, password=password)
    SiteGrant.objects.create(
        user=person,
        permission=Permission.objects.get(codename=role, content_type__model="installation"),
        content_object=Installation.objects.get_or_create()[0],
        from_on=date(2020, 1, 1),
        to_on=to_on,
    )
    return person


def test_a_demo_that_was_interrupted_goes_on_and_one_that_is_made_is_left_alone() -> None:
    assert steps.demo_is_wanted(), "the books are empty"
    mark(steps.DEMO_BEGUN)
    assert steps.demo_is_wanted()
    Cluster.objects.create(code="bj")
    assert steps.demo_is_wanted(), "the making was interrupted after its first cluster"
    mark(steps.DEMO_MADE)
    assert not steps.demo_is_wanted()


def test_the_sign_ins_shown_are_the_demos_people_by_the_roles_that_they_hold_today() -> None:
    person("finance", demo_password(), "finance")
    person("former", demo_password(), "operator", to_on=date(2021, 1, 1))
    person("real", "another password", "auditor")
    assert steps.sign_ins() == []
    mark(steps.DEMO_PASSWORDS, people=["finance", "former"])
    assert steps.sign_ins() == [("finance", "finance")]


def test_no_sign_in_is_shown_when_the_demo_has_another_password() -> None:
    person("finance", "another password", "finance")
    mark(steps.DEMO_PASSWORDS, people=["finance"])
    assert steps.sign_ins() == []
