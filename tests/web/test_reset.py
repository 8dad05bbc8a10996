"""A forgotten password: a link by mail that opens once, tells nobody who exists, and ends every session."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.contrib.auth import get_user
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from governance.access.models import Person, ResetAsked
from governance.audit.models import AuditLine
from governance.notices.models import Notice
from governance.work.models import WorkItem
from portal.account import resets

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "a-long-enough-password", "a-new-long-enough-password"


@pytest.fixture
def mail_on(settings: Any) -> None:
    settings.MAIL_IS_ON = True
    settings.PORTAL_URL = "https://steelyard.example"


@pytest.fixture
def person() -> Person:
    return Person.objects.create_user("ada", "ada@example.com", PASSWORD)


def browser(language: str = "en") -> Client:
    client = Client()
    client.cookies["language"] = language
    return client


def ask(typed: str, address: str = "10.0.0.1", language: str = "en") -> Any:
    return browser(language).post("/sign-in/forgotten/", {"who": typed}, REMOTE_ADDR=address, HTTP_HOST="localhost")


def link() -> str:
    found = re.search(r"https://steelyard\.example(/sign-in/new-password/\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


def test_a_forgotten_password_is_set_anew_and_every_session_ends(mail_on: None, person: Person) -> None:
    session = browser()
    assert session.login(username="ada", password=PASSWORD)
    assert ask("ada").headers["Location"] == "/sign-in/forgotten/sent/"
    assert resets.send_all() == 1
    assert mail.outbox[0].to == ["ada@example.com"]
    client = browser()
    there = client.get(link()).headers["Location"]
    assert there.endswith("/set-password/"), "the token leaves the address"
    assert client.get(there).status_code == 200
    done = client.post(there, {"new_password1": NEW, "new_password2": NEW})
    assert done.headers["Location"] == "/sign-in/new-password/done/"
    assert client.get(done.headers["Location"]).status_code == 200
    assert not get_user(client).is_authenticated  # type: ignore[arg-type]
    assert not get_user(session).is_authenticated  # type: ignore[arg-type]
    assert browser().login(username="ada", password=NEW)
    assert "person.password_reset" in AuditLine.objects.values_list("action", flat=True)
    assert Notice.objects.get(person=person).happening.event == "account.password_changed"
    again = browser()
    assert "was used" in again.get(link(), follow=True).content.decode()


def test_who_exists_and_who_does_not_are_answered_alike(mail_on: None, person: Person) -> None:
    Person.objects.create_user("off", "off@example.com", PASSWORD, is_active=False)
    Person.objects.create_user("without", "", PASSWORD)
    Person.objects.create_user("single-sign-on", "sso@example.com")
    answers = set()
    for number, typed in enumerate(("ada", "nobody", "off", "without", "single-sign-on", "x" * 254, "a'; --", "\x01")):
        response = ask(typed, f"10.0.1.{number}")
        answers.add((response.status_code, response.headers.get("Location")))
    answers.discard((422, None))  # what no field takes
    assert answers == {(302, "/sign-in/forgotten/sent/")}
    assert WorkItem.objects.get(kind="account.reset").key == "all"
    assert resets.send_all() == 1
    assert [one.to for one in mail.outbox] == [["ada@example.com"]]
    assert not ResetAsked.objects.exists()


def test_a_mail_address_does_as_well(mail_on: None, person: Person) -> None:
    ask("Ada@Example.com")
    assert resets.send_all() == 1


def test_the_link_leads_to_the_portal_whatever_host_was_asked(mail_on: None, person: Person, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    Client().post("/sign-in/forgotten/", {"who": "ada"}, HTTP_HOST="evil.example")
    resets.send_all()
    assert "evil" not in mail.outbox[0].body
    assert "https://steelyard.example/sign-in/new-password/" in mail.outbox[0].body


def test_links_are_not_asked_for_without_end(mail_on: None, person: Person) -> None:
    with time_machine.travel("2026-07-01T10:00:00Z", tick=False):
        statuses = [ask(f"name{number}").status_code for number in range(7)]
        assert statuses == [302] * 5 + [429] * 2
        assert ask("other", "10.0.0.9").status_code == 302
        by_name = [ask("victim", f"10.0.2.{number}").status_code for number in range(7)]
        assert by_name == [302] * 5 + [429] * 2
        assert ask("ada", "10.0.0.1").headers["Retry-After"] == "60"


def test_too_many_links_do_not_keep_anybody_from_signing_in(mail_on: None, person: Person) -> None:
    for _ in range(7):
        ask("ada")
    response = browser().post("/sign-in/", {"username": "ada", "password": PASSWORD}, REMOTE_ADDR="10.0.0.1")
    assert response.status_code == 302


def test_a_link_is_over_after_an_hour(mail_on: None, person: Person) -> None:
    ask("ada")
    resets.send_all()
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert "over its time" in browser().get(link(), follow=True).content.decode()


@pytest.mark.parametrize(
    "passwords", [("short", "short"), (NEW, NEW + "x"), ("password1234", "password1234"), ("", "")]
)
def test_a_password_that_will_not_do_is_said_in_words(
    mail_on: None, person: Person, passwords: tuple[str, str]
) -> None:
    ask("ada")
    resets.send_all()
    client = browser()
    there = client.get(link()).headers["Location"]
    response = client.post(there, dict(zip(("new_password1", "new_password2"), passwords, strict=True)))
    assert response.status_code == 422
    assert browser().login(username="ada", password=PASSWORD)


@pytest.mark.parametrize("url", ["https://steelyard.example", ""])
@pytest.mark.parametrize("is_on", [True, False])
def test_without_mail_the_page_says_whom_to_ask(person: Person, settings: Any, url: str, is_on: bool) -> None:
    settings.MAIL_IS_ON, settings.PORTAL_URL = is_on, url
    body = browser().get("/sign-in/forgotten/").content.decode()
    if is_on and url:
        assert "Send a link" in body
        return
    assert "Ask the security administrator" in body
    assert "Send a link" not in body
    assert ask("ada").status_code == 409
    assert not ResetAsked.objects.exists()


def test_an_administrator_hands_over_a_link_that_is_audited(person: Person) -> None:
    out = StringIO()
    call_command("reset_link", "ada", stdout=out, stderr=StringIO())
    client = browser()
    there = client.get(out.getvalue().strip()).headers["Location"]
    assert client.post(there, {"new_password1": NEW, "new_password2": NEW}).status_code == 302
    assert browser().login(username="ada", password=NEW)
    issued = AuditLine.objects.get(action="person.reset_link_issued")
    assert (issued.object_code, issued.is_machine) == ("ada", True)
    assert out.getvalue().strip().split("/")[-2] not in str(list(AuditLine.objects.values()))


def test_both_languages(mail_on: None, person: Person) -> None:
    ask("ada", language="zh-hans")
    resets.send_all()
    assert not re.search(r"Somebody asked", str(mail.outbox[0].body))
    assert "Somebody asked" not in str(mail.outbox[0].alternatives)


def test_a_sign_in_from_a_new_place_is_told(person: Person) -> None:
    def sign_in(address: str) -> None:
        data = {"username": "ada", "password": PASSWORD}
        assert browser().post("/sign-in/", data, REMOTE_ADDR=address).status_code == 302

    sign_in("10.0.0.1")
    sign_in("10.0.0.1")
    assert not Notice.objects.exists(), "the first place is no news"
    sign_in("2001:db8::1")
    sign_in("2001:db8::2")
    told = Notice.objects.get(person=person).happening
    assert (told.event, told.facts["address"]) == ("account.new_sign_in", "2001:db8::1")
    with time_machine.travel(timezone.now() + timedelta(days=100)):
        sign_in("10.0.0.1")
    assert Notice.objects.count() == 2
