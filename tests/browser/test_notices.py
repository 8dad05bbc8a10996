"""The bell: by keyboard alone a popover that gives the focus back; without scripts the way to the page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from .conftest import Stage
from .seeing import faults_of


@pytest.mark.parametrize(("language", "theme", "width"), [("zh-hans", "light", 1440), ("en", "dark", 390)])
def test_the_bell_opens_the_newest_and_gives_the_focus_back(
    look: Callable[..., Page], language: str, theme: str, width: int
) -> None:
    page = look("operator", language=language, theme=theme, width=width)
    page.goto("/me/")
    page.focus("[data-notices]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ntf:popover-open")
    assert page.get_attribute("[data-notices]", "aria-expanded") == "true"
    assert page.locator(".ntf a[href='/notices/']").is_visible()
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    page.wait_for_selector(".ntf:popover-open", state="detached")
    assert page.evaluate("document.activeElement.hasAttribute('data-notices')")


def test_without_scripts_the_bell_leads_to_the_page(chromium: Browser, stage: Stage) -> None:
    context = chromium.new_context(base_url=stage.address, java_script_enabled=False)
    context.add_cookies([{"name": "sessionid", "value": stage.sessions["operator"], "url": stage.address}])
    page = context.new_page()
    page.goto("/me/")
    page.click("[data-notices]")
    assert page.url.endswith("/notices/")
    context.close()
