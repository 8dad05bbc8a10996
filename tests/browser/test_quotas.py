"""A quota is changed in a browser: what it would do is shown, and nothing is done before it is confirmed."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from .seeing import faults_of

Look = Callable[..., Page]


def test_a_suspension_is_shown_confirmed_and_ended_by_keyboard_at_phone_width(look: Look) -> None:
    page = look("capacity_manager", language="en", theme="dark", width=390)
    page.goto("/quotas/Q-000003/suspend/")
    page.get_by_label("Reason").fill("acceptance of new nodes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What it would do")).to_be_visible()
    assert faults_of(page) == []
    page.get_by_role("button", name="Confirm: Suspend").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="The quota is suspended.")).to_be_visible()
    expect(page.get_by_text("acceptance of new nodes").first).to_be_visible()
    page.get_by_role("link", name="Resume").click()
    page.get_by_role("button", name="Show what it does").click()
    page.get_by_role("button", name="Confirm: Resume").click()
    expect(page.get_by_role("status").filter(has_text="The quota is resumed.")).to_be_visible()


def test_an_award_beyond_the_room_says_why_it_does_not_go_through(look: Look) -> None:
    page = look("capacity_manager", language="zh-hans")
    page.goto("/quotas/pools/train-h800/award/")
    page.get_by_label("项目", exact=True).fill("rank")
    page.get_by_label("级别").select_option("urgent")
    page.get_by_label("保障卡数").fill("400")
    page.get_by_label("上限").fill("400")
    page.get_by_role("button", name="先看后果").click()
    expect(page.get_by_role("alert")).to_contain_text("只能再保障")
    expect(page.get_by_role("button", name="确认")).to_have_count(0)
    assert faults_of(page) == []
