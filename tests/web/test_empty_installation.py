"""Pages of an installation that is still empty: a module of its own, since the company of `cast` stands for a whole module."""

from __future__ import annotations

import pytest
from django.test import Client

from governance.access.actor import Actor
from governance.access.models import Person
from governance.access.rules import Role
from governance.tenants.actions import grant
from tests import books

pytestmark = pytest.mark.django_db
BACKEND = "governance.access.backends.PasswordBackend"


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_an_installation_without_pools_says_where_they_come_from() -> None:
    books.declare(
        clusters=[], prices=[], mappings=[], people=[{"username": "operator", "roles": [{"role": "operator"}]}]
    )
    client = Client()
    client.cookies["language"] = "en"
    client.force_login(Person.objects.get(username="operator"), backend=BACKEND)
    assert "No pool yet" in text(client, "/catalog/")
    assert "No cluster yet" in text(client, "/catalog/?view=clusters")


def test_an_empty_installation_says_what_will_appear_and_what_fills_it(db: None) -> None:
    client = Client()
    client.cookies["language"] = "en"
    client.force_login(Person.objects.create_user("first"), backend=BACKEND)
    body = client.get("/").content.decode()
    assert "Nothing was metered yet" in body
    assert "manage.py import_usage" in body
    assert client.get("/ledger/").status_code == 200


def test_an_installation_without_clusters_says_what_will_stand_here() -> None:
    books.declare(
        clusters=[], prices=[], mappings=[], people=[{"username": "operator", "roles": [{"role": "operator"}]}]
    )
    client = Client()
    client.cookies["language"] = "en"
    person = Person.objects.get(username="operator")
    client.force_login(person, backend=BACKEND)
    body = text(client, "/ops/")
    assert "No cluster yet" in body
    assert "/ops/clusters/new/" in body
    assert "No worker and no beat was seen within a day" in body


def test_pages_of_an_empty_installation_say_so(db: None) -> None:
    person = Person.objects.create_user(username="op", password="x" * 20)
    grant("op", Role.OPERATOR, "site", actor=Actor.machine("test"))
    client = Client()
    client.cookies["language"] = "en"
    client.force_login(person, backend=BACKEND)
    assert "No records yet" in client.get("/quality/").content.decode()
    assert "Every account has its project" in client.get("/quality/unattributed/").content.decode()
    assert "Every run has its pool" in client.get("/quality/unassigned/").content.decode()
