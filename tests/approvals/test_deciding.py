"""An ask from its draft to its effect: stages in order, less than asked, one outcome, nobody's own, nobody twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from governance.access.actor import Actor
from governance.approvals import drafts, moving
from governance.approvals.actions import Award, approve, reject, return_to_author
from governance.approvals.models import Ask, Decision, Move, ReclaimExemption, Stage
from governance.approvals.submitting import submit
from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster
from governance.errors import BadData, BadItems, NotAllowed, NotFound, NotTheMoment
from governance.notices.models import Notice
from governance.quotas import actions as quotas
from governance.quotas.actions import Terms
from governance.quotas.models import Offering, Quota
from governance.tenants.models import Department, Placement, Project
from governance.work.models import WorkItem
from tests.approvals.conftest import D, asked, day, draft, line, who
from tests.books import MACHINE

pytestmark = pytest.mark.usefixtures("company")
EVERYBODY = ("ann", "lea", "amy", "abe", "top", "cap", "ric", "fin", "adm", "out")


def held(project: str = "ocr") -> list[tuple[int, int, int, int, str]]:
    found = Quota.objects.filter(project__code=project, is_void=False).order_by("from_on", "pk")
    return [((q.from_on - D).days, (q.to_on - D).days, q.guaranteed_gpus, q.ceiling_gpus, q.ended_as) for q in found]


def given(gpus: int = 16, **other) -> Quota:
    values = {"guaranteed_gpus": gpus, "ceiling_gpus": gpus, "from_on": D, "to_on": day(90), **other}
    return quotas.award(Terms("ocr", "train-h800", **values), actor=MACHINE)


def told(name: str) -> list[str]:
    rows = Notice.objects.filter(person__username=name).order_by("pk")
    return list(rows.values_list("happening__event", flat=True))


def test_an_ask_goes_stage_by_stage_and_then_the_quota_is_there():
    ask = asked()
    assert (ask.number, ask.state, ask.version) == (f"A-{ask.pk:06}", "submitted", 3)
    assert told("amy") == told("abe") == ["ask.to_decide"] and told("cap") == []
    ask = approve(ask.number, actor=who("amy"), version=3)
    assert (ask.state, told("cap"), held()) == ("in_review", ["ask.to_decide"], [])
    ask = approve(ask.number, actor=who("cap"), version=4)
    assert (ask.state, held()) == ("approved", [(0, 90, 8, 8, "")])
    assert told("ann") == ["ask.approved"]
    made = Quota.objects.get()
    assert made.ask == ask.number and ask.lines.get().made == made
    assert [one.by.username for one in Decision.objects.order_by("pk")] == ["amy", "cap"]
    trail = AuditLine.objects.filter(object_kind="ask", object_code=ask.number).order_by("pk")
    assert list(trail.values_list("action", flat=True)) == ["ask.save", "ask.submit", "ask.approve", "ask.award"]


def test_nobody_decides_an_own_ask_nor_out_of_turn_nor_twice():
    ask = asked("amy")
    with pytest.raises(NotAllowed, match="own ask"):
        approve(ask.number, actor=who("amy"))
    with pytest.raises(NotAllowed, match="approver@home_department"):
        approve(ask.number, actor=who("cap"))
    for outsider in ("out", "ric"):
        with pytest.raises(NotFound):
            approve(ask.number, actor=who(outsider))
    with pytest.raises(NotAllowed):
        approve(ask.number, actor=who("ann"))
    approve(ask.number, actor=who("abe"))
    with pytest.raises(NotAllowed):
        approve(ask.number, actor=who("abe"))
    assert Quota.objects.count() == 0


def test_of_two_approvers_one_wins_and_the_other_is_told_what_happened():
    ask = asked()
    approve(ask.number, actor=who("amy"), version=3)
    with pytest.raises(NotTheMoment, match="approved on this stage by another approver"):
        approve(ask.number, actor=who("abe"), version=3)
    reject(ask.number, actor=who("cap"), version=4, comment="no room this month")
    with pytest.raises(NotTheMoment, match="rejected at"):
        approve(ask.number, actor=who("cap"), version=4)
    with pytest.raises(NotTheMoment):
        approve(ask.number, actor=who("cap"))


def test_less_than_asked_wants_words_and_never_more():
    ask = asked("ann", "new", line(16, ceiling_gpus=24))
    one = ask.lines.get().position
    for award in (Award(one, 17), Award(one, 8, 32), Award(one, to_on=day(91)), Award(7, 8), Award(one, to_on=D)):
        with pytest.raises(BadData):
            approve(ask.number, actor=who("amy"), awards=(award,), comment="half")
    with pytest.raises(BadData, match="less than was asked"):
        approve(ask.number, actor=who("amy"), awards=(Award(one, 8),))
    with pytest.raises(BadData, match="Nothing is left"):
        approve(ask.number, actor=who("amy"), awards=(Award(one, 0),), comment="none")
    approve(ask.number, actor=who("amy"), awards=(Award(one, 8),), comment="half now")
    with pytest.raises(BadData):
        approve(ask.number, actor=who("cap"), awards=(Award(one, 12),), comment="more again")
    approve(ask.number, actor=who("cap"), awards=(Award(one, to_on=day(30)),), comment="a month")
    assert held() == [(0, 30, 8, 16, "")]
    row = Ask.objects.get().lines.get()
    assert (row.guaranteed_gpus, row.awarded_guaranteed_gpus, row.awarded_ceiling_gpus) == (16, 8, 16)


def test_a_return_comes_back_as_the_next_revision_and_starts_over():
    ask = asked()
    with pytest.raises(BadData):
        return_to_author(ask.number, actor=who("amy"), comment=" ")
    approve(ask.number, actor=who("amy"))
    return_to_author(ask.number, actor=who("cap"), comment="name the jobs")
    ask.refresh_from_db()
    assert (ask.state, told("ann")) == ("returned", ["ask.returned"])
    ask = submit(ask.number, actor=who("ann"))
    assert (ask.round, [r.number for r in ask.revisions.all()]) == (2, [1, 2])
    with pytest.raises(NotAllowed):
        approve(ask.number, actor=who("cap"))
    approve(ask.number, actor=who("amy"))
    assert approve(ask.number, actor=who("cap")).state == "approved"
    assert Stage.objects.filter(ask=ask).count() == 4


def test_beyond_the_room_only_with_the_right_and_a_reason():
    quotas.award(Terms("rank", "train-h800", 28, 28, D), actor=MACHINE)
    ask = asked()
    approve(ask.number, actor=who("amy"))
    with pytest.raises(NotTheMoment, match="room for 4 of the 8"):
        approve(ask.number, actor=who("cap"))
    assert Ask.objects.get().state == "in_review" and Decision.objects.count() == 1
    with pytest.raises(NotAllowed):
        again = asked("lea", "new", line(1, level="urgent"))
        approve(again.number, actor=who("amy"), override="please")
    approve(ask.number, actor=who("cap"), override="agreed for the exam week")
    assert Quota.objects.get(ask=ask.number).override_reason == "agreed for the exam week"


def test_each_kind_has_its_own_effect():
    quota = given()
    increase = asked("ann", "increase", line(24, quota=quota.number, from_on=day(10), to_on=None))
    approve(increase.number, actor=who("amy"))
    approve(increase.number, actor=who("cap"))
    assert held() == [(0, 10, 16, 16, "replaced"), (10, 90, 24, 24, "")]
    second = Quota.objects.get(from_on=day(10))
    burst = asked("ann", "burst", line(32, quota=second.number, from_on=day(20), to_on=day(25)))
    approve(burst.number, actor=who("amy"))
    approve(burst.number, actor=who("cap"))
    assert held()[1:] == [(10, 20, 24, 24, "replaced"), (20, 25, 32, 32, ""), (25, 90, 24, 24, "")]
    rest = Quota.objects.get(from_on=day(25))
    longer = asked("ann", "extend", line(0, quota=rest.number, from_on=None, to_on=day(120)))
    approve(longer.number, actor=who("amy"))
    approve(longer.number, actor=who("cap"))
    assert held()[-1] == (90, 120, 24, 24, "")
    lower = asked("ann", "return", line(4, quota=rest.number, from_on=day(30), to_on=None), goal="")
    assert lower.state == "submitted"  # twenty are more than the rule lets go by itself
    keep = asked("lea", "keep", line(0, quota=longer.lines.get().made.number, from_on=None, to_on=day(100)))
    approve(keep.number, actor=who("amy"))
    approve(keep.number, actor=who("cap"))
    assert [(e.project.code, e.to_on) for e in ReclaimExemption.objects.all()] == [("ocr", day(100))]


def test_a_small_return_is_approved_by_its_rule_which_is_recorded():
    quota = given()
    ask = asked("ann", "return", line(4, quota=quota.number, from_on=day(30), to_on=None), goal="")
    assert (ask.state, ask.policy_rule) == ("approved", "small-return")
    assert held() == [(0, 30, 16, 16, "returned"), (30, 90, 4, 4, "")]
    decision = Decision.objects.get()
    assert (decision.by, decision.rule, decision.is_last) == (None, "small-return v1", True)
    rest = Quota.objects.get(from_on=day(30))
    asked("ann", "return", line(0, quota=rest.number, from_on=day(40), to_on=None), goal="")
    assert held()[-1] == (30, 40, 4, 4, "returned")


def test_what_it_is_based_on_has_moved():
    quota = given()
    ask = asked("ann", "increase", line(24, quota=quota.number, to_on=None))
    approve(ask.number, actor=who("amy"))
    quotas.change(quota.number, on=D, actor=MACHINE, guaranteed_gpus=4, ceiling_gpus=4)
    with pytest.raises(NotTheMoment, match="not any more as it was"):
        approve(ask.number, actor=who("cap"))
    assert Ask.objects.get(pk=ask.pk).state == "in_review"
    return_to_author(ask.number, actor=who("cap"), comment="base it on what stands")


def test_an_offering_that_was_withdrawn_meanwhile():
    from governance.catalogue.models import Pool

    offering = Offering.objects.create(
        code="train", pool=Pool.objects.get(code="train-h800"), qos="normal", step_gpus=8
    )
    with pytest.raises(BadItems, match="take 8 or 16"):
        asked("ann", "new", line(12))
    ask = asked()
    with pytest.raises(BadData, match="steps of 8"):
        approve(ask.number, actor=who("amy"), awards=(Award(1, 4),), comment="half")
    approve(ask.number, actor=who("amy"))
    Offering.objects.filter(pk=offering.pk).update(to_on=D)
    with pytest.raises(NotTheMoment, match="offering"):
        approve(ask.number, actor=who("cap"))


def test_a_project_that_moves_in_review_is_decided_by_its_new_home():
    ask = asked()
    Placement.objects.filter(project=Project.objects.get(code="ocr")).update(
        department=Department.objects.get(code="search")
    )
    with pytest.raises(NotFound):
        approve(ask.number, actor=who("amy"))
    approve(ask.number, actor=who("ric"))
    assert approve(ask.number, actor=who("cap")).state == "approved"


def test_handed_over_added_and_commented():
    ask = asked()
    with pytest.raises(NotFound):
        moving.hand_over(ask.number, "out", actor=who("amy"))
    with pytest.raises(NotAllowed):
        moving.hand_over(ask.number, "top", actor=who("ann"))
    with pytest.raises(BadData):
        moving.hand_over(ask.number, "ann", actor=who("amy"))
    moving.hand_over(ask.number, "top", actor=who("amy"), reason="I am away")
    with pytest.raises(NotAllowed):
        approve(ask.number, actor=who("amy"))
    moving.add_approver(ask.number, "fin", actor=who("top"), reason="is it in the plan?")
    assert told("top") == ["ask.handed_over"] and told("fin") == ["ask.added"]
    approve(ask.number, actor=who("top"))
    assert Stage.objects.get(is_open=True).code == "department"
    approve(ask.number, actor=who("fin"))
    assert Stage.objects.get(is_open=True).code == "capacity"
    moving.comment(ask.number, "until Friday, if possible", actor=who("ann"))
    assert "ask.commented" in told("cap") and "ask.commented" not in told("ann")
    assert Move.objects.filter(ask=ask, what="comment").get().text == "until Friday, if possible"


def test_withdrawn_by_its_author_or_lead_and_then_it_is_over():
    ask, other = asked(), draft("lea")
    with pytest.raises(NotAllowed):
        moving.withdraw(ask.number, actor=who("cap"))
    moving.withdraw(ask.number, actor=who("lea"), reason="done otherwise")
    with pytest.raises(NotTheMoment):
        approve(ask.number, actor=who("amy"), version=3)
    with pytest.raises(NotFound):
        moving.withdraw(other.number, actor=who("ann"))
    moving.withdraw(other.number, actor=who("lea"))
    assert not Stage.objects.filter(is_open=True).exists()


def test_what_is_missing_is_said_all_at_once():
    ask = draft("ann", "new", line(0, to_on=None), line(8, from_on=D - timedelta(days=9)), goal="")
    with pytest.raises(BadItems) as caught:
        submit(ask.number, actor=who("ann"))
    words = str(caught.value)
    assert "what it is for" in words and "Line 1: name the first day" in words and "lie behind" in words
    assert Ask.objects.get().state == "draft"


def test_a_scheduler_that_is_down_keeps_nobody_from_deciding():
    Cluster.objects.update(scheduler_kind="slurm", connection={"host": "127.0.0.1", "port": 9, "user": "nobody"})
    ask = asked()
    approve(ask.number, actor=who("amy"))
    assert approve(ask.number, actor=who("cap")).state == "approved"
    assert WorkItem.objects.get(kind="quotas.enforce").key == "bj"  # it follows once it is back


def test_a_draft_is_its_authors_alone_and_an_ask_those_of_its_project_and_pool():
    number = draft().number
    other = asked("lea").number
    seen = {name: {one.number for one in Ask.objects.visible_to(who(name))} for name in EVERYBODY}
    assert {name for name in seen if number in seen[name]} == {"ann"}
    assert {name for name in seen if other in seen[name]} == {"ann", "lea", "amy", "abe", "top", "cap", "fin"}
    assert not Ask.objects.visible_to(Actor.anonymous()).exists()


def test_a_copy_is_a_draft_of_ones_own_with_its_days_open():
    source = asked("ann", "new", line(8, level="urgent"))
    made = drafts.copy(source.number, actor=who("lea"))
    row = made.lines.get()
    assert (made.state, made.asked_by.username, made.copied_from) == ("draft", "lea", source)
    assert (row.guaranteed_gpus, row.level, row.from_on, row.to_on, row.base) == (8, "urgent", None, None, None)
    with pytest.raises(BadItems):
        submit(made.number, actor=who("lea"))
    with pytest.raises(NotFound):
        drafts.copy(source.number, actor=who("out"))
