"""What is asked of every page that is looked at."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).with_name("vendor") / "axe.min.js"
#: WCAG 2.0 to 2.2 at A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ASK = """async (rules) => (await axe.run(document, {runOnly: {type: "tag", values: rules}, resultTypes: ["violations"]}))
    .violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join(" | ")}`)"""
WIDER = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


def faults_of(page: Page) -> list[str]:
    """What axe finds, whether the page scrolls sideways, and what the browser's console complains of."""
    # The page's policy forbids scripts from elsewhere: axe comes through the debugger, which it does not bind.
    page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found = list(page.evaluate(ASK, RULES)) + sideways(page)
    found += page.complaints  # type: ignore[attr-defined]
    return found


def sideways(page: Page) -> list[str]:
    """Whether the page scrolls sideways, in words."""
    wider = page.evaluate(WIDER)
    return [f"scrolls sideways by {wider} px"] if wider > 0 else []
