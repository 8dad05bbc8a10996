"""The cast: one person for each role in a small company, with a June of use metered and posted for two departments.

member and lead are of the project ocr; approver heads vision, whose parent research the viewer sees; the outsider
heads the other department, search; the former member's grant has ended. `ada` is the member's own login, `bob` a
colleague's, `eve` is of search.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.test import Client

from governance.access.actor import Actor
from governance.access.models import Person
from tests import books

EVERYBODY = (
    "member", "lead", "approver", "viewer", "capacity_manager", "operator", "finance", "auditor", "leadership",
    "administrator", "security", "outsider", "former",
)  # fmt: skip
ANONYMOUS = "anonymous"
#: What belongs to the other department alone: nobody without a right on search or the site may meet it on a page.
FOREIGN = ("搜索部", "Search", "排序", "Ranking", "rank", "eve")
PERIOD = "2026-06"

SITE = ("operator", "finance", "auditor", "leadership", "administrator", "security")
PEOPLE: list[dict[str, Any]] = [
    {
        "username": "member",
        "roles": [{"role": "member", "project": "ocr"}],
        "logins": [{"cluster": "bj", "login": "ada"}],
    },
    {"username": "lead", "roles": [{"role": "lead", "project": "ocr"}]},
    {"username": "approver", "roles": [{"role": "approver", "department": "vision"}]},
    {"username": "viewer", "roles": [{"role": "viewer", "department": "research"}]},
    {"username": "capacity_manager", "roles": [{"role": "capacity_manager", "pool": "train-h800"}]},
    *({"username": role, "roles": [{"role": role}]} for role in SITE),
    {"username": "outsider", "roles": [{"role": "approver", "department": "search"}]},
    {"username": "former", "roles": [{"role": "member", "project": "ocr", "from": "2025-01-01", "to": "2026-01-01"}]},
]


def june() -> list[dict[str, str]]:
    """Records of June 2026: two users of ocr, one of rank, a requeue, a failure, no cards, no owner, no pool."""
    line = books.line
    return [
        line(101, "2026-06-02T08:00", "2026-06-02T09:00", "2026-06-03T09:00"),
        line(102, "2026-06-10T08:00", "2026-06-10T08:30", "2026-06-10T20:30", gpus=4, User="bob"),
        line(103, "2026-06-11T08:00", "2026-06-11T08:00", "2026-06-11T10:00", gpus=2, State="FAILED", JobName="=cmd()"),
        line(104, "2026-06-12T08:00", "2026-06-12T08:10", "2026-06-12T09:10", gpus=8, State="NODE_FAIL"),
        line(104, "2026-06-12T09:10", "2026-06-12T09:40", "2026-06-12T15:40", gpus=8),
        line(105, "2026-06-14T00:00", "2026-06-14T00:00", "2026-06-14T05:00", gpus=0, Partition="infer"),
        line(106, "2026-06-15T00:00", "2026-06-15T02:00", "2026-06-16T02:00", gpus=8, Account="nobody", User="zoe"),
        line(107, "2026-06-17T00:00", "2026-06-17T00:00", "2026-06-17T03:00", gpus=1, Partition="lost"),
        line(201, "2026-06-05T08:00", "2026-06-05T09:00", "2026-06-06T21:00", Account="rank", User="eve"),
        line(202, "2026-06-20T08:00", "2026-06-20T09:00", "2026-06-20T21:00", gpus=4, Account="rank", User="eve"),
    ]


@dataclass(frozen=True)
class Cast:
    """Everybody by name, ready to sign in."""

    people: dict[str, Person]

    def actor(self, who: str) -> Actor:
        """Them as an actor."""
        return Actor.anonymous() if who == ANONYMOUS else Actor.of(Person.objects.get(username=who))

    def client(self, who: str, *, language: str = "en") -> Client:
        """A browser in which they have signed in."""
        client = Client()
        client.cookies["language"] = language
        if who != ANONYMOUS:
            client.force_login(self.people[who], backend="governance.access.backends.PasswordBackend")
        return client


def assemble(folder: Path) -> Cast:
    """Load the company and its people, bring June's records, meter and post. `folder` takes the record file."""
    books.declare(people=PEOPLE)
    books.bring(folder, june(), observed_at="2026-07-02T00:00")
    books.settle()
    return Cast({person.username: person for person in Person.objects.filter(username__in=EVERYBODY)})
