"""By keyboard alone, and each role's first steps in Chinese."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .stage import PASSWORD

Look = Callable[..., Page]
FOCUSED = "() => document.activeElement?.getAttribute('href') ?? document.activeElement?.outerHTML.slice(0, 80) ?? ''"


def tab_to(page: Page, *parts: str) -> str:
    """Press Tab until what has the focus leads to an address with all the parts; the address."""
    for _press in range(120):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if all(part in focused for part in parts):
            return str(focused)
    raise AssertionError(f"Tab never came to {parts}")


def test_the_ledger_opens_by_keyboard_alone_down_to_the_raw_record(look: Look) -> None:
    page = look("finance")
    page.goto("/ledger/?period=2026-06")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "#main"
    steps = [
        ("/ledger/vision/2026-06/",),
        ("project=ocr", "by=pool"),
        ("pool=train-h800", "by=model"),
        ("model=h800", "by=qos"),
    ]
    for step in [*steps, ("qos=normal", "by=day"), ("/jobs/?", "from=2026-06-03", "to=2026-06-03"), ("/jobs/bj/101/",)]:
        tab_to(page, *step)
        with page.expect_navigation():
            page.keyboard.press("Enter")
    assert "/jobs/bj/101/" in page.url
    raw = page.locator("pre.raw")
    if not raw.is_visible():
        page.locator("details:has(pre.raw) > summary").focus()
        page.keyboard.press("Enter")
    assert "train-101" in raw.inner_text()


def test_single_letters_walk_and_go_and_rest_when_switched_off(look: Look) -> None:
    page = look("lead")
    page.goto("/ledger/?period=2026-06")
    page.keyboard.press("j")
    assert "/ledger/" in page.evaluate(FOCUSED)
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs/")
    page.keyboard.press("Shift+?")
    page.wait_for_url("**/me/#keys")
    page.locator("input[name=single_keys][value=off]").check()
    page.locator("form[action='/me/'] button").click()
    page.wait_for_selector("html[data-keys=off]")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_timeout(300)
    assert page.url.endswith("/me/")
    page.locator("input[name=single_keys][value=on]").check()
    page.locator("form[action='/me/'] button").click()
    page.wait_for_selector("html:not([data-keys])")


def test_five_minutes_before_its_end_the_session_says_so_and_staying_keeps_what_was_typed(look: Look) -> None:
    page = look(language="en")
    left = {"now": 110}

    def answer(route: object) -> None:
        if route.request.method == "POST":  # type: ignore[attr-defined]
            left["now"] = 36_000
        route.fulfill(body=json.dumps({"left": left["now"]}), content_type="application/json")  # type: ignore[attr-defined]

    page.goto("/sign-in/")
    page.fill("#id_username", "viewer")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("#stay", state="attached")
    page.clock.install()
    page.route("**/me/session/", answer)
    page.goto("/search/")
    page.fill("#q", "half a sentence")
    page.clock.fast_forward("09:56:00")
    page.get_by_role("heading", name="You will be signed out within 5 min").wait_for()
    page.get_by_role("button", name="Stay signed in").click()
    page.locator("#stay").wait_for(state="hidden")
    assert page.input_value("#q") == "half a sentence"
    left["now"] = 0
    page.clock.fast_forward("10:00:00")
    page.get_by_role("heading", name="You are signed out").wait_for()
    assert not page.complaints  # type: ignore[attr-defined]


#: What each role opens the portal for: the words it looks for at home, and where it goes from there.
FLOWS = [
    ("member", "我的作业", "/jobs/"),
    ("lead", "这个月反常吗", "/ledger/"),
    ("approver", "这个月反常吗", "/ledger/"),
    ("viewer", "项目", "/ledger/"),
    ("capacity_manager", "资源池有多满", "/catalog/"),
    ("operator", "数据可信吗", "/ops/"),
    ("finance", "账平了吗", "/ledger/"),
    ("leadership", "分配率", "/ledger/"),
    ("auditor", "项目", "/audit/"),
    ("administrator", "数据可信吗", "/ops/"),
    ("security", "你可以打开的", "/me/"),
    ("outsider", "项目", "/ledger/"),
]


@pytest.mark.parametrize(("who", "words", "to"), FLOWS)
def test_each_role_finds_its_first_answer_and_the_way_on_in_chinese(look: Look, who: str, words: str, to: str) -> None:
    page = look(who)
    page.goto("/")
    assert words in page.inner_text("main")
    page.locator(f"a[href^='{to}']:visible").first.click() if to != "/me/" else page.goto(to)
    page.wait_for_load_state()
    assert to in page.url
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    assert not page.complaints  # type: ignore[attr-defined]


def test_the_portal_is_signed_into_by_keyboard(look: Look) -> None:
    page = look()
    page.goto("/sign-in/")
    page.locator("#id_username").focus()
    page.keyboard.type("former")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/sign-in/" not in url)
    assert page.locator("h1").is_visible()
