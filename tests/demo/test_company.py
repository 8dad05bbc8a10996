"""The organisation document has the form of any other, and its machines are those of the records."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from itertools import pairwise

import pytest
import yaml

from portal.demo import estate
from portal.demo.company import organisation
from portal.demo.plan import DemoArguments
from tests.demo.rows import UNTIL, Company

KEYS = {
    "departments": {"code", "name", "parent", "cost_centre"},
    "projects": {"code", "name", "placements"},
    "people": {"username", "logins", "display_name", "email", "roles"},
    "accelerators": {"code", "vendor", "name", "memory_gib", "power_watts", "aliases"},
    "places": {"code", "kind", "parent", "name"},
    "clusters": {"code", "name", "scheduler", "pools", "nodes"},
    "mappings": {"cluster", "account", "user", "project", "from"},
    "prices": {"pool", "accelerator", "qos", "from", "to", "gpu_hour", "cpu_core_hour", "memory_gib_hour"},
}
FIRST = date(2026, 6, 1)


@pytest.fixture(scope="module")
def document() -> dict:
    return organisation(1024, FIRST, UNTIL)


def test_it_has_the_keys_of_the_organisation_file_and_no_others(document: dict):
    assert set(document) == {"steelyard", "settings", *KEYS}
    for section, allowed in KEYS.items():
        for row in document[section]:
            assert set(row) <= allowed, section


def test_it_survives_yaml(document: dict):
    assert yaml.safe_load(yaml.safe_dump(document, allow_unicode=True)) == document


def test_codes_are_unique_and_what_is_named_exists(document: dict):
    codes = {section: [row["code"] for row in document[section]] for section in ("departments", "projects", "places")}
    for found in codes.values():
        assert len(found) == len(set(found))
    pools = {pool["code"] for cluster in document["clusters"] for pool in cluster["pools"]}
    for project in document["projects"]:
        for placement in project["placements"]:
            assert {placement["department"], *placement.get("payers", {})} <= set(codes["departments"])
            assert sum(placement.get("payers", {"all": 100}).values()) == 100
    for row in document["mappings"]:
        assert row["project"] in codes["projects"]
    for row in document["prices"]:
        assert row["pool"] in pools
    for cluster in document["clusters"]:
        assert all(node["place"] in codes["places"] for node in cluster["nodes"])


def test_it_has_six_departments_forty_projects_and_one_sign_in_for_each_role(document: dict):
    assert len(document["departments"]) == 6
    assert len(document["projects"]) == 40
    roles = {role["role"] for person in document["people"] for role in person["roles"]}
    assert roles == {
        *("member", "lead", "approver", "viewer", "capacity_manager", "operator"),
        *("finance", "leadership", "auditor", "administrator", "security"),
    }


def test_one_project_moves_and_another_is_shared(document: dict):
    moved = [row for row in document["projects"] if len(row["placements"]) == 2]
    shared = [row for row in document["projects"] if "payers" in row["placements"][0]]
    assert [row["code"] for row in moved] == ["autolabel"]
    assert moved[0]["placements"][0]["to"] == moved[0]["placements"][1]["from"] == date(2026, 9, 1)
    assert [row["code"] for row in shared] == ["multimodal"]


@pytest.mark.parametrize("gpus", [1, 8, 9, 16, 40, 100, 1024, 4096, 10_000, 12_345])
def test_the_nodes_hold_as_many_cards_as_asked_for(gpus: int):
    document = organisation(gpus, FIRST, UNTIL)
    names: list[str] = []
    cards = 0
    for cluster in document["clusters"]:
        for node in cluster["nodes"]:
            count = 1
            if "[" in node["names"]:
                first, _, last = node["names"].rstrip("]").split("[")[1].partition("-")
                count = int(last) - int(first) + 1
            cards += node["accelerators"] * count
            names.append(node["names"])
    assert cards == gpus
    assert len(names) == len(set(names))


def test_every_model_keeps_its_share_in_a_large_company():
    shares = {pool.code: pool.total_cards / 10_000 for pool in estate.pools(10_000)}
    assert 0.39 < shares["train-h800"] < 0.41
    assert len(shares) == 6


def test_elastic_use_costs_sixty_percent_of_list(document: dict):
    prices = {
        (row["pool"], row["qos"], row["from"]): Decimal(row["gpu_hour"])
        for row in document["prices"]
        if "gpu_hour" in row
    }
    elastic = {key: price for key, price in prices.items() if key[1] == "low"}
    assert len(elastic) == 12
    for (pool, _, day), price in elastic.items():
        assert abs(price - prices[pool, "*", day] * Decimal("0.6")) <= Decimal("0.005")


def test_prices_do_not_overlap_and_only_the_last_pool_has_a_gap(document: dict):
    gaps = []
    by_pattern: dict[tuple[str, str, str], list[dict]] = {}
    for row in document["prices"]:
        by_pattern.setdefault((row["pool"], row["accelerator"], row["qos"]), []).append(row)
    for (pool, _, _), rows in by_pattern.items():
        for one, other in pairwise(sorted(rows, key=lambda row: row["from"])):
            assert one["to"] <= other["from"]
            if one["to"] < other["from"]:
                gaps.append((pool, (other["from"] - one["to"]).days))
    assert gaps == [("infer-910b", 3), ("infer-910b", 3)]


def test_all_accounts_but_one_are_claimed(company: Company):
    claimed = {(row["cluster"], row["account"]) for row in company.plan.organisation["mappings"]}
    unclaimed = {(row["Cluster"], row["Account"]) for row in company.rows} - claimed
    assert {account for _, account in unclaimed} == {"legacy_bench"}
    override = [row for row in company.plan.organisation["mappings"] if "user" in row]
    assert len(override) == 1
    assert any(row["Account"] == override[0]["account"] and row["User"] == override[0]["user"] for row in company.rows)


def test_the_nodes_of_the_document_are_those_of_the_records(company: Company):
    from_pools = {name for pool in company.plan.pools for name in pool.names}
    used = {node for row in company.rows if row.started for node in row.nodes}
    assert used == from_pools


@pytest.mark.parametrize(
    "until, months, first",
    [
        (date(2026, 11, 30), 6, date(2026, 6, 1)),
        (date(2026, 12, 31), 12, date(2026, 1, 1)),
        (date(2026, 3, 30), 1, date(2026, 2, 28)),
        (date(2026, 1, 14), 2, date(2025, 11, 15)),
    ],
)
def test_months_are_counted_back_from_the_day_after_the_last(until: date, months: int, first: date):
    assert DemoArguments(until=until, months=months).first_on == first


@pytest.mark.parametrize("wrong", [{"gpus": 0}, {"months": 0}, {"runs_per_day": -1}])
def test_numbers_below_one_are_refused(wrong: dict):
    with pytest.raises(ValueError, match="at least 1"):
        DemoArguments(until=UNTIL, **wrong)
