"""Things with a name in both languages."""

from __future__ import annotations

from django.db import models
from django.utils.translation import get_language


def in_language(zh: str, en: str) -> str:
    """The name in the reader's language, or the other one where that is missing."""
    wanted, other = (zh, en) if (get_language() or "zh").startswith("zh") else (en, zh)
    return wanted or other


class Named(models.Model):
    """A code, which is the stable key, and a name in Chinese and English."""

    code = models.CharField(max_length=64, unique=True)
    name_zh = models.CharField(max_length=200, blank=True)
    name_en = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True

    @property
    def name(self) -> str:
        """The name in the active language, the code where there is none."""
        return in_language(self.name_zh, self.name_en) or self.code

    def __str__(self) -> str:
        return self.code
