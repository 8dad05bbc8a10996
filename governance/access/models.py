"""People who sign in."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from .named import in_language


class Person(AbstractUser):
    """One who signs in. What they may do comes from dated grants (tenants) alone; there are no superusers."""

    name_zh = models.CharField(max_length=200, blank=True)
    name_en = models.CharField(max_length=200, blank=True)
    language = models.CharField(max_length=10, blank=True)
    theme = models.CharField(max_length=10, blank=True)

    class Meta:
        db_table = "person"
        constraints = [models.CheckConstraint(name="nobody_is_superuser", condition=models.Q(is_superuser=False))]

    @property
    def display_name(self) -> str:
        """The name in the reader's language, the username where there is none."""
        return in_language(self.name_zh, self.name_en) or self.username
