"""What every page of the shell has: its place, one heading, how fresh the data are, the reader's density and theme."""

from __future__ import annotations

import re

import pytest

from tests.cast import ANONYMOUS, Cast
from tests.test_access_matrix import MATRIX, address_of

pytestmark = pytest.mark.django_db
#: Pages that are no pages of the shell: answers for machines, and what stands before the portal.
BARE = {"live", "ready", "metrics", "sign-in", "me-session", "reset", "reset-sent", "reset-confirm", "reset-done"}


def pages() -> list[tuple[str, str, str]]:
    """(name, address, who) of one reader for each address that answers somebody with a page."""
    found = []
    for name, address, method, answers in MATRIX:
        if method != "get" or name in BARE or "format=csv" in address or "/file/" in address:
            continue
        readers = [who for who, status in answers.items() if status == 200 and who != ANONYMOUS]
        if readers and answers.get(ANONYMOUS) != 200:
            found.append((name, address, readers[0]))
    return found


def test_every_page_says_where_it_is_and_how_fresh_its_data_are(cast: Cast) -> None:
    clients, missing = {}, []
    for name, address, who in pages():
        client = clients.setdefault(who, cast.client(who))
        answer = client.get(address_of(address))
        if not answer["Content-Type"].startswith("text/html"):
            continue
        body = answer.content.decode()
        if "<html" not in body:  # a part of a page
            continue
        crumbs = re.search(r'<nav class="crumbs"[^>]*>(.*?)</nav>', body, re.S)
        for what, there in (
            ("no place in the breadcrumb", crumbs and 'aria-current="page"' in crumbs[1]),
            ("not one heading", len(re.findall(r"<h1[ >]", body)) == 1),
            ("no word on how fresh the data are", 'class="fresh"' in body and "2026-07-02" in body),
            ("no title of its own", re.search(r"<title>[^·<]+·", body)),
            (
                "an inline script or style",
                not re.search(r"<script(?![^>]*(src=|application/json))|<style| style=", body),
            ),
        ):
            if not there:
                missing.append(f"{name} {address}: {what}")
    assert not missing, "\n".join(missing)


def test_data_that_stand_still_are_said_to(cast: Cast) -> None:
    body = cast.client("finance").get("/").content.decode()
    assert "behind." in body.split('class="fresh"')[1].split("</div>")[0]
