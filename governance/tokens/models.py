"""The table of personal tokens."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from governance.access.actor import Actor
from governance.access.rules import TOKEN_SCOPES


class TokenQuerySet(models.QuerySet["PersonalToken"]):
    """Tokens, and whose they are."""

    def visible_to(self, actor: Actor) -> TokenQuerySet:
        """One's own."""
        return self.filter(person=actor.person) if actor.person is not None else self.none()

    def live(self, at: datetime) -> TokenQuerySet:
        """Those that still open something at an instant."""
        return self.filter(revoked_at__isnull=True, expires_at__gt=at, person__is_active=True)


class PersonalToken(models.Model):
    """A token of a person; what it was stays to be read after it ended."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the secret, hex
    hint = models.CharField(max_length=4)
    scopes = ArrayField(models.CharField(max_length=16))
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = TokenQuerySet.as_manager()

    class Meta:
        db_table = "personal_token"
        constraints = [
            models.CheckConstraint(name="personal_token_digest", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
            models.CheckConstraint(
                name="personal_token_scopes",
                condition=Q(scopes__contained_by=list(TOKEN_SCOPES), scopes__len__gt=0),
            ),
            models.CheckConstraint(name="personal_token_ends", condition=Q(expires_at__gt=F("created_at"))),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_live(self) -> bool:
        """Whether it opens anything now."""
        return self.revoked_at is None and self.expires_at > timezone.now()
