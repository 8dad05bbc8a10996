"""`python -m tests.bench asks [--asks N] [--projects N] [--json]`: inbox and decision page over many asks, in questions and time.

A tenth of the asks is open, the rest was approved; every project holds a quota. The bare view is
a page that shows little more than the shell.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from time import perf_counter
from typing import Any

from tests.bench.report import Figure, table
from tests.bench.scratch import scratch_database

MOST_QUERIES = 15
TIMES = 40
DEPARTMENTS = 20


def main(arguments: list[str]) -> None:
    """Measure on a scratch database that is gone afterwards."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench asks", description=__doc__)
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--projects", type=int, default=1_000)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of the table")
    asked = parser.parse_args(arguments)
    with scratch_database():
        figures = list(measure(asked.asks, asked.projects))
    print(json.dumps([figure.as_dict() for figure in figures], indent=1) if asked.as_json else table(figures))


def measure(asks: int, projects: int) -> Iterator[Figure]:
    """The figures."""
    begin = perf_counter()
    fill(asks, projects)
    yield Figure("asks", f"{asks:,} asks of {projects:,} projects written", perf_counter() - begin, asks)
    from django.conf import settings
    from django.test import Client

    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"

    from governance.access.actor import Actor
    from governance.access.memory import remembering
    from governance.access.models import Person
    from governance.approvals import reads
    from governance.approvals.consequences import consequences

    for name in ("head", "cap"):
        person = Person.objects.get(username=name)
        actor = Actor.of(person)
        client = Client(SERVER_NAME="localhost")
        client.force_login(person, backend="governance.access.backends.PasswordBackend")
        bare = p95(lambda c=client: answered(c, "/me/"))
        with remembering():
            rows = reads.to_decide(actor)
        number = rows[0].ask.number

        def inbox(actor: Actor = actor) -> Any:
            return reads.to_decide(actor)

        def page(actor: Actor = actor, number: str = number) -> Any:
            found = reads.shown(number, actor)
            return consequences(found.ask, found.lines, actor=actor, home=found.home)

        for what, deed, address in (
            ("inbox", inbox, "/api/v1/asks/to-decide"),
            ("decision", page, f"/api/v1/asks/{number}/grounds"),
        ):
            title = f"{what} of {name}, {len(rows):,} to decide"
            yield Figure("asks", title, ratio=queries(deed), against="questions", goal=f"<= {MOST_QUERIES}")
            took = p95(lambda c=client, a=address: answered(c, a))
            yield Figure(
                "asks", f"{title}: {address}, p95", took, ratio=took / bare, against="p95 of a bare view", goal="<= 5"
            )


def answered(client: Any, address: str) -> None:
    """Ask, and be answered."""
    assert client.get(address).status_code == 200, address


def queries(deed: Callable[[], Any]) -> int:
    """How many questions the database was asked."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from governance.access.memory import remembering

    with CaptureQueriesContext(connection) as found, remembering():
        deed()
    return len(found)


def p95(deed: Callable[[], Any]) -> float:
    """The 95th percentile of its seconds."""
    from governance.doors.throttling import COUNTS

    took = []
    for _ in range(TIMES):
        COUNTS.clear()
        begin = perf_counter()
        deed()
        took.append(perf_counter() - begin)
    return sorted(took)[int(TIMES * 0.95) - 1]


def company(projects: int) -> dict[str, Any]:
    """Departments, projects and those who decide."""
    from tests import books

    departments = [{"code": "all", "name": {"zh": "全部", "en": "All"}}]
    departments += [
        {"code": f"d{n}", "name": {"zh": f"部门{n}", "en": f"D{n}"}, "parent": "all"} for n in range(DEPARTMENTS)
    ]
    named = [
        {
            "code": f"p{n}",
            "name": {"zh": f"项目{n}", "en": f"P{n}"},
            "placements": [{"department": f"d{n % DEPARTMENTS}"}],
        }
        for n in range(projects)
    ]
    people = [
        {"username": "asker", "roles": [{"role": "member", "project": "p0"}]},
        {"username": "head", "roles": [{"role": "approver", "department": "d0"}]},
        {"username": "cap", "roles": [{"role": "capacity_manager", "pool": "train-h800"}]},
    ]
    return books.company(departments=departments, projects=named, people=people, mappings=[])


def is_open(n: int) -> bool:
    """A tenth of them, in every department alike."""
    return n // DEPARTMENTS % 10 == 0


def fill(asks: int, projects: int) -> None:
    """Write the company and its asks, by many rows at once."""
    from django.db import connection

    from governance.access.actor import Actor
    from governance.access.models import Person
    from governance.approvals.models import ApprovalPolicy, Ask, AskLine, Decision, Stage
    from governance.catalogue.models import Pool
    from governance.quotas.models import Quota
    from governance.tenants.models import Project, day_of_today
    from portal.organisation.actions import load

    load(company(projects), actor=Actor.machine("bench"))
    pool, today = Pool.objects.get(code="train-h800"), day_of_today()
    found = list(Project.objects.filter(code__startswith="p").order_by("pk"))
    people = {person.username: person for person in Person.objects.all()}
    policy = ApprovalPolicy.objects.get()
    from django.utils import timezone

    now = timezone.now()
    Quota.objects.bulk_create(
        [
            Quota(
                project=p, pool=pool, guaranteed_gpus=0, ceiling_gpus=8, from_on=today, to_on=today + timedelta(days=90)
            )
            for p in found
        ]
    )
    rows = Ask.objects.bulk_create(
        [
            Ask(
                kind="new",
                project=found[n % len(found)],
                asked_by=people["asker"],
                goal="a model",
                state="in_review" if is_open(n) else "approved",
                version=3,
                policy=policy,
                policy_rule="usual",
                round=1,
                gpus=8,
                submitted_at=now,
                expires_at=now + timedelta(days=30),
                decided_at=None if is_open(n) else now,
            )
            for n in range(asks)
        ],
        batch_size=2000,
    )
    AskLine.objects.bulk_create(
        [
            AskLine(ask=ask, position=1, pool=pool, guaranteed_gpus=8, ceiling_gpus=8, from_on=today, to_on=today + timedelta(days=90))
            for ask in rows
        ],
        batch_size=2000,
    )  # fmt: skip
    # Of the open ones every other is with its department, the rest with the manager of the pool.
    stages = Stage.objects.bulk_create(
        [
            Stage(
                ask=ask,
                round=1,
                position=position,
                code=role,
                role=role,
                scope=scope,
                pool=pool if scope == "pool" else None,
                hours=16,
                is_open=ask.state == "in_review" and position == 1 + n // DEPARTMENTS // 10 % 2,
                opened_at=now,
                due_at=now + timedelta(days=2),
            )
            for n, ask in enumerate(rows)
            for position, (role, scope) in enumerate((("approver", "home_department"), ("capacity_manager", "pool")), 1)
        ],
        batch_size=2000,
    )
    Decision.objects.bulk_create(
        [
            Decision(
                ask=stage.ask,
                stage=stage,
                verdict="approve",
                by=people["cap"],
                counts_for=people["cap"],
                is_last=True,
            )
            for stage in stages
            if stage.position == 2 and stage.ask.state == "approved"
        ],
        batch_size=2000,
    )
    with connection.cursor() as cursor:  # as the server does by itself after a while
        cursor.execute("ANALYZE")
