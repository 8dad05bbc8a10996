"""What a small site is not offered, and that it is still there by its address."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.audit.models import AuditLine
from governance.catalogue.models import Installation
from portal.organisation.dump import dump
from portal.profile import reads, rules
from tests import books
from tests.api.conftest import program
from tests.cast import Cast

pytestmark = pytest.mark.django_db
PAGE = "/site/profile/"


def choose(cast: Cast, code: str) -> Any:
    return cast.client("administrator").post(PAGE, {"profile": code}, follow=True)


@given(st.integers(0, 200_000), st.integers(0, 200_000))
def test_more_cards_never_propose_a_smaller_site_nor_hide_more(a: int, b: int) -> None:
    few, many = sorted((a, b))
    order = ["", *rules.PROFILES]
    assert order.index(rules.proposed(few)) <= order.index(rules.proposed(many))
    if few:
        assert rules.hidden(rules.proposed(few)) >= rules.hidden(rules.proposed(many))


def test_a_pilot_is_not_offered_racks_and_analysis_but_reaches_them(cast: Cast) -> None:
    reader = cast.client("operator")
    before = reader.get("/catalog/").content.decode()
    assert 'href="/usage/"' in before and 'id="h-heat"' in before
    assert "changed" in choose(cast, "single").content.decode()
    after = reader.get("/catalog/").content.decode()
    assert 'href="/usage/"' not in after and 'id="h-heat"' not in after
    assert 'id="h-pools"' in after  # there are two of them
    assert 'href="?view=clusters"' not in after  # there is one
    assert reader.get("/usage/").status_code == 200
    assert reader.get("/catalog/?view=clusters").status_code == 200
    assert "/usage/" in reader.get("/search/?q=usage").content.decode()


def test_the_week_is_left_out_of_the_analysis_of_a_small_cluster(cast: Cast) -> None:
    page = "/usage/?from=2026-06-01&to=2026-06-30"
    assert 'id="h-week"' in cast.client("finance").get(page).content.decode()
    choose(cast, "shared")
    assert 'id="h-week"' not in cast.client("finance").get(page).content.decode()


def test_the_page_says_what_each_profile_hides_and_which_one_fits(cast: Cast) -> None:
    body = cast.client("administrator").get(PAGE).content.decode()
    assert "What this profile hides:" in body
    assert "40 GPUs installed" in body
    assert reads.in_force() == reads.InForce("", reads.NOBODY)
    assert rules.proposed(reads.installed()) == "shared"


def test_the_choice_is_audited_and_the_environment_counts_where_nobody_chose(cast: Cast, settings: Any) -> None:
    settings.PROFILE = "pooled"
    assert reads.in_force() == reads.InForce("pooled", reads.ENVIRONMENT)
    choose(cast, "industrial")
    assert reads.in_force() == reads.InForce("industrial", reads.CHOSEN)
    line = AuditLine.objects.filter(action="installation.changed").latest("pk")
    assert (line.actor, line.before["profile"], line.after["profile"]) == ("administrator", "", "industrial")


def test_the_organisation_file_sets_it_and_gives_it_back(cast: Cast) -> None:
    assert "profile" not in dump(actor=books.MACHINE)
    books.declare(settings={"profile": "network"})
    assert Installation.objects.get().profile == "network"
    assert "profile: network" in dump(actor=books.MACHINE)


def test_a_program_reads_and_chooses_it(cast: Cast) -> None:
    client = program(cast, "administrator", "read", "write")
    address = "/api/v1/site-profile"
    assert client.get(address).json()["proposed"] == "shared"
    answer = client.post(address, {"profile": "single"}, content_type="application/json").json()
    assert (answer["profile"], answer["source"]) == ("single", "chosen")
    assert "racks" in answer["hides"]
    assert client.post(address, {"profile": "moon"}, content_type="application/json").status_code == 422
