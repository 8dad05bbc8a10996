"""Issuing, revoking and recognising personal tokens."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from governance.access.actor import Actor
from governance.access.models import Person
from governance.access.rules import TOKEN_SCOPES
from governance.audit.actions import record as audit
from governance.errors import N_, BadData, NotAllowed, NotFound, NotTheMoment

from . import rules
from .models import PersonalToken


@transaction.atomic
def issue(name: str, scopes: Collection[str], days: int, *, actor: Actor) -> tuple[PersonalToken, str]:
    """A new token of the actor's own, for `days` days; answers it with its secret, which nobody can read again.

    Raises NotAllowed for who is not signed in as a person (a token issues no tokens), BadData, and NotTheMoment
    where there are too many.
    """
    person = actor.person
    if person is None or actor.scopes is not None:
        raise NotAllowed(N_("A token is issued by a person who signed in on the page, not by another token."))
    Person.objects.select_for_update().get(pk=person.pk)  # two forms sent at once are counted one after the other
    now = timezone.now()
    if PersonalToken.objects.visible_to(actor).live(now).count() >= rules.MOST_LIVE:
        raise NotTheMoment(N_("There are %(most)s tokens in use already. Revoke one first."), most=rules.MOST_LIVE)
    _check(name, scopes, days)
    secret = rules.fresh()
    token = PersonalToken.objects.create(
        person=person,
        name=name.strip(),
        digest=rules.digest(secret),
        hint=rules.hint(secret),
        scopes=[scope for scope in TOKEN_SCOPES if scope in scopes],
        expires_at=now + timedelta(days=days),
    )
    after = {"name": token.name, "scopes": token.scopes, "expires_at": token.expires_at, "hint": token.hint}
    audit(actor, "token.issued", "token", f"{person.username}/{token.pk}", after=after)
    return token, secret


def _check(name: str, scopes: Collection[str], days: int) -> None:
    if not name.strip() or len(name.strip()) > 100 or not name.isprintable():
        raise BadData(N_("A token needs a name of at most 100 characters that says what it is for."))
    if not scopes or not set(scopes) <= set(TOKEN_SCOPES):
        raise BadData(N_("Choose what the token may do: %(scopes)s."), scopes=", ".join(TOKEN_SCOPES))
    if not 1 <= days <= rules.LONGEST_DAYS:
        raise BadData(N_("A token holds for 1 to %(days)s days."), days=rules.LONGEST_DAYS)


@transaction.atomic
def revoke(token_id: int, *, actor: Actor) -> None:
    """End one of the actor's own tokens at once; twice changes nothing. Raises NotFound for another's."""
    token = PersonalToken.objects.visible_to(actor).select_for_update().filter(pk=token_id).first()
    if token is None:
        raise NotFound(N_("There is no such token of yours."))
    if token.revoked_at is not None:
        return
    token.revoked_at = timezone.now()
    token.save(update_fields=["revoked_at"])
    after = {"name": token.name, "revoked_at": token.revoked_at}
    audit(actor, "token.revoked", "token", f"{token.person.username}/{token.pk}", after=after)


def recognise(secret: str) -> PersonalToken | None:
    """The live token with this secret, or None; notes that it was used, at most once a minute."""
    now = timezone.now()
    token = PersonalToken.objects.live(now).select_related("person").filter(digest=rules.digest(secret)).first()
    if token is None:
        return None
    noted = now - timedelta(seconds=rules.USE_NOTED_SECONDS)
    if token.last_used_at is None or token.last_used_at < noted:
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=noted)
        PersonalToken.objects.filter(unnoted, pk=token.pk).update(last_used_at=now)
    return token
