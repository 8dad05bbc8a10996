# ruff: noqa: E501 - a case stands on one line, with the words it is refused in
"""What cannot hold is refused with its place in the file, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import translation

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster
from governance.errors import BadData, BadItems
from governance.tenants.models import Department
from governance.usage.models import UsageDay
from portal.errors import details
from portal.organisation.actions import load
from portal.organisation.document import read

from .conftest import SMALL

pytestmark = pytest.mark.django_db
Content = dict[str, Any]


def refused(content: Any, machine: Any) -> list[str]:
    """The sentences of the refusal, in English."""
    with translation.override("en"), pytest.raises(BadData) as fault:
        load(content, actor=machine)
    sentences = details(fault.value)
    return sentences[1:] if isinstance(fault.value, BadItems) else sentences


def at(content: Content, *path: Any) -> Any:
    """What stands at a path."""
    found: Any = content
    for step in path:
        found = found[step]
    return found


def put(*path: Any) -> Callable[[Content], None]:
    """A change that sets the last step of the path but one to the last one."""
    *way, key, value = path
    return lambda content: at(content, *way).__setitem__(key, value)


def add(*path: Any) -> Callable[[Content], None]:
    """A change that appends the last step to the list at the path."""
    *way, value = path
    return lambda content: at(content, *way).append(value)


POOLS, NODES = ("clusters", 0, "pools"), ("clusters", 0, "nodes")
ROLES = ("people", 1, "roles")
CASES = {
    "unknown project": (put("mappings", 1, "project", "ocrr"), "mappings[1].project: no project has the code “ocrr”."),
    "unknown cluster": (put("mappings", 0, "cluster", "west"), "mappings[0].cluster: no cluster has the code “west”."),
    "unknown pool of a price": (put("prices", 0, "pool", "trian"), "prices[0].pool: no pool has the code “trian”."),
    "unknown model of a price": (put("prices", 0, "accelerator", "bog"), "prices[0].accelerator: no accelerator has the code “bog”."),
    "unknown band": (put("prices", 2, "band", "noon"), "prices[2].band: no band has the code “noon”."),
    "unknown department": (put("projects", 0, "placements", 0, "department", "x"), "projects[0].placements[0].department: no department has the code “x”."),
    "unknown payer": (put("projects", 0, "placements", 1, "payers", {"vision": 70, "x": 30}), "projects[0].placements[1].payers.x: no department has the code “x”."),
    "unknown parent": (put("departments", 1, "parent", "x"), "departments[1].parent: no department has the code “x”."),
    "unknown place": (put(*NODES, 0, "place", "x"), "clusters[0].nodes[0].place: no place has the code “x”."),
    "unknown model of nodes": (put(*NODES, 0, "accelerator", "x"), "clusters[0].nodes[0].accelerator: no accelerator has the code “x”."),
    "unknown model of a pool": (put(*POOLS, 0, "accelerators", ["x"]), "clusters[0].pools[0].accelerators: no accelerator has the code “x”."),
    "unknown pool of a role": (put("people", 0, "roles", 2, "pool", "x"), "people[0].roles[2].pool: no pool has the code “x”."),
    "cyclic departments": (put("departments", 0, "parent", "vision"), "departments[0].parent: the departments form a circle: research -> vision -> research."),
    "cyclic places": (put("places", 0, "parent", "rack1"), "places[0].parent: the places form a circle: hall -> rack1 -> hall."),
    "payer shares of 99 %": (put("projects", 0, "placements", 1, "payers", "vision", 69), "projects[0].placements[1].payers: the shares of the payers sum to 99 %, not to 100 %."),
    "a payer of 0 %": (put("projects", 0, "placements", 1, "payers", {"vision": 100, "research": "0"}), "projects[0].placements[1].payers: a payer pays more than 0 %."),
    "price overlap": (put("prices", 0, "to", "2026-07-02"), "prices[1]: overlaps prices[0]; equal patterns have one price on a day."),
    "placement overlap": (put("projects", 0, "placements", 0, "to", "2026-08-01"), "projects[0].placements[1]: overlaps projects[0].placements[0]; a project has one home department on a day."),
    "mapping overlap": (put("mappings", 1, "to", "2026-05-02"), "mappings[2]: overlaps mappings[1]; equal patterns name one project on a day."),
    "factor overlap": (put("accelerators", 1, "card_factors", 0, "to", "2026-05-01"), "accelerators[1].card_factors[1]: overlaps accelerators[1].card_factors[0]; a slice has one factor on a day."),
    "partition overlap": (add(*POOLS, 0, "partitions", "big*"), "clusters[0].pools[0].partitions[2]: overlaps clusters[0].pools[0].partitions[1]; a pool claims a partition once on a day."),
    "grant overlap": (add(*ROLES, {"role": "finance", "from": "2026-01-01"}), "people[1].roles[1]: overlaps people[1].roles[0]; the same role is granted once on a day."),
    "a node in two terms": (add(*NODES, {"names": "n03", "pool": "train", "accelerator": "big", "accelerators": 4}), "clusters[0].nodes[2]: overlaps clusters[0].nodes[0]; a node has one term for a model on a day (node east/n03)."),
    "a tie of patterns": (add(*POOLS, {"code": "third", "partitions": ["*"]}), "clusters[0].pools[2].partitions[0]: the pools “rest” and “third” both claim the partition “*”, and their accelerators do not keep them apart."),
    "a tie with shared models": (add(*POOLS, {"code": "third", "partitions": ["train"], "accelerators": ["big", "big-slice"]}), "clusters[0].pools[2].partitions[0]: the pools “train” and “third” both claim the partition “train”, and their accelerators do not keep them apart."),
    "an alias of two models": (put("accelerators", 1, "aliases", ["BIG-80"]), "accelerators[1].aliases: the alias “big-80” already names the accelerator “big”."),
    "a role on a wrong scope": (put(*ROLES, 0, {"role": "finance", "project": "ocr"}), "people[1].roles[0].project: the role “finance” is not held on a project."),
    "a role without its scope": (put(*ROLES, 0, {"role": "lead"}), "people[1].roles[0]: the role “lead” needs the key “project”."),
    "a role on two scopes": (put(*ROLES, 0, {"role": "lead", "project": "ocr", "pool": "train"}), "people[1].roles[0]: a role stands on one of project, department or pool."),
    "separated roles": (put("people", 1, "roles", [{"role": "auditor"}, {"role": "security"}]), "people[1].roles[1]: books would hold auditor and security, which are kept in different hands."),
    "from after to": (put("prices", 1, "to", "2026-07-01"), "prices[1].to: must lie after “from”; the day itself is no longer in it."),
    "no such day": (put("prices", 1, "to", "2026-02-30"), "prices[1].to: there is no such day."),
    "unknown time zone": (put("settings", "time_zone", "Asia/Shangai"), "settings.time_zone: there is no time zone “Asia/Shangai”."),
    "unknown time zone of a scheduler": (put("clusters", 0, "scheduler", "time_zone", "../etc"), "clusters[0].scheduler.time_zone: there is no time zone “../etc”."),
    "bands that overlap": (put("settings", "bands", [{"code": "peak", "from": "08:00", "to": "22:00"}, {"code": "night", "from": "21:00", "to": "08:00"}]), "settings.bands: the bands must cover the day without gap or overlap; one band may be without hours."),
    "bands with a gap": (put("settings", "bands", [{"code": "peak", "from": "08:00", "to": "22:00"}, {"code": "night", "from": "23:00", "to": "08:00"}]), "settings.bands: the bands must cover the day without gap or overlap; one band may be without hours."),
    "a reserved code": (add("projects", {"code": "unattributed"}), "projects[2].code: the code “unattributed” is reserved for what cannot be told."),
    "the same code twice": (put("departments", 1, {"code": "research"}), "departments[1]: “research” stands twice, first at departments[0]."),
    "a slice of a slice": (add("accelerators", {"code": "sliver", "card": "big-slice"}), "accelerators[2].card: “big-slice” is a slice itself; a slice belongs to a whole card."),
    "a factor of a whole card": (put("accelerators", 0, "card_factors", [{"factor": "0.5"}]), "accelerators[0].card_factors[0]: only a slice, which names its card, has factors."),
    "a negative price": (put("prices", 0, "gpu_hour", "-1"), "prices[0].gpu_hour: must be an amount of at least 0 with at most six decimals, such as \"12.50\"."),
    "a price of nothing": (put("prices", 0, {"pool": "train"}), "prices[0]: prices nothing; give gpu_hour, cpu_core_hour, memory_gib_hour."),
    "a code of wrong form": (put("projects", 1, "code", "a b"), "projects[1].code: must be a code of letters, digits, “.”, “_” and “-”, at most 64, beginning with a letter or digit."),
    "a number for a text": (put("departments", 0, "cost_centre", 6100), "departments[0].cost_centre: must be text of a fitting length, in quotes if it looks like a number."),
    "an unknown key": (put("projects", 1, "nam", "x"), "projects[1].nam: is no key here; the keys are code, name, placements."),
    "a secret": (put("clusters", 0, "scheduler", "password", "x"), "clusters[0].scheduler.password: secrets do not belong into this file; name the file that holds it (identity_file) instead."),
    "a missing key": (put("mappings", 0, {"cluster": "east"}), "mappings[0]: the key “project” is missing."),
    "cards of no model": (put(*NODES, 1, "accelerators", 8), "clusters[0].nodes[1]: the key “accelerator” is missing."),
    "another version": (put("steelyard", 2), "steelyard: this version reads form 1 only."),
    "half a pattern": (put("mappings", 0, "account", "v_*"), "mappings[0].account: “*” stands alone, for any; parts of a name are not matched here."),
    "no node list": (put(*NODES, 0, "names", "n[01-"), "clusters[0].nodes[0].names: is no list of node names such as gpu[001-064]: brackets do not match in 'n[01-'."),
    "a node twice in a list": (put(*NODES, 1, "names", "cpu1,cpu1"), "clusters[0].nodes[1].names: the node “cpu1” stands twice."),
    "a partition of wrong form": (put(*POOLS, 1, "partitions", [{"match": 7}]), "clusters[0].pools[1].partitions[0].match: must be text of a fitting length, in quotes if it looks like a number."),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), CASES.values(), ids=CASES)
def test_it_is_refused_in_words_and_nothing_is_written(change, words, small, machine):
    change(small)
    assert refused(small, machine) == [words]
    assert (
        not Department.objects.exists()
        and not Cluster.objects.exists()
        and not AuditLine.objects.filter(actor="test").exists()
    )


def test_every_fault_is_told_at_once_with_its_line(machine):
    text = SMALL.read_text("utf-8").replace("account: v_ocr, project: ocr}", "account: v_ocr, project: ocrr}")
    text = text.replace("{vision: 70, research: 30}", "{vision: 70, research: 29}")
    assert refused(read(text), machine) == [
        "projects[0].placements[1].payers (line 11): the shares of the payers sum to 99 %, not to 100 %.",
        "mappings[0].project (line 41): no project has the code “ocrr”.",
    ]


def test_a_tie_with_a_pool_that_the_file_does_not_speak_of_is_refused(small, machine):
    load(small, actor=machine)
    more = {"steelyard": 1, "clusters": [{"code": "east", "pools": [{"code": "third", "partitions": ["*"]}]}]}
    assert "both claim the partition “*”" in refused(more, machine)[0]


def test_equal_patterns_on_different_days_or_with_other_models_are_no_tie(small, machine):
    at(small, *POOLS, 1)["partitions"] = [{"match": "*", "to": "2026-06-01"}]
    at(small, *POOLS).append({"code": "third", "partitions": [{"match": "*", "from": "2026-06-01"}]})
    at(small, *POOLS).append({"code": "slices", "partitions": ["train"], "accelerators": ["big-slice"]})
    assert load(small, actor=machine).counts["add"] > 30


def test_separated_roles_after_one_another_or_by_setting_are_allowed(small, machine, settings):
    roles = [{"role": "auditor", "to": "2026-06-01"}, {"role": "security", "from": "2026-06-01"}]
    at(small, *ROLES)[:] = roles
    load(small, actor=machine)
    settings.STEELYARD_COMBINED_ADMINISTRATION = True
    at(small, *ROLES)[:] = [{"role": "auditor"}, {"role": "security"}]
    assert load(small, actor=machine).counts["change"] == 1


def test_a_pool_does_not_change_its_cluster(small, machine):
    load(small, actor=machine)
    other = {"steelyard": 1, "clusters": [{"code": "west", "pools": [{"code": "train"}]}]}
    assert refused(other, machine) == [
        "clusters[0].pools[0].code: the pool “train” belongs to the cluster “east”; facts stand on that."
    ]


def test_nodes_stand_in_pools_of_their_own_cluster(small, machine):
    small["clusters"].append({"code": "west", "nodes": [{"names": "w[1-9]", "pool": "train"}]})
    assert refused(small, machine) == ["clusters[1].nodes[0].pool: the pool “train” is not of this cluster."]


def test_the_time_zone_stays_once_there_are_facts(small, machine):
    load(small, actor=machine)
    small["settings"]["time_zone"] = "Asia/Tokyo"
    load(small, actor=machine)
    keys = {"cluster_id": "east", "pool_id": "train", "model_id": "big", "project_id": "ocr"}
    measures = [f.name for f in UsageDay._meta.fields if f.get_internal_type() == "BigIntegerField"]
    UsageDay.objects.create(
        day="2026-01-01",
        band="peak",
        account="a",
        user="u",
        qos="q",
        outcome="completed",
        **keys,
        **dict.fromkeys(measures, 0),
    )
    small["settings"]["time_zone"] = "UTC"
    assert refused(small, machine) == [
        "settings.time_zone: the billing time zone is fixed once there are facts; it is Asia/Tokyo."
    ]
