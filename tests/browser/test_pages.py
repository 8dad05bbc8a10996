"""Pages at three widths, in both languages and both themes: axe finds nothing, nothing scrolls sideways, nothing is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .seeing import faults_of

Look = Callable[..., Page]
#: The pages of the design's screens: each combination is looked at.
MAIN = {
    "home": ("approver", "/"),
    "ledger": ("finance", "/ledger/?period=2026-06"),
    "department": ("approver", "/ledger/vision/2026-06/"),
    "job": ("finance", "a job"),
    "catalogue": ("operator", "/catalog/"),
}
WIDTHS = (1440, 1024, 390)
#: Every other page, once: a desk in one language, a phone in the other.
OTHERS = [
    ("", "/sign-in/"),
    ("member", "/"),
    ("finance", "/"),
    ("operator", "/"),
    ("leadership", "/"),
    ("capacity_manager", "/"),
    ("security", "/"),
    ("finance", "/jobs/?from=2026-06-01&to=2026-06-30"),
    ("finance", "/ledger/vision/2026-06/lines/"),
    ("finance", "/search/?q=vision"),
    ("member", "/search/?q=nothing-like-it"),
    ("member", "/me/"),
    ("operator", "/ops/"),
    ("operator", "/ops/clusters/bj/"),
    ("operator", "/ops/clusters/new/"),
    ("operator", "/catalog/nodes/bj/gpu001/"),
    ("operator", "/catalog/pools/train-h800/?period=2026-06"),
    ("operator", "/quality/?from=2026-06-01&to=2026-06-30"),
    ("finance", "/usage/?from=2026-06-01&to=2026-06-30"),
    ("auditor", "/audit/"),
    ("administrator", "/reference/organisation/"),
    ("approver", "/projects/"),
    ("member", "/me/tokens/"),
]


def open_at(page: Page, address: str) -> None:
    """The page at the address; "a job" is the longest of June."""
    if address != "a job":
        answer = page.goto(address)
        assert answer and answer.status == 200, f"{address}: {answer and answer.status}"
        return
    page.goto("/jobs/?from=2026-06-01&to=2026-06-30")
    page.locator("tbody th a").first.click()
    page.wait_for_load_state()


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("language", ["zh-hans", "en"])
def test_the_main_pages_have_no_fault_at_any_width_in_either_theme(look: Look, name: str, language: str) -> None:
    who, address = MAIN[name]
    found = []
    for theme in ("light", "dark"):
        page = look(who, language=language, theme=theme)
        open_at(page, address)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found += [f"{theme} {width}: {fault}" for fault in faults_of(page)]
            page.complaints.clear()  # type: ignore[attr-defined]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("who", "address"), OTHERS)
def test_every_other_page_has_no_fault(look: Look, who: str, address: str) -> None:
    page = look(who)
    open_at(page, address)
    found = faults_of(page)
    page.set_viewport_size({"width": 390, "height": 844})
    found += [f"390: {fault}" for fault in faults_of(page)]
    assert not found, "\n".join(found)


def test_the_palette_has_no_fault_and_opens_what_is_chosen(look: Look) -> None:
    page = look("approver", theme="dark")
    page.goto("/")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").type("sjsfb")
    page.wait_for_selector("#pal [role=option][href*='/ledger/vision/']")
    assert not faults_of(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/ledger/vision/**")
