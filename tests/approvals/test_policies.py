"""Policies: what is wrong with one is said, the version is fixed at submit, and one is tried on past asks before it counts."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.access.rules import SCOPES, Role
from governance.approvals import policies, policy
from governance.approvals.actions import approve
from governance.approvals.models import ApprovalPolicy, Ask, Stage
from governance.approvals.policy import Facts
from governance.approvals.rules import SOME, Standing
from governance.audit.models import AuditLine
from governance.errors import BadData, BadItems, NotAllowed, NotFound, NotTheMoment
from tests.approvals.conftest import asked, line, who

USUAL = {
    "policy": 1,
    "rules": [
        {"code": "tiny", "when": {"gpus": {"at_most": 4}, "kinds": ["new", "increase"]}, "auto": True},
        {
            "code": "large",
            "when": {"gpus": {"at_least": 16}},
            "stages": [
                {"code": "department", "who": "approver@home_department", "rule": "all"},
                {"code": "money", "who": "finance@site", "when": {"cost": {"at_least": 1000}}},
                {"code": "capacity", "who": "capacity_manager@pool", "another_hand": True, "hours": 8},
            ],
            "inform": ["finance@site"],
        },
        {"code": "rest", "stages": [{"code": "department", "who": "approver@home_department"}]},
    ],
}


def changed(**rule) -> dict:
    document = copy.deepcopy(USUAL)
    document["rules"][0].update(rule)
    return document


def words(document) -> str:
    return "\n".join(str(fault) for fault in policy.faults(document))


def test_a_sound_document_has_no_faults():
    assert policy.faults(USUAL) == []


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "policy"),
        ({"policy": 1, "rules": []}, "rules"),
        (changed(stages=[{"code": "a", "who": "approver@site"}]), "rules/0"),
        ({"policy": 1, "rules": [{"code": "a", "stages": [{"code": "s", "who": "king@site"}]}]}, "no role “king”"),
        (
            {"policy": 1, "rules": [{"code": "a", "stages": [{"code": "s", "who": "approver@pool"}]}]},
            "cannot be held on",
        ),
        ({"policy": 1, "rules": [{"code": "a", "auto": True}]}, "The last rule"),
        ({"policy": 1, "rules": [USUAL["rules"][2], {**USUAL["rules"][2], "code": "again"}]}, "never reached"),
        (changed(code="rest"), "used twice"),
        (changed(when={"gpus": {"at_least": 9, "at_most": 4}}), "lies above"),
        (
            {"policy": 1, "rules": [{"code": "a", "stages": [{"code": "s", "who": "finance@site", "rule": "k_of_n"}]}]},
            "needs k",
        ),
        (changed(name={"zh": "a\0b"}), "NUL"),
    ],
)
def test_what_is_wrong_is_said(document, said):
    assert said in words(document)


def test_a_rule_that_an_earlier_one_always_goes_before_is_unreachable():
    stages = [{"code": "s", "who": "finance@site"}]
    rest = {"code": "rest", "stages": stages}
    wide = {"code": "wide", "when": {"pools": ["a", "b"], "gpus": {"at_least": 4}}, "stages": stages}
    for when, hidden in (
        ({"pools": ["a"], "gpus": {"at_least": 8}}, True),
        ({"pools": ["a"], "gpus": {"at_least": 4, "at_most": 9}}, True),
        ({"pools": ["a"]}, False),
        ({"pools": ["a", "c"], "gpus": {"at_least": 8}}, False),
        ({"pools": ["a"], "gpus": {"at_least": 2}}, False),
    ):
        document = {"policy": 1, "rules": [wide, {"code": "late", "when": when, "stages": stages}, rest]}
        assert bool(policy.faults(document)) == hidden


facts = st.builds(
    Facts,
    kind=st.sampled_from(["new", "increase", "extend", "return", "burst", "keep"]),
    pools=st.frozensets(st.sampled_from("ab"), min_size=1),
    levels=st.frozensets(st.sampled_from(["normal", "urgent"]), min_size=1),
    departments=st.frozensets(st.sampled_from("xy")),
    gpus=st.integers(0, 40),
    gpu_hours=st.integers(0, 9999),
    days=st.integers(0, 99),
    cost=st.one_of(st.none(), st.decimals(0, 5000, places=2)),
    over_budget=st.one_of(st.none(), st.booleans()),
)


@given(facts)
def test_every_ask_has_a_way_and_an_unknown_cost_is_beyond_any_bound(asked_for):
    plans = policy.plans(USUAL, asked_for)
    assert plans and plans[-1].rule == "rest"
    large = next((plan for plan in plans if plan.rule == "large"), None)
    assert (large is not None) == (asked_for.gpus >= 16)
    if large is not None:
        codes = [stage.code for stage in large.stages]
        assert ("money" in codes) == (asked_for.cost is None or asked_for.cost >= 1000)


people = st.frozensets(st.integers(1, 6))


@given(st.sampled_from(["any", "all", SOME]), st.integers(1, 3), people, people, people)
def test_a_stage_passes_only_with_everybody_who_was_added(rule, k, candidates, added, agreed):
    standing = Standing(rule, k, candidates, added, agreed)
    if standing.is_passed:
        assert added <= agreed and agreed - added
        if rule == SOME:
            assert len(agreed - added) >= k
        if rule == "all":
            assert candidates - added <= agreed
    assert not standing.may_decide & agreed


def test_roles_of_the_first_policy_can_be_held_where_it_asks_them():
    assert "pool" in SCOPES[Role.CAPACITY_MANAGER] and "department" in SCOPES[Role.APPROVER]


@pytest.mark.usefixtures("company")
class TestVersions:
    def test_only_some_change_it_and_it_is_in_the_trail(self):
        for name in ("amy", "cap", "fin", "ann"):
            with pytest.raises(NotAllowed):
                policies.add_version(USUAL, actor=who(name))
        with pytest.raises(BadItems):
            policies.add_version({"policy": 1, "rules": []}, actor=who("adm"))
        made = policies.add_version(USUAL, actor=who("adm"), note="tiny ones by rule")
        assert (made.version, made.state) == (2, "draft")
        policies.activate(2, actor=who("adm"), reason="agreed in the meeting")
        assert list(ApprovalPolicy.objects.order_by("version").values_list("state", flat=True)) == ["past", "active"]
        trail = AuditLine.objects.filter(object_kind="approval_policy").order_by("pk")
        assert list(trail.values_list("action", flat=True)) == ["policy.add", "policy.activate"]
        with pytest.raises(NotTheMoment):
            policies.activate(2, actor=who("adm"))
        with pytest.raises(NotFound):
            policies.activate(7, actor=who("adm"))

    def test_departments_must_be_there_and_roles_that_nobody_holds_are_warned_of(self):
        document = changed(when={"departments": ["nowhere"]})
        assert "nowhere" in str(policies.validate(document)[0])
        with pytest.raises(BadData):
            policies.add_version(document, actor=who("adm"))
        document = copy.deepcopy(USUAL)
        document["rules"][2]["stages"][0]["who"] = "leadership@site"
        assert [str(one) for one in policies.warnings(document)] == [
            "Nobody holds leadership@site today: such asks would go to the scope above, and then to the administrators' list."
        ]

    def test_the_version_is_fixed_at_submit(self):
        before = asked()
        policies.activate(policies.add_version(USUAL, actor=who("adm")).version, actor=who("adm"))
        approve(before.number, actor=who("amy"))
        assert approve(before.number, actor=who("cap")).policy.version == 1
        tiny = asked("ann", "new", line(2, level="urgent"))
        assert (tiny.state, tiny.policy.version, tiny.policy_rule) == ("approved", 2, "tiny")

    def test_stages_by_size_all_must_agree_and_another_hand_is_wanted(self):
        policies.activate(policies.add_version(USUAL, actor=who("adm")).version, actor=who("adm"))
        ask = asked("ann", "new", line(16))
        assert list(Stage.objects.filter(ask=ask).values_list("code", flat=True)) == ["department", "money", "capacity"]
        approve(ask.number, actor=who("amy"))
        with pytest.raises(NotAllowed):
            approve(ask.number, actor=who("fin"))
        approve(ask.number, actor=who("abe"))
        approve(ask.number, actor=who("fin"))
        assert approve(ask.number, actor=who("cap")).state == "approved"

    def test_an_automatic_rule_without_room_gives_way_to_the_next(self):
        policies.activate(policies.add_version(USUAL, actor=who("adm")).version, actor=who("adm"))
        from governance.quotas import actions as quotas
        from governance.quotas.actions import Terms
        from tests.approvals.conftest import D
        from tests.books import MACHINE

        quotas.award(Terms("rank", "train-h800", 32, 32, D), actor=MACHINE)
        ask = asked("ann", "new", line(2))
        assert (ask.state, ask.policy_rule) == ("submitted", "rest")

    def test_a_policy_is_tried_on_past_asks_and_changes_nothing(self):
        asked("ann", "new", line(2))
        asked("ann", "new", line(16, level="urgent"))
        found = policies.simulate(USUAL, actor=who("fin")) if who("fin").may("policy.view") else None
        assert found is None
        with pytest.raises(NotAllowed):
            policies.simulate(USUAL, actor=who("amy"))
        from tests.books import MACHINE

        found = policies.simulate(USUAL, actor=MACHINE)
        assert found.by_rule == {"tiny": 1, "large": 1} and found.changed == 2
        assert found.ways[1].is_auto and found.ways[0].stages[0] == "department: approver@home_department"
        assert found.ways[0].before == ("department: approver@home_department", "capacity: capacity_manager@pool")
        assert policies.simulate(USUAL, actor=MACHINE, most=1).left_out == 1
        assert set(Ask.objects.values_list("state", flat=True)) == {"submitted"}

    def test_without_an_active_policy_nothing_is_submitted(self):
        ApprovalPolicy.objects.update(state="past")
        with pytest.raises(NotTheMoment, match="No approval policy is active"):
            asked()
        assert Ask.objects.get().state == "draft"
