"""A reader's own account: patience for wrong passwords, preferences, password, sessions, hardened cookies and headers."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone

from governance.access.models import Person, SignInFailure
from governance.access.rules import FREE_FAILURES, sign_in_pause
from governance.audit.models import AuditLine

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-enough-password"
OTHER = "another-long-password"


@pytest.fixture
def person() -> Person:
    return Person.objects.create_user("ada", password=PASSWORD)


@pytest.fixture
def client() -> Client:
    found = Client()
    found.cookies["language"] = "en"
    return found


def sign_in(client: Client, password: str = PASSWORD, username: str = "ada", address: str = "10.0.0.1") -> object:
    return client.post("/sign-in/", {"username": username, "password": password}, REMOTE_ADDR=address)


def fail(client: Client, times: int, **who: str) -> object:
    answer = None
    for _turn in range(times):
        answer = sign_in(client, "wrong", **who)
    return answer


def test_pauses_begin_after_five_and_double_up_to_a_quarter_of_an_hour() -> None:
    pauses = [sign_in_pause(n) for n in (0, 4, 5, 6, 7, 9, 100)]
    assert pauses == [0, 0, 60, 120, 240, 900, 900]


def test_after_five_wrong_passwords_the_right_one_is_not_looked_at_and_the_words_say_how_long(
    person: Person, client: Client
) -> None:
    with time_machine.travel("2026-07-01T10:00:00Z", tick=False) as clock:
        assert fail(client, FREE_FAILURES - 1).status_code == 200  # type: ignore[attr-defined]
        last = fail(client, 1)
        assert (last.status_code, last["Retry-After"]) == (429, "60")  # type: ignore[attr-defined,index]
        held = sign_in(client)
        assert held.status_code == 429  # type: ignore[attr-defined]
        assert "Try again in 1 min" in held.content.decode()  # type: ignore[attr-defined]
        clock.shift(timedelta(seconds=61))
        assert sign_in(client).status_code == 302  # type: ignore[attr-defined]
    assert not SignInFailure.objects.exists()


def test_asking_while_held_does_not_prolong_the_pause(person: Person, client: Client) -> None:
    with time_machine.travel("2026-07-01T10:00:00Z", tick=False) as clock:
        fail(client, FREE_FAILURES)
        clock.shift(timedelta(seconds=30))
        assert fail(client, 10)["Retry-After"] == "30"  # type: ignore[index]


def test_another_name_and_another_address_are_not_held(person: Person, client: Client) -> None:
    fail(client, FREE_FAILURES)
    assert sign_in(client, address="10.0.0.2").status_code == 302  # type: ignore[attr-defined]
    Person.objects.create_user("bob", password=PASSWORD)
    assert sign_in(Client(), username="bob").status_code == 302  # type: ignore[attr-defined]


def test_a_name_that_does_not_exist_is_held_just_the_same(client: Client) -> None:
    assert fail(client, FREE_FAILURES, username="nobody").status_code == 429  # type: ignore[attr-defined]


def test_capital_letters_are_no_way_round(person: Person, client: Client) -> None:
    for name in ("ada", "ADA", "Ada", " ada", "aDa"):
        sign_in(client, "wrong", name)
    assert sign_in(client).status_code == 429  # type: ignore[attr-defined]


def test_failures_long_ago_are_forgotten_and_the_first_hold_leaves_an_audit_line(
    person: Person, client: Client
) -> None:
    fail(client, FREE_FAILURES)
    assert AuditLine.objects.filter(action="person.sign_in_held", object_code="ada").count() == 1
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        fail(client, 1, username="bob")
        assert not SignInFailure.objects.filter(username="ada").exists()


def test_preferences_are_kept_on_the_person_and_seen_at_once(person: Person, client: Client) -> None:
    sign_in(client)
    chosen = {"language": "en", "theme": "dark", "density": "compact", "single_keys": "off"}
    assert client.post("/me/", chosen).status_code == 302
    body = client.get("/me/").content.decode()
    assert '<html lang="en" data-theme="dark" data-density="compact" data-keys="off"' in body
    person.refresh_from_db()
    assert (person.density, person.single_keys) == ("compact", False)
    assert AuditLine.objects.filter(action="person.density_chosen").exists()


def test_an_unknown_preference_is_bad_data(person: Person, client: Client) -> None:
    sign_in(client)
    assert client.post("/me/", {"language": "en", "theme": "pink"}).status_code == 422


def change(client: Client, old: str, new: str, again: str = "") -> object:
    return client.post("/me/password/", {"old_password": old, "new_password1": new, "new_password2": again or new})


def test_the_password_changes_against_the_old_one_and_ends_the_other_sessions(person: Person, client: Client) -> None:
    elsewhere = Client()
    sign_in(elsewhere)
    sign_in(client)
    assert change(client, PASSWORD, OTHER).status_code == 302  # type: ignore[attr-defined]
    assert client.get("/me/").status_code == 200
    assert elsewhere.get("/me/").status_code == 302
    assert sign_in(Client(), OTHER).status_code == 302  # type: ignore[attr-defined]
    assert AuditLine.objects.filter(action="person.password_changed", actor="ada").exists()


@pytest.mark.parametrize(
    ("old", "new", "again", "words"),
    [
        ("not-it", OTHER, OTHER, "This is not your present password."),
        (PASSWORD, OTHER, OTHER + "x", "The two new passwords differ."),
        (PASSWORD, "short", "short", "This password is too short."),
    ],
)
def test_a_password_that_will_not_do_says_why_under_its_field(
    person: Person, client: Client, old: str, new: str, again: str, words: str
) -> None:
    sign_in(client)
    answer = change(client, old, new, again)
    assert answer.status_code == 422  # type: ignore[attr-defined]
    body = answer.content.decode()  # type: ignore[attr-defined]
    assert words in body
    assert 'aria-invalid="true"' in body
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


def test_signing_out_everywhere_ends_every_session(person: Person, client: Client) -> None:
    elsewhere = Client()
    sign_in(elsewhere)
    sign_in(client)
    assert client.post("/me/sign-out-everywhere/")["Location"] == "/sign-in/"
    assert elsewhere.get("/me/").status_code == 302
    assert client.get("/me/").status_code == 302
    assert sign_in(client).status_code == 302  # type: ignore[attr-defined]


def test_a_session_ends_at_its_hour_unless_its_reader_stays(person: Person, client: Client) -> None:
    age = django_settings.SESSION_COOKIE_AGE
    with time_machine.travel("2026-07-01T10:00:00Z", tick=False) as clock:
        sign_in(client)
        assert f'data-left="{age}"' in client.get("/me/").content.decode()
        clock.shift(timedelta(seconds=age - 100))
        assert client.get("/me/session/").json() == {"left": 100}
        assert client.post("/me/session/").json() == {"left": age}
        clock.shift(timedelta(seconds=age - 10))
        assert client.get("/me/").status_code == 200
        clock.shift(timedelta(seconds=11))
        assert client.get("/me/session/").json() == {"left": 0}
        assert client.get("/me/").status_code == 302


def test_reading_prolongs_nothing(person: Person, client: Client) -> None:
    age = django_settings.SESSION_COOKIE_AGE
    with time_machine.travel("2026-07-01T10:00:00Z", tick=False) as clock:
        sign_in(client)
        clock.shift(timedelta(seconds=1000))
        client.get("/me/")
        assert client.get("/me/session/").json() == {"left": age - 1000}


def test_staying_and_signing_out_everywhere_need_the_forms_token(person: Person) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person, backend="governance.access.backends.PasswordBackend")
    for address in ("/me/session/", "/me/sign-out-everywhere/", "/me/password/", "/me/"):
        assert client.post(address).status_code == 403


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(person: Person, client: Client) -> None:
    client.get("/sign-in/")
    sign_in(client)
    client.post("/theme/", {"theme": "dark"})
    for name in ("sessionid", "csrftoken", "theme"):
        cookie = client.cookies[name]
        assert cookie["httponly"], name
        assert cookie["samesite"] == "Lax", name


def test_headers_bind_the_browser(client: Client, settings: object) -> None:
    answer = client.get("/sign-in/")
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert "Strict-Transport-Security" not in answer
    settings.SESSION_COOKIE_SECURE = True  # type: ignore[attr-defined]
    assert client.get("/sign-in/")["Strict-Transport-Security"] == "max-age=31536000"
