"""A session that really ends: it warns, and what was typed is there again after signing in, and gone once it was sent."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

from .conftest import Stage
from .stage import PASSWORD

Look = Callable[..., Page]
DRAFTS = "() => Object.keys(localStorage).filter((key) => key.startsWith('steelyard.draft.'))"


def test_a_session_ends_and_what_was_typed_comes_back_after_signing_in(look: Look, stage: Stage) -> None:
    session = stage.short("viewer", 240)
    page = look("viewer", language="en", session=session)
    page.goto("/me/tokens/")
    page.get_by_role("heading", name="You will be signed out within").wait_for()
    page.locator("#stay [data-close]").click()
    page.fill("input[name=name]", "half a sentence")
    stage.end(session)
    page.locator("form[data-draft=token] button.pri").click()
    page.wait_for_url("**/sign-in/**")
    page.fill("#id_username", "viewer")
    page.fill("#id_password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/me/tokens/")
    assert page.input_value("input[name=name]") == "half a sentence"
    assert page.locator("[data-draft-note]").is_visible()
    assert not page.complaints  # type: ignore[attr-defined]
    page.locator("input[name=scopes]").first.check()
    page.locator("form[data-draft=token] button.pri").click()
    page.locator("#secret").wait_for()
    assert page.evaluate(DRAFTS) == []
    assert page.input_value("input[name=name]") == ""


def test_a_draft_can_be_discarded_and_signing_out_forgets_it(look: Look, stage: Stage) -> None:
    page = look("viewer", language="en", session=stage.short("viewer", 3000))
    page.goto("/me/tokens/")
    page.fill("input[name=name]", "never mind")
    page.goto("/me/tokens/")
    page.locator("[data-draft-note] button").click()
    assert page.input_value("input[name=name]") == ""
    page.fill("input[name=name]", "of no matter")
    page.goto("/")
    assert len(page.evaluate(DRAFTS)) == 1
    page.locator("summary.who").click()
    page.locator("form[data-forget] button").first.click()
    page.wait_for_url("**/sign-in/**")
    assert page.evaluate(DRAFTS) == []


def test_a_refused_form_keeps_its_draft(look: Look, stage: Stage) -> None:
    page = look("viewer", language="en", session=stage.short("viewer", 3000))
    page.goto("/me/tokens/")
    page.fill("input[name=name]", "without a scope")
    page.locator("input[name=scopes]:checked").first.uncheck()
    page.locator("form[data-draft=token] button.pri").click()
    page.locator("main [role=alert]").wait_for()
    assert len(page.evaluate(DRAFTS)) == 1
