"""The walk of docs/newcomer.md, executed step by step on a demo company: a step that does not work fails here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from portal.embedded import demo_password
from tests.demo.rows import UNTIL

pytestmark = pytest.mark.django_db
PROJECT = Path(__file__).resolve().parents[2]
WALK = PROJECT / "docs" / "newcomer.md"
#: What a step may say, in the order of its sentence.
SAID = re.compile(r"(Sign in as) `([^`]+)`|([Ff]ind|[Cc]hoose|[Oo]pen the|and|then|,) \*\*([^*]+)\*\*")


def steps() -> list[str]:
    """The numbered steps of the walk."""
    walk = WALK.read_text(encoding="utf-8").split("## Walk")[1].split("\n## ")[0]
    return [" ".join(step.split()) for step in re.split(r"\n\d+\. ", walk)[1:]]


class Page(HTMLParser):
    """The links of a page with their words, those that head the rows of its first table, and all of its text."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.rows: list[str] = []
        self.cells: list[list[str]] = []
        self.text = ""
        self._open = ""
        self._in: list[str] = []
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"th", "tbody", "td"}:
            self._in.append(tag)
        if tag == "tr" and "tbody" in self._in:
            self.cells.append([])
        if tag in {"th", "td"} and self.cells and "tbody" in self._in:
            self.cells[-1].append("")
        if tag == "a" and given.get("href"):
            self._open = str(given["href"])
            self.links.append((self._open, ""))
            if self._in[-2:] == ["tbody", "th"]:
                self.rows.append(self._open)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._in:
            while self._in.pop() != tag:
                pass
        if tag == "a":
            self._open = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open and self.links:
            address, words = self.links[-1]
            self.links[-1] = (address, words + data)
        if self._in and self._in[-1] in {"th", "td"} and self.cells and self.cells[-1]:
            self.cells[-1][-1] += data

    def link(self, words: str) -> str:
        """Where the first link with exactly these words leads."""
        for address, found in self.links:
            if " ".join(found.split()) == words:
                return address
        raise AssertionError(f"no link “{words}” among {sorted({' '.join(found.split()) for _, found in self.links})}")


class Walker:
    """Somebody who does what a step says, and nothing else."""

    def __init__(self) -> None:
        self.client = Client()
        self.client.cookies["language"] = "en"
        self.page = Page("")
        self.at = "/"

    def go(self, address: str) -> None:
        """Follow a link."""
        self.at = address if address.startswith("/") else self.at.partition("?")[0] + address
        answer = self.client.get(self.at, follow=True)
        assert answer.status_code == 200, f"{self.at}: {answer.status_code}"
        self.page = Page(answer.content.decode())

    def do(self, step: str) -> None:
        """Everything a step says, in its order; "and" and a comma go on with the verb before."""
        verb = ""
        for sign, who, said, words in SAID.findall(step):
            if sign:
                given = {"username": who, "password": demo_password(), "next": "/"}
                assert self.client.post("/sign-in/", given).status_code == 302, f"nobody signs in as {who}"
                self.go("/")
                continue
            verb = said.lower() if said.lower() not in {"and", "then", ","} else verb
            if words == "first row":
                assert self.page.rows, f"no row to open at {self.at}"
                self.go(self.page.rows[0])
            elif verb == "choose":
                self.go(self.page.link(words))
            else:
                assert words in self.page.text, f"“{words}” is not to be found at {self.at}"


@pytest.fixture
def company(tmp_path: Path) -> Iterator[None]:
    """A small demo company, made as `make up` makes its large one."""
    call_command("demo", stdout=(tmp_path / "told").open("w"), gpus=24, months=1, until=UNTIL, runs_per_day=15)
    yield


def test_the_walk_works_step_by_step(company: None) -> None:
    walker = Walker()
    told = steps()
    assert len(told) >= 12
    for number, step in enumerate(told, start=1):
        assert SAID.search(step), f"step {number} says nothing to do: {step}"
        try:
            walker.do(step)
        except AssertionError as fault:
            raise AssertionError(f"step {number}: {step}\n{fault}") from fault
        if "Multiply" in step:
            assert_the_amount_is_hours_times_price(walker.page)


def assert_the_amount_is_hours_times_price(page: Page) -> None:
    """As step 10 says: of each day, GPU time × unit price = amount."""
    days = [row for row in page.cells if re.fullmatch(r"\d{4}-\d\d-\d\d", row[0].strip()) and len(row) >= 8]
    assert days, page.cells
    for row in days:
        hours, price, amount = (Decimal(cell.strip().replace(",", "")) for cell in row[5:8])
        assert abs(hours * price - amount) <= Decimal("0.01"), row


def test_the_commands_it_names_are_there() -> None:
    text = WALK.read_text(encoding="utf-8")
    for command in re.findall(r"manage\.py (\w+)", text):
        assert (PROJECT / "portal" / "management" / "commands" / f"{command}.py").exists(), command
    assert re.search(r"^up:", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.M)
    for link in re.findall(r"\]\(([\w./-]+\.md)\)", text):
        assert (PROJECT / "docs" / link).exists(), link
