"""The outbox: what is published is told once, a missed day is made up for, and nothing is told without its change."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from governance.access.models import Person
from governance.notices.models import Happening, Notice
from governance.notices.outbox import publish
from governance.notices.registry import Recipient


@pytest.fixture
def people(db: None) -> list[Person]:
    return [Person.objects.create(username=f"person{number}") for number in range(3)]


def test_an_event_is_told_once_for_each_person_object_and_threshold(people: list[Person], happened: str) -> None:
    for _again in range(3):
        publish(happened, "bj", people[:2], "30", {"cluster": "bj"})
    publish(happened, "bj", people[:2], "14", {"cluster": "bj"})
    publish(happened, "sh", people[:1], "30", {"cluster": "sh"})
    told = Notice.objects.values_list("person__username", "happening__about", "happening__threshold")
    assert sorted(told) == [
        ("person0", "bj", "14"),
        ("person0", "bj", "30"),
        ("person0", "sh", "30"),
        ("person1", "bj", "14"),
        ("person1", "bj", "30"),
    ]


def test_who_is_new_is_told_of_what_others_know_already(people: list[Person], happened: str) -> None:
    assert publish(happened, "bj", people[:1], facts={"cluster": "bj"}) == 1
    assert publish(happened, "bj", people, facts={"cluster": "later"}) == 2
    assert Happening.objects.get().facts == {"cluster": "bj"}


def test_a_change_that_is_undone_tells_nobody(people: list[Person], happened: str) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        publish(happened, "bj", people)
        raise ZeroDivisionError
    assert not Notice.objects.exists()


def test_a_person_twice_among_the_recipients_is_told_once(people: list[Person], happened: str) -> None:
    one = people[0]
    assert publish(happened, "bj", [one, Recipient(one.pk, "operator")]) == 1


def test_secrets_among_the_facts_are_not_kept(people: list[Person], happened: str) -> None:
    publish(happened, "bj", people, facts={"error": "GET http://me:hunter2@slurm/ failed, token=abc123def"})
    kept = Happening.objects.get().facts["error"]
    assert "hunter2" not in kept
    assert "abc123def" not in kept


def test_two_that_publish_at_once_tell_once(committed: None, happened: str) -> None:
    person = Person.objects.create(username="committed")
    faults: list[BaseException] = []

    def tell() -> None:
        try:
            with transaction.atomic():
                publish(happened, "bj", [person], "today")
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=tell) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert not faults
    assert Notice.objects.count() == 1


def test_a_notice_outside_a_transaction_is_refused(committed: None, happened: str) -> None:
    with pytest.raises(RuntimeError):
        publish(happened, "bj", [])
