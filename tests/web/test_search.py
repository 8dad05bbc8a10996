"""Search and the palette: what is found, how it is found, and that nothing is found that a page would not show."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client

from portal.search import match
from tests.cast import ANONYMOUS, EVERYBODY, FOREIGN, Cast

pytestmark = pytest.mark.django_db


def found(client: Client, asked: str, **more: str) -> str:
    return client.get("/search/", {"q": asked}, **more).content.decode()


@pytest.mark.parametrize(
    ("asked", "name", "rank"),
    [
        ("视觉", "视觉算法部", match.BEGINS),
        ("sjsfb", "视觉算法部", match.INITIALS),
        ("sjs", "视觉算法部", match.INITIALS),
        ("sfb", "视觉算法部", match.SYLLABLES),
        ("shijue", "视觉算法部", match.SYLLABLES),
        ("OCR", "ocr", match.EXACT),
        ("算法", "视觉算法部", match.WITHIN),
        ("xyz", "视觉算法部", None),
        ("b", "视觉算法部", None),
    ],
)
def test_names_are_found_by_words_initials_and_syllables(asked: str, name: str, rank: int | None) -> None:
    assert match.fit(asked, [name]) == rank


def test_a_department_is_found_by_the_initials_of_its_pinyin_in_either_language(cast: Cast) -> None:
    assert "/ledger/vision/" in found(cast.client("approver", language="zh-hans"), "sjsfb")
    assert "/ledger/vision/" in found(cast.client("approver"), "sjsfb")


def test_a_job_is_found_by_its_id_and_opens_its_run(cast: Cast) -> None:
    assert "/jobs/bj/101/" in found(cast.client("lead"), "101")
    assert "/jobs/bj/101/" in found(cast.client("lead"), "#101")


def test_every_attempt_of_a_job_is_found(cast: Cast) -> None:
    assert found(cast.client("lead"), "104").count("/jobs/bj/104/") == 2


def test_a_member_finds_own_runs_and_no_colleagues(cast: Cast) -> None:
    client = cast.client("member")
    assert "/jobs/bj/101/" in found(client, "101")
    assert "/jobs/bj/102/" not in found(client, "102")


def test_a_hash_leaves_ids_alone_and_an_angle_actions_alone(cast: Cast) -> None:
    client = cast.client("finance")
    assert "Optical" not in found(client, "#OCR")
    assert "/ledger/vision/" not in found(client, "#视觉")
    actions = found(client, ">export")
    assert "Export the ledger" in actions
    assert "/ledger/vision/" not in found(client, ">vision")


def test_nothing_asked_lists_pages_and_actions(cast: Cast) -> None:
    body = found(cast.client("finance"), "")
    assert "Department statements" in body
    assert "Change my password" in body


def test_clusters_and_actions_of_operations_are_for_those_who_may(cast: Cast) -> None:
    assert "/ops/clusters/bj/" in found(cast.client("operator"), "beijing")
    assert "/ops/clusters/bj/" not in found(cast.client("approver"), "beijing")
    assert "/ops/clusters/new/" not in found(cast.client("finance"), ">add")


READERS_OF_VISION_ALONE = ("member", "lead", "approver", "viewer", "capacity_manager", "security", "former")


@pytest.mark.parametrize("who", READERS_OF_VISION_ALONE)
def test_nothing_of_another_department_is_found_however_it_is_asked_for(cast: Cast, who: str) -> None:
    for language in ("zh-hans", "en"):
        client = cast.client(who, language=language)
        for asked in (
            "search",
            "搜索",
            "ssb",
            "sousuo",
            "ranking",
            "rank",
            "px",
            "排序",
            "eve",
            "201",
            "#201",
            "#rank",
        ):
            for body in (found(client, asked), found(client, asked, headers={"X-Palette": "1"})):
                for way in ("/ledger/search/", "project=rank", "/projects/rank", "/jobs/bj/201/"):
                    assert way not in body, (asked, way)
                rows = body.split('class="hits"', 1)[1] if 'class="hits"' in body else body
                rows = rows if "X-Palette" in body or 'class="hits"' in body else ""
                assert not [word for word in FOREIGN[:5] if f"<span>{word}" in rows], asked


def test_the_palette_gets_options_and_no_page(cast: Cast) -> None:
    answer = cast.client("finance").get("/search/", {"q": "vision"}, headers={"X-Palette": "1"})
    body = answer.content.decode()
    assert 'role="option"' in body
    assert "<html" not in body
    assert "X-Palette" in answer["Vary"]


def test_what_was_typed_is_said_back_as_text(cast: Cast) -> None:
    body = found(cast.client("finance"), '"><script>alert(1)</script>')
    assert "<script>alert" not in body


@pytest.mark.parametrize("asked", ["\x00", "#", ">", "%", "_", "'", "x" * 5000, "１０１"])
def test_odd_questions_are_answered(cast: Cast, asked: str) -> None:
    assert cast.client("finance").get("/search/", {"q": asked}).status_code == 200


@pytest.mark.parametrize("who", [who for who in EVERYBODY if who != ANONYMOUS])
def test_a_search_asks_the_database_a_dozen_times_at_most(
    cast: Cast, who: str, django_assert_max_num_queries: object
) -> None:
    client = cast.client(who)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        found(client, "101")


def test_the_dialog_works_by_a_file_of_this_site_alone(cast: Cast) -> None:
    body = cast.client("finance").get("/").content.decode()
    assert f'src="{settings.STATIC_URL}palette.js"' in body
    assert 'href="/search/"' in body
