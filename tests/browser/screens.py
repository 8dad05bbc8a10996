"""Pictures of a running demo for the documentation: `python -m tests.browser.screens ADDRESS PASSWORD FOLDER`.

The main pages in both languages and themes at three widths go to FOLDER/all as JPEG, some of them as PNG to FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

MAIN = {
    "home": ("vision-head", "/"),
    "ledger": ("finance", "/ledger/"),
    "job": ("finance", "a job"),
    "catalogue": ("operator", "/catalog/"),
}
PICTURES = {
    "home": ("vision-head", "/", "zh-hans", "light", 1440),
    "ledger": ("finance", "/ledger/", "zh-hans", "light", 1440),
    "department": ("vision-head", "/ledger/vision/{month}/", "zh-hans", "light", 1440),
    "job": ("finance", "a job", "zh-hans", "light", 1440),
    "operations": ("operator", "/ops/", "zh-hans", "light", 1440),
    "catalogue": ("operator", "/catalog/", "zh-hans", "light", 1440),
    "exports": ("finance", "/exports/", "zh-hans", "light", 1440),
    "site-profile": ("administrator", "/site/profile/", "zh-hans", "light", 1440),
    "ledger-en-dark": ("finance", "/ledger/", "en", "dark", 1440),
    "department-390": ("vision-head", "/ledger/vision/{month}/", "zh-hans", "light", 390),
}
QUALITY = 52
#: The job on the page that used most.
LARGEST = """() => [...document.querySelectorAll("tbody tr")]
    .map((row) => [Number(row.querySelector("td:last-of-type").textContent.replaceAll(",", "")) || 0, row.querySelector("th a").href])
    .sort((a, b) => b[0] - a[0])[0][1]"""


class Camera:
    """Takes pictures as somebody; who has signed in once stays so."""

    def __init__(self, browser: Browser, address: str, password: str) -> None:
        self._browser = browser
        self._address = address
        self._password = password
        self._states: dict[str, str] = {}

    def take(self, who: str, at: str, language: str, theme: str, width: int, path: Path) -> None:
        """One picture of the first screen."""
        context = self._browser.new_context(base_url=self._address, viewport={"width": width, "height": 900})
        cookies = {"language": language, "theme": theme, "sessionid": self._session(who)}
        context.add_cookies([{"name": name, "value": value, "url": self._address} for name, value in cookies.items()])
        page = context.new_page()
        self._open(page, at)
        page.wait_for_load_state("networkidle")
        if path.suffix == ".png":
            page.screenshot(path=path)
        else:
            page.screenshot(path=path, type="jpeg", quality=QUALITY)
        context.close()

    def palette(self, who: str, path: Path) -> None:
        """The palette, opened and asked."""
        context = self._browser.new_context(base_url=self._address, viewport={"width": 1440, "height": 900})
        cookies = {"language": "zh-hans", "theme": "dark", "sessionid": self._session(who)}
        context.add_cookies([{"name": name, "value": value, "url": self._address} for name, value in cookies.items()])
        page = context.new_page()
        page.goto("/")
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").type("sjsf")
        page.wait_for_selector("#pal [role=option][href*='/ledger/']")
        page.screenshot(path=path)
        context.close()

    def _session(self, who: str) -> str:
        if who not in self._states:
            context = self._browser.new_context(base_url=self._address)
            page = context.new_page()
            page.goto("/sign-in/")
            page.fill("#id_username", who)
            page.fill("#id_password", self._password)
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url: "/sign-in/" not in url)
            self._states[who] = next(str(c["value"]) for c in context.cookies() if c["name"] == "sessionid")
            context.close()
        return self._states[who]

    def _open(self, page: Page, at: str) -> None:
        page.goto("/ledger/" if "{month}" in at else "/jobs/" if at == "a job" else at)
        if "{month}" in at:
            month = page.locator(".crumbs [aria-current]").inner_text()
            page.goto(at.format(month=month))
        if at == "a job":
            page.goto(str(page.evaluate(LARGEST)))
            page.wait_for_load_state()


def main(address: str, password: str, folder: Path) -> None:
    """All of them."""
    (folder / "all").mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        found = (driver.chromium.executable_path, "/usr/bin/chromium")
        browser = driver.chromium.launch(executable_path=next(path for path in found if Path(path).exists()))
        camera = Camera(browser, address, password)
        for name, (who, at, language, theme, width) in PICTURES.items():
            camera.take(who, at, language, theme, width, folder / f"{name}.png")
        camera.palette("vision-head", folder / "palette.png")
        for name, (who, at) in MAIN.items():
            for language in ("zh-hans", "en"):
                for theme in ("light", "dark"):
                    for width in (1440, 1024, 390):
                        path = folder / "all" / f"{name}-{language.partition('-')[0]}-{theme}-{width}.jpg"
                        camera.take(who, at, language, theme, width, path)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
