"""What time does: working hours with holidays and shifted days, reminders, escalation, expiry, approvers who left."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from governance.access.models import Person
from governance.approvals import acting, calendar, deadlines, moving, reads, stages
from governance.approvals.actions import approve, return_to_author
from governance.approvals.models import Ask, CalendarDay, Move, Named, Stage
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.tenants.models import DepartmentGrant, PoolGrant
from tests.approvals.conftest import D, asked, day, who
from tests.approvals.test_deciding import told
from tests.books import MACHINE

SHANGHAI = ZoneInfo("Asia/Shanghai")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    ("start", "hours", "due"),
    [
        ("2026-09-28T10:00", 4, "2026-09-28T14:00"),  # a Monday
        ("2026-09-28T16:00", 4, "2026-09-29T11:00"),
        ("2026-09-25T17:00", 2, "2026-09-28T11:00"),  # Mid-Autumn of 2026: Friday to Sunday are off
        ("2026-09-30T17:00", 2, "2026-10-08T10:00"),  # National Day: the first to the seventh of October are off
        ("2026-10-09T17:00", 2, "2026-10-10T10:00"),  # the tenth is a Saturday on which people work
        ("2026-09-26T12:00", 1, "2026-09-28T10:00"),
        ("2026-09-28T20:00", 1, "2026-09-29T10:00"),
    ],
)
def test_deadlines_count_working_hours_with_days_off_and_shifted_days(start, hours, due):
    found = calendar.add_hours(at(start), hours, SHANGHAI)
    assert found.astimezone(SHANGHAI) == at(due)


def test_beyond_the_known_years_weekdays_work_and_the_sites_own_days_go_first():
    assert calendar.known_until() >= date(2027, 1, 1)
    later = date(calendar.known_until().year + 3, 5, 1)
    assert not calendar.is_known(later) and calendar.is_known(later, own={later: True})
    assert calendar.is_working(later) == (later.weekday() < 5)
    assert calendar.is_working(date(2026, 10, 1), own={date(2026, 10, 1): True})
    assert not calendar.is_working(date(2026, 9, 28), own={date(2026, 9, 28): False})
    assert calendar.is_working(date(2026, 10, 1), calendar.WEEKDAYS)
    never = {date(2026, 1, 1) + timedelta(days=n): False for n in range(4000)}
    assert calendar.add_hours(at("2026-01-05T10:00"), 1, SHANGHAI, own=never) > at("2035-01-01T00:00")


@given(st.integers(0, 353 * 24 * 60), st.floats(0.01, 60), st.floats(0.01, 60))
def test_time_is_counted_alike_in_one_piece_or_two(start, first, second):
    start = at("2026-01-01T00:00") + timedelta(minutes=start)
    once = calendar.add_hours(start, first + second, SHANGHAI)
    twice = calendar.add_hours(calendar.add_hours(start, first, SHANGHAI), second, SHANGHAI)
    assert abs((once - twice).total_seconds()) < 1
    assert once >= start


pytestmark = pytest.mark.usefixtures("company")


def sweep(now: datetime) -> int:
    return deadlines.sweep(now, actor=MACHINE)


def test_an_ask_on_the_eve_of_a_holiday_is_due_after_it():
    with time_machine.travel(at("2026-09-30T17:00"), tick=False):
        asked_on = asked("ann", "new")
        assert Stage.objects.get(ask=asked_on, is_open=True).due_at == at("2026-10-09T15:00").astimezone(UTC)
        CalendarDay.objects.create(day=date(2026, 10, 8), is_working=False, name="moving the office")
        other = asked("lea", "new")
        assert Stage.objects.get(ask=other, is_open=True).due_at == at("2026-10-10T15:00").astimezone(UTC)


def test_reminded_once_before_the_deadline_then_escalated_then_with_the_administrators():
    ask = asked()
    due = Stage.objects.get(is_open=True).due_at
    for _ in range(2):
        sweep(due - timedelta(hours=23))
        sweep(due - timedelta(hours=3))
    assert told("amy") == ["ask.to_decide", "ask.reminded", "ask.reminded"]
    assert told("top") == []
    assert sweep(due + timedelta(minutes=1)) == 1
    assert "ask.escalated" in told("top") and "ask.escalated" in told("ann")
    stage = Stage.objects.get(is_open=True)
    assert (stage.escalated, stage.is_stuck, stage.due_at > datetime.now(UTC)) == (1, False, True)
    assert told("adm") == []
    sweep(stage.due_at + timedelta(minutes=1))
    stage.refresh_from_db()
    assert (stage.escalated, stage.is_stuck) == (2, True)
    assert told("adm") == ["ask.without_approver"]
    assert [one.pk for one in reads.without_approver(who("adm"))] == [stage.pk]
    assert [move.what for move in Move.objects.filter(ask=ask)].count("escalate") == 2
    approve(ask.number, actor=who("top"))
    assert Stage.objects.get(is_open=True).code == "capacity"


def test_nobody_holds_the_role_so_the_next_scope_is_asked_and_then_the_administrators():
    DepartmentGrant.objects.filter(user__username__in=("amy", "abe")).delete()
    assert told("top") == []
    ask = asked()
    assert told("top") == ["ask.to_decide"]
    moving.withdraw(ask.number, actor=who("ann"))
    DepartmentGrant.objects.filter(user__username="top").delete()
    ask = asked()
    assert Stage.objects.get(is_open=True).is_stuck and told("adm") == ["ask.without_approver"]
    for actor, person, error in (("adm", "out", NotFound), ("ann", "cap", NotAllowed), ("adm", "ann", BadData)):
        with pytest.raises(error):
            moving.assign(ask.number, person, actor=who(actor))
    moving.assign(ask.number, "cap", actor=who("adm"), reason="until there is a head")
    approve(ask.number, actor=who("cap"))
    assert approve(ask.number, actor=who("cap")).state == "approved"


def test_a_role_that_is_filled_later_takes_the_ask_off_the_list():
    PoolGrant.objects.all().delete()
    ask = asked()
    approve(ask.number, actor=who("amy"))
    assert Stage.objects.get(is_open=True).is_stuck
    from tests.approvals.conftest import people

    people()
    sweep(datetime.now(UTC))
    assert not Stage.objects.get(is_open=True).is_stuck
    assert approve(ask.number, actor=who("cap")).state == "approved"


def test_an_approver_who_left_decides_nothing_and_what_was_theirs_goes_back():
    ask = asked()
    moving.hand_over(ask.number, "top", actor=who("amy"))
    moving.add_approver(ask.number, "fin", actor=who("abe"))
    Person.objects.filter(username__in=("top", "fin")).update(is_active=False)
    with pytest.raises(NotAllowed):
        approve(ask.number, actor=who("top"))
    sweep(datetime.now(UTC))
    assert not Named.objects.filter(ended_at__isnull=True).exists()
    assert "ask.rehomed" in told("amy")
    approve(ask.number, actor=who("amy"))
    assert Stage.objects.get(is_open=True).code == "capacity"


def test_where_all_must_agree_the_stage_passes_once_who_was_missing_has_left():
    ask = asked()
    Stage.objects.filter(code="department").update(rule="all")
    approve(ask.number, actor=who("amy"))
    assert Stage.objects.get(is_open=True).code == "department"
    DepartmentGrant.objects.filter(user__username="abe").delete()
    sweep(datetime.now(UTC))
    assert Stage.objects.get(is_open=True).code == "capacity"


def test_an_ask_expires_and_says_so_and_only_once():
    ask, other = asked(), asked("lea")
    return_to_author(other.number, actor=who("amy"), comment="what for?")
    assert sweep(datetime.now(UTC) + timedelta(days=29)) >= 1  # it is escalated by then
    assert sweep(datetime.now(UTC) + timedelta(days=31)) == 2
    assert sweep(datetime.now(UTC) + timedelta(days=31)) == 0
    assert set(Ask.objects.values_list("state", flat=True)) == {"expired"}
    assert told("ann")[-1] == told("lea")[-1] == "ask.expired"
    with pytest.raises(NotTheMoment, match="expired"):
        approve(ask.number, actor=who("amy"), version=3)


def test_acting_for_somebody_is_dated_and_never_for_ones_own_ask():
    for name in ("lea", "top"):
        acting.grant(name, stages.timezone.now().date(), day(5), actor=who("amy"), reason="on leave")
    ask = asked("lea")
    assert [row.seat.is_acting for row in reads.to_decide(who("top"))] == [True]
    assert "ask.to_decide" in told("top")
    with pytest.raises(NotAllowed, match="own ask"):
        approve(ask.number, actor=who("lea"))
    own = asked("amy")
    with pytest.raises(NotAllowed):  # amy has no seat on her own ask, so nobody has one for her
        approve(own.number, actor=who("top"))
    approve(ask.number, actor=who("top"))
    move = Move.objects.get(ask=ask, what="approve")
    assert (move.by.username, move.instead_of.username) == ("top", "amy")
    with pytest.raises(NotAllowed):
        acting.grant("abe", D, day(3), actor=who("lea"), person="amy")
    for low, high in ((D - timedelta(days=9), day(1)), (day(3), day(3)), (D, day(900))):
        with pytest.raises(BadData):
            acting.grant("abe", low, high, actor=who("amy"))
    with pytest.raises(NotTheMoment):
        acting.grant("top", D, day(3), actor=who("amy"))
    acting.end(acting.visible(who("top")).get().pk, actor=who("top"))
    with pytest.raises(NotAllowed):
        approve(asked("ann").number, actor=who("top"))
