"""What a change of the file does: the plan, the tables, the audit trail, and what stands on it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from billing.prices.models import Price
from governance.access.actor import Actor
from governance.access.models import Person
from governance.access.rules import Role
from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster
from governance.errors import NotAllowed
from governance.tenants import actions as tenants
from governance.tenants.models import AccountMapping, Department, Placement, SiteGrant
from governance.usage.models import DirtyDay, FactDay
from portal.organisation.actions import load

pytestmark = pytest.mark.django_db


@pytest.fixture
def loaded(small, machine):
    """The small file, already loaded."""
    load(small, actor=machine)
    return small


def facts(*days: str) -> None:
    """Say that these days have facts on the cluster, so that marks have something to stand on."""
    cluster = Cluster.objects.get(code="east")
    FactDay.objects.bulk_create(FactDay(cluster=cluster, day=day) for day in days)


def test_a_dry_run_shows_the_plan_and_writes_nothing(small, machine):
    found = load(small, actor=machine, dry_run=True)
    assert found.counts["add"] > 30
    assert not Department.objects.exists() and not AuditLine.objects.filter(actor="test").exists()


def test_a_raised_price_ends_the_old_one_and_marks_money_from_that_day(loaded, machine):
    loaded["prices"][1]["to"] = "2026-10-01"
    loaded["prices"].append({"pool": "train", "accelerator": "big", "from": "2026-10-01", "gpu_hour": "13"})
    found = load(loaded, actor=machine)
    assert [(c.verb, c.kind, c.key) for c in found.changes] == [
        ("end", "price", "train/big/*/*"),
        ("add", "price", "train/big/*/*"),
    ]
    assert found.consequences.money == [(date(2026, 10, 1), None)] and found.consequences.usage == []
    days = Price.objects.filter(pool="train", qos="*").order_by("from_on").values_list("from_on", "gpu_hour")
    assert list(days) == [
        (date(2026, 1, 1), Decimal("12.5")),
        (date(2026, 7, 1), Decimal("11.8")),
        (date(2026, 10, 1), Decimal(13)),
    ]
    line = AuditLine.objects.latest("pk")
    assert (line.action, line.object_code, line.actor) == ("price.changed", "train/big/*/*", "test")
    assert line.before["intervals"][-1]["to"] is None and line.after["intervals"][-1]["gpu_hour"] == "13"


def test_days_can_move_past_each_other_without_the_table_seeing_an_overlap(loaded, machine):
    rows = loaded["projects"][0]["placements"]
    rows[0]["to"] = rows[1]["from"] = "2026-09-01"  # the first grows into where the second began
    load(loaded, actor=machine)
    assert list(Placement.objects.order_by("from_on").values_list("to_on", flat=True)) == [date(2026, 9, 1), None]
    rows[0]["to"] = rows[1]["from"] = "2026-03-01"
    assert load(loaded, actor=machine).consequences.money == [(date(2026, 3, 1), date(2026, 9, 1))]


def test_a_changed_mapping_marks_exactly_the_days_it_changes(loaded, machine):
    facts("2026-02-28", "2026-03-31", "2026-04-01", "2026-04-30", "2026-05-01")
    loaded["mappings"][1]["to"] = loaded["mappings"][2]["from"] = "2026-04-01"
    found = load(loaded, actor=machine)
    assert found.consequences.usage == [("east", date(2026, 4, 1), date(2026, 5, 1))]
    assert [str(day) for day in DirtyDay.objects.order_by("day").values_list("day", flat=True)] == [
        "2026-04-01",
        "2026-04-30",
    ]


def test_a_dry_run_marks_no_day(loaded, machine):
    facts("2026-04-01")
    loaded["mappings"][1]["to"] = loaded["mappings"][2]["from"] = "2026-04-01"
    load(loaded, actor=machine, dry_run=True)
    assert not DirtyDay.objects.exists()


def test_a_node_that_changes_its_rack_moves_no_figure_but_one_that_changes_its_cards_does(loaded, machine):
    node = loaded["clusters"][0]["nodes"][0]
    node["place"] = "hall"
    found = load(loaded, actor=machine)
    assert found.counts["change"] == 12 and found.consequences.usage == []
    node["accelerators"] = 4
    assert load(loaded, actor=machine).consequences.usage == [("east", date(2026, 1, 1), None)]


def test_what_every_day_stands_on_marks_every_day(loaded, machine):
    loaded["accelerators"][0]["aliases"] = ["big-80", "big-81"]
    assert load(loaded, actor=machine).consequences.usage == [("east", None, None)]
    loaded["clusters"][0]["scheduler"]["tracks_gpus"] = True
    assert load(loaded, actor=machine).consequences.usage == [("east", None, None)]
    loaded["settings"]["bands"] = [{"code": "peak"}, {"code": "night", "from": "22:00", "to": "06:00"}]
    assert load(loaded, actor=machine).consequences.usage == [("east", None, None)]


def test_what_is_left_out_is_left_alone(loaded, machine):
    found = load({"steelyard": 1, "departments": [{"code": "vision", "name": "Vision Lab"}]}, actor=machine)
    assert [(c.verb, c.before, c.after) for c in found.changes] == [
        ("change", {"name_zh": "Vision", "name_en": "Vision"}, {"name_zh": "Vision Lab", "name_en": "Vision Lab"})
    ]
    assert Department.objects.get(code="vision").parent.code == "research"


def test_pruning_ends_what_is_left_out_of_the_kinds_that_are_there(loaded, machine):
    left = {"steelyard": 1, "mappings": loaded["mappings"][:1]}
    found = load(left, actor=machine, prune_on=date(2026, 4, 1))
    assert [(c.verb, c.key) for c in found.changes] == [
        ("end", "east/v_ocr/bot/*"),  # the speech days
        ("remove", "east/v_ocr/bot/*"),  # would have begun in May: it never held
    ]
    bot = AccountMapping.objects.get(user="bot")
    assert (bot.project.code, bot.to_on) == ("speech", date(2026, 4, 1))
    assert AccountMapping.objects.count() == 2 and Price.objects.filter(to_on__isnull=True).count() == 3
    assert load(left, actor=machine, prune_on=date(2026, 4, 1)).changes == []


def test_a_person_without_the_right_loads_nothing(small):
    person = Person.objects.create(username="somebody")
    with pytest.raises(NotAllowed):
        load(small, actor=Actor.of(person))
    assert not Department.objects.exists()


def test_an_administrator_declares_the_organisation_but_gives_nobody_a_role(small, machine):
    person = Person.objects.create(username="root")
    tenants.grant("root", Role.ADMINISTRATOR, "site", actor=machine)
    with pytest.raises(NotAllowed):
        load(small, actor=Actor.of(person))
    for row in small["people"]:
        row.pop("roles")
    load(small, actor=Actor.of(person))
    assert Department.objects.count() == 2 and SiteGrant.objects.count() == 1
    assert AuditLine.objects.filter(actor="root", is_machine=False).exists()


def test_a_login_goes_to_another_person(loaded, machine):
    loaded["people"][0].pop("logins")
    loaded["people"][1]["logins"] = [{"cluster": "east", "login": "h1"}]
    found = load(loaded, actor=machine)
    assert [(c.verb, c.kind, c.key, c.after) for c in found.changes] == [
        ("change", "login", "east/h1", {"person": "books"})
    ]
