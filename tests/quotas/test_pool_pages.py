"""Terms of a pool on its page: each form shows in words what it would mean, does nothing before it is confirmed, and then does it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction

from governance.audit.models import AuditLine
from governance.quotas import pool_terms
from governance.quotas.models import DepartmentShare, Offering, PoolPolicy, QueueRule, Quota
from tests.books import MACHINE
from tests.cast import Cast
from tests.quotas.held import POOL, day, lay_out

TERMS = f"/quotas/pools/{POOL}/terms"
RULES = f"/quotas/pools/{POOL}/?tab=rules"


@pytest.fixture(scope="module")
def laid(cast_of_module: Cast, django_db_blocker) -> Iterator[dict[str, Quota]]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield lay_out()
        transaction.set_rollback(True)


@pytest.fixture
def manager(laid, cast):
    return cast.client("capacity_manager", language="en")


def words(page, side: int) -> str:
    """The sentences of one side of the trial."""
    return " ".join(sentence for _head, said in page.context["trial"]["sides"][side][1] for sentence in said)


def through(client, address: str, given: dict):
    """The trial of a form, shown and then confirmed with what the page itself sends back."""
    shown = client.post(address, given)
    assert shown.status_code == 200 and shown.context["trial"]["refusal"] == "", shown.context["form"].errors
    again: dict[str, list] = {}
    for name, value in shown.context["given"]:
        again.setdefault(name, []).append("" if value is None else value)
    written = AuditLine.objects.count()
    done = client.post(address, {**again, "confirm": "yes"})
    assert (done.status_code, done["Location"]) == (302, RULES) and AuditLine.objects.count() > written
    return shown


RULE = {
    "level": "normal", "priority": 7, "preempts": ["elastic"], "preempted_jobs": "cancel", "pool_share_percent": 60
}  # fmt: skip


def test_a_queue_rule_is_set_from_a_day_and_ended(manager):
    before = QueueRule.objects.count()
    shown = through(manager, f"{TERMS}/rule/add/", {**RULE, "from_on": day(3), "to_on": ""})
    assert "a displaced job is queued again" in words(shown, 0) and "a displaced job ends" in words(shown, 1)
    assert "60% of the pool" in words(shown, 1)
    made = QueueRule.objects.get(from_on=day(3))
    assert (made.level, made.priority, made.preempts, made.pool_share_percent) == ("normal", 7, ["elastic"], 60)
    assert QueueRule.objects.count() == before + 1
    form = manager.get(f"{TERMS}/rule/change/?of={made.pk}").context["form"]
    assert "level" not in form.fields and form.initial["priority"] == 7 and form.initial["from_on"] == day(3)
    changed = {name: value for name, value in RULE.items() if name not in ("level", "preempts")}
    through(manager, f"{TERMS}/rule/change/?of={made.pk}", {**changed, "from_on": day(5)})
    later = QueueRule.objects.get(from_on=day(5))
    assert later.preempts == [] and later.level == "normal"
    through(manager, f"{TERMS}/rule/end/?of={later.pk}", {"from_on": day(9)})
    assert QueueRule.objects.get(pk=later.pk).to_on == day(9)


def test_nothing_is_done_before_it_is_confirmed(manager):
    shown = manager.post(f"{TERMS}/policy/add/", {"kind": "reserve", "factor": "2", "from_on": day(0)})
    assert "Up to 1.5 times" in words(shown, 0) and "Up to 2 times" in words(shown, 1)
    before, after = shown.context["trial"]["room"]
    assert after.room - before.room == 16  # half as much again of 32
    assert [one.factor for one in PoolPolicy.objects.all()] == [pytest.approx(1.5)]


def test_how_the_pool_is_promised_is_set_changed_and_ended(manager):
    through(manager, f"{TERMS}/policy/add/", {"kind": "reserve", "factor": "1.25", "from_on": day(1)})
    made = PoolPolicy.objects.get(from_on=day(1))
    shown = through(
        manager, f"{TERMS}/policy/change/?of={made.pk}", {"kind": "pooled", "factor": "1", "from_on": day(2)}
    )
    assert "Up to 1.25 times" in words(shown, 0)
    later = PoolPolicy.objects.get(kind="pooled")
    shown = through(manager, f"{TERMS}/policy/end/?of={later.pk}", {"from_on": day(4)})
    assert words(shown, 1) == "No more is guaranteed than the pool has in healthy GPUs."


def test_a_share_is_set_changed_and_ended(manager):
    shown = through(manager, f"{TERMS}/share/add/", {"department": "research", "gpus": 20, "from_on": day(0)})
    assert words(shown, 0).startswith("It has no share of its own.") and "guaranteed 20 GPUs together" in words(
        shown, 1
    )
    assert "Shares bind only while" in words(shown, 1)
    made = DepartmentShare.objects.get()
    through(manager, f"{TERMS}/share/change/?of={made.pk}", {"gpus": 24, "from_on": day(2), "to_on": day(20)})
    later = DepartmentShare.objects.get(from_on=day(2))
    assert (later.gpus, later.to_on) == (24, day(20))
    through(manager, f"{TERMS}/share/end/?of={later.pk}", {"from_on": day(8)})
    assert DepartmentShare.objects.get(pk=later.pk).to_on == day(8)


OFFERING = {"qos": "normal", "min_gpus": 8, "step_gpus": 8, "max_gpus": 32, "max_wall_minutes": 90}


def test_an_offering_is_ended_added_and_changed(manager):
    train = Offering.objects.get(code="train")
    shown = through(manager, f"{TERMS}/offering/end/?of={train.pk}", {"from_on": day(3)})
    assert "A job runs for 72 hours at most." in words(shown, 0) and words(shown, 1) == "It is not offered."
    given = {**OFFERING, "code": "train-next", "level": "normal", "departments": "search, vision", "from_on": day(3)}
    shown = through(manager, f"{TERMS}/offering/add/", given)
    assert "8 to 32 GPUs, in steps of 8" in words(shown, 1) and "may ask for it" in words(shown, 1)
    made = Offering.objects.get(code="train-next")
    assert (made.max_wall_s, {one.code for one in made.departments.all()}) == (5400, {"search", "vision"})
    Offering.objects.filter(pk=made.pk).update(max_wall_s=5430)  # no whole minutes
    through(manager, f"{TERMS}/offering/change/?of={made.pk}", {**OFFERING, "code": "train-last", "from_on": day(6)})
    later = Offering.objects.get(code="train-last")
    assert (later.max_wall_s, later.level, later.departments.count()) == (5430, "normal", 0)
    assert Offering.objects.get(pk=made.pk).to_on == day(6)


def test_a_conflict_is_refused_in_words(manager):
    given = {**OFFERING, "code": "other", "level": "normal", "from_on": day(0)}
    shown = manager.post(f"{TERMS}/offering/add/", given)
    assert "offers the level “normal” on some of these days as “train”" in shown.context["trial"]["refusal"]
    assert "It does not go through" in shown.content.decode() and 'name="confirm"' not in shown.content.decode()
    assert manager.post(f"{TERMS}/offering/add/", {**given, "confirm": "yes"}).status_code == 409
    assert not Offering.objects.filter(code="other").exists()
    zh = manager.post(f"{TERMS}/rule/add/", {**RULE, "from_on": day(-3)}, headers={"accept-language": "en"})
    assert "days that are over are not written over" in zh.context["trial"]["refusal"]
    pool_terms.set_share(POOL, "research", 8, from_on=day(5), actor=MACHINE)
    shown = manager.post(f"{TERMS}/share/add/", {"department": "research", "gpus": 1, "from_on": day(0)})
    assert "begins on" in shown.context["trial"]["refusal"]


@pytest.mark.parametrize(
    ("what", "given", "field"),
    [
        ("rule", {**RULE, "pool_share_percent": 0}, "pool_share_percent"),
        ("rule", {**RULE, "level": "best"}, "level"),
        ("rule", {**RULE, "to_on": "2020-01-01"}, "to_on"),
        ("policy", {"kind": "reserve", "factor": "NaN"}, "factor"),
        ("policy", {"kind": "reserve", "factor": "0"}, "factor"),
        ("share", {"department": "nowhere", "gpus": 3}, "department"),
        ("share", {"department": "research", "gpus": -1}, "gpus"),
        ("offering", {**OFFERING, "code": "Bad code"}, "code"),
        ("offering", {**OFFERING, "max_gpus": 4}, "max_gpus"),
        ("offering", {**OFFERING, "departments": "vision no\0where"}, "departments"),
        ("offering", {**OFFERING, "departments": "nowhere"}, "departments"),
    ],
)
def test_what_is_given_wrong_is_said_at_its_field(manager, what, given, field):
    shown = manager.post(f"{TERMS}/{what}/add/", {"code": "fine", "level": "normal", "from_on": day(0), **given})
    assert shown.status_code == 422 and field in shown.context["form"].errors
    assert f'id="id_{field}-err"' in shown.content.decode()


def test_who_may_not_change_finds_no_form(laid, cast, manager):
    rule = QueueRule.objects.filter(level="normal").get()
    link = f"{TERMS}/rule/change/?of={rule.pk}"
    assert link in manager.get(RULES).content.decode()
    for who in ("member", "lead", "viewer", "operator", "auditor"):
        client = cast.client(who)
        assert "/terms/" not in client.get(RULES).content.decode()
        given = {**RULE, "from_on": day(0), "confirm": "yes"}
        assert {client.get(link).status_code, client.post(f"{TERMS}/rule/add/", given).status_code} == {403}
    assert QueueRule.objects.filter(level="normal").get() == rule
    for address in ("rule/dance/", "money/add/", "rule/change/?of=0", "rule/end/?of=x", f"share/end/?of={rule.pk}"):
        assert manager.get(f"{TERMS}/{address}").status_code == 404, address


def test_an_award_may_name_one_of_the_pools_models(manager):
    given = {"project": "rank", "level": "urgent", "model": "h800", "guaranteed_gpus": 1, "ceiling_gpus": 1}
    shown = manager.post(f"/quotas/pools/{POOL}/award/", {**given, "hours_period": "month", "from_on": day(0)})
    assert shown.status_code == 200 and shown.context["trial"].refusal == ""
