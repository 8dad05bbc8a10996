"""From an ask to a quota in force: returned, revised, awarded less; in both languages, once by keyboard alone, on a phone, axe clean."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from playwright.sync_api import Page

from .seeing import faults_of, sideways

Look = Callable[..., Page]
SOON = date.today() + timedelta(days=120)  # noqa: DTZ011 - a day far enough from any other quota will do


def fill(page: Page, level: str, gpus: int, first: date) -> None:
    """A line of the training pool for ten days."""
    page.locator("[name=l1-pool]").select_option("train-h800")
    page.locator("[name=l1-level]").select_option(level)
    page.locator("[name=l1-guaranteed_gpus]").fill(str(gpus))
    page.locator("[name=l1-from_on]").fill(first.isoformat())
    page.locator("[name=l1-to_on]").fill((first + timedelta(days=10)).isoformat())


def confirm(page: Page) -> None:
    """Press A, see what is confirmed, and confirm it."""
    page.keyboard.press("a")
    page.locator("dialog[open] [data-confirmed]").wait_for()
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.mark.parametrize(("language", "shift", "forced"), [("zh-hans", 0, "批准8卡"), ("en", 20, "Approve 8 GPUs")])
def test_an_ask_is_returned_revised_and_awarded_less_until_the_quota_is_there(
    look: Look, language: str, shift: int, forced: str
) -> None:
    first = SOON + timedelta(days=shift)
    member = look("member", language=language)
    member.goto("/asks/new/?kind=new")
    fill(member, "normal", 16, first)
    member.locator("[name=goal]").focus()
    member.keyboard.type("Inspection line, due in autumn")
    member.locator("#estimate [data-number]").wait_for()
    # The estimate came while somebody wrote: what has the focus keeps it, and nothing typed is lost.
    assert member.evaluate("document.activeElement.name") == "goal"
    assert member.locator("[name=goal]").input_value() == "Inspection line, due in autumn"
    assert member.locator("#estimate .checks li").count() >= 6
    member.wait_for_load_state("networkidle")
    assert faults_of(member) == []
    with member.expect_navigation():
        member.locator("button.pri[value=submit]").click()
    found = re.search(r"/asks/(A-\d+)/$", member.url)
    assert found, member.locator("main [role=alert]").inner_text()
    number = found[1]

    approver = look("approver", language=language)
    approver.goto("/inbox/")
    assert faults_of(approver) == []
    approver.locator(f"main a[href='/inbox/{number}/']").first.click()
    approver.locator(".waiting a.here").wait_for()
    approver.keyboard.press("r")
    approver.keyboard.type("Which line is it?")
    approver.locator("[data-decide]").click()
    with approver.expect_navigation():
        approver.locator("dialog[open] [data-confirmed]").click()

    member.goto(f"/asks/{number}/")
    assert "Which line is it?" in member.locator("main").inner_text()
    member.locator(f"a[href='/asks/{number}/edit/']").click()
    member.locator("[name=goal]").fill("Inspection line 3, due in autumn")
    with member.expect_navigation():
        member.locator("button.pri[value=submit]").click()

    approver.goto(f"/inbox/{number}/")
    assert approver.locator("#h-changed").is_visible()
    approver.locator("[name=award-1]").fill("8")
    approver.locator("[name=comment]").first.fill("half now")
    assert forced in approver.locator("[data-decide]").inner_text()
    approver.locator("[data-decide]").click()
    with approver.expect_navigation():
        approver.locator("dialog[open] [data-confirmed]").click()

    manager = look("capacity_manager", language=language)
    manager.goto(f"/inbox/{number}/")
    assert faults_of(manager) == []
    manager.locator("[name=choice][value=approve]").check()
    manager.locator("[data-decide]").focus()
    confirm(manager)

    member.goto(f"/asks/{number}/")
    quota = member.locator("#h-what >> xpath=ancestor::section").locator("a[href^='/quotas/Q-']").first
    quota.click()
    assert re.search(r"\b8\b", member.locator("main h1, main .kpis").all_inner_texts()[-1])


def test_by_keyboard_alone_a_manager_decides_in_three_presses(look: Look) -> None:
    member = look("member", language="en")
    member.goto("/asks/new/?kind=new")
    member.keyboard.press("Tab")
    tab_to(member, "l1-pool")
    member.keyboard.type("train-h800")
    tab_to(member, "l1-guaranteed_gpus")
    member.keyboard.type("8")
    for name, days in (("l1-from_on", 60), ("l1-to_on", 70)):
        tab_to(member, name)
        member.keyboard.type((SOON + timedelta(days=days)).strftime("%m%d%Y"))
    tab_to(member, "goal")
    member.keyboard.type("A short trial")
    tab_to(member, "do", value="submit")
    with member.expect_navigation():
        member.keyboard.press("Enter")
    found = re.search(r"/asks/(A-\d+)/$", member.url)
    assert found, member.locator("main [role=alert]").inner_text()

    approver = look("approver", language="en")
    approver.goto("/inbox/")
    approver.keyboard.press("j")
    with approver.expect_navigation():
        approver.keyboard.press("Enter")  # 1: open
    approver.locator("[name=choice][value=approve]").check()
    approver.locator("h1").click()
    confirm(approver)  # 2: A, 3: Enter
    assert "/inbox/" in approver.url


def tab_to(page: Page, name: str, value: str = "") -> None:
    """Press Tab until the field with this name (and value) has the focus."""
    asked = "() => [document.activeElement?.name ?? '', document.activeElement?.value ?? '']"
    for _press in range(80):
        found, has = page.evaluate(asked)
        if found == name and (not value or has == value):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {name}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_fit_a_phone_and_the_decision_stays_at_its_foot(look: Look, theme: str) -> None:
    member = look("member", width=390, theme=theme)
    member.goto("/asks/new/?kind=new")
    assert faults_of(member) == []
    fill(member, "normal", 8, SOON + timedelta(days=90))
    member.locator("[name=goal]").fill("On the way")
    member.locator("#estimate [data-number]").wait_for()
    with member.expect_navigation():
        member.locator("button.pri[value=submit]").click()
    found = re.search(r"/asks/(A-\d+)/$", member.url)
    assert found, member.locator("main [role=alert]").inner_text()
    assert faults_of(member) == []
    approver = look("approver", width=390, theme=theme)
    approver.goto(f"/inbox/{found[1]}/")
    assert faults_of(approver) == []
    bar = approver.locator(".dbtn").bounding_box()
    assert bar and bar["y"] + bar["height"] <= 900 and bar["y"] > 700
    approver.goto("/inbox/")
    assert sideways(approver) == []
    member.goto(f"/asks/{found[1]}/")
    member.locator("form[action$='/withdraw/'] button").click()


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_lists_rules_and_policies_are_clean_at_every_width(look: Look, width: int) -> None:
    manager = look("capacity_manager", width=width)
    for address in ("/reclaim/?state=all", "/reclaim/rules/", "/inbox/acting/", "/asks/?whose=all"):
        manager.goto(address)
        assert faults_of(manager) == [], address
    administrator = look("administrator", width=width, language="en")
    for address in ("/policies/", "/policies/1/", "/policies/new/"):
        administrator.goto(address)
        assert faults_of(administrator) == [], address
