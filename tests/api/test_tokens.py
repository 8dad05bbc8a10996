"""Personal tokens: shown once, kept as a digest, never more than the person, ended at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from governance.access.actor import Actor
from governance.audit.models import AuditLine
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.tokens import actions, rules
from governance.tokens.models import PersonalToken
from tests.api.conftest import Program, program
from tests.cast import Cast

pytestmark = pytest.mark.django_db
ME = "/api/v1/me"


def test_a_secret_is_shown_once_and_only_its_digest_is_kept(cast: Cast) -> None:
    answer = cast.client("member").post("/me/tokens/", {"name": "laptop", "scopes": ["read"], "days": "30"})
    secret = answer.context["secret"]
    assert secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    token = PersonalToken.objects.get()
    assert token.digest == rules.digest(secret)
    assert secret not in str(vars(token))
    again = cast.client("member").get("/me/tokens/").content.decode()
    assert secret not in again
    assert "laptop" in again


def test_a_token_opens_the_api_with_the_rights_of_its_person_and_notes_its_use(cast: Cast) -> None:
    asked = program(cast, "member", "read")
    answer = asked.get(ME)
    assert answer.status_code == 200
    assert (answer.json()["username"], answer.json()["scopes"]) == ("member", ["read"])
    assert answer.json()["roles"][0]["code"] == "ocr"
    assert PersonalToken.objects.get().last_used_at is not None


def test_issuing_and_revoking_leave_audit_lines_without_the_secret(cast: Cast) -> None:
    actor = cast.actor("member")
    token, secret = actions.issue("ci", ["read", "import"], 10, actor=actor)
    actions.revoke(token.pk, actor=actor)
    actions.revoke(token.pk, actor=actor)
    lines = AuditLine.objects.filter(object_kind="token").order_by("id")
    assert [line.action for line in lines] == ["token.issued", "token.revoked"]
    assert lines[0].after["scopes"] == ["read", "import"]
    assert secret not in str([line.after for line in lines])


@pytest.mark.parametrize("end", ["revoked", "expired", "inactive", "unknown"])
def test_a_token_that_opens_nothing_is_refused_with_401_in_words(cast: Cast, end: str) -> None:
    token, secret = actions.issue("ci", ["read"], 10, actor=cast.actor("member"))
    if end == "revoked":
        actions.revoke(token.pk, actor=cast.actor("member"))
    elif end == "expired":
        past = timezone.now() - timedelta(days=20)
        PersonalToken.objects.filter(pk=token.pk).update(created_at=past, expires_at=past + timedelta(days=10))
    elif end == "inactive":
        cast.people["member"].is_active = False
        cast.people["member"].save()
    else:
        secret += "x"
    answer = Program(secret).get(ME)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert "unknown, revoked or over its day" in answer.json()["detail"]


def test_a_wrong_token_is_not_made_good_by_being_signed_in(cast: Cast) -> None:
    answer = cast.client("member").get(ME, headers={"authorization": "Bearer sty_nothing"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("scopes", "read", "write", "bring"),
    [(["read"], 200, 403, 403), (["write"], 403, 409, 422), (["import"], 403, 403, 422)],
)
def test_a_token_does_what_its_scopes_allow(cast: Cast, scopes: list[str], read: int, write: int, bring: int) -> None:
    asked = program(cast, "operator", *scopes)
    assert asked.get("/api/v1/clusters").status_code == read
    assert asked.post("/api/v1/clusters/bj/pull").status_code == write
    assert asked.post("/api/v1/clusters/bj/records", b"", content_type="text/plain").status_code == bring


def test_scopes_add_nothing_to_the_rights_of_the_person(cast: Cast) -> None:
    asked = program(cast, "auditor", "read", "write", "import")
    assert asked.post("/api/v1/clusters/bj/pull").status_code == 403
    assert program(cast, "member", "read", "write").get("/api/v1/clusters").status_code == 404


def test_a_token_issues_no_tokens_and_opens_no_pages(cast: Cast) -> None:
    actor = Actor.of(cast.people["member"], scopes=frozenset({"read", "write"}))
    with pytest.raises(NotAllowed):
        actions.issue("more", ["read"], 10, actor=actor)
    assert program(cast, "member").get("/ledger/").status_code == 302


def test_nobody_revokes_the_token_of_another(cast: Cast) -> None:
    token, _ = actions.issue("ci", ["read"], 10, actor=cast.actor("member"))
    with pytest.raises(NotFound):
        actions.revoke(token.pk, actor=cast.actor("security"))
    assert cast.client("lead").post(f"/me/tokens/{token.pk}/revoke/").status_code == 404
    assert cast.client("member").post(f"/me/tokens/{token.pk}/revoke/").status_code == 302
    assert not PersonalToken.objects.get().is_live


@pytest.mark.parametrize(
    ("name", "scopes", "days"),
    [("", ["read"], 1), ("x" * 101, ["read"], 1), ("a\0b", ["read"], 1), ("ci", [], 1), ("ci", ["all"], 1),
     ("ci", ["read"], 0), ("ci", ["read"], 366)],
)  # fmt: skip
def test_a_token_needs_a_name_known_scopes_and_an_end(cast: Cast, name: str, scopes: list[str], days: int) -> None:
    with pytest.raises(BadData):
        actions.issue(name, scopes, days, actor=cast.actor("member"))
    assert not PersonalToken.objects.exists()


def test_there_is_an_end_to_how_many_tokens_one_has(cast: Cast) -> None:
    for number in range(rules.MOST_LIVE):
        actions.issue(f"ci {number}", ["read"], 10, actor=cast.actor("member"))
    with pytest.raises(NotTheMoment):
        actions.issue("one more", ["read"], 10, actor=cast.actor("member"))


def test_a_form_with_faults_says_so_and_issues_nothing(cast: Cast) -> None:
    answer = cast.client("member").post("/me/tokens/", {"name": "", "days": "999"})
    assert answer.status_code == 422
    assert "No token was issued" in answer.content.decode()
    assert not PersonalToken.objects.exists()


def test_what_a_browser_changes_wants_the_token_of_the_form(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.people["operator"], backend="governance.access.backends.PasswordBackend")
    assert client.get("/api/v1/clusters").status_code == 200
    assert client.post("/api/v1/clusters/bj/quarantine/retry").status_code == 403
