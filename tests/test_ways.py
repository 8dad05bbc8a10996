"""Every way that the portal offers to a role leads somewhere: nothing that the sidebar, a page or the palette links to is refused."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import resolve

from tests.cast import EVERYBODY, Cast

pytestmark = pytest.mark.django_db

HREF = re.compile(r'<(?:a|form)\b[^>]*?\b(?:href|action)="([^"]*)"[^>]*>')
#: What people type into the palette; every result is a way on.
TYPED = ("o", "r", "train", "gpu", "price", "价格", "101", "ledger", "h800", "user", "p", "j")
LEVELS = 2  # links of the home page and of what they lead to
LONGEST = 400


def ways(client: Client, address: str) -> list[str]:
    """The links of a page, and the forms that only ask."""
    answer = client.get(address)
    assert answer.status_code == 200, f"{address} answers {answer.status_code}"
    if "html" not in answer["Content-Type"] or answer.streaming:
        return []
    found = []
    for match in HREF.finditer(answer.content.decode()):
        way = urljoin(address, unescape(match.group(1)))
        if 'method="post"' not in match.group(0) and way.startswith("/") and not way.startswith("/static/"):
            found.append(way.split("#")[0])
    return found


def kind(address: str) -> tuple[str, ...]:
    """Links of the same page with the same parameters are of one kind; one of each is tried."""
    parts = urlsplit(address)
    return (str(resolve(parts.path).url_name), *sorted(name for name, _ in parse_qsl(parts.query)))


@pytest.mark.parametrize("who", EVERYBODY)
def test_every_way_that_is_offered_to_a_role_answers_it(cast: Cast, who: str) -> None:
    client = cast.client(who)
    todo = [("/", 0), *((f"/search/?q={text}", LEVELS - 1) for text in TYPED)]
    seen: set[object] = set()
    failing = []
    for address, depth in todo:
        entry = address if depth == 0 or address.startswith("/search/?q=") else kind(address)
        if entry in seen or len(seen) > LONGEST:
            continue
        seen.add(entry)
        try:
            further = ways(client, address)
        except AssertionError as fault:
            failing.append(str(fault))
            continue
        if depth < LEVELS:
            todo += [(way, depth + 1) for way in further]
    assert not failing, "\n".join(failing)
    assert len(seen) > len(TYPED) + 3
