"""Doors of quotas: the same actions as the pages, once for each key, only to what was read, and nothing of others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from governance.doors.throttling import COUNTS
from governance.quotas.models import Offering, Quota
from tests.api.conftest import Program, program
from tests.cast import Cast
from tests.quotas.held import POOL, day, lay, lay_out, use

V1 = "/api/v1"


@pytest.fixture(scope="module")
def laid(cast_of_module: Cast, django_db_blocker, tmp_path_factory) -> Iterator[dict[str, Quota]]:
    with django_db_blocker.unblock(), transaction.atomic():
        found = lay_out()
        use(tmp_path_factory.mktemp("use"))
        yield found
        transaction.set_rollback(True)


@pytest.fixture
def held(laid, cast, settings) -> dict[str, Quota]:
    COUNTS.clear()
    settings.API_READS_PER_MINUTE = settings.API_WRITES_PER_MINUTE = 1_000_000
    return laid


def send(client: Program, address: str, body: dict, **headers: str):
    return client.post(f"{V1}/{address}", body, content_type="application/json", headers=headers)


def award(**other) -> dict:
    body = {
        "project": "rank",
        "pool": POOL,
        "level": "urgent",
        "guaranteed_gpus": 4,
        "ceiling_gpus": 4,
        "from_on": str(day(1)),
    }
    return {**body, **other}


def test_an_award_happens_once_for_a_key(cast, held):
    manager = program(cast, "capacity_manager")
    first, again = (send(manager, "quotas", award(), **{"Idempotency-Key": "k1"}) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json() and first.json()["state"] == "scheduled"
    assert Quota.objects.filter(project__code="rank", level="urgent").count() == 1
    assert send(manager, "quotas", award()).status_code == 409
    assert (
        send(
            manager, "quotas", award(level="normal", from_on=str(day(400)), guaranteed_gpus=900, ceiling_gpus=900)
        ).status_code
        == 409
    )


def test_a_change_happens_only_to_what_was_read(cast, held):
    manager, number = program(cast, "capacity_manager"), held["active"].number
    etag = manager.get(f"{V1}/quotas/{number}")["ETag"]
    lead = program(cast, "lead")
    assert lead.get(f"{V1}/quotas/{number}")["ETag"] == etag
    assert (
        send(
            manager, f"quotas/{number}/suspend", {"from_on": str(day(0)), "reason": "audit"}, **{"If-Match": etag}
        ).status_code
        == 200
    )
    body = {"on": str(day(1)), "guaranteed_gpus": 8}
    assert send(manager, f"quotas/{number}/change", body, **{"If-Match": etag}).status_code == 412
    assert send(manager, f"quotas/{number}/change", body, **{"If-Match": "nonsense"}).status_code == 422
    etag = manager.get(f"{V1}/quotas/{number}")["ETag"]
    changed = send(manager, f"quotas/{number}/change", body, **{"If-Match": etag})
    assert changed.status_code == 200
    assert (changed.json()["replaces"], changed.json()["guaranteed_gpus"], changed.json()["ceiling_gpus"]) == (
        number,
        8,
        24,
    )
    assert manager.get(f"{V1}/quotas/{number}").json()["ended_as"] == "replaced"
    history = manager.get(f"{V1}/quotas/{number}/history?limit=2").json()
    rest = manager.get(f"{V1}/quotas/{number}/history?limit=2&cursor={history['next']}").json()
    assert [row["action"] for row in history["rows"] + rest["rows"]] == ["quota.award", "quota.suspend", "quota.award"]
    assert rest["rows"][-1]["before"]["guaranteed_gpus"] == 16


@pytest.mark.parametrize(
    ("who", "verb", "status"),
    [("lead", "return", 200), ("member", "return", 403), ("lead", "revoke", 403), ("outsider", "return", 404)],
)
def test_who_gives_back(cast, held, who, verb, status):
    body = {"on": str(day(0)), "reason": "done"}
    assert send(program(cast, who), f"quotas/{held['active'].number}/{verb}", body).status_code == status


def test_use_is_that_of_the_line(cast, held):
    found = program(cast, "member").get(f"{V1}/quotas/{held['active'].number}/use").json()
    assert [(row["day"], row["used"], row["unknown"]) for row in found["days"]] == [
        (str(day(-2)), "12.0000", "12.0000"),
        (str(day(-1)), "12.0000", "12.0000"),
    ]
    assert (found["p95"], found["peak"], found["metered_on"]) == ("12.0000", "12.0000", str(day(-1)))


def test_room_is_that_of_the_page(cast, held):
    found = program(cast, "member").get(f"{V1}/pools/{POOL}/room?days=30").json()
    assert (found["tightest"]["room"], found["tightest"]["limit"], found["in_use"]["allocated"]) == (20, 48, "30.0000")
    assert [row["promised"] for row in found["stretches"]] == [28, 12, 14]


def test_terms_of_pools_are_set_and_ended(cast, held):
    manager, member = program(cast, "capacity_manager"), program(cast, "member")
    rows = member.get(f"{V1}/offerings").json()["rows"]
    assert [row["code"] for row in rows] == ["train", "train-low"]
    changed = send(manager, "offerings/train/change", {"on": str(day(3)), "max_gpus": 128})
    assert (changed.status_code, changed.json()["code"], changed.json()["max_gpus"]) == (200, "train-2", 128)
    assert send(manager, "offerings/train-search/end", {"on": str(day(0))}).status_code == 200
    assert not Offering.objects.on(day(1)).filter(level="urgent").exists()
    rule = {"pool": POOL, "level": "urgent", "priority": 50, "preempts": ["normal"], "from_on": str(day(0))}
    assert send(manager, "queue-rules", rule).status_code == 200
    first = member.get(f"{V1}/queue-rules?pool={POOL}").json()["rows"][0]
    assert (first["level"], first["priority"], first["preempts"]) == ("urgent", 50, ["normal"])
    assert send(manager, "queue-rules/end", {"pool": POOL, "level": "urgent", "on": str(day(0))}).status_code == 200
    assert (
        send(manager, "queue-rules/end", {"pool": "infer-l20", "level": "urgent", "on": str(day(0))}).status_code == 403
    )
    assert send(manager, "pool-policies", {"pool": POOL, "kind": "pooled", "from_on": str(day(0))}).status_code == 200
    share = {"pool": POOL, "department": "search", "gpus": 9, "from_on": str(day(0))}
    assert send(manager, "department-shares", share).json()["gpus"] == 9
    assert member.get(f"{V1}/department-shares").json()["rows"] == []
    assert [row["kind"] for row in member.get(f"{V1}/pool-policies").json()["rows"]] == ["reserve", "pooled"]
    assert (
        send(manager, "department-shares/end", {"pool": POOL, "department": "search", "on": str(day(0))}).status_code
        == 200
    )


@pytest.mark.parametrize(
    "other",
    [
        {"from_on": None}, {"from_on": "9999-12-31"}, {"from_on": "0001-01-01"}, {"guaranteed_gpus": -1}, {"ceiling_gpus": 2},
        {"project": "no\0such"}, {"level": "elastic"}, {"to_on": "1999-01-01"}, {"strange": 1}, {"gpu_hours": 2**60},
    ],
)  # fmt: skip
def test_bad_data_are_refused_and_write_nothing(cast, held, other):
    before = Quota.objects.count()
    assert send(program(cast, "capacity_manager"), "quotas", award(**other)).status_code == 422
    assert Quota.objects.count() == before


def test_nobody_meets_the_other_department_at_a_door(cast, held):
    member = program(cast, "member")
    for address in (
        "quotas?state=all",
        "offerings",
        "queue-rules",
        "department-shares",
        "pool-policies",
        f"pools/{POOL}/room",
    ):
        body = member.get(f"{V1}/{address}").content.decode()
        assert not [word for word in ('"rank"', '"search"', held["foreign"].number) if word in body], address
    for what in ("", "/history", "/use"):
        assert member.get(f"{V1}/quotas/{held['foreign'].number}{what}").status_code == 404


@pytest.mark.parametrize(
    "address", ["quotas?state=all", "quota", "history", "use", f"pools/{POOL}/room", "offerings", "queue-rules"]
)
def test_a_door_asks_a_dozen_questions_at_most_whatever_there_is(cast, held, address):
    number = held["active"].number
    address = {"quota": f"quotas/{number}", "history": f"quotas/{number}/history", "use": f"quotas/{number}/use"}.get(
        address, address
    )
    counts = []
    for n in range(2):
        client = program(cast, "approver", "read")
        client.get(f"{V1}/me")
        for k in range(5 * n):
            lay("ocr", 1, 100 + 10 * k, 105 + 10 * k)
        COUNTS.clear()
        with CaptureQueriesContext(connection) as asked:
            assert client.get(f"{V1}/{address}").status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 12, "\\n".join(one["sql"].split("FROM")[-1][:99] for one in asked)
