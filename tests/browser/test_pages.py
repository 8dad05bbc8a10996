"""Pages at three widths, in both languages and both themes: axe finds nothing, nothing scrolls sideways, nothing is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .seeing import faults_of, sideways

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
#: Every other page: axe at one of the widths, sideways scrolling at all of them.
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
    ("operator", "/ops/enforcement/bj/"),
    ("operator", "/catalog/nodes/bj/gpu001/"),
    ("operator", "/catalog/pools/train-h800/?period=2026-06"),
    ("operator", "/quality/?from=2026-06-01&to=2026-06-30"),
    ("finance", "/usage/?from=2026-06-01&to=2026-06-30"),
    ("auditor", "/audit/"),
    ("administrator", "/reference/organisation/"),
    ("approver", "/projects/"),
    ("member", "/me/tokens/"),
    ("finance", "/exports/"),
    ("administrator", "/site/profile/"),
    ("member", "/notices/"),
    ("member", "/me/notices/"),
    ("administrator", "/channels/new/"),
    ("operator", "/ops/channels/"),
    ("", "/sign-in/forgotten/"),
    ("operator", "/quality/unattributed/"),
    ("operator", "/quality/unassigned/?from=2026-06-01&to=2026-06-30"),
    ("operator", "/catalog/?view=nodes"),
    ("operator", "/catalog/?view=clusters"),
    ("operator", "/catalog/models/h800/?period=2026-06"),
    ("finance", "/reference/prices/"),
    ("operator", "/reference/mappings/"),
    ("member", "/reference/metrics/gpu_hours/"),
    ("administrator", "/people/"),
    ("approver", "/projects/ocr/?period=2026-06"),
    ("member", "/quotas/"),
    ("lead", "/quotas/Q-000001/"),
    ("member", "/quotas/pools/train-h800/"),
    ("capacity_manager", "/quotas/pools/train-h800/?tab=held"),
    ("member", "/quotas/pools/train-h800/?tab=rules"),
    ("member", "/quotas/offerings/"),
    ("capacity_manager", "/quotas/Q-000001/change/"),
    ("capacity_manager", "/quotas/pools/train-h800/award/"),
    ("capacity_manager", "/quotas/pools/train-h800/terms/rule/add/"),
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


@pytest.mark.parametrize(("who", "address", "width"), [(*one, WIDTHS[n % 3]) for n, one in enumerate(OTHERS)])
def test_every_other_page_has_no_fault(look: Look, who: str, address: str, width: int) -> None:
    page = look(who, width=width)
    open_at(page, address)
    found = faults_of(page)
    for other in WIDTHS:
        page.set_viewport_size({"width": other, "height": 844})
        found += [f"{other}: {fault}" for fault in sideways(page)]
    assert not found, "\n".join(found)


#: What is printed from the page itself; each as A4 without the shell.
PRINTED = {"ledger": MAIN["department"], "job": MAIN["job"], "catalogue": MAIN["catalogue"]}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_is_the_page_without_the_shell_on_a4(look: Look, name: str) -> None:
    who, address = PRINTED[name]
    page = look(who, theme="dark")
    open_at(page, address)
    page.emulate_media(media="print")
    left = [what for what in SHELL if page.locator(what).first.count() and page.locator(what).first.is_visible()]
    assert left == []
    assert page.locator("h1").is_visible()
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    sheets = page.pdf(prefer_css_page_size=True)
    assert A4_LANDSCAPE.search(sheets), "no page of A4, landscape"


SHELL = (".side", ".top", ".tabbar", ".skip", ".head .acts", "#pal", "#stay")
A4_LANDSCAPE = re.compile(rb"/MediaBox\s*\[\s*0 0 84[12][.\d]* 59[456]")


@pytest.mark.parametrize(
    ("who", "address"),
    [("finance", "/ledger/?period=2026-06"), ("operator", "/ops/"), ("operator", "/quality/unattributed/")],
)
def test_the_compact_density_makes_every_table_denser(look: Look, who: str, address: str) -> None:
    page = look(who)
    open_at(page, address)
    tall = "() => document.querySelector('.tbl tbody tr').getBoundingClientRect().height"
    comfortable = page.evaluate(tall)
    page.evaluate("() => { document.documentElement.dataset.density = 'compact'; }")
    assert page.evaluate(tall) < comfortable


def test_the_export_menu_opens_by_keyboard_and_has_no_fault(look: Look) -> None:
    page = look("finance", language="en")
    page.goto("/ledger/vision/2026-06/")
    page.keyboard.press("e")
    page.get_by_role("button", name="XLSX").wait_for()
    assert not faults_of(page)
    with page.expect_download() as told:
        page.get_by_role("button", name="XLSX").click()
    assert told.value.suggested_filename == "ledger-vision-2026-06-project.xlsx"


def test_the_palette_has_no_fault_and_opens_what_is_chosen(look: Look) -> None:
    page = look("approver", theme="dark")
    page.goto("/")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").type("sjsfb")
    page.wait_for_selector("#pal [role=option][href*='/ledger/vision/']")
    assert not faults_of(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/ledger/vision/**")
