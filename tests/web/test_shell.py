"""The shell: sign-in, language, theme, headers, health, and errors as answers."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from governance.access.models import Person
from governance.audit.models import AuditLine
from governance.errors import BadData, BadItems
from portal import errors, health
from tests.cast import Cast

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-enough-password"


@pytest.fixture
def person() -> Person:
    return Person.objects.create_user("ada", password=PASSWORD, language="en", theme="dark")


def sign_in(client: Client, password: str, **more: str) -> object:
    return client.post("/sign-in/", {"username": "ada", "password": password, **more})


def test_signing_in_leads_to_where_the_reader_wanted_to_go(person: Person, client: Client) -> None:
    response = sign_in(client, PASSWORD, next="/jobs/?from=2026-06-01")
    assert (response.status_code, response["Location"]) == (302, "/jobs/?from=2026-06-01")


def test_signing_in_never_leads_to_another_site(person: Person, client: Client) -> None:
    assert sign_in(client, PASSWORD, next="https://evil.example/")["Location"] == "/"


def test_signing_in_brings_the_language_and_theme_chosen_before(person: Person, client: Client) -> None:
    sign_in(client, PASSWORD)
    assert client.cookies["language"].value == "en"
    assert client.cookies["theme"].value == "dark"
    assert 'lang="en" data-theme="dark"' in client.get("/").content.decode()


def test_a_wrong_password_does_not_say_whether_the_name_exists(person: Person, client: Client) -> None:
    client.cookies["language"] = "en"
    wrong = sign_in(client, "not-it")
    unknown = client.post("/sign-in/", {"username": "nobody", "password": "not-it"})
    words = "Username and password do not match."
    assert words in wrong.content.decode()
    assert words in unknown.content.decode()


def test_signing_out_ends_the_session(person: Person, client: Client) -> None:
    client.force_login(person, backend="governance.access.backends.PasswordBackend")
    client.post("/sign-out/")
    assert client.get("/")["Location"].startswith("/sign-in/")


def test_a_form_without_its_token_is_refused_with_a_page_of_our_own(person: Person) -> None:
    client = Client(enforce_csrf_checks=True)
    client.cookies["language"] = "en"
    response = sign_in(client, PASSWORD)
    assert response.status_code == 403
    assert "The form was open for too long" in response.content.decode()


def test_the_language_is_remembered_in_the_browser_and_on_the_person_with_an_audit_line(
    person: Person, client: Client
) -> None:
    client.force_login(person, backend="governance.access.backends.PasswordBackend")
    response = client.post("/language/", {"language": "zh-hans", "next": "/jobs/"})
    assert response["Location"] == "/jobs/"
    assert client.cookies["language"].value == "zh-hans"
    person.refresh_from_db()
    assert person.language == "zh-hans"
    line = AuditLine.objects.get(action="person.language_chosen")
    assert (line.actor, line.before, line.after) == ("ada", {"language": "en"}, {"language": "zh-hans"})


def test_choosing_what_is_chosen_already_writes_no_audit_line(person: Person, client: Client) -> None:
    client.force_login(person, backend="governance.access.backends.PasswordBackend")
    client.post("/theme/", {"theme": "dark"})
    assert not AuditLine.objects.filter(action="person.theme_chosen").exists()


def test_a_reader_who_is_not_signed_in_may_choose_a_theme_for_the_browser(client: Client) -> None:
    client.post("/theme/", {"theme": "light"})
    assert 'data-theme="light"' in client.get("/sign-in/").content.decode()


def test_an_unknown_language_is_bad_data(client: Client) -> None:
    assert client.post("/language/", {"language": "xx"}).status_code == 422


def test_a_switch_leads_back_to_this_site_alone(client: Client) -> None:
    assert client.post("/theme/", {"theme": "dark", "next": "//evil.example/"})["Location"] == "/"


def test_every_answer_forbids_what_is_inline_and_what_is_elsewhere(client: Client) -> None:
    for address in ("/sign-in/", "/nowhere/", "/health/live"):
        policy = client.get(address)["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_no_template_carries_inline_styles_scripts_or_handlers() -> None:
    for path in Path(settings.BASE_DIR, "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", text), path
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), path


def test_the_first_view_stays_within_its_budget() -> None:
    static = Path(settings.BASE_DIR, "static")
    assert (static / "app.css").stat().st_size <= 40_000
    assert (static / "app.js").stat().st_size <= 4_000


def test_nothing_at_an_address_is_said_in_the_readers_language(client: Client) -> None:
    client.cookies["language"] = "en"
    english = client.get("/nowhere/")
    assert english.status_code == 404
    assert "There is nothing here for you" in english.content.decode()


def test_a_client_that_asks_for_json_gets_a_problem(client: Client) -> None:
    client.cookies["language"] = "en"
    response = client.get("/nowhere/", headers={"accept": "application/json"})
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == 404
    assert response.json()["title"] == "There is nothing here for you"


def test_a_domain_error_says_what_exactly(cast: Cast) -> None:
    response = cast.client("finance").get("/ledger/vision/June/")
    assert response.status_code == 422
    assert "“June” is no period" in response.content.decode()
    problem = cast.client("finance").get("/ledger/vision/June/", headers={"accept": "application/json"}).json()
    assert "“June” is no period" in problem["detail"]


def test_several_faults_are_named_one_by_one() -> None:
    error = BadItems([BadData("first %(n)s", n=1), BadData("second")])
    assert errors.details(error)[1:] == ["first 1", "second"]


def test_a_failure_gives_a_reference_and_nothing_of_the_inside(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", broken)
    client = Client(raise_request_exception=False)
    client.cookies["language"] = "en"
    client.cookies["sessionid"] = "x" * 32
    with caplog.at_level(logging.ERROR):
        response = client.get("/")
    body = response.content.decode()
    assert response.status_code == 500
    assert "secret" not in body
    found = re.search(r'class="tag">([0-9a-f]{8})<', body)
    assert found
    assert f"reference {found[1]}" in caplog.text


def test_ready_names_each_check_and_tells_no_secret(client: Client) -> None:
    answer = client.get("/health/ready")
    assert answer.status_code == 200
    assert answer.json()["database"] == "ok"
    assert answer.json()["migrations"] == "ok"
    assert "://" not in answer.content.decode()


def test_ready_says_degraded_and_serves_on_while_a_configured_broker_is_away(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: object
) -> None:
    monkeypatch.setenv("BROKER_URL", "redis://127.0.0.1:9/0")
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:9/0"  # type: ignore[attr-defined]
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["status"], answer.json()["broker"]) == (200, "degraded", "unreachable")


def test_the_embedded_broker_may_be_asleep(monkeypatch: pytest.MonkeyPatch, settings: object) -> None:
    monkeypatch.delenv("BROKER_URL", raising=False)
    settings.CELERY_BROKER_URL = "memory://"  # type: ignore[attr-defined]
    assert health.broker() == "embedded broker not running"
