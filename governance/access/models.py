"""People who sign in."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac

from .named import in_language


class Person(AbstractUser):
    """One who signs in. What they may do comes from dated grants (tenants) alone; there are no superusers."""

    name_zh = models.CharField(max_length=200, blank=True)
    name_en = models.CharField(max_length=200, blank=True)
    language = models.CharField(max_length=10, blank=True)
    theme = models.CharField(max_length=10, blank=True)
    density = models.CharField(max_length=10, blank=True)  # "compact", or "" for comfortable
    single_keys = models.BooleanField(default=True, db_default=True)  # single letters act on pages (WCAG 2.1.4)
    session_revision = models.PositiveIntegerField(default=0, db_default=0)  # raised: every session of before is over

    class Meta:
        db_table = "person"
        constraints = [models.CheckConstraint(name="nobody_is_superuser", condition=models.Q(is_superuser=False))]

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """A session holds while neither the password nor the revision has changed since."""
        key = "governance.access.models.Person.session"
        value = f"{self.password}:{self.session_revision}"
        return salted_hmac(key, value, secret=secret, algorithm="sha256").hexdigest()

    @property
    def display_name(self) -> str:
        """The name in the reader's language, the username where there is none."""
        return in_language(self.name_zh, self.name_en) or self.username


class SignInFailure(models.Model):
    """Wrong passwords in a row for a username from an address; gone once somebody signs in."""

    username = models.CharField(max_length=150)  # as it was typed, in small letters: it need not exist
    address = models.CharField(max_length=64)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        db_table = "sign_in_failure"
        constraints = [models.UniqueConstraint(name="sign_in_failure_once", fields=["username", "address"])]
        indexes = [models.Index(name="sign_in_failure_last", fields=["last_at"])]


class SignInPlace(models.Model):
    """From where a person has signed in before: an address, of IPv6 its network."""

    person = models.ForeignKey("access.Person", on_delete=models.CASCADE, related_name="+")
    address = models.CharField(max_length=64)
    last_at = models.DateTimeField()

    class Meta:
        db_table = "sign_in_place"
        constraints = [models.UniqueConstraint(name="sign_in_place_once", fields=["person", "address"])]


class ResetAsked(models.Model):
    """Somebody asked for another password for this name; it waits for the mail, whether or not there is such a person."""

    typed = models.CharField(max_length=254)
    address = models.CharField(max_length=64)
    language = models.CharField(max_length=10)
    at = models.DateTimeField(db_default=models.functions.Now())

    class Meta:
        db_table = "reset_asked"
